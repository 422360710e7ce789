import { byUser, recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { SignedIn } from '../http/caller.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, refusal } from '../lib/errors.ts'
import { type SecretKey, seal, unseal } from '../lib/secrets.ts'
import { qrCodeDataUrl } from '../pix/qrcode.ts'
import { checkCode } from './check-code.ts'
import { findPasswordFault, hashPassword, isPassword } from './password.ts'
import { findTotpStep, newTotpSecret, toTotpUri } from './second-factor.ts'
import { deleteSessionById, deleteSessions } from './session-store.ts'
import { findUserByEmail, lockUser, updateTotpFailures, updateUser, useTotpStep } from './store.ts'

/** Operations on the caller's own sign-in. */
type Deps = { db: Db; clock: Clock; key: SecretKey }

/**
 * Sets a new password. All other sessions end: somebody who knew the former password loses access.
 *
 * @throws {AppError} `validation_failed` if the current password is wrong or the new one is too weak; `overloaded`
 */
export async function changePassword(
  deps: Deps,
  user: SignedIn,
  { current, password, sessionHash }: { current: string; password: string; sessionHash: Buffer | null },
): Promise<void> {
  const fault = findPasswordFault(password, {
    email: user.email,
    own: [user.name, user.merchant?.name ?? null],
  })
  if (fault) throw new AppError('validation_failed', { fields: [fault] })
  const currentHash = await assertPassword(deps, user, 'current', current)
  const passwordHash = await hashPassword(password)
  const now = deps.clock.now()
  await deps.db.transaction(async (tx) => {
    // Meanwhile a reset or the identity provider may have ended the current password, or somebody disabled the user.
    const locked = await lockUser(tx, user.id, null)
    if (locked?.password_hash !== currentHash || locked.disabled_at !== null) throw wrongPassword('current')
    await updateUser(tx, user.id, { password_hash: passwordHash })
    await deleteSessions(tx, user.id, sessionHash)
    await recordAction(tx, { ...toAction(user), action: 'user.choose_password', now })
  })
}

/**
 * Creates a secret for an authenticator app. It takes effect once a code of it was entered.
 *
 * @throws {AppError} `validation_failed` if the password is wrong, `user_not_possible` if there is a second factor
 *   already; `overloaded`
 */
export async function offerSecondFactor(
  deps: Deps,
  user: SignedIn,
  password: string,
): Promise<{ secret: string; uri: string; qrCodeBase64: string }> {
  const { db, key } = deps
  await assertPassword(deps, user, 'password', password)
  const secret = newTotpSecret()
  await db.transaction(async (tx) => {
    const row = await lockUser(tx, user.id, null)
    assert(row, 'who is signed in exists')
    if (row.is_totp_confirmed) {
      throw refusal('user_not_possible', 'duplicate', 'There is a second factor already. Remove it first.', {
        field: 'secondFactor',
      })
    }
    await updateUser(tx, user.id, { sealed_totp: seal(key, 'second-factor', secret) })
  })
  const uri = toTotpUri(secret, user.email)
  return { secret, uri, qrCodeBase64: qrCodeDataUrl(uri) }
}

/**
 * Turns the second factor on. All other sessions end, because they began without it.
 *
 * @throws {AppError} `validation_failed` if the code does not belong to the offered secret
 */
export async function confirmSecondFactor(
  { db, clock, key }: Deps,
  user: SignedIn,
  { code, sessionHash }: { code: string; sessionHash: Buffer | null },
): Promise<void> {
  const now = clock.now()
  await db.transaction(async (tx) => {
    const row = await lockUser(tx, user.id, null)
    const secret = row?.sealed_totp ? unseal(key, 'second-factor', row.sealed_totp) : null
    const step = secret === null ? null : findTotpStep(secret, code, now)
    if (row?.is_totp_confirmed || step === null || !(await useTotpStep(tx, user.id, step))) throw wrongCode()
    await updateUser(tx, user.id, { is_totp_confirmed: true })
    await updateTotpFailures(tx, user.id, { failures: 0, lockedAt: null })
    await deleteSessions(tx, user.id, sessionHash)
    await recordAction(tx, { ...toAction(user), action: 'user.add_second_factor', now })
  })
}

/**
 * Turns the second factor off. It requires password and code, so that a session left open is not enough. All other
 * sessions end.
 *
 * @throws {AppError} `validation_failed` if the password or the code is wrong; `second_factor_locked`; `overloaded`
 */
export async function removeSecondFactor(
  deps: Deps,
  user: SignedIn,
  { password, code, sessionHash }: { password: string; code: string; sessionHash: Buffer | null },
): Promise<void> {
  await assertPassword(deps, user, 'password', password)
  if (!(await checkCode(deps, user, code))) throw wrongCode()
  const now = deps.clock.now()
  await deps.db.transaction(async (tx) => {
    await updateUser(tx, user.id, { sealed_totp: null, is_totp_confirmed: false })
    await deleteSessions(tx, user.id, sessionHash)
    await recordAction(tx, { ...toAction(user), action: 'user.remove_second_factor', now })
  })
}

/**
 * Ends one of the caller's sessions, or all but the current one.
 *
 * @throws {AppError} `not_found`
 */
export async function endSessions(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  user: SignedIn,
  which: { id: string } | { exceptTokenHash: Buffer | null },
): Promise<void> {
  const now = clock.now()
  await db.transaction(async (tx) => {
    const count =
      'id' in which
        ? Number(await deleteSessionById(tx, user.id, which.id))
        : await deleteSessions(tx, user.id, which.exceptTokenHash)
    if ('id' in which && count === 0) throw new AppError('not_found', { detail: 'This session has ended already.' })
    await recordAction(tx, { ...toAction(user), action: 'user.end_sessions', details: { count }, now })
  })
}

function wrongCode(): AppError {
  const message = 'The code is not the one that the app shows now. Is the clock of the phone right?'
  return new AppError('validation_failed', { fields: [{ field: 'code', code: 'wrong', message }] })
}

/** Returns the hash of the password. */
async function assertPassword({ db }: Deps, user: SignedIn, field: string, password: string): Promise<string | null> {
  const hash = (await findUserByEmail(db, user.email))?.password_hash ?? null
  if (await isPassword(hash, password)) return hash
  throw wrongPassword(field)
}

function wrongPassword(field: string): AppError {
  return new AppError('validation_failed', { fields: [{ field, code: 'wrong', message: 'The password is wrong.' }] })
}

function toAction(user: SignedIn) {
  return { by: byUser(user), merchantId: user.merchant?.merchantId ?? null, recordId: user.id }
}
