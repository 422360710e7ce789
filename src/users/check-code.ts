import { byUser, recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { type SecretKey, unseal } from '../lib/secrets.ts'
import { findTotpStep } from './second-factor.ts'
import { lockUser, type UserRow, updateTotpFailures, useTotpStep } from './store.ts'

/**
 * There are a million codes: someone who has the password and guesses would find one within weeks. This limit stops
 * them long before.
 */
const wrongCodesMax = 10

/**
 * Checks a code in its own commit, because the caller's transaction may fail. A correct code is used up. Wrong codes
 * in a row are counted; too many lock the factor, which the audit log records.
 *
 * @returns whether the code is correct
 * @throws {AppError} `second_factor_locked`
 */
export async function checkCode(
  { db, clock, key }: { db: Db; clock: Clock; key: SecretKey },
  { id: userId }: Pick<UserRow, 'id'>,
  code: string,
): Promise<boolean> {
  const now = clock.now()
  const outcome = await db.transaction(async (tx) => {
    const user = await lockUser(tx, userId, null)
    if (!user?.is_totp_confirmed || user.sealed_totp === null) return 'wrong'
    if (user.totp_locked_at !== null) return 'locked'
    const step = findTotpStep(unseal(key, 'second-factor', user.sealed_totp), code, now)
    if (step !== null && (await useTotpStep(tx, user.id, step))) {
      if (user.totp_failures > 0) await updateTotpFailures(tx, user.id, { failures: 0, lockedAt: null })
      return 'right'
    }
    const failures = user.totp_failures + 1
    const isLocked = failures >= wrongCodesMax
    await updateTotpFailures(tx, user.id, { failures, lockedAt: isLocked ? now : null })
    if (!isLocked) return 'wrong'
    await recordAction(tx, {
      by: byUser(user),
      action: 'user.lock_second_factor',
      merchantId: user.merchant_id,
      recordId: user.id,
      now,
    })
    return 'locked'
  })
  if (outcome === 'locked') {
    throw new AppError('second_factor_locked', {
      detail: `${wrongCodesMax} codes in a row were wrong: somebody who knows your password may be guessing. Ask whoever manages your users for a link to a new password, which unlocks it, or have \`npx guiche user reset\` run on the server.`,
    })
  }
  return outcome === 'right'
}

export function isCodeNeeded(error: unknown): boolean {
  return error instanceof AppError && error.code === 'second_factor_needed'
}

/** The error for a correct password without the code of the second factor. */
export function codeNeeded(): AppError {
  return new AppError('second_factor_needed', { detail: 'Enter the six digits that your authenticator app shows.' })
}
