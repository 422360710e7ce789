import { empty, type Sql, sql } from '../db/sql.ts'

/** From one moment until before another; null for no end. */
type Window = { from: Date | null; until: Date | null }

/**
 * Whether a merchant's transfer was posted in a window. The times of a merchant's transfers grow with their ids, as
 * `insertTransfers` dates them, and the indexes of each account are in the order of the ids: so only the window is
 * read, however long the history before and after it is. A condition on the times as well would make PostgreSQL read
 * them all.
 */
export function isPostedWithin(merchantId: string, { from, until }: Window): Sql {
  return sql`true
    ${from ? sql`and id >= ${firstIdSince(merchantId, from)}` : empty}
    ${until ? sql`and id < ${firstIdSince(merchantId, until)}` : empty}`
}

/**
 * An SQL expression: the lowest id that a merchant's transfer of this moment or later may have. It is a binary search,
 * which reads about forty rows of the primary key.
 */
export function firstIdSince(merchantId: string, at: Date): Sql {
  return sql`(
    with recursive halves as (
      select 0::bigint as low, (
        select coalesce(max(id), 0) + 1 from ledger_transfers where merchant_id = ${merchantId}) as high
      union all
      select case when created_at < ${at} then (low + high) / 2 else low end,
        case when created_at < ${at} then high else (low + high) / 2 end
      from halves, lateral (
        select created_at from ledger_transfers where merchant_id = ${merchantId} and id >= (low + high) / 2
        order by merchant_id, id limit 1
      ) transfer
      where high - low > 1
    )
    select min(high) from halves)`
}

/** The first moment after this one: the ledger's times are whole milliseconds. */
export function justAfter(at: Date): Date {
  return new Date(at.getTime() + 1)
}
