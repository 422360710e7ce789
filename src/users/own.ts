import { recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { SignedIn } from '../http/caller.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { type SecretKey, seal, unseal } from '../lib/secrets.ts'
import { qrCodeDataUrl } from '../pix/qrcode.ts'
import { findPasswordFault, hashPassword, isPassword } from './password.ts'
import { findTotpStep, newTotpSecret, toTotpUri } from './second-factor.ts'
import { deleteSessions, findUserByEmail, lockUser, updateUser, useTotpStep } from './store.ts'

/** What somebody changes about their own sign-in. */
type Deps = { db: Db; clock: Clock; key: SecretKey }

/**
 * Another password. All other sessions end: whoever knew the former one is out.
 *
 * @throws {AppError} `validation_failed` where the current one is wrong, or the new one is not good
 */
export async function changePassword(
  deps: Deps,
  user: SignedIn,
  { current, password, sessionHash }: { current: string; password: string; sessionHash: Buffer | null },
): Promise<void> {
  const fault = findPasswordFault('password', password, user.email)
  if (fault) throw new AppError('validation_failed', { fields: [fault] })
  await assertPassword(deps, user, 'current', current)
  const passwordHash = await hashPassword(password)
  const now = deps.clock.now()
  await deps.db.transaction(async (tx) => {
    await updateUser(tx, user.id, { password_hash: passwordHash })
    await deleteSessions(tx, user.id, sessionHash)
    await recordAction(tx, { ...toAction(user), action: 'user.choose_password', now })
  })
}

/** A new secret for an authenticator app. It counts once a code of it was entered. */
export async function offerSecondFactor(
  { db, key }: Deps,
  user: SignedIn,
): Promise<{ secret: string; uri: string; qrCodeBase64: string }> {
  const secret = newTotpSecret()
  await db.transaction(async (tx) => {
    const row = await lockUser(tx, user.id, null)
    assert(row, 'who is signed in exists')
    if (row.is_totp_confirmed) {
      throw new AppError('user_not_possible', { detail: 'There is a second factor already. Remove it first.' })
    }
    await updateUser(tx, user.id, { sealed_totp: seal(key, 'second-factor', secret) })
  })
  const uri = toTotpUri(secret, user.email)
  return { secret, uri, qrCodeBase64: qrCodeDataUrl(uri) }
}

/** @throws {AppError} `validation_failed` where the code is not of the secret that was offered */
export async function confirmSecondFactor({ db, clock, key }: Deps, user: SignedIn, code: string): Promise<void> {
  const now = clock.now()
  await db.transaction(async (tx) => {
    const row = await lockUser(tx, user.id, null)
    const secret = row?.sealed_totp ? unseal(key, 'second-factor', row.sealed_totp) : null
    const step = secret === null ? null : findTotpStep(secret, code, now)
    if (step === null || !(await useTotpStep(tx, user.id, step))) {
      const message = 'The code is not the one that the app shows now. Is the clock of the phone right?'
      throw new AppError('validation_failed', { fields: [{ field: 'code', code: 'wrong', message }] })
    }
    await updateUser(tx, user.id, { is_totp_confirmed: true })
    await recordAction(tx, { ...toAction(user), action: 'user.add_second_factor', now })
  })
}

/** @throws {AppError} `validation_failed` where the password is wrong */
export async function removeSecondFactor(deps: Deps, user: SignedIn, password: string): Promise<void> {
  await assertPassword(deps, user, 'password', password)
  const now = deps.clock.now()
  await deps.db.transaction(async (tx) => {
    await updateUser(tx, user.id, { sealed_totp: null, is_totp_confirmed: false })
    await recordAction(tx, { ...toAction(user), action: 'user.remove_second_factor', now })
  })
}

async function assertPassword({ db }: Deps, user: SignedIn, field: string, password: string): Promise<void> {
  const row = await findUserByEmail(db, user.email)
  if (await isPassword(row?.password_hash ?? null, password)) return
  throw new AppError('validation_failed', { fields: [{ field, code: 'wrong', message: 'The password is wrong.' }] })
}

function toAction(user: SignedIn) {
  return { actor: `user:${user.email}`, merchantId: user.merchant?.merchantId ?? null, recordId: user.id }
}
