import { type Db, empty, sql, type Tx } from '../db/sql.ts'
import type { Role } from './roles.ts'

export type UserRow = {
  id: string
  email: string
  name: string
  /** Null for a user of the operator. */
  merchant_id: string | null
  role: Role
  /** Null: the person signs in at the identity provider. */
  password_hash: string | null
  /** Who the person is at the identity provider; null if the user is not linked to a person there. */
  issuer: string | null
  subject: string | null
  is_disabled_by_provider: boolean
  sealed_totp: Buffer | null
  is_totp_confirmed: boolean
  totp_step: number
  /** Wrong codes in a row, and since when there are too many. */
  totp_failures: number
  totp_locked_at: Date | null
  created_at: Date
  disabled_at: Date | null
}

/** A person at the identity provider. */
export type Identity = { issuer: string; subject: string }

export type NewUser = Pick<
  UserRow,
  'id' | 'email' | 'name' | 'merchant_id' | 'role' | 'password_hash' | 'created_at'
> & {
  /** Of a user created by a first sign-in at the identity provider. */
  identity?: Identity
  /** Who created the link; null: the command line or the service. */
  enrolled_by: string | null
}

export type InvitationRow = {
  id: string
  user_id: string | null
  email: string | null
  merchant_id: string | null
  role: Role
  invited_by: string | null
  expires_at: Date
}

export type NewInvitation = InvitationRow & { token_hash: Buffer; created_at: Date }

const columns = sql`
  id, email, name, merchant_id, role, password_hash, issuer, subject, is_disabled_by_provider, sealed_totp,
  is_totp_confirmed, totp_step, totp_failures, totp_locked_at, created_at, disabled_at`

/** False if the address is taken. */
export async function insertUser(tx: Tx, user: NewUser): Promise<boolean> {
  const rows = await tx.query(sql`
    insert into users (id, email, name, merchant_id, role, password_hash, issuer, subject, created_at, enrolled_by,
      enrolled_at)
    values (${user.id}, ${user.email}, ${user.name}, ${user.merchant_id}, ${user.role}, ${user.password_hash},
      ${user.identity?.issuer ?? null}, ${user.identity?.subject ?? null}, ${user.created_at}, ${user.enrolled_by},
      ${user.created_at})
    on conflict do nothing returning id`)
  return rows.length > 0
}

export async function findUserByEmail(db: Db | Tx, email: string): Promise<UserRow | null> {
  const [row] = await db.query<UserRow>(sql`select ${columns} from users where email = ${email}`)
  return row ?? null
}

/** The user of an identity at the provider, locked until the commit. */
export async function lockUserOfIdentity(tx: Tx, { issuer, subject }: Identity): Promise<UserRow | null> {
  const [row] = await tx.query<UserRow>(sql`
    select ${columns} from users where issuer = ${issuer} and subject = ${subject} for no key update`)
  return row ?? null
}

/** The user of an address, locked until the commit. */
export async function lockUserOfEmail(tx: Tx, email: string): Promise<UserRow | null> {
  const [row] = await tx.query<UserRow>(sql`select ${columns} from users where email = ${email} for no key update`)
  return row ?? null
}

/** The user, locked until the commit. Null also if the user belongs to a merchant that the caller may not see. */
export async function lockUser(tx: Tx, id: string, ofMerchant: string | null): Promise<UserRow | null> {
  const [row] = await tx.query<UserRow>(sql`
    select ${columns} from users
    where id = ${id} ${ofMerchant === null ? empty : sql`and merchant_id = ${ofMerchant}`} for no key update`)
  return row ?? null
}

/** The users, locked until the commit, in the order of their ids: two people may reset each other. */
export async function lockUsers(tx: Tx, ids: string[]): Promise<UserRow[]> {
  return await tx.query<UserRow>(sql`
    select ${columns} from users where id = any (${ids}::uuid[]) order by id for no key update`)
}

export type ListedUser = Omit<
  UserRow,
  'password_hash' | 'issuer' | 'subject' | 'sealed_totp' | 'totp_step' | 'totp_failures'
> & {
  has_password: boolean
  client_id: string | null
  merchant_name: string | null
  seen_at: Date | null
}

/** All users, or a merchant's. */
export async function listUsers(db: Db, ofMerchant: string | null): Promise<ListedUser[]> {
  return await db.query<ListedUser>(sql`
    select users.id, users.email, users.name, users.merchant_id, users.role,
      users.password_hash is not null as has_password, users.is_disabled_by_provider, users.is_totp_confirmed,
      users.totp_locked_at, users.created_at, users.disabled_at, clients.client_id, clients.name as merchant_name,
      (select max(seen_at) from sessions where sessions.user_id = users.id) as seen_at
    from users left join clients using (merchant_id)
    ${ofMerchant === null ? empty : sql`where merchant_id = ${ofMerchant}`}
    order by users.merchant_id nulls first, users.email`)
}

/** Locks all admins, so that two concurrent changes cannot each rely on the other admin remaining. */
export async function lockAdmins(tx: Tx): Promise<void> {
  await tx.query(sql`select from users where role = 'admin' order by id for no key update`)
}

/** True while there is no admin who is not disabled. */
export async function isWithoutAdmin(db: Db | Tx): Promise<boolean> {
  const [row] = await db.query<{ is_without: boolean }>(sql`
    select not exists (select from users where role = 'admin' and disabled_at is null) as is_without`)
  return row?.is_without ?? true
}

export async function updateUser(
  tx: Tx,
  id: string,
  change: Partial<
    Pick<
      UserRow,
      | 'role'
      | 'merchant_id'
      | 'disabled_at'
      | 'is_disabled_by_provider'
      | 'password_hash'
      | 'issuer'
      | 'subject'
      | 'sealed_totp'
      | 'is_totp_confirmed'
    >
  >,
): Promise<void> {
  const { role, merchant_id, disabled_at, password_hash, issuer, subject, sealed_totp, is_totp_confirmed } = change
  // A change of `disabled_at` is a person's, unless it says that it is the provider's.
  const { is_disabled_by_provider = disabled_at === undefined ? undefined : false } = change
  await tx.query(sql`
    update users set id = id
      ${role === undefined ? empty : sql`, role = ${role}`}
      ${merchant_id === undefined ? empty : sql`, merchant_id = ${merchant_id}`}
      ${disabled_at === undefined ? empty : sql`, disabled_at = ${disabled_at}`}
      ${is_disabled_by_provider === undefined ? empty : sql`, is_disabled_by_provider = ${is_disabled_by_provider}`}
      ${password_hash === undefined ? empty : sql`, password_hash = ${password_hash}`}
      ${issuer === undefined ? empty : sql`, issuer = ${issuer}`}
      ${subject === undefined ? empty : sql`, subject = ${subject}`}
      ${sealed_totp === undefined ? empty : sql`, sealed_totp = ${sealed_totp}`}
      ${is_totp_confirmed === undefined ? empty : sql`, is_totp_confirmed = ${is_totp_confirmed}`}
    where id = ${id}`)
}

/**
 * Records that a user has chosen a password through a link, and who created the link; or that the user was linked to a
 * person at the identity provider (`by` is null). `by` does not replace the user's inviter if this user enrolled `by`,
 * directly or through other users: two accounts that reset each other would depend on nobody else.
 */
export async function updateEnrolment(tx: Tx, id: string, { by, at }: { by: string | null; at: Date }): Promise<void> {
  await tx.query(sql`
    with recursive of_inviter as (
      select id, enrolled_by from users where id = ${by}
      union
      select users.id, users.enrolled_by from of_inviter join users on users.id = of_inviter.enrolled_by
    )
    update users set enrolled_at = ${at},
      enrolled_by = case when exists (select from of_inviter where id = ${id}) then coalesce(enrolled_by, ${by})
        else ${by} end
    where id = ${id}`)
}

export async function updateTotpFailures(
  tx: Tx,
  id: string,
  { failures, lockedAt }: { failures: number; lockedAt: Date | null },
): Promise<void> {
  await tx.query(sql`update users set totp_failures = ${failures}, totp_locked_at = ${lockedAt} where id = ${id}`)
}

/** Marks a time step as used. True if it is later than the last one that was used. */
export async function useTotpStep(tx: Tx, id: string, step: number): Promise<boolean> {
  const rows = await tx.query(
    sql`update users set totp_step = ${step} where id = ${id} and totp_step < ${step} returning id`,
  )
  return rows.length > 0
}

export async function insertInvitation(tx: Tx, row: NewInvitation): Promise<void> {
  await tx.query(sql`
    insert into invitations (token_hash, id, user_id, email, merchant_id, role, invited_by, created_at, expires_at)
    values (${row.token_hash}, ${row.id}, ${row.user_id}, ${row.email}, ${row.merchant_id}, ${row.role}, ${row.invited_by},
      ${row.created_at}, ${row.expires_at})`)
}

/**
 * Ends open links of the same purpose: a user's other links, or (`userId` null) the links for the first admin. Those
 * are in logs, and not needed once there is an admin.
 */
export async function endInvitations(tx: Tx, { userId, now }: { userId: string | null; now: Date }): Promise<void> {
  await tx.query(sql`
    update invitations set used_at = ${now}
    where used_at is null and ${userId === null ? sql`user_id is null and email is null` : sql`user_id = ${userId}`}`)
}

/** Ends the open invitations of an address on one side. */
export async function endInvitationsOf(
  tx: Tx,
  { email, merchantId, now }: { email: string; merchantId: string | null; now: Date },
): Promise<void> {
  await tx.query(sql`
    update invitations set used_at = ${now}
    where used_at is null and user_id is null and email = ${email} and merchant_id is not distinct from ${merchantId}`)
}

/** Ends the open invitations that a user has sent. */
export async function endInvitationsBy(tx: Tx, userId: string, now: Date): Promise<void> {
  await tx.query(sql`update invitations set used_at = ${now} where used_at is null and invited_by = ${userId}`)
}

export type InvitationFound = InvitationRow & {
  merchant_name: string | null
  user_email: string | null
  user_name: string | null
  needs_code: boolean
}

/** A valid invitation: unused, unexpired, and not for a disabled user. */
export async function findInvitation(db: Db | Tx, tokenHash: Buffer, now: Date): Promise<InvitationFound | null> {
  const [row] = await db.query<InvitationFound>(sql`
    select invitations.id, user_id, invitations.email, invitations.merchant_id, invitations.role, invited_by, expires_at,
      clients.name as merchant_name, users.email as user_email, users.name as user_name,
      coalesce(users.is_totp_confirmed, false) as needs_code
    from invitations
      left join clients on clients.merchant_id = invitations.merchant_id
      left join users on users.id = user_id
    where token_hash = ${tokenHash} and used_at is null and expires_at > ${now} and users.disabled_at is null`)
  return row ?? null
}

/** False if it was used meanwhile. */
export async function useInvitation(tx: Tx, id: string, now: Date): Promise<boolean> {
  const rows = await tx.query(
    sql`update invitations set used_at = ${now} where id = ${id} and used_at is null returning id`,
  )
  return rows.length > 0
}

/** Of these devices, those from which a user has signed in since then. */
export async function findKnownHashes(
  db: Db,
  { email, hashes, since }: { email: string; hashes: Buffer[]; since: Date },
): Promise<Buffer[]> {
  const rows = await db.query<{ hash: Buffer }>(sql`
    select hash from known_devices join users on users.id = user_id
    where email = ${email} and hash = any (${hashes}::bytea[]) and seen_at > ${since}`)
  return rows.map((row) => row.hash)
}

export async function upsertDevice(
  tx: Tx,
  { userId, hash, now }: { userId: string; hash: Buffer; now: Date },
): Promise<void> {
  await tx.query(sql`
    insert into known_devices (user_id, hash, seen_at) values (${userId}, ${hash}, ${now})
    on conflict (user_id, hash) do update set seen_at = excluded.seen_at`)
}

/** Deletes those of all users: one who never returns would keep them otherwise. */
export async function deleteOldDevices(tx: Tx, before: Date): Promise<void> {
  await tx.query(sql`delete from known_devices where seen_at <= ${before}`)
}
