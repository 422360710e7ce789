import { rowsParam } from '../db/rows-param.ts'
import { type Db, sql } from '../db/sql.ts'

export type OtherCellRow = {
  acquirer: string
  endToEndId: string
  cell: string
  txid: string
  amount: number
  paidAt: Date
}

const rowsOf = rowsParam<OtherCellRow>({
  acquirer: 'text',
  endToEndId: 'text',
  cell: 'text',
  txid: 'text',
  amount: 'bigint',
  paidAt: 'timestamptz',
})

/**
 * Stores payments of other cells, except those in suspense. Returns the end-to-end ids of all that are stored now, and
 * the cell of each that is new.
 */
export async function insertOtherCells(
  db: Db,
  rows: OtherCellRow[],
  now: Date,
): Promise<{ stored: Set<string>; newCells: string[] }> {
  const inserted = await db.query<{ cell: string }>(sql`
    insert into other_cell_payments (acquirer, end_to_end, cell, txid, amount, paid_at, seen_at)
    select acquirer, "endToEndId", cell, txid, amount, "paidAt", ${now} from ${rowsOf(rows)}
    where not exists (
      select from suspense_payments s where s.acquirer = input.acquirer and s.end_to_end = input."endToEndId")
    order by acquirer, "endToEndId"
    on conflict do nothing returning cell`)
  // In its own statement: it must see a row that another process has committed while the first statement waited for it.
  const stored = await db.query<{ end_to_end: string }>(sql`
    select end_to_end from other_cell_payments
    where (acquirer, end_to_end) in (select acquirer, "endToEndId" from ${rowsOf(rows)})`)
  return { stored: new Set(stored.map((row) => row.end_to_end)), newCells: inserted.map((row) => row.cell) }
}

/** How many payments of each other cell were first seen after that moment. */
export async function countOtherCells(db: Db, { since }: { since: Date }): Promise<{ cell: string; count: number }[]> {
  return await db.query(sql`
    select cell, count(*) as count from other_cell_payments where seen_at > ${since} group by cell order by cell`)
}
