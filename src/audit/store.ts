import { type Db, empty, sql, type Tx } from '../db/sql.ts'

export type ActionRow = {
  id: number
  at: Date
  actor: string
  action: string
  merchant_id: string | null
  record_id: string | null
  details: Record<string, unknown> | null
}

/** A new entry, with its details encoded as JSON. */
export type NewAction = Omit<ActionRow, 'id' | 'details'> & { details: string | null }

export async function insertAction(tx: Tx, row: NewAction): Promise<void> {
  await tx.query(sql`
    insert into audit_log (at, actor, action, merchant_id, record_id, details)
    values (${row.at}, ${row.actor}, ${row.action}, ${row.merchant_id}, ${row.record_id}, ${row.details})`)
}

/** The latest entries in the order of recording, all or those about some records. */
export async function listActions(
  db: Db,
  { recordIds, limit }: { recordIds: string[] | null; limit: number },
): Promise<ActionRow[]> {
  const rows = await db.query<ActionRow>(sql`
    select id, at, actor, action, merchant_id, record_id, details from audit_log
    ${recordIds === null ? empty : sql`where record_id = any(${recordIds}::uuid[])`}
    order by id desc limit ${limit}`)
  return rows.reverse()
}

/** An entry with its position in the chain. All fields of the entry are null if it was deleted. */
export type ChainedAction = {
  position: number
  hash: Buffer
  id: number | null
  at: Date | null
  actor: string | null
  action: string | null
  merchant_id: string | null
  record_id: string | null
  /** Exactly as it was written. */
  details: string | null
}

export async function listChained(
  db: Db | Tx,
  { after, limit }: { after: number; limit: number },
): Promise<ChainedAction[]> {
  return await db.query<ChainedAction>(sql`
    select c.position, c.hash, a.id, a.at, a.actor, a.action, a.merchant_id, a.record_id, a.details::text as details
    from audit_chain c left join audit_log a on a.id = c.entry_id
    where c.position > ${after} order by c.position limit ${limit}`)
}

export async function countUnchained(db: Db | Tx): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    select count(*) as count from audit_log a where not exists (select from audit_chain c where c.entry_id = a.id)`)
  return row?.count ?? 0
}

/** The newest committed entry. */
export async function findAuditHead(db: Db | Tx): Promise<{ position: number; sha256: string } | null> {
  const [row] = await db.query<{ position: number; sha256: string }>(sql`
    select position, encode(hash, 'hex') as sha256 from audit_chain order by position desc limit 1`)
  return row ?? null
}
