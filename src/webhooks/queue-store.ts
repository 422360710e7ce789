import { rowsParam, smallRowsParam } from '../db/rows-param.ts'
import { type Db, raw, sql, type Tx } from '../db/sql.ts'
import { isActive } from './endpoints/store.ts'

export type Claimed = Lease & {
  eventId: string
  /** Null: it goes to the record's own URL. */
  endpointId: string | null
  /** Since when it has been due. */
  dueAt: Date
  sequence: number
  url: string
  receiver: string
  attempts: number
  attemptsBefore: number
  type: string
  recordType: 'transaction' | 'withdrawal'
  occurredAt: Date
  snapshot: unknown
}

/** The lease of a delivery that an instance leased before it was inserted. */
export type OwnLease = { leasedUntil: Date; instance: number }

/** A worker holds a delivery until `leasedUntil`. A later result counts only if nobody leased or released it since. */
export type Lease = { merchantId: string; recordId: string; id: string; leasedUntil: Date }

/**
 * How many deliveries to a receiver are leased, and how many more may be. `nothingDueBefore`: as far as is known,
 * nothing from before that moment is due to it any more.
 */
export type ReceiverLoad = { receiver: string; leased: number; capacity: number; nothingDueBefore: Date | null }

type Claim = { now: Date; leasedUntil: Date; instance: number; receiverLoads: ReceiverLoad[]; limit: number }

type WholeClaim = Claim & {
  /** Receivers are scanned in the order of their names, `receiversMax` of them, from the first after this one. */
  afterReceiver: string
  receiversMax: number
  /** How many deliveries a receiver that is not in `receiverLoads` may have. */
  initialCapacity: number
}

/**
 * Most deliveries of one claim. It is a literal in the statement: for an unknown limit the planner expects a tenth of
 * the table.
 */
export const claimedMax = 64
const claimedMaxText = raw(String(claimedMax))

const loadsParam = rowsParam<ReceiverLoad>({
  receiver: 'text',
  leased: 'integer',
  capacity: 'integer',
  nothingDueBefore: 'timestamptz',
})

/**
 * Leases what is due. Unlike `claimRows` of jobs/claim.ts it does not take the oldest first: that would give everything
 * to one slow receiver with a large backlog. It steps from receiver to receiver through the index (a skip scan) and
 * takes from each as many as it has capacity for: a receiver with 100,000 due costs as much as one with a few.
 * Receivers with the fewest leased come first. Also returns the last receiver scanned, or null at the end of the scan.
 */
export async function claimDue(
  db: Db | Tx,
  claim: WholeClaim,
): Promise<{ claimed: Claimed[]; lastReceiver: string | null }> {
  const rows = await db.query<MaybeClaimed & { lastReceiver: string | null }>(
    sql`
    with recursive walk (receiver, first_at, place) as (
      (select receiver, next_attempt_at, 1 from webhook_deliveries
       where state = 'pending' and receiver > ${claim.afterReceiver} order by receiver, next_attempt_at limit 1)
      union all
      select next.receiver, next.next_attempt_at, walk.place + 1
      from walk
      cross join lateral (
        select d.receiver, d.next_attempt_at from webhook_deliveries d
        where d.state = 'pending' and d.receiver > walk.receiver order by d.receiver, d.next_attempt_at limit 1
      ) next
      where walk.place < ${claim.receiversMax}
    ), load as (
      -- With many receivers, a few deliveries of each are enough to choose from.
      select
        walk.receiver, coalesce(input.leased, 0) as leased,
        least(coalesce(input.capacity, ${claim.initialCapacity}),
          ${claim.initialCapacity} + 2 * ${claim.limit} / count(*) over ()) as capacity,
        walk.first_at as since
      from walk
      left join ${loadsParam(claim.receiverLoads)} on input.receiver = walk.receiver
      where walk.first_at <= ${claim.now}
    ), ${claimOfLoad(claim)}
    select (select receiver from walk where place = ${claim.receiversMax}) as "lastReceiver", ${claimedColumns}
    ${fromClaimed}`,
    'claim-deliveries',
  )
  return { claimed: rows.filter(isClaimed), lastReceiver: rows[0]?.lastReceiver ?? null }
}

/**
 * Leases what is due to the listed receivers alone, for each from its `nothingDueBefore` on. While anybody reads an
 * older snapshot of the database (such as a backup), delivered rows stay in the index, and {@link claimDue} skips all
 * of them each time. `isAll`: all that was found was claimed; nothing was locked elsewhere or beyond the limit.
 */
export async function claimDueOf(db: Db | Tx, claim: Claim): Promise<{ claimed: Claimed[]; isAll: boolean }> {
  const rows = await db.query<MaybeClaimed & { found: number }>(
    sql`
    with load as (
      select receiver, leased, capacity, coalesce("nothingDueBefore", '-infinity') as since from ${loadsParam(claim.receiverLoads)}
    ), ${claimOfLoad(claim)}
    select (select count(*) from due) as found, ${claimedColumns}
    ${fromClaimed}`,
    'claim-deliveries-of',
  )
  const claimed = rows.filter(isClaimed)
  return { claimed, isAll: rows[0]?.found === claimed.length }
}

/** A claim of nothing still returns one row, for its other columns. */
type MaybeClaimed = Claimed | { id: null }

function isClaimed<Row extends MaybeClaimed>(row: Row): row is Row & Claimed {
  return row.id !== null
}

/**
 * A chosen row is found again by its physical place (ctid): a plan that was made while nothing was due would search
 * all due rows for each chosen one, such as 10,000 rows 64 times.
 */
const claimOfLoad = ({ now, leasedUntil, instance, limit }: Claim) => sql`
    due as (
      select d.ctid as row, load.leased + row_number() over (partition by load.receiver order by d.next_attempt_at) as place
      from load
      cross join lateral (
        select ctid, next_attempt_at from webhook_deliveries
        where state = 'pending' and receiver = load.receiver and next_attempt_at between load.since and ${now}
        order by next_attempt_at limit load.capacity
      ) d
    ), chosen as (
      select row from (select row from due order by place limit ${claimedMaxText}) first limit ${limit}
    ), locked as (
      select d.ctid as row, d.next_attempt_at as due_at
      from chosen
      cross join lateral (
        select d.ctid, d.next_attempt_at from webhook_deliveries d
        where d.ctid = chosen.row and d.state = 'pending' and d.next_attempt_at <= ${now}
        for no key update skip locked
      ) d
    ), claimed as (
      update webhook_deliveries d
      set leased_until = ${leasedUntil}, leased_by = ${instance}, next_attempt_at = ${leasedUntil}
      from locked
      where d.ctid = locked.row
      returning d.*, locked.due_at
    )`

const claimedColumns = raw(`
      c.merchant_id as "merchantId", c.id, e.id as "eventId", c.endpoint_id as "endpointId", c.leased_until as "leasedUntil", c.due_at as "dueAt", c.record_id as "recordId",
      c.sequence, c.url, c.receiver, c.attempts, c.attempts_before as "attemptsBefore",
      e.type, e.record_type as "recordType", e.occurred_at as "occurredAt", e.snapshot`)

/** The commit does not wait for the disk: if a crash of PostgreSQL loses a lease, the delivery is simply due again. */
const fromClaimed = raw(`
    from (select set_config('synchronous_commit', 'off', true)) async_commit
    left join claimed c on true
    left join events e on e.merchant_id = c.merchant_id and e.record_id = c.record_id and e.sequence = c.sequence`)

const leasesParam = rowsParam<Lease>({
  merchantId: 'uuid',
  recordId: 'uuid',
  id: 'uuid',
  leasedUntil: 'timestamptz',
})

/** Releases leases that were not tried. Rows are locked first, in the order in which the outbox locks them. */
export async function releaseLeases(db: Db, { leases, now }: { leases: Lease[]; now: Date }): Promise<void> {
  await db.query(
    sql`
    with locked as (
      select d.merchant_id, d.record_id, d.id, d.leased_until = input."leasedUntil" as is_ours
      from ${leasesParam(leases)}
      join webhook_deliveries d
        on d.merchant_id = input."merchantId" and d.record_id = input."recordId" and d.id = input.id
      order by d.merchant_id, d.record_id, d.sequence
      for no key update of d
    )
    update webhook_deliveries d
    set leased_until = null, next_attempt_at = ${now}
    from locked
    where d.merchant_id = locked.merchant_id and d.record_id = locked.record_id and d.id = locked.id and locked.is_ours`,
    'release-leases',
  )
}

/**
 * Applies the present state of their endpoints to leased deliveries that were not tried: those of an endpoint that
 * receives no more events are canceled, and the others go to its present address. Then call {@link promoteWaiting} for
 * their records.
 */
export async function followEndpoints(tx: Tx, { leases, now }: { leases: Lease[]; now: Date }): Promise<void> {
  await tx.query(
    sql`
    with locked as (
      select d.merchant_id, d.record_id, d.id, d.endpoint_id, d.leased_until = input."leasedUntil" as is_ours
      from ${leasesParam(leases)}
      join webhook_deliveries d
        on d.merchant_id = input."merchantId" and d.record_id = input."recordId" and d.id = input.id
      order by d.merchant_id, d.record_id, d.sequence
      for no key update of d
    )
    update webhook_deliveries d
    set
      state = case when ${isActive} then 'pending' else 'canceled' end,
      url = endpoint.url,
      receiver = endpoint.receiver,
      leased_until = null,
      next_attempt_at = ${now},
      finished_at = case when ${isActive} then null else ${now}::timestamptz end
    from locked
    join webhook_endpoints endpoint on endpoint.merchant_id = locked.merchant_id and endpoint.id = locked.endpoint_id
    where d.merchant_id = locked.merchant_id and d.record_id = locked.record_id and d.id = locked.id and locked.is_ours`,
    'follow-endpoints',
  )
}

export type AttemptResult = Lease & {
  attemptsBefore: number
  startedAt: Date
  finishedAt: Date
  durationMs: number
  status: number | null
  error: string | null
  response: string | null
  state: 'pending' | 'delivered' | 'exhausted' | 'gone'
  nextAttemptAt: Date
  retryAfter: Date | null
}

const resultsParam = smallRowsParam<AttemptResult>({
  merchantId: 'uuid',
  recordId: 'uuid',
  id: 'uuid',
  leasedUntil: 'timestamptz',
  attemptsBefore: 'integer',
  startedAt: 'timestamptz',
  finishedAt: 'timestamptz',
  durationMs: 'integer',
  status: 'integer',
  error: 'text',
  response: 'text',
  state: 'text',
  nextAttemptAt: 'timestamptz',
  retryAfter: 'timestamptz',
})

/**
 * Records attempts, under locks that are taken in the order in which the outbox takes them. A result changes nothing if
 * the delivery was leased again or released meanwhile. If a newer event of the record or a resend restarted the
 * schedule while the attempt was in flight, a failure means: try again at once, or when `Retry-After` allows it. That
 * is read from the locked row, which is current even if the statement waited for the lock. The commit does not wait for
 * the disk: an attempt that a crash of PostgreSQL loses is repeated, with an id that the receiver already knows.
 * The join names the record as well as the event: while the table is empty both indexes look equally good to the
 * planner, and the one on the merchant would return all of the merchant's rows.
 */
export async function insertAttempts(tx: Tx, results: AttemptResult[]): Promise<void> {
  await tx.query(
    sql`
    with locked as (
      select
        input.*, d.leased_until = input."leasedUntil" as is_ours,
        d.attempts_before <> input."attemptsBefore" and input.state in ('pending', 'exhausted') as is_resent
      from ${resultsParam(results)}
      join webhook_deliveries d
        on d.merchant_id = input."merchantId" and d.record_id = input."recordId" and d.id = input.id
      order by d.merchant_id, d.record_id, d.sequence
      for no key update of d
    ), attempted as (
      update webhook_deliveries d
      set
        attempts = d.attempts + 1,
        leased_until = null,
        retry_after = r."retryAfter",
        last_status = r.status,
        last_error = r.error,
        state = case when r.is_resent then 'pending' else r.state end,
        next_attempt_at = case
          when r.is_resent then greatest(r."finishedAt", r."retryAfter")
          when d.advance_left is not null then greatest(r."finishedAt", r."nextAttemptAt" - d.advance_left)
          else r."nextAttemptAt"
        end,
        advance_left = case when r.state = 'pending' and d.advance_left > r."nextAttemptAt" - r."finishedAt"
          then d.advance_left - (r."nextAttemptAt" - r."finishedAt") end,
        finished_at = case when not r.is_resent and r.state <> 'pending' then r."finishedAt" end
      from locked r
      where d.merchant_id = r."merchantId" and d.record_id = r."recordId" and d.id = r.id and r.is_ours
      returning d.merchant_id, d.id, d.attempts, r."startedAt", r."durationMs", r.status, r.error, r.response
    )
    insert into webhook_attempts (merchant_id, delivery_id, number, started_at, duration_ms, status, error, response)
    select merchant_id, id, attempts, "startedAt", "durationMs", status, error, response
    from (select set_config('synchronous_commit', 'off', true)) async_commit, attempted`,
    'insert-attempts',
  )
}

type RecordKey = { merchantId: string; recordId: string }

const recordsParam = rowsParam<RecordKey>({ merchantId: 'uuid', recordId: 'uuid' })

/**
 * Makes the next delivery of each record to each address due. This is a separate statement after the lock, because only
 * a new statement sees an event that was enqueued while we waited for the lock. If any becomes due, the commit waits
 * for the disk as usual: once the next event has been sent, the one before it must not be sent again. Says whether any
 * did.
 */
export async function promoteWaiting(tx: Tx, { records, now }: { records: RecordKey[]; now: Date }): Promise<boolean> {
  if (records.length === 0) return false
  const promoted = await tx.query(
    sql`
    update webhook_deliveries d
    set state = 'pending', next_attempt_at = ${now}
    from (
      select distinct on (u.merchant_id, u.record_id, u.endpoint_id) u.merchant_id, u.record_id, u.id, u.state
      from webhook_deliveries u
      join ${recordsParam(records)} on u.merchant_id = input."merchantId" and u.record_id = input."recordId"
      where u.state in ('waiting', 'pending')
      order by u.merchant_id, u.record_id, u.endpoint_id, u.sequence
    ) first
    where first.state = 'waiting' and d.merchant_id = first.merchant_id and d.record_id = first.record_id and d.id = first.id
    returning set_config('synchronous_commit', null, true)`,
    'promote-waiting',
  )
  return promoted.length > 0
}

/** Releases what the workers of dead instances leased. A row that is locked is being finished. */
export async function releaseLeasesOf(tx: Tx, { instances, now }: { instances: number[]; now: Date }): Promise<void> {
  await tx.query(sql`
    update webhook_deliveries set leased_until = null, next_attempt_at = ${now}
    where ctid = any (array(
      select ctid from webhook_deliveries
      where state = 'pending' and leased_until > ${now} and leased_by = any (${instances}::integer[])
      for no key update skip locked))`)
}

export async function findBacklog(db: Db, now: Date): Promise<{ due: number; oldest: Date | null }> {
  const [row] = await db.query<{ due: number; oldest: Date | null }>(sql`
    select count(*) as due, min(next_attempt_at) as oldest
    from webhook_deliveries where state = 'pending' and next_attempt_at <= ${now}`)
  return row ?? { due: 0, oldest: null }
}

/** Since when the deliveries of `failing`, a merchant and a receiver, have failed. */
export const firstFailure = sql`
  select min(a.started_at) as since from (
    -- Those that have failed longest have the longest pauses.
    select merchant_id, id, attempts_before from webhook_deliveries d
    where d.receiver = failing.receiver and d.state = 'pending' and d.merchant_id = failing.merchant_id
      and d.attempts > d.attempts_before
    order by d.next_attempt_at desc limit 100
  ) oldest
  join webhook_attempts a on a.merchant_id = oldest.merchant_id and a.delivery_id = oldest.id and a.number = oldest.attempts_before + 1`

export type FailingReceiver = { client: string; receiver: string; since: Date }

/**
 * The receivers of merchants that have failed longest: every delivery that is tried again has failed since then, or the
 * last was given up, and none of the merchant's latest events arrived there. One event that a receiver refuses forever
 * does not count.
 */
export async function listFailingReceivers(
  db: Db,
  { givenUpAfter, limit }: { givenUpAfter: Date; limit: number },
): Promise<FailingReceiver[]> {
  return await db.query<FailingReceiver>(sql`
    with failing as (
      select merchant_id, receiver from webhook_deliveries where state = 'pending' and attempts > attempts_before
      group by merchant_id, receiver
    ), failed as (
      select failing.*, since from failing cross join lateral (${firstFailure}) first
      union all
      select merchant_id, receiver, max(given_up.created_at) from clients cross join lateral (
        select receiver, created_at from webhook_deliveries d
        where d.merchant_id = clients.merchant_id and d.state = 'exhausted' and d.created_at > ${givenUpAfter}
          and (d.endpoint_id is null or exists (
            select from webhook_endpoints where merchant_id = d.merchant_id and id = d.endpoint_id and ${isActive}))
        order by d.created_at desc, d.id desc limit 100
      ) given_up group by merchant_id, receiver
    )
    select client_id as client, receiver, min(since) as since
    from failed failing join clients using (merchant_id)
    where since is not null and not exists (
      select from (
        select record_id, sequence from events
        where merchant_id = failing.merchant_id order by occurred_at desc, id desc limit 200
      ) newest
      join webhook_deliveries d
        on d.merchant_id = failing.merchant_id and d.record_id = newest.record_id and d.sequence = newest.sequence
      where d.receiver = failing.receiver and d.state = 'delivered' and d.finished_at >= since
    )
    group by client_id, receiver order by since, client, receiver limit ${limit}`)
}
