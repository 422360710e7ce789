import { rowsParam } from '../db/rows-param.ts'
import { type Db, sql } from '../db/sql.ts'

/** How much later the bucket will be full, and how long it takes from empty to full. */
export type Used = { id: string; fullLaterMicros: number; emptyToFullMicros: number }

const usedParam = rowsParam<Used>({ id: 'uuid', fullLaterMicros: 'bigint', emptyToFullMicros: 'bigint' })

/**
 * Adds what was used to the shared buckets of the rate limits, and returns in how many seconds each will be full. Rows
 * are locked in one order. The time is the database's, which is the same for all processes; only tests move it, by
 * `movedMs`. What was used before counts for at most two bursts, even after that clock was set back.
 */
export async function addUsed(db: Db, rows: Used[], movedMs: number): Promise<{ id: string; seconds: number }[]> {
  const now = sql`(now() + make_interval(secs => ${movedMs / 1_000}))`
  return await db.query<{ id: string; seconds: number }>(
    sql`
      insert into rate_limits as bucket (id, full_at, fills_in)
      select id, ${now} + "fullLaterMicros" * interval '1 microsecond', "emptyToFullMicros" * interval '1 microsecond'
      from ${usedParam(rows)} order by id
      on conflict (id) do update set fills_in = excluded.fills_in,
        full_at = excluded.full_at + least(greatest(bucket.full_at - ${now}, interval '0'), 2 * excluded.fills_in)
      returning id, extract(epoch from full_at - ${now})::float8 as seconds`,
    'add-used',
  )
}
