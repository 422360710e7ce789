import { type Db, empty, sql } from '../db/sql.ts'
import type { DiscrepancyClass, Subject } from '../reconciliation/classes.ts'
import type { StatementRow } from '../reconciliation/close-store.ts'
import type { DiscrepancyRow, DiscrepancyState, RunKind } from '../reconciliation/store.ts'

type Slice = { limit: number; offset: number }

/** A discrepancy with its merchant's client and the type of its record. */
export type ListedDiscrepancy = DiscrepancyRow & {
  client_id: string | null
  client_name: string | null
  record_type: 'transaction' | 'withdrawal' | 'suspense' | null
}

export type DiscrepancyFilters = {
  states: readonly DiscrepancyState[]
  acquirer: string | undefined
  class: DiscrepancyClass | undefined
}

/** Newest first: by when they were decided or resolved, otherwise by when they were found. */
export async function listDiscrepancyPage(
  db: Db,
  { states, acquirer, class: name }: DiscrepancyFilters,
  { limit, offset }: Slice,
): Promise<{ total: number; items: ListedDiscrepancy[] }> {
  const wanted = sql`
    from differences where state = any(${[...states]})
      ${acquirer === undefined ? empty : sql`and acquirer = ${acquirer}`}
      ${name === undefined ? empty : sql`and class = ${name}`}`
  const [count] = await db.query<{ total: number }>(sql`select count(*) as total ${wanted}`)
  const items = await db.query<ListedDiscrepancy>(sql`
    select ${columns}
    from (
      select * ${wanted} order by coalesce(decided_at, found_at) desc, at desc, id limit ${limit} offset ${offset}
    ) difference ${joinClients}
    order by coalesce(decided_at, found_at) desc, at desc, difference.id`)
  return { total: count?.total ?? 0, items }
}

export async function findListedDiscrepancy(db: Db, id: string): Promise<ListedDiscrepancy | null> {
  const rows = await db.query<ListedDiscrepancy>(sql`
    select ${columns} from (select * from differences where id = ${id}) difference ${joinClients}`)
  return rows[0] ?? null
}

const columns = sql`
  difference.*, client_id, clients.name as client_name, case
    when subject = 'payout' then case when exists (
      select from withdrawals where withdrawals.merchant_id = difference.merchant_id and withdrawals.id = record_id) then 'withdrawal' end
    when exists (
      select from transactions where transactions.merchant_id = difference.merchant_id and transactions.id = record_id) then 'transaction'
    when exists (
      select from suspense_payments held
      where held.acquirer = difference.acquirer and held.end_to_end = difference.reference) then 'suspense'
  end as record_type`

const joinClients = sql`left join clients using (merchant_id)`

export type RunRow = {
  id: string
  acquirer: string
  kind: RunKind
  starts_at: Date
  ends_at: Date
  started_at: Date
  finished_at: Date | null
  state: 'running' | 'complete' | 'interrupted'
  error: string | null
  counts: {
    compared: Record<Subject, number>
    counts: Partial<Record<DiscrepancyClass, number>>
    newCount: number
  } | null
}

const runColumns = sql`id, acquirer, kind, starts_at, ends_at, started_at, finished_at, state, error, counts`

/** The latest runs, of one kind or of all, newest first. */
export async function listRuns(
  db: Db,
  { kind, limit, offset }: { kind: RunKind | undefined } & Slice,
): Promise<{ total: number; items: RunRow[] }> {
  const wanted = sql`from reconciliation_runs ${kind === undefined ? empty : sql`where kind = ${kind}`}`
  const [count] = await db.query<{ total: number }>(sql`select count(*) as total ${wanted}`)
  const items = await db.query<RunRow>(sql`
    select ${runColumns} ${wanted}
    order by started_at desc, id limit ${limit} offset ${offset}`)
  return { total: count?.total ?? 0, items }
}

export async function findRun(db: Db, id: string): Promise<RunRow | null> {
  const rows = await db.query<RunRow>(sql`select ${runColumns} from reconciliation_runs where id = ${id}`)
  return rows[0] ?? null
}

/** The latest run of each acquirer and kind. */
export async function listLatestRuns(db: Db, acquirers: string[]): Promise<RunRow[]> {
  return await db.query<RunRow>(sql`
    select latest.* from unnest(${acquirers}::text[]) name, unnest(array['rolling', 'daily', 'manual']) of_kind, lateral (
      select ${runColumns} from reconciliation_runs where acquirer = name and kind = of_kind
      order by started_at desc limit 1
    ) latest`)
}

/**
 * Closed days, each with the latest version of its signed statement (what the ledger and the acquirer say of it),
 * newest day first.
 */
export async function listClosedDays(
  db: Db,
  { acquirer, limit, offset }: { acquirer: string | undefined } & Slice,
): Promise<{ total: number; items: StatementRow[] }> {
  const ofAcquirer = acquirer === undefined ? empty : sql`where acquirer = ${acquirer}`
  const [count] = await db.query<{ total: number }>(sql`
    select count(*) as total from (select distinct acquirer, day from closed_days ${ofAcquirer}) days`)
  const items = await db.query<StatementRow>(sql`
    select last.*
    from (
      select distinct on (closed_days.day, acquirer) acquirer, day::text as day, version, signed_at, statement, sha256
      from closed_days ${ofAcquirer}
      order by closed_days.day desc, acquirer, version desc limit ${limit} offset ${offset}
    ) last order by day desc, acquirer`)
  return { total: count?.total ?? 0, items }
}

/** All versions of a day's signed statement, newest first. */
export async function listVersions(
  db: Db,
  { acquirer, day }: { acquirer: string; day: string },
): Promise<Pick<StatementRow, 'version' | 'signed_at' | 'sha256'>[]> {
  return await db.query(sql`
    select version, signed_at, sha256 from closed_days where acquirer = ${acquirer} and day = ${day} order by version desc`)
}

/**
 * The version of the day's statement that a run signed; null if it signed none, for example because nothing had
 * changed.
 */
export async function findStatementOfRun(db: Db, runId: string): Promise<{ version: number } | null> {
  const rows = await db.query<{ version: number }>(sql`select version from closed_days where run_id = ${runId}`)
  return rows[0] ?? null
}
