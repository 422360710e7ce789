import { createHash } from 'node:crypto'
import type { Db, Tx } from '../db/sql.ts'
import { type AppError, refusal } from '../lib/errors.ts'
import { newSecret, newUuid } from '../lib/secrets.ts'
import { isRoleOf, type Role } from './roles.ts'
import { endInvitations, endInvitationsOf, findUserByEmail, insertInvitation, isWithoutAdmin } from './store.ts'

/** How long a link is valid. */
const lifetimeMs = 3 * 24 * 60 * 60_000

export type Invitation = {
  /** Null: the holder of the link chooses it. */
  email: string | null
  merchantId: string | null
  role: string
  invitedBy: string | null
  /** True if a merchant's owner invites, not the operator. */
  isInvitedByMerchant?: boolean
}

/**
 * Invites somebody. Returns the token of the link, which is not stored.
 *
 * @throws {AppError} `user_not_possible` if the address is taken, or if the operator or the merchant has no such role
 */
export async function invite(
  tx: Tx,
  { email, merchantId, role, invitedBy, isInvitedByMerchant = false }: Invitation,
  now: Date,
): Promise<string> {
  if (!isRoleOf(role, merchantId === null)) {
    throw refusal(
      'user_not_possible',
      'not_offered',
      merchantId === null
        ? 'The operator’s users are admin, finance, support or read_only.'
        : 'A merchant’s users are owner, finance, accountant or developer.',
      { field: 'role' },
    )
  }
  const known = email === null ? null : await findUserByEmail(tx, email.toLowerCase())
  // A merchant must not find out which addresses other merchants or the operator use. If one of them uses this address,
  // the link is created nevertheless, and refused when somebody accepts the invitation.
  if (known && !(isInvitedByMerchant && known.merchant_id !== merchantId)) {
    throw emailTaken()
  }
  // Only the latest link is valid: of those for the first admin, and of those for one address.
  if (email === null) await endInvitations(tx, { userId: null, now })
  else await endInvitationsOf(tx, { email: email.toLowerCase(), merchantId, now })
  return await insertLink(tx, { userId: null, email: email?.toLowerCase() ?? null, merchantId, role, invitedBy }, now)
}

export function emailTaken(): AppError {
  const detail = 'There is a user with this e-mail address already.'
  return refusal('user_not_possible', 'duplicate', detail, { field: 'email' })
}

/** The link for creating the first admin; null once there is one. Only the latest link is valid. */
export async function inviteFirstAdmin(
  db: Db,
  { now, baseUrl }: { now: Date; baseUrl: string },
): Promise<string | null> {
  return await db.transaction(async (tx) => {
    if (!(await isWithoutAdmin(tx))) return null
    const first = { email: null, merchantId: null, role: 'admin', invitedBy: null }
    return toInvitationUrl(baseUrl, await invite(tx, first, now))
  })
}

/** A link for choosing a new password. It invalidates earlier ones. */
export async function inviteToResetPassword(
  tx: Tx,
  user: { id: string; merchant_id: string | null; role: Role },
  invitedBy: string | null,
  now: Date,
): Promise<string> {
  await endInvitations(tx, { userId: user.id, now })
  return await insertLink(
    tx,
    { userId: user.id, email: null, merchantId: user.merchant_id, role: user.role, invitedBy },
    now,
  )
}

export function toTokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Where the dashboard shows an invitation. */
export function toInvitationUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/dashboard/welcome/${token}`
}

type Link = {
  userId: string | null
  email: string | null
  merchantId: string | null
  role: Role
  invitedBy: string | null
}

async function insertLink(tx: Tx, link: Link, now: Date): Promise<string> {
  const token = newSecret()
  await insertInvitation(tx, {
    token_hash: toTokenHash(token),
    id: newUuid(),
    user_id: link.userId,
    email: link.email,
    merchant_id: link.merchantId,
    role: link.role,
    invited_by: link.invitedBy,
    created_at: now,
    expires_at: new Date(now.getTime() + lifetimeMs),
  })
  return token
}
