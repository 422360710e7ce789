import { type Db, empty, sql } from '../db/sql.ts'

/** The most events of one merchant that one poll counts. Later polls do not count the others either. */
const eventsMax = 20_000
/** The ids that a message names. Further records are only counted. */
const namedMax = 10
/** The most entries of each queue that a poll reads: the newest. */
export const queueMax = 500
/** Of the newest attempts: a screen has 20 deliveries. */
const attemptsMax = 200

export type EventGroup = {
  merchantId: string
  clientId: string
  /** Such as `transaction.paid`. */
  type: string
  count: number
  /** The newest records. */
  ids: string[]
}

/** Where the next reading of events begins. */
export async function findSnapshot(db: Db): Promise<string> {
  const [row] = await db.query<{ snapshot: string }>(sql`select pg_current_snapshot()::text as snapshot`)
  return row?.snapshot ?? '1:1:'
}

/**
 * The events that became visible since a snapshot, by merchant and type, and the snapshot that they were read in. Each
 * merchant costs one search of the index `events_unnumbered`: the subquery has a limit, so that the planner chooses no
 * other plan. On a standby a snapshot lacks the transactions in progress, so this reads the primary.
 */
export async function listEventsSince(
  db: Db,
  { snapshot, merchantIds }: { snapshot: string; merchantIds: string[] | null },
): Promise<{ snapshot: string; groups: EventGroup[] }> {
  const [row] = await db.query<{ snapshot: string; groups: EventGroup[] }>(
    sql`
      select pg_current_snapshot()::text as snapshot, coalesce(json_agg(groups), '[]') as groups
      from (
        select c.merchant_id as "merchantId", c.client_id as "clientId", e.type, count(*) as count,
          (array_agg(e.record_id order by e.xid desc, e.sequence desc))[1:${namedMax}] as ids
        from clients c cross join lateral (
          select type, record_id, sequence, xid from events
          where merchant_id = c.merchant_id and xid >= pg_snapshot_xmin(${snapshot}::pg_snapshot)
            and not pg_visible_in_snapshot(xid, ${snapshot}::pg_snapshot)
          order by xid limit ${eventsMax}
        ) e
        ${merchantIds === null ? empty : sql`where c.merchant_id = any (${merchantIds}::uuid[])`}
        group by c.merchant_id, c.client_id, e.type
      ) groups`,
    merchantIds === null ? 'list-all-events-since' : 'list-events-since',
  )
  return row ?? { snapshot, groups: [] }
}

/** Amounts of transactions that are paid for the first time: not of those that a refund or a dispute left paid. */
export async function listFirstPayments(db: Db, ids: string[]): Promise<Map<string, number>> {
  const rows = await db.query<{ id: string; amount: number }>(
    sql`
      select id, coalesce(amount_paid, amount) as amount from transactions
      where id = any (${ids}::uuid[]) and cardinality(array_positions(statuses, 'PAID')) = 1`,
    'list-first-payments',
  )
  return new Map(rows.map(({ id, amount }) => [id, amount]))
}

export type QueueEntry = {
  queue: 'approval' | 'proposal' | 'suspense' | 'dispute'
  merchantId: string | null
  clientId: string | null
  id: string
  status: string
  /** When its record was made. A poll reads the newest entries. */
  since: Date
}

/**
 * The newest entries of each queue: what waits for the decision of a person, or for a bank to carry one out. A small
 * partial index finds the rows of each queue.
 */
export async function listQueues(db: Db): Promise<QueueEntry[]> {
  return await db.query<QueueEntry>(
    sql`
      select queue, merchant_id as "merchantId", client_id as "clientId", id, status, since from (
        (select 'approval' as queue, merchant_id, id, review_reason as status, created_at as since from withdrawals
          where review_reason is not null order by created_at desc limit ${queueMax})
        union all
        (select 'proposal', merchant_id, id, kind, proposed_at from proposals
          where state = 'open' order by proposed_at desc limit ${queueMax})
        union all
        (select 'suspense', merchant_id, id, status, status_dates[1] from suspense_payments
          where status in ('held', 'returning') order by status_dates[1] desc limit ${queueMax})
        union all
        (select 'dispute', merchant_id, id, state, opened_at from disputes
          where state in ('open', 'accepted') order by opened_at desc limit ${queueMax})
      ) waiting left join clients using (merchant_id)`,
    'list-queues',
  )
}

export type AttemptRow = { key: string; merchantId: string; clientId: string; isDelivered: boolean }

/** The newest attempts at deliveries, of all merchants. */
export async function listNewestAttempts(db: Db): Promise<AttemptRow[]> {
  return await db.query<AttemptRow>(
    sql`
      select delivery_id || ' ' || number as key, merchant_id as "merchantId", client_id as "clientId",
        error is null as "isDelivered"
      from (
        select merchant_id, delivery_id, number, error from webhook_attempts order by started_at desc limit ${attemptsMax}
      ) newest join clients using (merchant_id)`,
    'list-newest-attempts',
  )
}
