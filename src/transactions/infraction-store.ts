import { type Db, sql, type Tx } from '../db/sql.ts'

export type InfractionState = 'open' | 'accepted' | 'returned' | 'rejected' | 'canceled'

export type InfractionRow = {
  merchant_id: string
  id: string
  transaction_id: string
  acquirer_reference: string | null
  /** What is contested; once returned, what was returned. */
  amount: number
  reason: string | null
  state: InfractionState
  opened_at: Date
  decided_at: Date | null
  finished_at: Date | null
}

const columns = sql`
  merchant_id, id, transaction_id, acquirer_reference, amount, reason, state, opened_at, decided_at, finished_at`

export async function insertInfraction(tx: Tx, row: Omit<InfractionRow, 'decided_at'>): Promise<void> {
  await tx.query(sql`
    insert into infractions (
      merchant_id, id, transaction_id, acquirer_reference, amount, reason, state, opened_at, finished_at)
    values (
      ${row.merchant_id}, ${row.id}, ${row.transaction_id}, ${row.acquirer_reference}, ${row.amount}, ${row.reason}, ${row.state},
      ${row.opened_at}, ${row.finished_at})`)
}

/** All contests of a transaction, the oldest first. They change under the transaction's lock only. */
export async function listInfractions(
  db: Db | Tx,
  { merchant_id, id }: { merchant_id: string; id: string },
): Promise<InfractionRow[]> {
  return await db.query<InfractionRow>(sql`
    select ${columns} from infractions where merchant_id = ${merchant_id} and transaction_id = ${id} order by opened_at, id`)
}

export async function updateInfraction(tx: Tx, row: InfractionRow): Promise<void> {
  await tx.query(sql`
    update infractions set acquirer_reference = ${row.acquirer_reference}, amount = ${row.amount}, state = ${row.state},
      decided_at = ${row.decided_at}, finished_at = ${row.finished_at}
    where merchant_id = ${row.merchant_id} and id = ${row.id}`)
}
