import { rowsParam } from '../db/rows-param.ts'
import { type Db, sql, type Tx } from '../db/sql.ts'
import type { Window } from '../lib/brasilia.ts'
import type { DiscrepancyClass, Found, Proposal, Side, Subject } from './classes.ts'

export type RunKind = 'rolling' | 'daily' | 'manual'

export type NewRun = { id: string; acquirer: string; kind: RunKind; window: Window; startedAt: Date }

/** A requested run that was interrupted begins again under the same id. */
export async function insertRun(db: Db | Tx, { id, acquirer, kind, window, startedAt }: NewRun): Promise<void> {
  await db.query(sql`
    insert into reconciliation_runs (id, acquirer, kind, starts_at, ends_at, started_at, state)
    values (${id}, ${acquirer}, ${kind}, ${window.from}, ${window.to}, ${startedAt}, 'running')
    on conflict (id) do update set started_at = excluded.started_at, state = excluded.state, finished_at = null, error = null,
      counts = null, totals = null`)
}

/** Does nothing if another process has taken over the job of the run, and begun it again. */
export async function finishRun(
  db: Db | Tx,
  end: {
    id: string
    startedAt: Date
    state: 'complete' | 'interrupted'
    error: string | null
    counts: object | null
    totals: object | null
    at: Date
  },
): Promise<void> {
  await db.query(sql`
    update reconciliation_runs set state = ${end.state}, error = ${end.error}, counts = ${JSON.stringify(end.counts)},
      totals = ${JSON.stringify(end.totals)}, finished_at = ${end.at}
    where id = ${end.id} and started_at = ${end.startedAt}`)
}

/** The latest moment up to which a complete rolling run has compared this acquirer. */
export async function findComparedUntil(db: Db, acquirer: string): Promise<Date | null> {
  const rows = await db.query<{ ends_at: Date }>(sql`
    select ends_at from reconciliation_runs
    where acquirer = ${acquirer} and kind = 'rolling' and state = 'complete' order by ends_at desc limit 1`)
  return rows[0]?.ends_at ?? null
}

/**
 * The time of the oldest open discrepancy since `reach`, for payments and returns: the next run lists from there. A
 * return is listed with its payment.
 */
export async function findOpenSince(db: Db, acquirer: string, reach: Date): Promise<Date | null> {
  const rows = await db.query<{ since: Date | null }>(sql`
    select min(since) as since
    from (
      select least(at, (in_ledger ->> 'at')::timestamptz) as since from differences
      where acquirer = ${acquirer} and state = 'open' and not is_timing and subject in ('payment', 'return')
    ) listed
    where since >= ${reach}`)
  return rows[0]?.since ?? null
}

export const discrepancyStates = ['open', 'confirmed', 'dismissed', 'resolved'] as const

export type DiscrepancyState = (typeof discrepancyStates)[number]

export type DiscrepancyRow = {
  id: string
  acquirer: string
  class: DiscrepancyClass
  subject: Subject
  reference: string
  sequence: number
  merchant_id: string | null
  record_id: string | null
  at: Date
  is_timing: boolean
  at_acquirer: Side | null
  in_ledger: Side | null
  proposal: Proposal
  state: DiscrepancyState
  run_id: string
  found_at: Date
  decided_at: Date | null
  decided_by: string | null
  reason: string | null
}

const columns = sql`
  id, acquirer, class, subject, reference, sequence, merchant_id, record_id, at, is_timing, at_acquirer, in_ledger, proposal, state, run_id,
  found_at, decided_at, decided_by, reason`

/** Only one transaction at a time writes an acquirer's discrepancies. */
export async function lockDiscrepancies(tx: Tx, acquirer: string): Promise<void> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended(${`reconciliation ${acquirer}`}, 0))`)
}

const namesParam = rowsParam<Pick<Found, 'class' | 'subject' | 'reference'>>({
  class: 'text',
  subject: 'text',
  reference: 'text',
})

/** The latest stored discrepancy for each of these. */
export async function findLatest(tx: Tx, acquirer: string, found: Found[]): Promise<DiscrepancyRow[]> {
  return await tx.query<DiscrepancyRow>(sql`
    select distinct on (class, subject, reference) ${columns} from differences
    where acquirer = ${acquirer} and (class, subject, reference) in (
      select input.class, input.subject, input.reference from ${namesParam(found)})
    order by class, subject, reference, sequence desc`)
}

export type ToSave = Omit<DiscrepancyRow, 'decided_at' | 'decided_by' | 'reason'>

const discrepanciesParam = rowsParam<ToSave>({
  id: 'uuid',
  acquirer: 'text',
  class: 'text',
  subject: 'text',
  reference: 'text',
  sequence: 'integer',
  merchant_id: 'uuid',
  record_id: 'uuid',
  at: 'timestamptz',
  is_timing: 'boolean',
  at_acquirer: 'json',
  in_ledger: 'json',
  proposal: 'json',
  state: 'text',
  run_id: 'uuid',
  found_at: 'timestamptz',
})

/** Inserts new discrepancies and updates existing ones. */
export async function saveDiscrepancies(tx: Tx, rows: ToSave[]): Promise<void> {
  await tx.query(sql`
    insert into differences (
      id, acquirer, class, subject, reference, sequence, merchant_id, record_id, at, is_timing, at_acquirer, in_ledger, proposal, state, run_id,
      found_at)
    select id, acquirer, class, subject, reference, sequence, merchant_id, record_id, at, is_timing, nullif(at_acquirer::text, 'null')::jsonb,
      nullif(in_ledger::text, 'null')::jsonb, proposal::jsonb, state, run_id, found_at
    from ${discrepanciesParam(rows)}
    on conflict (acquirer, subject, class, reference, sequence) do update set merchant_id = excluded.merchant_id,
      record_id = excluded.record_id, at = excluded.at, is_timing = excluded.is_timing,
      at_acquirer = case when excluded.state = 'open' then excluded.at_acquirer else excluded.at_acquirer - 'raw' end,
      in_ledger = excluded.in_ledger,
      proposal = excluded.proposal, state = excluded.state, run_id = excluded.run_id,
      -- What is open again has no decision any more.
      decided_at = case when excluded.state <> 'open' then differences.decided_at end,
      decided_by = case when excluded.state <> 'open' then differences.decided_by end,
      reason = case when excluded.state <> 'open' then differences.reason end`)
}

/** A period of one subject that a complete run has read in full. */
export type Seen = Window & { subject: Subject }

const seenParam = rowsParam<Seen>({ subject: 'text', from: 'timestamptz', to: 'timestamptz' })

/**
 * Resolves what a complete run did not find again, unless another run has found it meanwhile. `foundIds`: what it did
 * find; the `run_id` of these may be that of another run, which has found them since. `unread`: what this run could not
 * read may still differ.
 */
export async function resolveUnseen(
  tx: Tx,
  {
    acquirer,
    startedAt,
    seen,
    foundIds,
    unread,
    now,
  }: {
    acquirer: string
    startedAt: Date
    seen: Seen[]
    foundIds: string[]
    unread: string[]
    now: Date
  },
): Promise<number> {
  const rows = await tx.query(sql`
    update differences set state = 'resolved', decided_at = ${now}, at_acquirer = at_acquirer - 'raw'
    from ${seenParam(seen)}
    where differences.acquirer = ${acquirer} and differences.state = 'open' and not is_timing
      and differences.id <> all(${foundIds}::uuid[])
      and differences.subject = input.subject and reference <> all(${unread}) and at >= input."from" and at < input."to"
      and not exists (
        select from reconciliation_runs other
        -- A run that has not ended after a day was interrupted.
        where other.id = run_id and (other.finished_at > ${startedAt}
          or (other.finished_at is null and other.started_at > ${startedAt}::timestamptz - interval '1 day')))
    returning id`)
  return rows.length
}

/**
 * Resolves records that could not be read before, and that this run has compared. A rolling run compares some subjects
 * only in part, so {@link resolveUnseen} leaves these out.
 */
export async function resolveRead(
  tx: Tx,
  { acquirer, runId, unread, now }: { acquirer: string; runId: string; unread: string[]; now: Date },
): Promise<number> {
  const rows = await tx.query(sql`
    update differences set state = 'resolved', decided_at = ${now}, at_acquirer = at_acquirer - 'raw'
    where acquirer = ${acquirer} and state = 'open' and class = 'unreadable' and run_id <> ${runId}
      and reference <> all(${unread}) and exists (
        select from reconciliation_pairs pair
        where pair.run_id = ${runId} and pair.subject = differences.subject and pair.key = reference)
    returning id`)
  return rows.length
}

/** At the close of a later day, resolves what is on both sides, but on different days: only a close finds it. */
export async function resolveTimed(
  tx: Tx,
  { acquirer, before, now }: { acquirer: string; before: Date; now: Date },
): Promise<number> {
  const rows = await tx.query(sql`
    update differences set state = 'resolved', decided_at = ${now}
    where acquirer = ${acquirer} and state = 'open' and is_timing and least(at, (in_ledger ->> 'postedAt')::timestamptz) < ${before}
    returning id`)
  return rows.length
}

/**
 * Resolves payments that the service has posted or placed in suspense meanwhile, however old: a rolling run does not
 * read that far back.
 */
export async function resolvePosted(tx: Tx, { acquirer, now }: { acquirer: string; now: Date }): Promise<number> {
  const rows = await tx.query(sql`
    update differences set state = 'resolved', decided_at = ${now}
    where acquirer = ${acquirer} and state = 'open' and subject = 'payment' and not is_timing
      and class in ('late', 'missing_in_ledger', 'duplicate', 'unattributed') and (
        exists (
          select from transactions
          where id = differences.record_id and merchant_id = differences.merchant_id and end_to_end = reference)
        or exists (
          select from suspense_payments where suspense_payments.acquirer = differences.acquirer and end_to_end = reference))
    returning differences.id`)
  return rows.length
}

export async function findDiscrepancy(db: Db | Tx, id: string): Promise<DiscrepancyRow | null> {
  const rows = await db.query<DiscrepancyRow>(sql`select ${columns} from differences where id = ${id}`)
  return rows[0] ?? null
}

export async function lockDiscrepancy(tx: Tx, id: string): Promise<DiscrepancyRow | null> {
  const rows = await tx.query<DiscrepancyRow>(
    sql`select ${columns} from differences where id = ${id} for no key update`,
  )
  return rows[0] ?? null
}

export async function decideDiscrepancy(
  tx: Tx,
  decision: { id: string; state: 'confirmed' | 'dismissed'; by: string; reason: string | null; now: Date },
): Promise<void> {
  await tx.query(sql`
    update differences set state = ${decision.state}, decided_at = ${decision.now}, decided_by = ${decision.by},
      reason = ${decision.reason}, at_acquirer = at_acquirer - 'raw'
    where id = ${decision.id}`)
}

/** The discrepancies with these ids, and all others in the window, in the order of time. */
export async function listDiscrepanciesOf(
  db: Db | Tx,
  { acquirer, ids, from, to }: { acquirer: string; ids: string[] } & Window,
): Promise<DiscrepancyRow[]> {
  return await db.query<DiscrepancyRow>(sql`
    select ${columns} from differences
    where acquirer = ${acquirer} and ((at >= ${from} and at < ${to}) or id = any(${ids}::uuid[]))
    order by at, class, reference, sequence`)
}

/**
 * Open discrepancies whose proposal posts only what the acquirer confirms. The newest first, so that those that stay
 * open do not delay new ones.
 */
export async function listSettleable(
  db: Db,
  { acquirer, limit }: { acquirer: string; limit: number },
): Promise<DiscrepancyRow[]> {
  return await db.query<DiscrepancyRow>(sql`
    select ${columns} from differences
    where acquirer = ${acquirer} and state = 'open' and proposal ->> 'action' in ('settle', 'suspend')
    order by found_at desc, id limit ${limit}`)
}

export async function countOpen(db: Db): Promise<{ acquirer: string; class: DiscrepancyClass; count: number }[]> {
  return await db.query(sql`
    select acquirer, class, count(*) as count from differences where state = 'open' group by acquirer, class`)
}

/**
 * Since when an acquirer has not been compared by each of these kinds: the end of the last complete run, or the start
 * of the first run if none was complete; null without any.
 */
export async function listUncomparedSince(
  db: Db,
  { acquirers, kinds }: { acquirers: string[]; kinds: RunKind[] },
): Promise<{ acquirer: string; kind: RunKind; since: Date | null }[]> {
  return await db.query(sql`
    select acquirer, kind, coalesce(
      (select max(finished_at) from reconciliation_runs run where (run.acquirer, run.kind, state) = (a.acquirer, k.kind, 'complete')),
      (select min(started_at) from reconciliation_runs run where (run.acquirer, run.kind) = (a.acquirer, k.kind))) as since
    from unnest(${acquirers}::text[]) a (acquirer) cross join unnest(${kinds}::text[]) k (kind)`)
}
