import type { Tx } from '../db/sql.ts'
import { AppError } from '../lib/errors.ts'
import { inviteAnew } from './invite.ts'
import { isRoleOf, permissionsOf } from './roles.ts'
import { deleteSessions } from './session-store.ts'
import {
  endInvitationsBy,
  isWithoutAdmin,
  lockAdmins,
  lockUser,
  type UserRow,
  updateTotpFailures,
  updateUser,
} from './store.ts'

/** The user to change, and the merchant whose users may be changed: null for all. */
export type Managed = { id: string; ofMerchant: string | null }

/**
 * Changes a user's role, or disables or enables the user. A disabled user loses access at once. If the user may no
 * longer invite others, their open invitations end.
 *
 * @throws {AppError} `not_found`; `user_not_possible` if nobody would be left who may invite others
 */
export async function changeUser(
  tx: Tx,
  { id, ofMerchant }: Managed,
  change: { role?: string | undefined; isDisabled?: boolean | undefined },
  now: Date,
): Promise<UserRow> {
  await lockAdmins(tx)
  const user = await lockManaged(tx, { id, ofMerchant })
  const { role = user.role, isDisabled } = change
  const isOperator = user.merchant_id === null
  if (!isRoleOf(role, isOperator)) {
    throw new AppError('user_not_possible', { detail: `The role ${role} does not exist on that side.` })
  }
  if (role !== user.role) await updateUser(tx, id, { role })
  if (isDisabled !== undefined) await updateUser(tx, id, { disabled_at: isDisabled ? now : null })
  if (isDisabled) await deleteSessions(tx, id, null)
  if (isDisabled || !permissionsOf({ role, isOperator }).includes('user.write')) await endInvitationsBy(tx, id, now)
  if (user.role === 'admin' && (await isWithoutAdmin(tx))) {
    throw new AppError('user_not_possible', {
      detail: 'No admin would be left. Make somebody else an admin first.',
    })
  }
  return user
}

/**
 * Ends all sessions of a user and returns the token of the link to choose a new password. It unlocks the second
 * factor. The link requires a code of that factor, unless it is removed as well.
 *
 * @param invitedBy null: the command line
 */
export async function resetUser(
  tx: Tx,
  user: UserRow,
  { forgetsFactor, invitedBy, now }: { forgetsFactor: boolean; invitedBy: string | null; now: Date },
): Promise<string> {
  if (forgetsFactor) await updateUser(tx, user.id, { sealed_totp: null, is_totp_confirmed: false })
  await updateTotpFailures(tx, user.id, { failures: 0, lockedAt: null })
  await deleteSessions(tx, user.id, null)
  return await inviteAnew(tx, user, invitedBy, now)
}

/** @throws {AppError} `not_found` */
export async function lockManaged(tx: Tx, { id, ofMerchant }: Managed): Promise<UserRow> {
  const user = await lockUser(tx, id, ofMerchant)
  if (!user) throw new AppError('not_found', { detail: 'There is no user with this id.' })
  return user
}
