import { type Db, empty, sql, type Tx } from '../db/sql.ts'
import type { Role } from './roles.ts'

/** A session with its user, and the merchant's names if the user belongs to a merchant. */
export type SessionRow = {
  token_hash: Buffer
  user_id: string
  seen_at: Date
  email: string
  name: string
  role: Role
  merchant_id: string | null
  client_id: string | null
  merchant_name: string | null
  is_totp_confirmed: boolean
  has_password: boolean
}

export async function insertSession(
  tx: Tx,
  row: {
    token_hash: Buffer
    user_id: string
    created_at: Date
    expires_at: Date
    device: string | null
    network: string | null
  },
): Promise<void> {
  await tx.query(sql`
    insert into sessions (token_hash, user_id, created_at, seen_at, expires_at, device, network)
    values (
      ${row.token_hash}, ${row.user_id}, ${row.created_at}, ${row.created_at}, ${row.expires_at}, ${row.device}, ${row.network})`)
}

/** The valid ones of these sessions, of enabled users. */
export async function findSessions(
  db: Db,
  tokenHashes: Buffer[],
  { now, seenSince }: { now: Date; seenSince: Date },
): Promise<SessionRow[]> {
  return await db.query<SessionRow>(
    sql`
      select token_hash, user_id, seen_at, email, users.name, role, users.merchant_id, client_id,
        clients.name as merchant_name, is_totp_confirmed, password_hash is not null as has_password
      from sessions join users on users.id = user_id left join clients on clients.merchant_id = users.merchant_id
      where token_hash = any (${tokenHashes}::bytea[]) and sessions.expires_at > ${now} and seen_at > ${seenSince}
        and disabled_at is null`,
    'find-sessions',
  )
}

export async function updateSeenAt(db: Db, tokenHash: Buffer, now: Date): Promise<void> {
  await db.query(sql`update sessions set seen_at = ${now} where token_hash = ${tokenHash}`)
}

export async function deleteSession(db: Db | Tx, tokenHash: Buffer): Promise<void> {
  await db.query(sql`delete from sessions where token_hash = ${tokenHash}`)
}

/** Deletes all sessions of a user, except possibly one. Returns how many there were. */
export async function deleteSessions(tx: Tx, userId: string, exceptTokenHash: Buffer | null): Promise<number> {
  const rows = await tx.query(
    sql`delete from sessions where user_id = ${userId} ${exceptTokenHash === null ? empty : sql`and token_hash <> ${exceptTokenHash}`} returning id`,
  )
  return rows.length
}

/** Leaves what another transaction is deleting: two that wait for each other's rows would deadlock. */
export async function deleteOldSessions(tx: Tx, { now, seenSince }: { now: Date; seenSince: Date }): Promise<void> {
  await tx.query(sql`
    delete from sessions where token_hash in (
      select token_hash from sessions where expires_at <= ${now} or seen_at <= ${seenSince} for update skip locked)`)
}

/** Keeps this many of a user's sessions, the most recently used ones. */
export async function deleteSessionsBeyond(tx: Tx, userId: string, kept: number): Promise<void> {
  await tx.query(sql`
    delete from sessions where token_hash in (
      select token_hash from sessions where user_id = ${userId} order by seen_at desc, token_hash offset ${kept})`)
}

export type ListedSession = {
  id: string
  device: string | null
  network: string | null
  created_at: Date
  seen_at: Date
  is_current: boolean
}

/** A user's valid sessions, the most recently used first. */
export async function listSessions(
  db: Db,
  { userId, current, now, seenSince }: { userId: string; current: Buffer | null; now: Date; seenSince: Date },
): Promise<ListedSession[]> {
  return await db.query<ListedSession>(sql`
    select id, device, network, created_at, seen_at, token_hash = ${current ?? Buffer.alloc(0)} as is_current from sessions
    where user_id = ${userId} and expires_at > ${now} and seen_at > ${seenSince}
    order by seen_at desc, id`)
}

/** False when the user has no such session. */
export async function deleteSessionById(tx: Tx, userId: string, id: string): Promise<boolean> {
  const rows = await tx.query(sql`delete from sessions where user_id = ${userId} and id = ${id} returning id`)
  return rows.length > 0
}
