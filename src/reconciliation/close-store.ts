import type { JWK } from 'jose'
import { type Db, sql, type Tx } from '../db/sql.ts'
import type { TransferKind } from '../ledger/accounts.ts'
import { clearingAccount } from '../ledger/accounts.ts'
import { assert } from '../lib/assert.ts'
import type { Window } from '../lib/brasilia.ts'

export type StatementRow = {
  acquirer: string
  day: string
  version: number
  signed_at: Date
  /** A compact JWS. */
  statement: string
  sha256: string
}

const columns = sql`acquirer, day::text, version, signed_at, statement, sha256`

/** The last version of a day's statement, or the requested one. */
export async function findStatement(
  db: Db | Tx,
  { acquirer, day, version }: { acquirer: string; day: string; version?: number | undefined },
): Promise<StatementRow | null> {
  const rows = await db.query<StatementRow>(sql`
    select ${columns} from closed_days
    where acquirer = ${acquirer} and day = ${day} and version = coalesce(${version ?? null}, version)
    order by version desc limit 1`)
  return rows[0] ?? null
}

/** All versions of all days, page by page. */
export async function listStatements(
  db: Db | Tx,
  { after, limit }: { after: Pick<StatementRow, 'acquirer' | 'day' | 'version'> | null; limit: number },
): Promise<StatementRow[]> {
  const { acquirer, day, version } = after ?? { acquirer: '', day: '-infinity', version: 0 }
  return await db.query<StatementRow>(sql`
    select ${columns} from closed_days
    where (acquirer, day, version) > (${acquirer}, ${day}::date, ${version}::int)
    order by acquirer, closed_days.day, version limit ${limit}`)
}

/** The earliest closed day, whenever it was closed. */
export async function findFirstClosedDay(db: Db, acquirer: string): Promise<string | null> {
  const rows = await db.query<{ day: string }>(sql`
    select day::text from closed_days where acquirer = ${acquirer} order by closed_days.day limit 1`)
  return rows[0]?.day ?? null
}

/** Only one transaction at a time writes the next version of a day. */
export async function lockClosing(tx: Tx, acquirer: string): Promise<void> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended(${`closing ${acquirer}`}, 0))`)
}

export async function insertStatement(tx: Tx, row: StatementRow & { runId: string }): Promise<void> {
  await tx.query(sql`
    insert into closed_days (acquirer, day, version, run_id, signed_at, statement, sha256)
    values (${row.acquirer}, ${row.day}, ${row.version}, ${row.runId}, ${row.signed_at}, ${row.statement}, ${row.sha256})`)
}

/** The time of PostgreSQL's clock, plus the milliseconds by which a test has moved the service's clock; otherwise 0. */
export async function findDatabaseTime(db: Db | Tx, movedMs: number): Promise<Date> {
  const [row] = await db.query<{ at: Date }>(sql`
    select clock_timestamp() + make_interval(secs => ${movedMs / 1_000}) as at`)
  assert(row, 'a server has a time')
  return row.at
}

export type StatementKeyRow = { kid: string; public_jwk: JWK; sealed_private_jwk: Buffer; created_at: Date }

/** The newest first. */
export async function listStatementKeys(db: Db | Tx): Promise<StatementKeyRow[]> {
  return await db.query<StatementKeyRow>(sql`
    select kid, public_jwk, sealed_private_jwk, created_at from statement_keys order by created_at desc, kid`)
}

export async function lockStatementKeys(tx: Tx): Promise<void> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended('statement keys', 0))`)
}

export async function insertStatementKey(tx: Tx, key: StatementKeyRow): Promise<void> {
  await tx.query(sql`
    insert into statement_keys (kid, public_jwk, sealed_private_jwk, created_at)
    values (${key.kid}, ${JSON.stringify(key.public_jwk)}, ${key.sealed_private_jwk}, ${key.created_at})`)
}

/** The events of one kind of transfer, and by how much they changed a clearing account: incoming is positive. */
export type Moved = { kind: TransferKind; count: number; change: number }

/** Sums by kind the transfers of an acquirer's clearing account that were posted in a window. */
export async function sumMoved(
  db: Db | Tx,
  { acquirer, from, to }: { acquirer: string; from: Date | null; to: Date },
): Promise<Moved[]> {
  const account = clearingAccount(acquirer)
  return await db.query<Moved>(sql`
    select kind, count(distinct event_key) as count, sum(case when debit = ${account} then amount else -amount end) as change
    from ledger_transfers
    where ${account} in (debit, credit) and created_at >= ${from ?? new Date(0)} and created_at < ${to}
    group by kind`)
}

export type DatedPayments = { count: number; sum: number; lateCount: number; lateSum: number }

/**
 * Payments of transactions that the acquirer dates in a window, without reversed attributions; of these, those posted
 * after `since`. Payments in suspense are not among them.
 */
export async function sumDated(
  db: Db | Tx,
  { acquirer, from, to, since }: { acquirer: string; since: Date } & Window,
): Promise<DatedPayments> {
  const rows = await db.query<DatedPayments>(sql`
    select count(*) as count, coalesce(sum(amount_paid), 0) as sum,
      count(*) filter (where posted_at > ${since}) as "lateCount", coalesce(sum(amount_paid) filter (where posted_at > ${since}), 0) as "lateSum"
    from (
      select amount_paid, status_dates[array_position(statuses, 'PAID')] as posted_at from transactions
      where payment_date >= ${from} and payment_date < ${to} and acquirer = ${acquirer} and attribution_reversed_at is null
    ) dated`)
  return rows[0] ?? { count: 0, sum: 0, lateCount: 0, lateSum: 0 }
}

/** How many transfers there are, and a hash over every column of each. */
export type TransfersHash = { count: number; sha256: string }

/**
 * Hashes the transfers posted in a window, in the order of merchant and id: each one, then those of a merchant, then
 * all. PostgreSQL computes it, so that a million takes seconds.
 */
export async function hashTransfers(db: Db | Tx, { from, to }: Window): Promise<TransfersHash> {
  const [row] = await db.query<TransfersHash>(sql`
    with hashed as (
      select merchant_id, id, sha256(convert_to(concat_ws(chr(10),
        merchant_id, id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type, record_id,
        (extract(epoch from created_at) * 1000)::bigint), 'UTF8')) as hash
      from ledger_transfers where created_at >= ${from} and created_at < ${to}
    ), of_merchants as (
      select merchant_id, count(*) as count, sha256(string_agg(hash, ''::bytea order by id)) as hash from hashed group by merchant_id
    )
    select coalesce(sum(count), 0)::bigint as count,
      encode(sha256(coalesce(string_agg(hash, ''::bytea order by merchant_id), ''::bytea)), 'hex') as sha256
    from of_merchants`)
  assert(row, 'an aggregate has a row')
  return row
}
