import { byUser, recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type FieldError } from '../lib/errors.ts'
import { newUuid, type SecretKey } from '../lib/secrets.ts'
import { checkCode, codeNeeded } from './check-code.ts'
import { emailTaken, toTokenHash } from './invite.ts'
import { findPasswordFault, hashPassword } from './password.ts'
import { createSession } from './session.ts'
import { deleteSessions } from './session-store.ts'
import {
  endInvitations,
  findInvitation,
  type InvitationFound,
  insertUser,
  lockUser,
  updateEnrolment,
  updateUser,
  useInvitation,
} from './store.ts'

type Deps = {
  db: Db
  clock: Clock
  key: SecretKey
  /**
   * True if users may sign in only through the identity provider (OpenID Connect). Then only links from the command
   * line and the link for the first admin work: with them somebody can sign in while that provider is down.
   */
  isPasswordOff: boolean
}

/** What a link is for. `email` is null if its holder chooses the address: the first admin. */
export type InvitationShown = {
  email: string | null
  role: string
  merchantName: string | null
  isReset: boolean
  /** A reset keeps the second factor, so its code is required. */
  needsCode: boolean
}

/**
 * @throws {AppError} `not_found` if the link is no longer valid or never existed, or if passwords are off and the link
 * is from the dashboard
 */
export async function findInvited(deps: Omit<Deps, 'key'>, token: string): Promise<InvitationShown> {
  const invitation = await findUsable(deps, token)
  return {
    email: invitation.user_email ?? invitation.email,
    role: invitation.role,
    merchantName: invitation.merchant_name,
    isReset: invitation.user_id !== null,
    needsCode: invitation.needs_code,
  }
}

/**
 * Accepts an invitation: creates a user, or sets a new password for an existing one, whose sessions then all end.
 * Returns the token of a new session.
 * @throws {AppError} `not_found`, `validation_failed`, `user_not_possible`, `overloaded`; for a reset
 * `second_factor_needed` and `second_factor_locked`
 */
export async function acceptInvitation(
  deps: Deps,
  {
    token,
    device,
    network,
    ...chosen
  }: {
    token: string
    email?: string | undefined
    name?: string | undefined
    password: string
    code?: string | undefined
    /** Browser and network of the request, as the list of sessions shows them. */
    device: string | null
    network: string | null
  },
): Promise<string> {
  const { db, clock } = deps
  const invitation = await findUsable(deps, token)
  const email = invitation.user_email ?? invitation.email ?? chosen.email?.toLowerCase()
  const isNew = invitation.user_id === null
  const fields: FieldError[] = []
  if (email === undefined) fields.push({ field: 'email', code: 'required', message: 'Enter your e-mail address.' })
  if (isNew && !chosen.name) fields.push({ field: 'name', code: 'required', message: 'Enter your name.' })
  const guessableNames = [chosen.name ?? null, invitation.user_name, invitation.merchant_name]
  const fault = findPasswordFault(chosen.password, { email: email ?? '', own: guessableNames })
  if (fault) fields.push(fault)
  if (email === undefined || fields.length > 0) throw new AppError('validation_failed', { fields })
  if (invitation.user_id !== null && invitation.needs_code) {
    if (chosen.code === undefined) throw codeNeeded()
    if (!(await checkCode(deps, { id: invitation.user_id }, chosen.code))) {
      const message = 'The code is not the one that the app shows now.'
      throw new AppError('validation_failed', { fields: [{ field: 'code', code: 'wrong', message }] })
    }
  }
  const passwordHash = await hashPassword(chosen.password)
  return await db.transaction(async (tx) => {
    const now = clock.now()
    const user = invitation.user_id === null ? null : await lockUser(tx, invitation.user_id, null)
    // The user may have been disabled since the link was found.
    if (user && user.disabled_at !== null) throw gone()
    if (!(await useInvitation(tx, invitation.id, now))) throw gone()
    const userId = invitation.user_id ?? newUuid()
    if (isNew) {
      const { merchant_id, role } = invitation
      const user = {
        id: userId,
        email,
        name: chosen.name ?? '',
        merchant_id,
        role,
        password_hash: passwordHash,
        created_at: now,
        enrolled_by: invitation.invited_by,
      }
      if (!(await insertUser(tx, user))) {
        throw emailTaken()
      }
      if (role === 'admin') await endInvitations(tx, { userId: null, now })
    } else {
      await updateUser(tx, userId, { password_hash: passwordHash })
      await updateEnrolment(tx, userId, { by: invitation.invited_by, at: now })
      await deleteSessions(tx, userId, null)
    }
    await recordAction(tx, {
      by: byUser({ email }),
      action: isNew ? 'user.accept' : 'user.choose_password',
      merchantId: invitation.merchant_id,
      recordId: userId,
      details: { role: invitation.role },
      now,
    })
    return await createSession(tx, { userId, device, network }, now)
  })
}

async function findUsable({ db, clock, isPasswordOff }: Omit<Deps, 'key'>, token: string): Promise<InvitationFound> {
  const invitation = await findInvitation(db, toTokenHash(token), clock.now())
  if (!invitation || (isPasswordOff && invitation.invited_by !== null)) throw gone()
  return invitation
}

function gone(): AppError {
  return new AppError('not_found', {
    detail:
      'This link is not valid: it was used, replaced or revoked, it is older than three days, or the dashboard takes no passwords. Ask whoever sent it.',
  })
}
