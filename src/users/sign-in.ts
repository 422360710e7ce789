import { byUser, recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { checkCode, codeNeeded } from './check-code.ts'
import { isPassword } from './password.ts'
import { createSession } from './session.ts'
import { findUserByEmail, lockUser } from './store.ts'

export type SignInDeps = { db: Db; clock: Clock; key: SecretKey }

export type SignIn = {
  email: string
  password: string
  code?: string | undefined
  /**
   * True if the user has signed in from this browser or address before. The password check then goes first, so that
   * attempts from elsewhere cannot delay it.
   */
  isKnownDevice: boolean
  device: string | null
  network: string | null
  /**
   * Called after everything was correct. Throws if the user has signed in too often, because each sign-in is
   * recorded.
   */
  limitSuccess: () => void
}

/**
 * Signs a user in and returns the new session's token. An unknown or disabled user and a wrong password get the same
 * answer in the same time.
 *
 * @throws {AppError} `sign_in_failed`; `second_factor_needed` after a correct password; `second_factor_locked`;
 *   `overloaded`
 */
export async function signIn(
  deps: SignInDeps,
  { email, password, code, isKnownDevice, limitSuccess, ...device }: SignIn,
): Promise<string> {
  const user = await findUserByEmail(deps.db, email.toLowerCase())
  const isRight = await isPassword(user?.password_hash ?? null, password, { isUrgent: isKnownDevice })
  if (!user || !isRight || user.disabled_at !== null) throw failed(email, 'password')
  if (user.is_totp_confirmed) {
    if (code === undefined) throw codeNeeded()
    if (!(await checkCode(deps, user, code))) throw failed(email, 'second')
  }
  limitSuccess()
  const now = deps.clock.now()
  return await deps.db.transaction(async (tx) => {
    // Since the check the password may have been changed (which ended all sessions), a second factor turned on, or the
    // user disabled.
    const locked = await lockUser(tx, user.id, null)
    if (
      locked?.password_hash !== user.password_hash ||
      locked.is_totp_confirmed !== user.is_totp_confirmed ||
      locked.disabled_at !== null
    )
      throw failed(email, 'password')
    await recordAction(tx, {
      by: byUser(user),
      action: 'user.sign_in',
      merchantId: user.merchant_id,
      recordId: user.id,
      now,
    })
    return await createSession(tx, { userId: user.id, ...device }, now)
  })
}

/**
 * The same answer for all of them. The security log has which factor was wrong; `password` also if the user was changed
 * meanwhile.
 */
function failed(email: string, factor: 'password' | 'second'): AppError {
  return new AppError('sign_in_failed', {
    about: { email, factor },
    detail: 'E-mail address, password or code is wrong. Whoever manages your users can let you choose a new password.',
  })
}
