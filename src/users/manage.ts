import type { Tx } from '../db/sql.ts'
import { AppError } from '../lib/errors.ts'
import { isRoleOf } from './roles.ts'
import { deleteSessions, isWithoutAdmin, lockUser, type UserRow, updateUser } from './store.ts'

/** Who is changed, and which merchant's people may be: null for everybody. */
export type Managed = { id: string; ofMerchant: string | null }

/**
 * Another role, or shut out, or let in again. Whoever is shut out is so at once.
 *
 * @throws {AppError} `not_found`; `user_not_possible` where nobody would be left who may invite others
 */
export async function changeUser(
  tx: Tx,
  { id, ofMerchant }: Managed,
  change: { role?: string | undefined; isDisabled?: boolean | undefined },
  now: Date,
): Promise<UserRow> {
  const user = await lockManaged(tx, { id, ofMerchant })
  const { role, isDisabled } = change
  if (role !== undefined) {
    if (!isRoleOf(role, user.merchant_id === null)) {
      throw new AppError('user_not_possible', { detail: `The role ${role} is none of that side.` })
    }
    await updateUser(tx, id, { role })
  }
  if (isDisabled !== undefined) await updateUser(tx, id, { disabled_at: isDisabled ? now : null })
  if (isDisabled) await deleteSessions(tx, id, null)
  if (user.role === 'admin' && (await isWithoutAdmin(tx))) {
    throw new AppError('user_not_possible', {
      detail: 'Nobody would be left who is admin. Make somebody else one first.',
    })
  }
  return user
}

/** @throws {AppError} `not_found` */
export async function lockManaged(tx: Tx, { id, ofMerchant }: Managed): Promise<UserRow> {
  const user = await lockUser(tx, id, ofMerchant)
  if (!user) throw new AppError('not_found', { detail: 'There is no user with this id.' })
  return user
}
