import { recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { type SecretKey, unseal } from '../lib/secrets.ts'
import { isPassword } from './password.ts'
import { findTotpStep } from './second-factor.ts'
import { createSession } from './session.ts'
import { findUserByEmail, lockUser, type UserRow, useTotpStep } from './store.ts'

export type SignInDeps = { db: Db; clock: Clock; key: SecretKey }

/**
 * Signs somebody in and gives the new session's token. Who is unknown, disabled or wrong gets the same answer in the same time.
 *
 * @throws {AppError} `sign_in_failed`; `second_factor_needed` once the password was right; `overloaded`
 */
export async function signIn(
  deps: SignInDeps,
  { email, password, code }: { email: string; password: string; code?: string | undefined },
): Promise<string> {
  const user = await findUserByEmail(deps.db, email.toLowerCase())
  const isRight = await isPassword(user?.password_hash ?? null, password)
  if (!user || !isRight || user.disabled_at !== null) throw failed(email, 'password')
  const now = deps.clock.now()
  const step = readStep(deps, user, code, now)
  return await deps.db.transaction(async (tx) => {
    // Another password may have been chosen since, and all sessions ended that the former one gave.
    const locked = await lockUser(tx, user.id, null)
    if (locked?.password_hash !== user.password_hash) throw failed(email, 'password')
    // A code that was seen on somebody's screen is of no use a second time.
    if (step !== null && !(await useTotpStep(tx, user.id, step))) throw failed(email, 'second')
    await recordAction(tx, {
      actor: `user:${user.email}`,
      action: 'user.sign_in',
      merchantId: user.merchant_id,
      recordId: user.id,
      now,
    })
    return await createSession(tx, user.id, now)
  })
}

/** The time step of the code; null where none is asked for. */
function readStep({ key }: SignInDeps, user: UserRow, code: string | undefined, now: Date): number | null {
  if (!user.is_totp_confirmed || user.sealed_totp === null) return null
  if (code === undefined) {
    throw new AppError('second_factor_needed', { detail: 'Enter the six digits that your authenticator app shows.' })
  }
  const step = findTotpStep(unseal(key, 'second-factor', user.sealed_totp), code, now)
  if (step === null) throw failed(user.email, 'second')
  return step
}

/** One answer for all of them; which factor was wrong is in the security log. */
function failed(email: string, factor: 'password' | 'second'): AppError {
  return new AppError('sign_in_failed', {
    about: { email, factor },
    detail: 'E-mail address, password or code is wrong. Whoever manages your users can let you choose a new password.',
  })
}
