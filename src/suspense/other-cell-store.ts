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

/** Stores payments of other cells, except those in suspense. Returns all that are stored now, and how many are new. */
export async function insertOtherCells(
  db: Db,
  rows: OtherCellRow[],
  now: Date,
): Promise<{ taken: Set<string>; newCount: number }> {
  const stored = await db.query<{ end_to_end: string; is_new: boolean }>(sql`
    with input as (
      select * from ${rowsOf(rows)}
    ), inserted as (
      insert into other_cell_payments (acquirer, end_to_end, cell, txid, amount, paid_at, seen_at)
      select acquirer, "endToEndId", cell, txid, amount, "paidAt", ${now} from input
      where not exists (
        select from suspense_payments s where s.acquirer = input.acquirer and s.end_to_end = input."endToEndId")
      order by acquirer, "endToEndId"
      on conflict do nothing returning end_to_end
    )
    select end_to_end, true as is_new from inserted
    union all
    select end_to_end, false from other_cell_payments
    where (acquirer, end_to_end) in (select input.acquirer, input."endToEndId" from input)`)
  return {
    taken: new Set(stored.map((row) => row.end_to_end)),
    newCount: stored.filter((row) => row.is_new).length,
  }
}

/** How many payments of each other cell were first seen after that moment. */
export async function countOtherCells(db: Db, { since }: { since: Date }): Promise<{ cell: string; count: number }[]> {
  return await db.query(sql`
    select cell, count(*) as count from other_cell_payments where seen_at > ${since} group by cell order by cell`)
}
