import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, refusal } from '../lib/errors.ts'
import { invite, inviteToResetPassword, toInvitationUrl } from './invite.ts'
import { nobodysHash } from './password.ts'
import { isRoleOf, permissionsOf } from './roles.ts'
import { toUserView } from './schema.ts'
import { deleteSessions } from './session-store.ts'
import {
  endInvitations,
  endInvitationsBy,
  isWithoutAdmin,
  listUsers,
  lockAdmins,
  lockUser,
  lockUsers,
  type UserRow,
  updateTotpFailures,
  updateUser,
} from './store.ts'

type Deps = { db: Db; clock: Clock; baseUrl: string }

/** Who manages users: an admin, a merchant's owner, or the operator at the command line. */
export type Manager = {
  by: By
  /** Their own account; null for the command line. */
  userId: string | null
  /** The merchant whose users they manage; null for all. */
  merchantId: string | null
}

/**
 * Invites somebody, and returns the link.
 *
 * @throws {AppError} `user_not_possible` if the address is taken, or if the operator or the merchant has no such role
 */
export async function inviteUser(
  { db, clock, baseUrl }: Deps,
  { email, role, merchantId }: { email: string; role: string; merchantId: string | null },
  manager: Manager,
): Promise<{ url: string }> {
  const { by, userId, merchantId: ofMerchant } = manager
  const now = clock.now()
  return await db.transaction(async (tx) => {
    await lockManager(tx, manager)
    const invitation = { email, merchantId, role, invitedBy: userId, isInvitedByMerchant: ofMerchant !== null }
    const token = await invite(tx, invitation, now)
    await recordAction(tx, { by, action: 'user.invite', merchantId, details: { role }, now })
    return { url: toInvitationUrl(baseUrl, token) }
  })
}

/**
 * Changes a user's role, or disables or enables the user. A disabled user loses access at once. If the user may no
 * longer invite others, their open invitations end.
 *
 * @throws {AppError} `not_found`; `user_not_possible` if no admin would be left, if the side has no such role, or if
 *   the identity provider gives the role
 */
export async function changeUser(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { id, ...change }: { id: string; role?: string | undefined; isDisabled?: boolean | undefined },
  manager: Manager,
): Promise<ReturnType<typeof toUserView>> {
  const { by, merchantId: ofMerchant } = manager
  const now = clock.now()
  await db.transaction(async (tx) => {
    await lockAdmins(tx)
    await lockManager(tx, manager, id)
    const user = await lockManaged(tx, { id, ofMerchant })
    const { role = user.role, isDisabled } = change
    const isOperator = user.merchant_id === null
    if (!isRoleOf(role, isOperator)) {
      throw refusal('user_not_possible', 'not_offered', `The role ${role} does not exist on that side.`, {
        field: 'role',
      })
    }
    if (role !== user.role && user.password_hash === null) {
      const detail = 'This user signs in at the identity provider, which gives the role. Change it there.'
      throw refusal('user_not_possible', 'not_offered', detail, { field: 'role' })
    }
    if (role !== user.role) await updateUser(tx, user.id, { role })
    if (isDisabled !== undefined) await updateUser(tx, user.id, { disabled_at: isDisabled ? now : null })
    if (isDisabled) await deleteSessions(tx, user.id, null)
    if (isDisabled || !permissionsOf({ role, isOperator }).includes('user.write'))
      await endInvitationsBy(tx, user.id, now)
    if (role === 'admin' && !(isDisabled ?? user.disabled_at !== null)) await endInvitations(tx, { userId: null, now })
    if (user.role === 'admin' && (await isWithoutAdmin(tx))) {
      throw refusal('user_not_possible', 'last_admin', 'No admin would be left. Make somebody else an admin first.', {
        field: isDisabled === undefined ? 'role' : 'isDisabled',
      })
    }
    const about = { by, merchantId: user.merchant_id, recordId: user.id, now }
    if (change.role === undefined && isDisabled !== undefined)
      await recordAction(tx, { ...about, action: isDisabled ? 'user.disable' : 'user.enable' })
    else await recordAction(tx, { ...about, action: 'user.change', details: change })
  })
  const changed = (await listUsers(db, ofMerchant)).find((user) => user.id === id.toLowerCase())
  assert(changed, 'a user that was changed exists')
  return toUserView(changed)
}

/**
 * Ends all sessions and the password of a user, unlocks the second factor, and returns the link to choose a new
 * password. The link requires a code of the second factor, unless that is removed as well (`secondFactor`).
 *
 * @throws {AppError} `not_found`
 */
export async function resetUser(
  { db, clock, baseUrl }: Deps,
  { id, secondFactor }: { id: string; secondFactor: boolean },
  manager: Manager,
): Promise<{ url: string }> {
  const { by, userId, merchantId: ofMerchant } = manager
  const now = clock.now()
  return await db.transaction(async (tx) => {
    // As in changeUser: two changes that lock the same users in another order would deadlock.
    await lockAdmins(tx)
    await lockManager(tx, manager, id)
    const user = await lockManaged(tx, { id, ofMerchant })
    // Without the second factor, whoever knows the former password would get in before the link is used.
    if (user.password_hash !== null) await updateUser(tx, user.id, { password_hash: nobodysHash })
    if (secondFactor) await updateUser(tx, user.id, { sealed_totp: null, is_totp_confirmed: false })
    await updateTotpFailures(tx, user.id, { failures: 0, lockedAt: null })
    await deleteSessions(tx, user.id, null)
    const token = await inviteToResetPassword(tx, user, userId, now)
    const about = { merchantId: user.merchant_id, recordId: user.id, details: { secondFactor } }
    await recordAction(tx, { by, action: 'user.reset', ...about, now })
    return { url: toInvitationUrl(baseUrl, token) }
  })
}

/**
 * Separates a user from the person at the identity provider, for when another person has the address there now, or
 * after a change of the provider. The next person who signs in there with this address, verified, becomes this user.
 *
 * @throws {AppError} `not_found`
 */
export async function unlinkUser(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { id }: { id: string },
  { by, merchantId: ofMerchant }: Manager,
): Promise<void> {
  const now = clock.now()
  await db.transaction(async (tx) => {
    const user = await lockManaged(tx, { id, ofMerchant })
    await updateUser(tx, user.id, { issuer: null, subject: null })
    await deleteSessions(tx, user.id, null)
    await recordAction(tx, { by, action: 'user.unlink', merchantId: user.merchant_id, recordId: user.id, now })
  })
}

/**
 * Locks who manages users, together with the user who is managed. Whoever was disabled, or lost the permission, since
 * the request began could otherwise undo that, or leave a valid link behind: their others have ended.
 *
 * @throws {AppError} `permission_missing`
 */
async function lockManager(tx: Tx, { userId, merchantId }: Manager, managedId?: string): Promise<void> {
  if (userId === null) return
  const users = await lockUsers(tx, managedId === undefined ? [userId] : [userId, managedId])
  const manager = users.find(({ id }) => id === userId)
  const isOperator = merchantId === null
  const isStill = manager?.merchant_id === merchantId && manager.disabled_at === null
  if (isStill && permissionsOf({ role: manager.role, isOperator }).includes('user.write')) return
  throw new AppError('permission_missing', { detail: 'You may not manage users any more.' })
}

/** @throws {AppError} `not_found` */
export async function lockManaged(
  tx: Tx,
  { id, ofMerchant }: { id: string; ofMerchant: string | null },
): Promise<UserRow> {
  const user = await lockUser(tx, id, ofMerchant)
  if (!user) throw new AppError('not_found', { detail: 'There is no user with this id.' })
  return user
}
