import { runList } from '../db/page.ts'
import { empty, join, type Reads, raw, type Sql, sql } from '../db/sql.ts'
import type { DeliveryState } from '../webhooks/read-store.ts'
import type { Cursor } from './list-store.ts'

/**
 * waiting: not tried since its retry schedule started, or behind an earlier delivery of its record; failing: to be
 * tried again after a failed attempt; given_up: not tried again.
 */
export const deliveryTabs = ['waiting', 'failing', 'delivered', 'given_up'] as const
export type DeliveryTab = (typeof deliveryTabs)[number]

/** The deliveries of one merchant, or of all (null). */
export type MatchingDeliveries = {
  merchantId: string | null
  tab: DeliveryTab | undefined
  type: string | undefined
  /** Scheme, host and port. */
  receiver: string | undefined
  from: Date | undefined
  before: Date | undefined
  /** The id of the user. `runList` limits the reads of each user, so that nobody keeps the others waiting. */
  reader: string
}

export type DeliveryPosition = { at: Date; positionId: string }

export type DeliveryItem = DeliveryPosition & {
  clientId: string
  clientName: string
  eventId: string
  endpointId: string | null
  type: string
  url: string
  state: DeliveryState
  attempts: number
  createdAt: Date
  nextAttemptAt: Date | null
  lastStatus: number | null
  lastError: string | null
}

/** The most positions that a page reads: a filter that matches none of their rows must not take seconds. */
const readMax = 2_000
/**
 * The most pending deliveries that are read and sorted. If there are more, PostgreSQL chooses which ones a page has.
 */
const pendingMax = 20_000
/**
 * Filtered by type or receiver, the most positions that a page reads for each merchant and state, of deliveries that
 * are given up or wait behind another one.
 */
const ofMerchantMax = 200

/** What the positions are read from: the attempts by time, or the partial indexes of undelivered deliveries. */
type Source = 'attempts' | 'undelivered'

export function sourcesOf({ tab }: MatchingDeliveries): Source[] {
  // A delivery that was never tried has no attempt, so both are read.
  if (tab === undefined) return ['attempts', 'undelivered']
  return [tab === 'delivered' ? 'attempts' : 'undelivered']
}

/**
 * The next positions, whether or not they match the filters by type and receiver: attempts by their start, or
 * undelivered deliveries by the time of their events. No index has the deliveries of all merchants by time: it would
 * cost one more write per delivery.
 */
function toPositions(matching: MatchingDeliveries, source: Source, cursor: Cursor | null): Sql {
  const isDescending = !(cursor?.isBefore ?? false)
  const { merchantId, from, before } = matching
  const page = (at: Sql, id: Sql, limit: number) =>
    sql`order by ${at} ${raw(isDescending ? 'desc' : 'asc')}, ${id} ${raw(isDescending ? 'desc' : 'asc')} limit ${limit}`
  const sign = raw(isDescending ? '<' : '>')
  const within = (at: Sql, id: Sql) => sql`
    ${from === undefined ? empty : sql`and ${at} >= ${from}`} ${before === undefined ? empty : sql`and ${at} < ${before}`}
    ${cursor === null ? empty : sql`and (${at}, ${id}) ${sign} (${new Date(cursor.value)}, ${cursor.id})`}`
  const ofMerchant = merchantId === null ? empty : sql`and merchant_id = ${merchantId}`
  if (source === 'attempts') {
    return sql`
      select merchant_id, delivery_id as id, number, started_at as at, false as is_cut from webhook_attempts
      where true ${ofMerchant} ${within(sql`started_at`, sql`delivery_id`)}
      ${page(sql`started_at`, sql`delivery_id`, readMax)}`
  }
  const limit = matching.type === undefined && matching.receiver === undefined ? pageMax : ofMerchantMax
  const columns = sql`merchant_id, id, 0 as number, created_at as at`
  const inWindow = within(sql`created_at`, sql`id`)
  const attemptCondition = attemptConditions[matching.tab ?? 'untried']
  const order = raw(isDescending ? 'desc' : 'asc')
  // One part per state, with the state as a literal, so that PostgreSQL uses the partial indexes. `is_cut` marks the
  // last position that was read of a merchant that may have more.
  const ofState = (state: string) => sql`(
    select found.*, row_number() over (partition by found.merchant_id order by at ${order}, id ${order}) = ${limit} as is_cut
    from ${merchantId === null ? sql`clients` : sql`(select ${merchantId}::uuid as merchant_id) clients`}, lateral (
      select ${columns} from webhook_deliveries
      where merchant_id = clients.merchant_id and state = ${raw(`'${state}'`)} ${attemptCondition} ${inWindow}
      ${page(sql`created_at`, sql`id`, limit)}
    ) found)`
  const pending = sql`(
    select ${columns}, false as is_cut from webhook_deliveries
    where state = 'pending' ${ofMerchant} ${attemptCondition} ${inWindow} limit ${pendingMax})`
  const parts: Record<DeliveryTab | 'untried', Sql[]> = {
    ...{ waiting: [pending, ofState('waiting')], failing: [pending], delivered: [] },
    ...{ given_up: givenUp.map(ofState), untried: [pending, ofState('waiting'), ofState('canceled')] },
  }
  return sql`
    select * from (${join(parts[matching.tab ?? 'untried'], ' union all ')}) positions ${page(sql`at`, sql`id`, readMax)}`
}

const givenUp = ['exhausted', 'gone', 'canceled']
/** One more than a page shows, to know whether another page follows. */
export const pageMax = 21

/**
 * `attempts_before` is the number of attempts before the retry schedule last started again, by a resend or a newer
 * event of the record. If `attempts` equals it, the delivery was not tried since then. A delivery that waits for an
 * earlier one counts as not tried as well.
 */
const attemptConditions: Record<DeliveryTab | 'untried', Sql> = {
  waiting: sql`and (state = 'waiting' or attempts = attempts_before)`,
  failing: sql`and attempts > attempts_before`,
  untried: sql`and attempts = 0`,
  ...{ delivered: empty, given_up: empty },
}

/** The matching deliveries at the next positions, at most one more than a page has. */
export async function findDeliveries(
  db: Reads,
  matching: MatchingDeliveries,
  source: Source,
  cursor: Cursor | null,
): Promise<DeliveryItem[]> {
  const { tab, type, receiver, reader } = matching
  const order = raw(cursor?.isBefore ? 'asc' : 'desc')
  const conditions = sql`
    ${source === 'attempts' ? sql`and d.attempts = p.number` : empty}
    ${tab === 'delivered' ? sql`and d.state = 'delivered'` : empty} ${receiver === undefined ? empty : sql`and d.receiver = ${receiver}`}
    ${type === undefined ? empty : sql`and e.type = ${type}`}`
  return await runList<DeliveryItem>(
    db,
    `${reader} deliveries ${source}`,
    sql`
    select at, "positionId", client_id as "clientId", name as "clientName", "eventId", "endpointId", type, url, state, attempts,
      "createdAt", "nextAttemptAt", "lastStatus", "lastError"
    from (
      select p.at, p.id as "positionId", p.merchant_id, found.* from (${toPositions(matching, source, cursor)}) p, lateral (
        select e.id as "eventId", d.endpoint_id as "endpointId", e.type, d.url, d.state, d.attempts, d.created_at as "createdAt",
          case when d.state = 'pending' then d.next_attempt_at end as "nextAttemptAt", d.last_status as "lastStatus",
          d.last_error as "lastError"
        from webhook_deliveries d
        join events e on e.merchant_id = d.merchant_id and e.record_id = d.record_id and e.sequence = d.sequence
        where d.merchant_id = p.merchant_id and d.id = p.id ${conditions} offset 0
      ) found
      order by p.at ${order}, p.id ${order} limit ${pageMax}
    ) listed join clients using (merchant_id)
    order by at ${order}, "positionId" ${order}`,
  )
}

/** The position up to which a page has read everything; null if nothing follows it. */
export async function findLastPosition(
  db: Reads,
  matching: MatchingDeliveries,
  source: Source,
  cursor: Cursor | null,
): Promise<DeliveryPosition | null> {
  const order = raw(cursor?.isBefore ? 'asc' : 'desc')
  const [row] = await runList<DeliveryPosition>(
    db,
    `${matching.reader} deliveries-end ${source}`,
    sql`
    select at, id as "positionId"
    from (
      select at, id, is_cut, row_number() over (order by at ${order}, id ${order}) = ${readMax} as is_last
      from (${toPositions(matching, source, cursor)}) p
    ) positions
    where is_cut or is_last order by at ${order}, id ${order} limit 1`,
  )
  return row ?? null
}

/** The most deliveries of a tab that are counted. */
export const countedMax = 5_000

/** Counts the undelivered deliveries of each tab, without other filters. No index covers the delivered ones. */
export async function countUndelivered(
  db: Reads,
  { merchantId, reader }: Pick<MatchingDeliveries, 'merchantId' | 'reader'>,
): Promise<{ status: DeliveryTab; count: number }[]> {
  const ofMerchant = merchantId === null ? empty : sql`and merchant_id = ${merchantId}`
  const countUpTo = (condition: Sql) => sql`(select count(*) from (
    select from webhook_deliveries where ${condition} ${ofMerchant} limit ${countedMax + 1}) counted)`
  const [row] = await runList<Record<'failing' | 'untried' | 'waiting' | 'given_up', number>>(
    db,
    `${reader} delivery-counts`,
    sql`
    select ${countUpTo(sql`state = 'pending' and attempts > attempts_before`)} as failing,
      ${countUpTo(sql`state = 'pending' and attempts = attempts_before`)} as untried, ${countUpTo(sql`state = 'waiting'`)} as waiting,
      ${countUpTo(sql`state in ('exhausted', 'gone', 'canceled')`)} as given_up`,
  )
  if (!row) return []
  const { failing, untried, waiting, given_up } = row
  return [
    { status: 'waiting', count: untried + waiting },
    { status: 'failing', count: failing },
    { status: 'given_up', count: given_up },
  ]
}
