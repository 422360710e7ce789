import { byService, byUser, recordAction } from '../audit/record.ts'
import { findClient } from '../auth/store.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { RoleRule } from '../lib/oidc-settings.ts'
import { newUuid } from '../lib/secrets.ts'
import { type ProviderClaims, type SignInFault, signInFailed } from './oidc.ts'
import { isRoleOf, permissionsOf, type Role } from './roles.ts'
import { createSession } from './session.ts'
import { deleteSessions } from './session-store.ts'
import {
  endInvitations,
  endInvitationsBy,
  insertUser,
  lockUserOfEmail,
  lockUserOfIdentity,
  type UserRow,
  updateEnrolment,
  updateUser,
} from './store.ts'

/** The role that the provider gives a person, and on which side: null is the operator. */
type Given = { role: Role; merchantId: string | null }

/**
 * Signs in a person whom the provider has named, and returns the new session's token.
 *
 * - A person is the provider's subject. The e-mail address of an account stays what it was at first: it names the
 *   person in the audit log and for the rule of two persons.
 * - The role is the provider's at each sign-in. Without one the account is disabled, and its sessions end.
 * - An account with the same address, which the provider has verified, becomes that person's on the same side (the
 *   operator, or the same merchant): a person is one user. The account's password and second factor end.
 *
 * @throws {AppError} `sign_in_failed`
 */
export async function signInAtProvider(
  { db, clock }: { db: Db; clock: Clock },
  {
    claims,
    rules,
    requireSecondFactor,
    limitSuccess,
    ...device
  }: {
    claims: ProviderClaims
    rules: readonly RoleRule[]
    requireSecondFactor: readonly string[]
    device: string | null
    network: string | null
    /** Throws if the person has signed in too often, because each sign-in is recorded. */
    limitSuccess: (email: string) => void
  },
): Promise<SignedIn> {
  const now = clock.now()
  const given = await findGiven(db, { claims, rules, now })
  // What the provider has taken away is committed, whether the person gets in or not.
  const outcome = await db.transaction(async (tx): Promise<SignedIn | Refusal | { refused: unknown }> => {
    const known = await lockUserOfIdentity(tx, claims)
    const email = known?.email ?? claims.email
    if (given === null) {
      if (known) await withdrawAccess(tx, known, now)
      return { fault: 'role_missing', email }
    }
    const changed = known && (await applyGiven(tx, known, given, now))
    if (requireSecondFactor.includes(given.role) && !claims.hasSecondFactor)
      return { fault: 'second_factor_missing', email }
    const user = changed ?? (await findOrCreate(tx, claims, given, now))
    if ('fault' in user) return user
    if (user.disabled_at !== null) return { fault: 'account_disabled', email: user.email }
    try {
      limitSuccess(user.email)
    } catch (refused) {
      return { refused }
    }
    if (user.password_hash !== null) await endPassword(tx, user, now)
    await recordAction(tx, { ...about(user, given), by: byUser(user), action: 'user.sign_in', now })
    return { token: await createSession(tx, { userId: user.id, ...device }, now), email: user.email }
  })
  if ('refused' in outcome) throw outcome.refused
  if ('fault' in outcome) throw signInFailed(outcome.fault, { ...(outcome.email !== null && { email: outcome.email }) })
  return outcome
}

type SignedIn = { token: string; email: string }
type Refusal = { fault: SignInFault; email: string | null }

/** The role and side of the first rule whose value the claim has; null if no rule gives a role. */
async function findGiven(
  db: Db,
  { claims, rules, now }: { claims: ProviderClaims; rules: readonly RoleRule[]; now: Date },
): Promise<Given | null> {
  const rule = rules.find(({ value }) => claims.roleValues.includes(value))
  if (!rule || !isRoleOf(rule.role, rule.clientId === null)) return null
  if (rule.clientId === null) return { role: rule.role, merchantId: null }
  const client = await findClient(db, rule.clientId, now)
  return client && { role: rule.role, merchantId: client.merchant_id }
}

/** The next sign-in with a role enables the account again, unless a person had disabled it. */
async function withdrawAccess(tx: Tx, user: UserRow, now: Date): Promise<void> {
  await deleteSessions(tx, user.id, null)
  if (user.disabled_at !== null) return
  await endInvitationsBy(tx, user.id, now)
  await updateUser(tx, user.id, { disabled_at: now, is_disabled_by_provider: true })
  await recordAction(tx, { ...about(user), by: byService, action: 'user.disable', now })
}

async function applyGiven(tx: Tx, user: UserRow, given: Given, now: Date): Promise<UserRow> {
  const { role, merchantId } = given
  const isChanged = user.role !== role || user.merchant_id !== merchantId
  if (isChanged) {
    await deleteSessions(tx, user.id, null)
    if (
      merchantId !== user.merchant_id ||
      !permissionsOf({ role, isOperator: merchantId === null }).includes('user.write')
    )
      await endInvitationsBy(tx, user.id, now)
    await updateUser(tx, user.id, { role, merchant_id: merchantId })
    await recordAction(tx, { ...about(user, given), by: byService, action: 'user.change', details: { role }, now })
  }
  if (user.is_disabled_by_provider) {
    await updateUser(tx, user.id, { disabled_at: null })
    await recordAction(tx, { ...about(user, given), by: byService, action: 'user.enable', now })
  }
  const disabledAt = user.is_disabled_by_provider ? null : user.disabled_at
  if (role === 'admin' && disabledAt === null) await endInvitations(tx, { userId: null, now })
  return { ...user, role, merchant_id: merchantId, disabled_at: disabledAt }
}

/** The account of the same address, or a new one. */
async function findOrCreate(tx: Tx, claims: ProviderClaims, given: Given, now: Date): Promise<UserRow | Refusal> {
  const { issuer, subject, email, name } = claims
  if (email === null) return { fault: 'email_not_verified', email: null }
  const { role, merchantId } = given
  const id = newUuid()
  const created = { id, email, name, merchant_id: merchantId, role, password_hash: null, created_at: now }
  const isNew = await insertUser(tx, { ...created, identity: { issuer, subject }, enrolled_by: null })
  const user = await lockUserOfEmail(tx, email)
  // Also if another first sign-in of this person, at the same moment, has created the account.
  if (user?.issuer === issuer && user.subject === subject) {
    if (isNew) {
      if (role === 'admin') await endInvitations(tx, { userId: null, now })
      await recordAction(tx, { ...about(user), by: byUser(user), action: 'user.accept', details: { role }, now })
    }
    return user
  }
  if (!user || user.subject !== null || user.merchant_id !== merchantId) return { fault: 'account_conflict', email }
  if (user.disabled_at !== null) return { fault: 'account_disabled', email }
  await updateUser(tx, user.id, { issuer, subject })
  // As after a reset: others see it before this account approves anything.
  await updateEnrolment(tx, user.id, { by: null, at: now })
  await recordAction(tx, { ...about(user), by: byUser(user), action: 'user.link', now })
  return await applyGiven(tx, user, given, now)
}

/** One way in for each person: who signs in at the provider has no password here, and no session of one. */
async function endPassword(tx: Tx, user: UserRow, now: Date): Promise<void> {
  await deleteSessions(tx, user.id, null)
  await endInvitations(tx, { userId: user.id, now })
  await updateUser(tx, user.id, { password_hash: null, sealed_totp: null, is_totp_confirmed: false })
}

function about(user: UserRow, { merchantId }: { merchantId: string | null } = { merchantId: user.merchant_id }) {
  return { merchantId, recordId: user.id }
}
