import { type Db, empty, type Sql, sql, type Tx } from '../db/sql.ts'
import type { Page, Slice } from '../http/page.ts'
import { type Account, accounts, type Balances, type RecordType, type TransferKind } from './accounts.ts'
import type { Posting, Transfer } from './post.ts'

/** Locks all accounts of a merchant, in one order, and gives their balances. Accounts that it has not used yet are made. */
export async function lockBalances(tx: Tx, merchantId: string): Promise<Balances> {
  const locked = await tx.query<{ account: Account; balance: number }>(lockStatement(merchantId))
  if (locked.length === accounts.length) return toBalances(locked)
  await tx.query(sql`
    insert into ledger_accounts (merchant_id, account)
    select ${merchantId}, account from unnest(${[...accounts]}::text[]) account order by account
    on conflict do nothing`)
  return toBalances(await tx.query<{ account: Account; balance: number }>(lockStatement(merchantId)))
}

function lockStatement(merchantId: string): Sql {
  return sql`
    select account, balance from ledger_accounts where merchant_id = ${merchantId} order by account for no key update`
}

export async function updateBalances(tx: Tx, merchantId: string, balances: Balances): Promise<void> {
  await tx.query(sql`
    update ledger_accounts set balance = given.balance
    from json_to_recordset(${JSON.stringify(toRows(balances))}::json) as given (account text, balance bigint)
    where ledger_accounts.merchant_id = ${merchantId} and ledger_accounts.account = given.account
      and ledger_accounts.balance <> given.balance`)
}

type TransferToInsert = Transfer & { position: number; debitBalance: number; creditBalance: number }

/**
 * Under the lock of the accounts. Never dated before the last ones: who began earlier may be posted later, and clocks of several machines
 * differ; a past moment would else have one account as it was before a posting and another as it was after.
 */
export async function insertTransfers(tx: Tx, posting: Posting, transfers: TransferToInsert[]): Promise<void> {
  await tx.query(sql`
    insert into ledger_transfers (
      merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type, record_id, created_at)
    select ${posting.merchantId}, ${posting.eventKey}, position, kind, debit, credit, amount, "debitBalance", "creditBalance",
      ${posting.recordType}, ${posting.recordId}, greatest(${posting.now}::timestamptz, (
        select created_at from ledger_transfers where merchant_id = ${posting.merchantId} order by id desc limit 1))
    from json_to_recordset(${JSON.stringify(transfers)}::json) as given (
      position smallint, kind text, debit text, credit text, amount bigint, "debitBalance" bigint, "creditBalance" bigint)
    order by position`)
}

export async function findBalances(db: Db | Tx, merchantId: string): Promise<Balances> {
  return toBalances(
    await db.query<{ account: Account; balance: number }>(sql`
      select account, balance from ledger_accounts where merchant_id = ${merchantId}`),
  )
}

/** The balances at a past moment: those that the last transfers until then left. */
export async function findBalancesAt(db: Db, merchantId: string, at: Date): Promise<Balances> {
  return toBalances(
    await db.query<{ account: Account; balance: number }>(sql`
      select account, case when last.debit = account then last.debit_balance else last.credit_balance end as balance
      from unnest(${[...accounts]}::text[]) account
      cross join lateral (
        select id, debit, debit_balance, credit_balance from (
          (select id, debit, debit_balance, credit_balance from ledger_transfers
            where merchant_id = ${merchantId} and debit = account and created_at <= ${at} order by id desc limit 1)
          union all
          (select id, debit, debit_balance, credit_balance from ledger_transfers
            where merchant_id = ${merchantId} and credit = account and created_at <= ${at} order by id desc limit 1)
        ) either order by id desc limit 1
      ) last`),
  )
}

export type StatementRow = {
  id: number
  kind: TransferKind
  /** Signed: what it did to the available balance. */
  amount: number
  balance: number
  record_type: RecordType
  record_id: string
  created_at: Date
}

export type StatementFilters = {
  startDate?: Date | undefined
  endDate?: Date | undefined
  kinds?: TransferKind[] | undefined
}

/** The transfers that changed a merchant's available balance, the last posted first. */
export async function listStatement(
  db: Db,
  merchantId: string,
  filters: StatementFilters,
  slice: Slice,
): Promise<Page<StatementRow>> {
  const where = toConditions(merchantId, filters)
  const before = slice.after ? sql`and id < ${Number(slice.after.id)}` : empty
  const offset = slice.after ? 0 : (slice.page - 1) * slice.perPage
  const rows = await db.query<{ total: number } & (StatementRow | { id: null })>(sql`
    select counted.total, listed.*
    from (select count(*) as total from ledger_transfers where ${where}) counted
    left join lateral (
      select ${statementColumns} from ledger_transfers where ${where} ${before}
      order by id desc limit ${slice.perPage + 1} offset ${offset}
    ) listed on true
    order by listed.id desc`)
  const found = rows.filter((row): row is { total: number } & StatementRow => row.id !== null)
  const items = found.slice(0, slice.perPage)
  const last = items.at(-1)
  const hasMore = last !== undefined && found.length > slice.perPage
  return {
    total: rows[0]?.total ?? 0,
    items,
    next: hasMore ? { createdAt: last.created_at, id: String(last.id) } : null,
  }
}

/** The next entries of an export, without counting: those before an id, the last posted first. */
export async function listStatementBefore(
  db: Db,
  merchantId: string,
  filters: StatementFilters,
  { beforeId, limit }: { beforeId: number | null; limit: number },
): Promise<StatementRow[]> {
  return await db.query<StatementRow>(sql`
    select ${statementColumns} from ledger_transfers
    where ${toConditions(merchantId, filters)} ${beforeId === null ? empty : sql`and id < ${beforeId}`}
    order by id desc limit ${limit}`)
}

const statementColumns = sql`
  id, kind, case when debit = 'available' then -amount else amount end as amount,
  case when debit = 'available' then debit_balance else credit_balance end as balance, record_type, record_id, created_at`

function toConditions(merchantId: string, { startDate, endDate, kinds }: StatementFilters): Sql {
  return sql`
    merchant_id = ${merchantId} and (debit = 'available' or credit = 'available')
    ${startDate ? sql`and created_at >= ${startDate}` : empty}
    ${endDate ? sql`and created_at <= ${endDate}` : empty}
    ${kinds ? sql`and kind = any(${kinds})` : empty}`
}

export type FeeOperation = 'transaction' | 'refund' | 'withdrawal'
export type FeeRule = { fixed: number; basis_points: number; minimum: number; maximum: number | null }

export async function findFeeRule(
  db: Db | Tx,
  merchantId: string,
  operation: FeeOperation,
  now: Date,
): Promise<FeeRule | null> {
  const rows = await db.query<FeeRule>(sql`
    select fixed, basis_points, minimum, maximum from fee_rules
    where merchant_id = ${merchantId} and operation = ${operation} and valid_from <= ${now}
    order by valid_from desc limit 1`)
  return rows[0] ?? null
}

export async function insertFeeRule(
  tx: Tx,
  rule: FeeRule & { merchantId: string; operation: FeeOperation; validFrom: Date },
): Promise<void> {
  await tx.query(sql`
    insert into fee_rules (merchant_id, operation, valid_from, fixed, basis_points, minimum, maximum)
    values (${rule.merchantId}, ${rule.operation}, ${rule.validFrom}, ${rule.fixed}, ${rule.basis_points}, ${rule.minimum}, ${rule.maximum})
    on conflict (merchant_id, operation, valid_from) do update set fixed = excluded.fixed, basis_points = excluded.basis_points,
      minimum = excluded.minimum, maximum = excluded.maximum`)
}

function toBalances(rows: { account: Account; balance: number }[]): Balances {
  const balances: Balances = { available: 0, reserved: 0, blocked: 0, fees: 0, acquirer: 0, suspense: 0, debt: 0 }
  for (const { account, balance } of rows) balances[account] = balance
  return balances
}

function toRows(balances: Balances) {
  return accounts.map((account) => ({ account, balance: balances[account] }))
}

export type BrakeRow = { id: string; reason: string; engaged_at: Date }

export async function findEngagedBrake(db: Db | Tx): Promise<BrakeRow | null> {
  const rows = await db.query<BrakeRow>(sql`select id, reason, engaged_at from brakes where released_at is null`)
  return rows[0] ?? null
}

export async function insertBrake(db: Db | Tx, brake: { id: string; reason: string; now: Date }): Promise<void> {
  await db.query(sql`
    insert into brakes (id, reason, engaged_at) values (${brake.id}, ${brake.reason}, ${brake.now}) on conflict do nothing`)
}

export async function releaseBrakes(tx: Tx, { by, now }: { by: string; now: Date }): Promise<boolean> {
  const rows = await tx.query(sql`
    update brakes set released_at = ${now}, released_by = ${by} where released_at is null returning id`)
  return rows.length > 0
}
