import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Db, Tx } from '../db/sql.ts'
import type { SignedIn } from '../http/caller.ts'
import type { Clock } from '../lib/clock.ts'
import { keyedHash, newSecret, type SecretKey } from '../lib/secrets.ts'
import { appendCookie, isSecure, readCookieNamed } from './cookies.ts'
import { permissionsOf } from './roles.ts'
import type { OwnSession } from './schema.ts'
import {
  deleteOldSessions,
  deleteSession,
  deleteSessionsBeyond,
  findSessions,
  insertSession,
  listSessions,
  type SessionRow,
  updateSeenAt,
} from './session-store.ts'

/** A session lasts for a working day, but ends after an hour without a request. */
const lifetimeMs = 12 * 60 * 60_000
const idleMs = 60 * 60_000
/** The precision of the time when a user was last seen. */
const seenEveryMs = 60_000
/** A person uses a few browsers. When a session above this limit begins, the least recently used one ends. */
const sessionsMax = 10

export type SessionDeps = {
  db: Db
  clock: Clock
  key: SecretKey
  baseUrl: string
  /** Null if there is no sandbox; then no role may use it. */
  sandbox: object | null
  /** Roles that may do nothing before adding a second factor. */
  requireSecondFactor: readonly string[]
}

/** Creates a session and returns its cookie's value, which is not stored. Also deletes expired sessions. */
export async function createSession(
  tx: Tx,
  { userId, device, network }: { userId: string; device: string | null; network: string | null },
  now: Date,
): Promise<string> {
  const token = newSecret()
  const expiresAt = new Date(now.getTime() + lifetimeMs)
  await deleteOldSessions(tx, { now, seenSince: new Date(now.getTime() - idleMs) })
  await deleteSessionsBeyond(tx, userId, sessionsMax - 1)
  await insertSession(tx, {
    token_hash: toHash(token),
    user_id: userId,
    created_at: now,
    expires_at: expiresAt,
    device,
    network,
  })
  return token
}

/** The user of the request's session cookie, or null. */
export async function findSignedIn(deps: SessionDeps, request: FastifyRequest): Promise<SignedIn | null> {
  const token = readCookie(request, deps.baseUrl)
  return token === null ? null : await findSessionOf(deps, token)
}

export async function findSessionOf(deps: SessionDeps, token: string): Promise<SignedIn | null> {
  const { db, clock, key, sandbox, requireSecondFactor } = deps
  const now = clock.now()
  const hash = toHash(token)
  const [row] = await findSessions(db, [hash], { now, seenSince: new Date(now.getTime() - idleMs) })
  if (!row) return null
  if (now.getTime() - row.seen_at.getTime() > seenEveryMs) await updateSeenAt(db, hash, now)
  // Bound to the session: the token of another session does not work.
  const csrfToken = keyedHash(key, 'csrf-token', token).toString('base64url')
  const user = toSignedIn(row, { csrfToken, requireSecondFactor })
  if (sandbox) return user
  return { ...user, permissions: user.permissions.filter((permission) => permission !== 'sandbox.use') }
}

/**
 * Returns the user of each of these sessions, by the session's hash in hexadecimal. Sessions that have ended are left
 * out. It does not extend a session.
 */
export async function findPeople(
  { db, clock, requireSecondFactor }: SessionDeps,
  hashes: Buffer[],
): Promise<Map<string, Omit<SignedIn, 'csrfToken'>>> {
  const now = clock.now()
  const rows = await findSessions(db, hashes, { now, seenSince: new Date(now.getTime() - idleMs) })
  return new Map(
    rows.map((row) => [row.token_hash.toString('hex'), toSignedIn(row, { csrfToken: '', requireSecondFactor })]),
  )
}

/** The user and session as sent to the dashboard. */
export function toSessionView({ csrfToken, merchant, ...user }: SignedIn) {
  const named = merchant && { clientId: merchant.clientId, name: merchant.name }
  return { user: { ...user, permissions: [...user.permissions], merchant: named }, csrfToken }
}

function toSignedIn(
  row: SessionRow,
  { csrfToken, requireSecondFactor }: { csrfToken: string; requireSecondFactor: readonly string[] },
): SignedIn {
  const { merchant_id: merchantId, client_id: clientId, merchant_name: merchantName } = row
  return {
    id: row.user_id,
    email: row.email,
    name: row.name,
    role: row.role,
    merchant:
      merchantId === null || clientId === null ? null : { merchantId, clientId, name: merchantName ?? clientId },
    permissions: permissionsOf({ role: row.role, isOperator: merchantId === null }),
    hasPassword: row.has_password,
    hasSecondFactor: row.is_totp_confirmed,
    // A user without a password has signed in at the provider, where the second factor was checked (oidc-sign-in.ts).
    needsSecondFactor: row.has_password && !row.is_totp_confirmed && requireSecondFactor.includes(row.role),
    csrfToken,
  }
}

/** Ends the session of a request's cookie, if there is one. */
export async function endSession(
  { db, baseUrl }: Pick<SessionDeps, 'db' | 'baseUrl'>,
  request: FastifyRequest,
): Promise<void> {
  const token = readCookie(request, baseUrl)
  if (token !== null) await deleteSession(db, toHash(token))
}

/** The stored hash of the request's session, so that it can be kept when all others end. */
export function sessionHashOf(request: FastifyRequest, baseUrl: string): Buffer | null {
  const token = readCookie(request, baseUrl)
  return token === null ? null : toHash(token)
}

export function setSessionCookie(reply: FastifyReply, baseUrl: string, token: string | null): void {
  appendCookie(reply, baseUrl, {
    name: cookieName(baseUrl),
    value: token ?? '',
    maxAgeSeconds: token === null ? 0 : lifetimeMs / 1000,
  })
}

/** The caller's own sessions, as shown to them. */
export async function listOwnSessions(
  { db, clock, baseUrl }: SessionDeps,
  request: FastifyRequest,
  { id: userId }: SignedIn,
): Promise<Static<typeof OwnSession>[]> {
  const now = clock.now()
  const seenSince = new Date(now.getTime() - idleMs)
  const rows = await listSessions(db, { userId, current: sessionHashOf(request, baseUrl), now, seenSince })
  return rows.map((row) => ({
    id: row.id,
    device: row.device,
    network: row.network,
    createdAt: row.created_at.toISOString(),
    seenAt: row.seen_at.toISOString(),
    isCurrent: row.is_current,
  }))
}

function readCookie(request: FastifyRequest, baseUrl: string): string | null {
  return readCookieNamed(request, cookieName(baseUrl))
}

function cookieName(baseUrl: string): string {
  return isSecure(baseUrl) ? '__Host-guiche' : 'guiche'
}

function toHash(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
