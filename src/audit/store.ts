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

export async function insertAction(tx: Tx, row: Omit<ActionRow, 'id'>): Promise<void> {
  const details = row.details === null ? null : JSON.stringify(row.details)
  await tx.query(sql`
    insert into audit_log (at, actor, action, merchant_id, record_id, details)
    values (${row.at}, ${row.actor}, ${row.action}, ${row.merchant_id}, ${row.record_id}, ${details})`)
}

/** The last ones, in the order in which they were recorded; all of them or those about some records. */
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

/** Page by page, the last first: those before an id, all of them or those about one merchant. */
export async function listActionsBefore(
  db: Db,
  { merchantId, before, limit }: { merchantId: string | null; before: number | null; limit: number },
): Promise<ActionRow[]> {
  return await db.query<ActionRow>(sql`
    select id, at, actor, action, merchant_id, record_id, details from audit_log
    where true
      ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}
      ${before === null ? empty : sql`and id < ${before}`}
    order by id desc limit ${limit}`)
}
