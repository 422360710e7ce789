import { rowsParam } from '../db/rows-param.ts'
import { type Db, type Sql, sql, type Tx } from '../db/sql.ts'
import type { Window } from '../lib/brasilia.ts'
import type { Subject } from './classes.ts'
import type { Pair } from './compare.ts'

/** One entry of an acquirer's list, as a row of a comparison. */
export type Listed = {
  subject: Subject
  key: string
  /** The transaction or withdrawal that it names. */
  namedId: string | null
  /** For a return, the time of its payment; null for others. */
  paidAt: Date | null
  amount: number
  med: number
  at: Date
  state: 'processing' | 'done' | 'refused'
  fee: number | null
  /** How much of it, and how many payments, returns or payouts, moved in the window itself: see {@link sumListed}. */
  windowAmount: number
  windowCount: number
}

/** A run, and the acquirer whose lists it compares. */
type RunKey = { runId: string; acquirer: string }

/**
 * The transaction that a row names, looked up row by row: with a join, the statistics of a run’s rows would make the
 * planner read the whole table of transactions again for each 500 rows.
 */
function transactionById(id: Sql): Sql {
  return sql`(select * from transactions where id = ${id} limit 1)`
}

/** For rows that the ledger does not have by their key: the transactions that they name, if this payment paid them. */
function paidTransactionsNamed(runId: string, subject: Subject): Sql {
  return sql`(
      select pair.key, named.*
      from reconciliation_pairs pair cross join lateral ${transactionById(sql`pair.named_id`)} named
      where pair.run_id = ${runId} and pair.subject = ${subject} and pair.record_id is null
        and named.end_to_end = pair.key and named.attribution_reversed_at is null
    )`
}

const listedParam = rowsParam<Listed>({
  subject: 'text',
  key: 'text',
  namedId: 'uuid',
  paidAt: 'timestamptz',
  amount: 'bigint',
  med: 'bigint',
  at: 'timestamptz',
  state: 'text',
  fee: 'bigint',
  windowAmount: 'bigint',
  windowCount: 'integer',
})

/** Stores listed entries. A later one of the same key replaces it. A key must not occur twice in one call. */
export async function insertListed(db: Db, runId: string, listed: Listed[]): Promise<void> {
  await db.query(sql`
    insert into reconciliation_pairs (
      run_id, subject, key, named_id, paid_at, acquirer_amount, acquirer_med, acquirer_at, acquirer_state, acquirer_fee, window_amount,
      window_count)
    select ${runId}::uuid, subject, key, "namedId", "paidAt", amount, med, at, state, fee, "windowAmount", "windowCount"
    from ${listedParam(listed)}
    on conflict (run_id, subject, key) do update set acquirer_amount = excluded.acquirer_amount, acquirer_med = excluded.acquirer_med,
      acquirer_at = excluded.acquirer_at, acquirer_state = excluded.acquirer_state, acquirer_fee = excluded.acquirer_fee,
      window_amount = excluded.window_amount, window_count = excluded.window_count`)
}

type Mark = { runId: string; mark: string }

/**
 * Marks the start of a run. The table is unlogged: a crash or failover of PostgreSQL empties it, and later statements
 * do not fail. Only the missing mark shows it.
 */
export async function insertMark(db: Db, { runId, mark }: Mark): Promise<void> {
  await db.query(sql`insert into reconciliation_pairs (run_id, subject, key) values (${runId}, 'mark', ${mark})`)
}

/** @throws {Error} if rows of the run were lost or deleted since its mark was inserted */
export async function requireMark(db: Db | Tx, { runId, mark }: Mark): Promise<void> {
  const rows = await db.query(sql`
    select from reconciliation_pairs where run_id = ${runId} and subject = 'mark' and key = ${mark}`)
  if (rows.length === 0)
    throw new Error('the database lost the rows of this comparison, as in a crash, or another process began it again')
}

/**
 * Deletes the rows of a run, unless another process has begun it again since `startedAt`; and those that earlier runs
 * left behind: runs that began before `before`.
 */
export async function deletePairs(db: Db, run: { runId: string; before: Date; startedAt?: Date }): Promise<void> {
  const { runId, before, startedAt = null } = run
  await db.query(sql`
    delete from reconciliation_pairs
    where run_id in (select id from reconciliation_runs where started_at < ${before}) or (run_id = ${runId} and not exists (
      select from reconciliation_runs where id = ${runId} and started_at <> ${startedAt}::timestamptz))`)
}

/** Adds the ledger's payments of a window to the listed ones. */
export async function addPaidPayments(db: Db, { runId, acquirer, from, to }: RunKey & Window): Promise<void> {
  await db.query(sql`
    insert into reconciliation_pairs (run_id, subject, key, merchant_id, record_id, ledger_amount, ledger_at, posted_at, ledger_state)
    select distinct on (end_to_end) ${runId}::uuid, 'payment', end_to_end, merchant_id, id, amount_paid, payment_date,
      status_dates[array_position(statuses, 'PAID')], status
    from transactions
    where payment_date >= ${from} and payment_date < ${to} and acquirer = ${acquirer} and attribution_reversed_at is null
    on conflict (run_id, subject, key) do update set merchant_id = excluded.merchant_id, record_id = excluded.record_id,
      ledger_amount = excluded.ledger_amount, ledger_at = excluded.ledger_at, posted_at = excluded.posted_at, ledger_state = excluded.ledger_state`)
}

/**
 * Adds the payments of transactions that listed entries name, whenever paid; and marks second payments of one
 * transaction.
 */
export async function addNamedPayments(db: Db, { runId }: Pick<RunKey, 'runId'>): Promise<void> {
  await db.query(sql`
    update reconciliation_pairs pair set merchant_id = t.merchant_id, record_id = t.id, ledger_amount = t.amount_paid,
      ledger_at = t.payment_date, posted_at = t.status_dates[array_position(t.statuses, 'PAID')], ledger_state = t.status
    from ${paidTransactionsNamed(runId, 'payment')} t
    where pair.run_id = ${runId} and pair.subject = 'payment' and pair.key = t.key`)
  await db.query(sql`
    update reconciliation_pairs pair set is_later = true
    from (
      select key, row_number() over (partition by named_id order by acquirer_at, key) as place from reconciliation_pairs
      where run_id = ${runId} and subject = 'payment' and named_id is not null and record_id is null
    ) listed
    where pair.run_id = ${runId} and pair.subject = 'payment' and pair.key = listed.key and place > 1`)
}

/**
 * Adds the ledger's returns to the listed ones: for each payment that either side has a return of in the window, the
 * sum of all its returns. The refund of a reversed attribution is left out: it went to no payer.
 */
export async function addPostedReturns(db: Db, { runId, acquirer, from, to }: RunKey & Window): Promise<void> {
  await db.query(sql`
    insert into reconciliation_pairs (run_id, subject, key, merchant_id, record_id, ledger_at)
    select ${runId}::uuid, 'return', t.end_to_end, t.merchant_id, t.id, max(moved.finished_at)
    from (
      select merchant_id, transaction_id, finished_at from refunds
      where finished_at >= ${from} and finished_at < ${to} and status = 'REFUNDED' and suspense_payment_id is null
      union all
      select merchant_id, transaction_id, posted_at from transaction_returns
      where posted_at >= ${from} and posted_at < ${to} and dispute_id is not null
    ) moved
    join transactions t on t.id = moved.transaction_id and t.merchant_id = moved.merchant_id
    where t.acquirer = ${acquirer} and t.end_to_end is not null and t.attribution_reversed_at is null
    group by t.end_to_end, t.merchant_id, t.id
    on conflict (run_id, subject, key) do update set merchant_id = excluded.merchant_id, record_id = excluded.record_id,
      ledger_at = excluded.ledger_at`)
  await db.query(sql`
    update reconciliation_pairs pair set merchant_id = t.merchant_id, record_id = t.id
    from transactions t
    where pair.run_id = ${runId} and pair.subject = 'return' and pair.record_id is null
      and t.payment_date = pair.paid_at and t.end_to_end = pair.key and t.acquirer = ${acquirer} and t.attribution_reversed_at is null`)
  await db.query(sql`
    update reconciliation_pairs pair set merchant_id = t.merchant_id, record_id = t.id
    from ${paidTransactionsNamed(runId, 'return')} t
    where pair.run_id = ${runId} and pair.subject = 'return' and pair.key = t.key`)
  await db.query(sql`
    update reconciliation_pairs pair set ledger_state = t.status, ledger_at = coalesce(ledger_at, t.payment_date),
      ledger_amount = refunded + infracted, ledger_med = infracted, ledger_processing = processing
    from transactions t
    cross join lateral (
      select coalesce(sum(amount) filter (where status = 'REFUNDED'), 0) as refunded,
        coalesce(sum(amount) filter (where status = 'PROCESSING'), 0) as processing
      from refunds
      where merchant_id = t.merchant_id and transaction_id = t.id and suspense_payment_id is null
    ) ours
    cross join lateral (
      select coalesce(sum(returned_amount), 0) as infracted
      from disputes where merchant_id = t.merchant_id and transaction_id = t.id
    ) med
    where pair.run_id = ${runId} and pair.subject = 'return' and t.id = pair.record_id and t.merchant_id = pair.merchant_id`)
}

/**
 * Adds our withdrawals to the listed payouts: those created or carried out in the window, and others that an entry
 * names. If the acquirer has no list, each of them is queried, except those for which it gave no reference: a person
 * has entered their outcome. A rolling run, which comes every few minutes, also leaves out those that a query has found
 * already: the PSP limits queries, and the open ones need them.
 */
export async function addWithdrawals(
  db: Db,
  { runId, acquirer, from, to, hasList, isRolling }: RunKey & Window & { hasList: boolean; isRolling: boolean },
): Promise<void> {
  await db.query(sql`
    insert into reconciliation_pairs (run_id, subject, key, named_id, merchant_id, record_id, ledger_amount, ledger_at, posted_at, ledger_state)
    select ${runId}::uuid, 'payout', replace(id::text, '-', ''), id, merchant_id, id, amount, coalesce(processed_date, created_at),
      coalesce(processed_date, created_at), status
    from withdrawals
    where acquirer = ${acquirer} and (${hasList} or (acquirer_reference is not null and not ${isRolling}) or status not in ('PROCESSED', 'REFUNDED')) and (
      (processed_date >= ${from} and processed_date < ${to})
      or (created_at >= ${from} and created_at < ${to} and status in ('PROCESSING', 'PROCESSED', 'REFUNDED', 'FAILED')))
    on conflict (run_id, subject, key) do update set merchant_id = excluded.merchant_id, record_id = excluded.record_id,
      ledger_amount = excluded.ledger_amount, ledger_at = excluded.ledger_at, posted_at = excluded.posted_at, ledger_state = excluded.ledger_state`)
  await db.query(sql`
    update reconciliation_pairs pair set merchant_id = w.merchant_id, record_id = w.id, ledger_amount = w.amount,
      ledger_at = coalesce(w.processed_date, w.created_at), posted_at = coalesce(w.processed_date, w.created_at), ledger_state = w.status
    from withdrawals w
    where pair.run_id = ${runId} and pair.subject = 'payout' and pair.record_id is null and w.id = pair.named_id`)
}

/** The maximum time between an operator's entry and its payout in the acquirer's list, in either order. */
const entryMatchMs = 3 * 24 * 60 * 60_000

/**
 * Stores with each fee draw or move out that has no reference the reference of a listed payout of the same amount. Only
 * payouts of no withdrawal count, and both sides are paired in the order of time.
 */
export async function nameEntries(db: Db, { runId, acquirer }: RunKey): Promise<void> {
  await db.query(sql`
    with listed as (
      select key, acquirer_amount, acquirer_at
      from reconciliation_pairs
      where run_id = ${runId} and subject = 'payout' and record_id is null and named_id is null and acquirer_state = 'done'
        and not exists (select from operator_entries where acquirer = ${acquirer} and reference = key)
        and not exists (
          select from differences d
          where d.acquirer = ${acquirer} and d.subject = 'payout' and d.reference = key and d.state = 'confirmed')
    ), near as (
      select listed.*, entry.id, entry.created_at
      from listed join operator_entries entry on entry.amount = acquirer_amount
      where entry.acquirer = ${acquirer} and entry.type in ('fee_draw', 'move_out') and entry.reference is null
        and abs(extract(epoch from acquirer_at - entry.created_at)) * 1000 <= ${entryMatchMs}
    ), placed as (
      select key, id, dense_rank() over (partition by acquirer_amount order by acquirer_at, key) as listed_place,
        dense_rank() over (partition by acquirer_amount order by created_at, id) as entry_place
      from near
    )
    update operator_entries entry set reference = placed.key
    from placed where entry.id = placed.id and listed_place = entry_place`)
}

/** Adds the operator's own entries to the listed payouts that are in no withdrawal, by their references. */
export async function addEntries(db: Db, { runId, acquirer }: RunKey): Promise<void> {
  await db.query(sql`
    update reconciliation_pairs pair set merchant_id = e.merchant_id, record_id = e.id, ledger_amount = e.amount, ledger_at = e.created_at,
      posted_at = e.created_at, ledger_state = 'PROCESSED'
    from operator_entries e
    where pair.run_id = ${runId} and pair.subject = 'payout' and pair.record_id is null and pair.acquirer_state = 'done'
      and e.acquirer = ${acquirer} and e.reference = pair.key and e.type not in ('pay_in', 'move_in')`)
}

/**
 * Deletes what is in the acquirer's lists only, and moved before Guichê first read them: an account that was in use
 * already has payments and payouts that are not ours.
 */
export async function deleteForeign(db: Db, { runId, acquirer, before }: RunKey & { before: Date }): Promise<void> {
  await db.query(sql`
    delete from reconciliation_pairs pair
    where run_id = ${runId} and record_id is null and coalesce(paid_at, acquirer_at) < ${before}
      and not exists ${transactionById(sql`pair.named_id`)}
      and not exists (select from suspense_payments where acquirer = ${acquirer} and end_to_end = pair.key)`)
}

/** Our payouts that the list does not have. */
export async function listUnlistedPayouts(
  db: Db,
  { runId, after, limit }: { runId: string; after: string; limit: number },
): Promise<{ key: string; amount: number; at: Date }[]> {
  return await db.query(sql`
    select key, ledger_amount as amount, ledger_at as at from reconciliation_pairs
    where run_id = ${runId} and subject = 'payout' and acquirer_at is null and key > ${after} order by key limit ${limit}`)
}

/** Without statistics the planner expects one row of a new run, and uses no index: 37 s for the next statement, not 0.1. */
export async function analyzePairs(db: Db): Promise<void> {
  await db.query(sql`analyze reconciliation_pairs`)
}

type PairRow = {
  subject: Subject
  key: string
  acquirer_amount: number | null
  acquirer_med: number
  acquirer_at: Date | null
  acquirer_state: 'processing' | 'done' | 'refused'
  acquirer_fee: number | null
  is_later: boolean
  merchant_id: string | null
  record_id: string | null
  ledger_amount: number
  ledger_med: number | null
  ledger_processing: number | null
  ledger_at: Date
  posted_at: Date | null
  ledger_state: string
  owner_merchant_id: string | null
  owner_id: string | null
  owner_is_paid: boolean
  suspense_merchant_id: string | null
  suspense_id: string | null
  suspense_amount: number
  suspense_at: Date
  suspense_status: string
  suspense_returned: number
  corrected_amount: number
  corrected_fee: number
}

/**
 * The next pairs of a run in the order of their keys, with the owner, the suspense payment and the corrections of each.
 */
export async function listPairs(
  db: Db,
  { runId, acquirer, subject, after, limit }: RunKey & { subject: Subject; after: string; limit: number },
): Promise<Pair[]> {
  const rows = await db.query<PairRow>(sql`
    select pair.*, owner.merchant_id as owner_merchant_id, owner.id as owner_id, owner.end_to_end is not null as owner_is_paid,
      held.merchant_id as suspense_merchant_id, held.id as suspense_id, held.amount as suspense_amount, held.status_dates[1] as suspense_at,
      held.status as suspense_status,
      coalesce(held.taken_amount, 0) + case when held.status = 'returned' then coalesce(held.return_amount, 0) else 0 end as suspense_returned,
      corrected.amount as corrected_amount, corrected.fee as corrected_fee
    from (
      select * from reconciliation_pairs
      where run_id = ${runId} and subject = ${subject} and key > ${after} order by key limit ${limit}
    ) pair
    left join lateral ${transactionById(sql`pair.named_id`)} owner
      on pair.record_id is null and pair.subject = 'payment'
      -- Our txid counts only at the acquirers that may have the charge.
      and (owner.acquirer = ${acquirer} or ${acquirer} = any (owner.other_acquirers))
    left join lateral (
      select * from suspense_payments where acquirer = ${acquirer} and end_to_end = pair.key limit 1
    ) held on pair.record_id is null and pair.subject <> 'payout'
    cross join lateral (
      select coalesce(sum((proposal ->> 'cents')::bigint) filter (where class <> 'fee'), 0) as amount,
        coalesce(sum((proposal ->> 'cents')::bigint) filter (where class = 'fee'), 0) as fee
      from differences
      where acquirer = ${acquirer} and differences.subject = pair.subject and reference = pair.key and state = 'confirmed'
        and proposal ->> 'action' = 'correct'
    ) corrected
    order by pair.key`)
  return rows.map(toPair)
}

function toPair(row: PairRow): Pair {
  return {
    subject: row.subject,
    key: row.key,
    atAcquirer:
      row.acquirer_at === null || row.acquirer_amount === null
        ? null
        : {
            amount: row.acquirer_amount,
            med: row.acquirer_med,
            at: row.acquirer_at,
            state: row.acquirer_state,
            fee: row.acquirer_fee,
          },
    inLedger: toLedgerRecord(row),
    owner:
      row.owner_id === null || row.owner_merchant_id === null
        ? null
        : { merchantId: row.owner_merchant_id, id: row.owner_id, isPaid: row.owner_is_paid },
    isLater: row.is_later,
    corrected: { amount: row.corrected_amount, fee: row.corrected_fee },
  }
}

function toLedgerRecord(row: PairRow): Pair['inLedger'] {
  if (row.record_id !== null && row.merchant_id !== null)
    return {
      merchantId: row.merchant_id,
      recordId: row.record_id,
      amount: row.ledger_amount,
      med: row.ledger_med ?? 0,
      processing: row.ledger_processing ?? 0,
      at: row.ledger_at,
      postedAt: row.posted_at ?? row.ledger_at,
      state: row.ledger_state,
      isInSuspense: false,
    }
  if (row.suspense_id === null || row.suspense_merchant_id === null) return null
  const isReturn = row.subject === 'return'
  return {
    merchantId: row.suspense_merchant_id,
    recordId: row.suspense_id,
    amount: isReturn ? row.suspense_returned : row.suspense_amount,
    med: 0,
    processing: 0,
    at: row.suspense_at,
    postedAt: row.suspense_at,
    state: row.suspense_status,
    isInSuspense: true,
  }
}

/** The acquirer's totals of a run's window. */
export type Listing = { subject: Subject; count: number; sum: number; fees: number | null }

/** A return's row has the sum of all returns of its payment, of which only those of the window count here. */
export async function sumListed(db: Db, { runId }: { runId: string }): Promise<Listing[]> {
  return await db.query<Listing>(sql`
    select subject, sum(window_count) as count, sum(window_amount) as sum, sum(acquirer_fee) as fees
    from reconciliation_pairs where run_id = ${runId} and window_count > 0 group by subject`)
}
