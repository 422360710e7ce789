import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { ActionName } from '../audit/actions.ts'
import { type By, recordAction } from '../audit/record.ts'
import { endSecrets } from '../db/secrets.ts'
import type { Db, Tx } from '../db/sql.ts'
import { type Cell, clientIdPrefix } from '../lib/cell.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type FieldErrorCode, refusal } from '../lib/errors.ts'
import { keyedHash, keyedHashes, newSecret, newUuid, type SecretKey } from '../lib/secrets.ts'
import { findCell } from './cell.ts'
import type { Scope } from './scopes.ts'
import * as store from './store.ts'

type Deps = { db: Db; clock: Clock; key: SecretKey }

/** How long the former secret stays valid after a rotation. */
const overlapMsDefault = 24 * 60 * 60 * 1000

export type NewClient = { merchantId: string; clientId: string; clientSecret: string }

/**
 * Registers a client with its first secret, which is returned here and stored only as a hash.
 *
 * @throws {AppError} `validation_failed` if another client has the id
 */
export async function registerClient(
  tx: Tx,
  { clock, key }: Pick<Deps, 'clock' | 'key'>,
  input: { name: string; scopes: Scope[]; clientId?: string; merchantId?: string; madeBy?: string },
): Promise<NewClient> {
  const merchantId = input.merchantId ?? newUuid()
  const clientId = input.clientId ?? clientIdPrefix(await findCell(tx)) + randomBytes(12).toString('hex')
  const clientSecret = newSecret()
  const now = clock.now()
  const isInserted = await store.insertClient(tx, {
    merchant_id: merchantId,
    client_id: clientId,
    name: input.name,
    scopes: input.scopes,
    created_at: now,
  })
  if (!isInserted)
    throw refusedClientId(
      'duplicate',
      'is taken by another client',
      `The client ${clientId} already exists. \`npx guiche client rotate-secret ${clientId}\` gives it a new secret.`,
    )
  await store.insertClientSecret(tx, {
    merchantId,
    id: newUuid(),
    hash: hashSecret(key, clientSecret),
    createdAt: now,
    madeBy: input.madeBy ?? null,
  })
  return { merchantId, clientId, clientSecret }
}

/**
 * Gives a client a new secret. The newest former one stays valid during the overlap, so two are valid at once; older
 * ones end now. Null if the client does not exist.
 *
 * @param id of the new secret. If the current secret has it, the rotation that made it is repeated: see
 *   {@link endSecrets}
 * @throws {AppError} `change_not_possible` if a former secret has this id
 */
export async function rotateClientSecret(
  deps: Deps,
  input: { clientId: string; id?: string; overlapMs?: number; by: By },
): Promise<{ clientSecret: string; formerExpiresAt: Date } | null> {
  const clientSecret = newSecret()
  return await deps.db.transaction(async (tx) => {
    const client = await store.lockClient(tx, input.clientId)
    if (!client) return null
    // Read after the lock was taken: of two rotations, the second one has the later secret.
    const now = deps.clock.now()
    const overlapMs = input.overlapMs ?? overlapMsDefault
    const { merchant_id: merchantId } = client
    const details = { overlapHours: overlapMs / 3_600_000 }
    await record(tx, client, { ...input, action: 'client.rotate-secret', details, now })
    const { id = newUuid() } = input
    const until = new Date(now.getTime() + overlapMs)
    const refused = refusal('change_not_possible', 'changed', 'The secret was rotated meanwhile.')
    const formerExpiresAt = await endSecrets(tx, { ...store.clientSecrets(merchantId), id, now, until, refused })
    const hash = hashSecret(deps.key, clientSecret)
    const madeBy = input.by.actor
    await store.insertClientSecret(tx, { merchantId, id, hash, createdAt: now, madeBy })
    return { clientSecret, formerExpiresAt }
  })
}

/**
 * Revokes all tokens that a client has got: every instance refuses them within a second. Unless `tokensOnly`, its
 * secrets are revoked too, so that it gets no token until a rotation gives it a new secret. False if the client does
 * not exist.
 */
export async function revokeClient(
  deps: Pick<Deps, 'db' | 'clock'>,
  input: { clientId: string; tokensOnly: boolean; by: By },
): Promise<boolean> {
  return await deps.db.transaction(async (tx) => {
    const client = await store.lockClient(tx, input.clientId)
    if (!client) return false
    // Read after the lock was taken, which may take a while: tokens may be issued meanwhile.
    const now = deps.clock.now()
    const details = { tokensOnly: input.tokensOnly }
    await record(tx, client, { ...input, action: 'client.revoke', details, now })
    await store.updateNotBefore(tx, client.merchant_id, toNextSecond(now))
    if (!input.tokensOnly) await store.expireClientSecrets(tx, client.merchant_id, now)
    return true
  })
}

/**
 * Sets what a client's tokens may do from now on, including the tokens already issued. False if the client does not
 * exist.
 *
 * @param before the scopes that the person has read
 * @throws {AppError} `change_not_possible` if the client has other scopes by now
 */
export async function changeScopes(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { clientId, before, scopes, by }: { clientId: string; before: Scope[]; scopes: Scope[]; by: By },
): Promise<boolean> {
  return await db.transaction(async (tx) => {
    const client = await store.lockClient(tx, clientId)
    if (!client) return false
    if (client.scopes.toSorted().join() !== before.toSorted().join())
      throw refusal('change_not_possible', 'changed', 'The scopes were changed meanwhile. Read them again.')
    await record(tx, client, { clientId, by, action: 'client.scopes', details: { scopes }, now: clock.now() })
    await store.updateScopes(tx, client.merchant_id, scopes)
    return true
  })
}

/**
 * Moves a merchant to another cell. From now on new charges are refused here, on every instance within a second, and
 * the refusal names the merchant's address there. What exists stays here. `to` null: the merchant has moved back. False
 * if the client does not exist.
 */
export async function moveClient(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { clientId, to, by }: { clientId: string; to: { cell: Cell; address: string } | null; by: By },
): Promise<boolean> {
  return await db.transaction(async (tx) => {
    const client = await store.lockClient(tx, clientId)
    if (!client) return false
    const details = to ?? { cell: null, address: null }
    await record(tx, client, { clientId, by, action: 'client.move', details, now: clock.now() })
    await store.updateMovedTo(tx, client.merchant_id, details)
    return true
  })
}

type Change = { clientId: string; by: By; action: ActionName; details: Record<string, unknown>; now: Date }

async function record(
  tx: Tx,
  { merchant_id: merchantId }: { merchant_id: string },
  { clientId, by, action, details, now }: Change,
): Promise<void> {
  await recordAction(tx, { by, action, merchantId, recordId: merchantId, details: { ...details, clientId }, now })
}

/** The client with these credentials, or null, after the same work for an unknown client as for a wrong secret. */
export async function authenticateClient(
  deps: Deps,
  credentials: { clientId: string; clientSecret: string },
): Promise<store.ClientRow | null> {
  const [hash, ...formerHashes] = keyedHashes(deps.key, 'client-secret', credentials.clientSecret)
  const client = await store.findClient(deps.db, credentials.clientId, deps.clock.now())
  // The time is read after the client: secrets that a revocation ended before the client was read have expired then.
  const hashes = await store.findSecretHashes(deps.db, client?.merchant_id ?? nobody, deps.clock.now())
  const known = [...hashes, Buffer.alloc(hash.length)]
  const [match] = [hash, ...formerHashes].filter((one) =>
    known.map((other) => timingSafeEqual(other, one)).includes(true),
  )
  if (!client || match === undefined) return null
  // Only here is the plain secret known, so its hash can be moved to the current secret key.
  if (match !== hash) await store.replaceSecretHash(deps.db, client.merchant_id, { from: match, to: hash })
  return client
}

const nobody = '00000000-0000-0000-0000-000000000000'

/** Tokens have whole seconds, so a token issued within the second of the revocation must be refused as well. */
function toNextSecond(date: Date): Date {
  return new Date((Math.floor(date.getTime() / 1000) + 1) * 1000)
}

function hashSecret(key: SecretKey, secret: string): Buffer {
  return keyedHash(key, 'client-secret', secret)
}

/** @throws {AppError} `not_found` */
export async function findKnownClient(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  clientId: string,
): Promise<store.KnownClient> {
  const client = await store.findClient(db, clientId, clock.now())
  if (!client) throw unknownClient()
  return client
}

export function refusedClientId(code: FieldErrorCode, message: string, detail: string): AppError {
  return new AppError('validation_failed', { detail, fields: [{ field: 'clientId', code, message }] })
}

export function unknownClient(): AppError {
  return new AppError('not_found', {
    detail: 'There is no client with this id. `npx guiche client list` lists them.',
  })
}
