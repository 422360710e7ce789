import { type Db, empty, sql, type Tx } from '../db/sql.ts'
import type { Role } from './roles.ts'

export type UserRow = {
  id: string
  email: string
  name: string
  /** Null for one of the operator's people. */
  merchant_id: string | null
  role: Role
  password_hash: string
  sealed_totp: Buffer | null
  is_totp_confirmed: boolean
  totp_step: number
  created_at: Date
  disabled_at: Date | null
}

export type NewUser = Pick<
  UserRow,
  'id' | 'email' | 'name' | 'merchant_id' | 'role' | 'password_hash' | 'created_at'
> & {
  /** Who handed out the link; null: the command line or the service. */
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

/** A session with whose it is, and the merchant's names where it is a merchant's. */
export type SessionRow = {
  user_id: string
  seen_at: Date
  email: string
  name: string
  role: Role
  merchant_id: string | null
  client_id: string | null
  merchant_name: string | null
  is_totp_confirmed: boolean
}

const columns = sql`
  id, email, name, merchant_id, role, password_hash, sealed_totp, is_totp_confirmed, totp_step, created_at, disabled_at`

/** False when somebody has this address already. */
export async function insertUser(tx: Tx, user: NewUser): Promise<boolean> {
  const rows = await tx.query(sql`
    insert into users (id, email, name, merchant_id, role, password_hash, created_at, enrolled_by, enrolled_at)
    values (${user.id}, ${user.email}, ${user.name}, ${user.merchant_id}, ${user.role}, ${user.password_hash}, ${user.created_at},
      ${user.enrolled_by}, ${user.created_at})
    on conflict (email) do nothing returning id`)
  return rows.length > 0
}

export async function findUserByEmail(db: Db | Tx, email: string): Promise<UserRow | null> {
  const [row] = await db.query<UserRow>(sql`select ${columns} from users where email = ${email}`)
  return row ?? null
}

/** The user, held until the commit. Null as well where it is of another merchant than may be seen. */
export async function lockUser(tx: Tx, id: string, ofMerchant: string | null): Promise<UserRow | null> {
  const [row] = await tx.query<UserRow>(sql`
    select ${columns} from users
    where id = ${id} ${ofMerchant === null ? empty : sql`and merchant_id = ${ofMerchant}`} for no key update`)
  return row ?? null
}

export type ListedUser = Omit<UserRow, 'password_hash' | 'sealed_totp' | 'totp_step'> & {
  client_id: string | null
  merchant_name: string | null
  seen_at: Date | null
}

/** All of them, or a merchant's. */
export async function listUsers(db: Db, ofMerchant: string | null): Promise<ListedUser[]> {
  return await db.query<ListedUser>(sql`
    select users.id, users.email, users.name, users.merchant_id, users.role, users.is_totp_confirmed, users.created_at,
      users.disabled_at, clients.client_id, clients.name as merchant_name,
      (select max(seen_at) from sessions where sessions.user_id = users.id) as seen_at
    from users left join clients using (merchant_id)
    ${ofMerchant === null ? empty : sql`where merchant_id = ${ofMerchant}`}
    order by users.merchant_id nulls first, users.email`)
}

/** So that no two are changed at once of whom each counts on the other. */
export async function lockAdmins(tx: Tx): Promise<void> {
  await tx.query(sql`select from users where role = 'admin' order by id for no key update`)
}

/** True while nobody can sign in who may invite others. */
export async function isWithoutAdmin(db: Db | Tx): Promise<boolean> {
  const [row] = await db.query<{ is_without: boolean }>(sql`
    select not exists (select from users where role = 'admin' and disabled_at is null) as is_without`)
  return row?.is_without ?? true
}

export async function updateUser(
  tx: Tx,
  id: string,
  change: Partial<
    Pick<UserRow, 'role' | 'disabled_at' | 'password_hash' | 'sealed_totp' | 'is_totp_confirmed' | 'totp_step'>
  >,
): Promise<void> {
  const { role, disabled_at, password_hash, sealed_totp, is_totp_confirmed, totp_step } = change
  await tx.query(sql`
    update users set id = id
      ${role === undefined ? empty : sql`, role = ${role}`}
      ${disabled_at === undefined ? empty : sql`, disabled_at = ${disabled_at}`}
      ${password_hash === undefined ? empty : sql`, password_hash = ${password_hash}`}
      ${sealed_totp === undefined ? empty : sql`, sealed_totp = ${sealed_totp}`}
      ${is_totp_confirmed === undefined ? empty : sql`, is_totp_confirmed = ${is_totp_confirmed}`}
      ${totp_step === undefined ? empty : sql`, totp_step = ${totp_step}`}
    where id = ${id}`)
}

/** A user has chosen a password by a link that somebody handed out. */
export async function updateEnrolment(tx: Tx, id: string, { by, at }: { by: string | null; at: Date }): Promise<void> {
  await tx.query(sql`update users set enrolled_by = ${by}, enrolled_at = ${at} where id = ${id}`)
}

/** True when the step is later than the last one that was used, which it then is itself. */
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

/** Ends what was open for the same: a user's other links, or the other links that make the first admin. */
export async function endInvitations(tx: Tx, { userId, now }: { userId: string | null; now: Date }): Promise<void> {
  await tx.query(sql`
    update invitations set used_at = ${now}
    where used_at is null and ${userId === null ? sql`user_id is null and email is null` : sql`user_id = ${userId}`}`)
}

/** What somebody has invited others to is no longer good. */
export async function endInvitationsBy(tx: Tx, userId: string, now: Date): Promise<void> {
  await tx.query(sql`update invitations set used_at = ${now} where used_at is null and invited_by = ${userId}`)
}

/** An invitation that is still good: not while its user is shut out. */
export async function findInvitation(
  db: Db | Tx,
  tokenHash: Buffer,
  now: Date,
): Promise<(InvitationRow & { merchant_name: string | null; user_email: string | null }) | null> {
  const [row] = await db.query<InvitationRow & { merchant_name: string | null; user_email: string | null }>(sql`
    select invitations.id, user_id, invitations.email, invitations.merchant_id, invitations.role, invited_by, expires_at,
      clients.name as merchant_name, users.email as user_email
    from invitations
      left join clients on clients.merchant_id = invitations.merchant_id
      left join users on users.id = user_id
    where token_hash = ${tokenHash} and used_at is null and expires_at > ${now} and users.disabled_at is null`)
  return row ?? null
}

/** False when somebody else was faster. */
export async function useInvitation(tx: Tx, id: string, now: Date): Promise<boolean> {
  const rows = await tx.query(
    sql`update invitations set used_at = ${now} where id = ${id} and used_at is null returning id`,
  )
  return rows.length > 0
}

export async function insertSession(
  tx: Tx,
  row: { token_hash: Buffer; user_id: string; created_at: Date; expires_at: Date },
): Promise<void> {
  await tx.query(sql`
    insert into sessions (token_hash, user_id, created_at, seen_at, expires_at)
    values (${row.token_hash}, ${row.user_id}, ${row.created_at}, ${row.created_at}, ${row.expires_at})`)
}

/** A session that is good, of somebody who may still sign in. */
export async function findSession(
  db: Db,
  tokenHash: Buffer,
  { now, seenSince }: { now: Date; seenSince: Date },
): Promise<SessionRow | null> {
  const [row] = await db.query<SessionRow>(
    sql`
      select user_id, seen_at, email, users.name, role, users.merchant_id, client_id, clients.name as merchant_name,
        is_totp_confirmed
      from sessions join users on users.id = user_id left join clients on clients.merchant_id = users.merchant_id
      where token_hash = ${tokenHash} and sessions.expires_at > ${now} and seen_at > ${seenSince} and disabled_at is null`,
    'find-session',
  )
  return row ?? null
}

export async function updateSeenAt(db: Db, tokenHash: Buffer, now: Date): Promise<void> {
  await db.query(sql`update sessions set seen_at = ${now} where token_hash = ${tokenHash}`)
}

export async function deleteSession(db: Db | Tx, tokenHash: Buffer): Promise<void> {
  await db.query(sql`delete from sessions where token_hash = ${tokenHash}`)
}

/** All of a user's, but one that goes on. */
export async function deleteSessions(tx: Tx, userId: string, but: Buffer | null): Promise<void> {
  await tx.query(
    sql`delete from sessions where user_id = ${userId} ${but === null ? empty : sql`and token_hash <> ${but}`}`,
  )
}

export async function deleteOldSessions(tx: Tx, { now, seenSince }: { now: Date; seenSince: Date }): Promise<void> {
  await tx.query(sql`delete from sessions where expires_at <= ${now} or seen_at <= ${seenSince}`)
}
