import { type Db, sql } from '../db/sql.ts'
import { hasNewEvents } from '../webhooks/feed-store.ts'

export type Behind = { merchantId: string; clientId: string; number: number }

/** The merchants with events that the sink has not acknowledged, and its position in their feeds. */
export async function listBehind(db: Db, sink: string): Promise<Behind[]> {
  return await db.query(
    sql`
      select merchant_id as "merchantId", client_id as "clientId", coalesce(sent.number, 0) as number
      from clients
      left join event_feeds feed using (merchant_id)
      left join (select merchant_id, number from event_sinks where sink = ${sink}) sent using (merchant_id)
      where case
        when feed.last_number is null then exists (select from events where events.merchant_id = clients.merchant_id)
        else feed.last_number > coalesce(sent.number, 0) or ${hasNewEvents} end
      order by merchant_id`,
    'list-behind',
  )
}

/** False if another process has moved the position. */
export async function savePosition(
  db: Db,
  { sink, merchantId, from, to }: { sink: string; merchantId: string; from: number; to: number },
): Promise<boolean> {
  const saved = await db.query(sql`
    insert into event_sinks as sent (sink, merchant_id, number) values (${sink}, ${merchantId}, ${to})
    on conflict (sink, merchant_id) do update set number = excluded.number where sent.number = ${from}
    returning sink`)
  return saved.length === 1
}

/**
 * For how many seconds the oldest event has waited that the sink has not acknowledged. While the broker is away, events
 * may have no number.
 */
export async function findLag(db: Db, { sink, now }: { sink: string; now: Date }): Promise<number> {
  const [row] = await db.query<{ lag: number }>(sql`
    select coalesce(extract(epoch from ${now}::timestamptz - min(coalesce(numbered.occurred_at, fresh.occurred_at))), 0)::float8
      as lag
    from clients
    left join event_feeds feed using (merchant_id)
    left join (select merchant_id, number from event_sinks where sink = ${sink}) sent using (merchant_id)
    left join lateral (
      select e.occurred_at
      from event_numbers n
      join events e on e.merchant_id = n.merchant_id and e.record_id = n.record_id and e.sequence = n.sequence
      where n.merchant_id = clients.merchant_id and n.number = coalesce(sent.number, 0) + 1
    ) numbered on true
    left join lateral (
      (select occurred_at from events
      where merchant_id = clients.merchant_id and xid >= coalesce(pg_snapshot_xmax(feed.snapshot), '1'::xid8)
      order by xid limit 1)
      union all
      -- Those whose transactions were in progress when the feed was last numbered.
      select late.occurred_at
      from pg_snapshot_xip(feed.snapshot) as open
      cross join lateral (
        select xid, occurred_at from events
        where merchant_id = clients.merchant_id and xid >= open order by xid limit 1
      ) late
      where late.xid = open
    ) fresh on numbered.occurred_at is null`)
  return Math.max(0, row?.lag ?? 0)
}
