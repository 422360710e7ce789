import { runList } from '../db/page.ts'
import { rowsParam, smallRowsParam } from '../db/rows-param.ts'
import { type Db, empty, type Reads, raw, type Sql, sql, type Tx } from '../db/sql.ts'
import type { Page, Slice } from '../http/page.ts'
import {
  acquirerOf,
  type Balances,
  clearingAccount,
  fixedAccounts,
  type RecordType,
  type TransferKind,
  toAccount,
} from './accounts.ts'
import type { CorrectedSubject } from './correction-texts.ts'
import type { Posting, Transfer } from './post.ts'
import { firstIdSince, isPostedWithin, justAfter } from './window-store.ts'

/** A merchant's balances under their lock, and those of its clearing accounts by name. */
export type LockedAccounts = { balances: Balances; clearing: Map<string, number> }

/**
 * Locks all accounts of these merchants, in one order, and returns their balances. Unused accounts are created: the
 * fixed ones, and the clearing accounts that are about to be used.
 */
export async function lockBalances(
  tx: Tx,
  merchantIds: string[],
  used: readonly { merchantId: string; acquirer: string | null }[] = [],
): Promise<Map<string, LockedAccounts>> {
  const rows = await tx.query<AccountRow>(lockStatement(merchantIds), 'lock-balances')
  const locked = toLocked(rows)
  const exists = (merchantId: string, acquirer: string) =>
    locked.get(merchantId)?.clearing.has(clearingAccount(acquirer)) ?? false
  const fixedCount = rows.filter(({ account }) => acquirerOf(account) === null).length
  if (
    fixedCount === merchantIds.length * fixedAccounts.length &&
    used.every(({ merchantId, acquirer }) => acquirer === null || exists(merchantId, acquirer))
  )
    return locked
  const clearing = used.flatMap(({ merchantId, acquirer }) =>
    acquirer === null ? [] : [{ merchant_id: merchantId, account: clearingAccount(acquirer), balance: 0 }],
  )
  const fixed = merchantIds.flatMap((merchantId) =>
    fixedAccounts.map((account) => ({ merchant_id: merchantId, account, balance: 0 })),
  )
  await tx.query(sql`
    insert into ledger_accounts (merchant_id, account)
    select distinct merchant_id, account from ${balancesParam([...fixed, ...clearing])} order by merchant_id, account
    on conflict do nothing`)
  return toLocked(await tx.query<AccountRow>(lockStatement(merchantIds), 'lock-balances'))
}

type AccountRow = { merchant_id: string; account: string; balance: number }

const merchantsParam = smallRowsParam<{ id: string }>({ id: 'uuid' })

function lockStatement(merchantIds: string[]): Sql {
  return sql`
    select merchant_id, account, balance from ledger_accounts
    where merchant_id in (select id from ${merchantsParam(merchantIds.map((id) => ({ id })))})
    order by merchant_id, account for no key update`
}

export type TransferToInsert = Pick<Transfer, 'kind' | 'amount'> &
  Pick<Posting, 'merchantId' | 'eventKey' | 'recordType' | 'recordId' | 'now'> & {
    position: number
    /** The account names in the ledger. */
    debit: string
    credit: string
    debitBalance: number
    creditBalance: number
  }

const transfersParam = rowsParam<TransferToInsert & { place: number }>({
  place: 'integer',
  merchantId: 'uuid',
  eventKey: 'text',
  position: 'integer',
  kind: 'text',
  debit: 'text',
  credit: 'text',
  amount: 'bigint',
  debitBalance: 'bigint',
  creditBalance: 'bigint',
  recordType: 'text',
  recordId: 'uuid',
  now: 'timestamptz',
})

const balancesParam = rowsParam<AccountRow>({ merchant_id: 'uuid', account: 'text', balance: 'bigint' })

/**
 * Writes transfers and the balances that the last of them left, under the lock of the accounts and in the given
 * order. No transfer is dated before the merchant's last ones. An event that started earlier may be posted later, and
 * the clocks of several machines differ: without this, a past balance could show one account before a posting and
 * another after it.
 */
export async function insertTransfers(tx: Tx, transfers: TransferToInsert[]): Promise<void> {
  const rows = transfers.map((transfer, place) => ({ ...transfer, place }))
  await tx.query(
    sql`
      with transfer as (
        select * from ${transfersParam(rows)}
      ), last as (
        select "merchantId", (
          select created_at from ledger_transfers where merchant_id = "merchantId" order by id desc limit 1) as created_at
        from transfer group by "merchantId"
      ), inserted as (
        insert into ledger_transfers (
          merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type, record_id,
          created_at)
        select "merchantId", "eventKey", position, kind, debit, credit, amount, "debitBalance", "creditBalance", "recordType",
          "recordId", greatest(created_at, max(now) over (partition by "merchantId" order by place))
        from transfer join last using ("merchantId")
        order by place
      )
      update ledger_accounts set balance = input.balance from ${balancesParam(balancesAfter(transfers))}
      where ledger_accounts.merchant_id = input.merchant_id and ledger_accounts.account = input.account`,
    'insert-transfers',
  )
}

function balancesAfter(transfers: TransferToInsert[]): AccountRow[] {
  const after = new Map<string, AccountRow>()
  for (const { merchantId: merchant_id, debit, debitBalance, credit, creditBalance } of transfers) {
    after.set(`${merchant_id} ${debit}`, { merchant_id, account: debit, balance: debitBalance })
    after.set(`${merchant_id} ${credit}`, { merchant_id, account: credit, balance: creditBalance })
  }
  return [...after.values()]
}

export async function findBalances(db: Db | Tx, merchantId: string): Promise<Balances> {
  return toBalances(
    await db.query<{ account: string; balance: number }>(sql`
      select account, balance from ledger_accounts where merchant_id = ${merchantId}`),
  )
}

/**
 * The balances at a past moment: those that the last transfers until then left. What acquirers held is the negative
 * sum of all others.
 */
export async function findBalancesAt(db: Reads, merchantId: string, at: Date): Promise<Balances> {
  const beforeId = firstIdSince(merchantId, justAfter(at))
  const balances = toBalances(
    await db.query<{ account: string; balance: number }>(sql`
      select account, last.balance
      from unnest(${[...fixedAccounts]}::text[]) account
      cross join lateral (
        ${lastTransfer({ merchantId: sql`${merchantId}::uuid`, account: sql`account`, beforeId })}
      ) last`),
  )
  return { ...balances, acquirer: 0 - fixedAccounts.reduce((sum, account) => sum + balances[account], 0) }
}

type Last = {
  merchantId: Sql
  account: Sql
  /** With an id before this one; null: no bound. */
  beforeId?: Sql | null
}

/**
 * The last transfer of an account, as a part of a query: its `id`, and the `balance` that it left. The account is
 * compared by a lower and an upper bound, not by equality. With equality PostgreSQL expects every second transfer to be
 * on the account, and scans all transfers of the merchant when the account was never used.
 */
export function lastTransfer({ merchantId, account, beforeId = null }: Last): Sql {
  const lastOf = (side: 'debit' | 'credit') => sql`
    select id, ${raw(side)}_balance as balance from ledger_transfers t
    where (t.merchant_id, t.${raw(side)}) >= (${merchantId}, ${account}) and ${
      beforeId === null
        ? sql`(t.merchant_id, t.${raw(side)}) <= (${merchantId}, ${account})`
        : sql`(t.merchant_id, t.${raw(side)}, t.id) < (${merchantId}, ${account}, ${beforeId})`
    }
    order by t.merchant_id desc, t.${raw(side)} desc, t.id desc limit 1`
  return sql`select id, balance from ((${lastOf('debit')}) union all (${lastOf('credit')})) either order by id desc limit 1`
}

export type StatementRow = {
  id: number
  kind: TransferKind
  /** Signed: its effect on the available balance. */
  amount: number
  balance: number
  record_type: RecordType
  record_id: string
  /** The transaction of the record that it was posted for; null when it has none. */
  transaction_id: string | null
  /** The description of an entry of the operator. */
  entry_description: string | null
  /** For a correction: what differed between the acquirer's list and the ledger. */
  corrected_subject: CorrectedSubject | null
  corrected_reference: string | null
  created_at: Date
}

export type StatementFilters = {
  startDate?: Date | undefined
  endDate?: Date | undefined
  kinds?: TransferKind[] | undefined
}

/** The transfers that changed a merchant's available balance, the last posted first. */
export async function listStatement(
  db: Reads,
  merchantId: string,
  filters: StatementFilters,
  slice: Slice,
): Promise<Page<StatementRow>> {
  const entries = entriesOf(merchantId, filters)
  const offset = slice.after ? 0 : (slice.page - 1) * slice.perPage
  const statement = sql`
    select counted.total, listed.*
    from (
      select (select count(*) ${entries('debit')}) + (select count(*) ${entries('credit')}) as total
    ) counted
    left join lateral (
      select ${statementColumns} from ledger_transfers join (
        ${lastIds(entries, { before: slice.after ? Number(slice.after.id) : null, limit: slice.perPage + 1, offset })}
      ) places using (id)
      where merchant_id = ${merchantId}
    ) listed on true
    order by listed.id desc`
  const rows = await runList<{ total: number } & (StatementRow | { id: null })>(db, merchantId, statement)
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

export const statementColumns = sql`
  id, kind, case when debit = 'available' then -amount else amount end as amount,
  case when debit = 'available' then debit_balance else credit_balance end as balance, record_type, record_id,
  case record_type
    when 'transaction' then record_id
    when 'refund' then (
      select transaction_id from refunds
      where refunds.merchant_id = ledger_transfers.merchant_id and refunds.id = ledger_transfers.record_id)
    when 'infraction' then (
      select transaction_id from disputes
      where disputes.merchant_id = ledger_transfers.merchant_id and disputes.id = ledger_transfers.record_id)
    when 'correction' then (
      select id from transactions
      where transactions.merchant_id = ledger_transfers.merchant_id and transactions.id = (
        select differences.record_id from differences where differences.id = ledger_transfers.record_id))
  end as transaction_id,
  case when record_type in ('pay_in', 'write_off', 'manual_entry', 'move_out', 'move_in') then (
    select description from operator_entries where operator_entries.id = ledger_transfers.record_id) end as entry_description,
  case when record_type = 'correction' then (
    select subject from differences where differences.id = ledger_transfers.record_id) end as corrected_subject,
  case when record_type = 'correction' then (
    select reference from differences where differences.id = ledger_transfers.record_id) end as corrected_reference,
  created_at`

/** A transfer has the account as debit or as credit, and each side has an index with all columns that a filter uses. */
type Entries = (side: 'debit' | 'credit') => Sql

export function entriesOf(merchantId: string, { startDate, endDate, kinds }: StatementFilters): Entries {
  return (side) => sql`
    from ledger_transfers where merchant_id = ${merchantId} and ${raw(side)} = 'available'
      and ${isPostedWithin(merchantId, { from: startDate ?? null, until: endDate ? justAfter(endDate) : null })}
      ${kinds ? sql`and kind = any(${kinds})` : empty}`
}

/**
 * The last transfers of each side, and of those the last: each side is sorted and limited before the union, or all
 * would be read.
 */
export function lastIds(entries: Entries, slice: { before: number | null; limit: number; offset: number }): Sql {
  const lastOf = (side: 'debit' | 'credit') => sql`
    select id ${entries(side)} ${slice.before === null ? empty : sql`and id < ${slice.before}`}
    order by id desc limit ${slice.limit + slice.offset}`
  return sql`
    select id from ((${lastOf('debit')}) union all (${lastOf('credit')})) entries
    order by id desc limit ${slice.limit} offset ${slice.offset}`
}

export type FeeOperation = 'transaction' | 'refund' | 'withdrawal'
export type FeeRule = FeeParts & {
  /** For refunds: the fee of the payment is returned with them. */
  returns_payment_fee: boolean
}
export type FeeParts = { fixed: number; basis_points: number; minimum: number; maximum: number | null }

/** A merchant's rule in force at this moment, as one value of a statement: a {@link FeeRule}, or null without one. */
export const feeRuleOf = ({
  merchantId,
  operation,
  now,
}: {
  merchantId: Sql
  operation: FeeOperation
  now: Date
}) => sql`
  (select to_json(rule) from fee_rules rule
   where rule.merchant_id = ${merchantId} and rule.operation = ${operation} and rule.valid_from <= ${now}
   order by rule.valid_from desc limit 1)`

export async function findFeeRule(
  db: Db | Tx,
  { merchantId, ...which }: { merchantId: string; operation: FeeOperation; now: Date },
): Promise<FeeRule | null> {
  const [row] = await db.query<{ rule: FeeRule | null }>(
    sql`select ${feeRuleOf({ ...which, merchantId: sql`${merchantId}` })} as rule`,
    'find-fee-rule',
  )
  return row?.rule ?? null
}

export async function insertFeeRule(
  tx: Tx,
  rule: FeeParts & Partial<FeeRule> & { merchantId: string; operation: FeeOperation; validFrom: Date },
): Promise<void> {
  await tx.query(sql`
    insert into fee_rules (merchant_id, operation, valid_from, fixed, basis_points, minimum, maximum, returns_payment_fee)
    select ${rule.merchantId}, ${rule.operation},
      -- A machine whose clock is ahead may have set the last one, so that it is not valid yet. This one comes after it.
      greatest(${rule.validFrom}::timestamptz, max(valid_from) filter (where valid_from > ${rule.validFrom}) + interval '1 millisecond'),
      ${rule.fixed}, ${rule.basis_points}, ${rule.minimum}, ${rule.maximum}, ${rule.returns_payment_fee ?? false}
    from fee_rules where merchant_id = ${rule.merchantId} and operation = ${rule.operation}
    on conflict (merchant_id, operation, valid_from) do update set fixed = excluded.fixed, basis_points = excluded.basis_points,
      minimum = excluded.minimum, maximum = excluded.maximum, returns_payment_fee = excluded.returns_payment_fee`)
}

export function toBalances(rows: { account: string; balance: number }[]): Balances {
  const balances: Balances = { available: 0, reserved: 0, blocked: 0, fees: 0, acquirer: 0, suspense: 0, debt: 0 }
  for (const { account, balance } of rows) balances[toAccount(account)] += balance
  return balances
}

function toLocked(rows: AccountRow[]): Map<string, LockedAccounts> {
  const found = new Map<string, LockedAccounts>()
  for (const { merchant_id, account, balance } of rows) {
    const locked = found.get(merchant_id) ?? { balances: toBalances([]), clearing: new Map<string, number>() }
    const name = toAccount(account)
    locked.balances[name] += balance
    if (name === 'acquirer') locked.clearing.set(account, balance)
    found.set(merchant_id, locked)
  }
  return found
}

export type PayoutFreezeRow = { id: string; reason: string; engaged_at: Date }

export async function findPayoutFreeze(db: Db | Tx): Promise<PayoutFreezeRow | null> {
  const rows = await db.query<PayoutFreezeRow>(
    sql`select id, reason, engaged_at from payout_freezes where released_at is null`,
  )
  return rows[0] ?? null
}

/** When an operator last released a payout freeze. */
export async function findReleasedAt(db: Db): Promise<Date | null> {
  const rows = await db.query<{ at: Date | null }>(sql`select max(released_at) as at from payout_freezes`)
  return rows[0]?.at ?? null
}

/** False when one is active: it stays as it is. */
export async function insertPayoutFreeze(
  db: Db | Tx,
  { id, reason, now }: { id: string; reason: string; now: Date },
): Promise<boolean> {
  const rows = await db.query(sql`
    insert into payout_freezes (id, reason, engaged_at) values (${id}, ${reason}, ${now})
    on conflict do nothing returning id`)
  return rows.length > 0
}

/** False when no freeze is active. */
export async function addFreezeReason(tx: Tx, reason: string): Promise<boolean> {
  const rows = await tx.query(sql`
    update payout_freezes set reason = reason || ' ' || ${reason} where released_at is null returning id`)
  return rows.length > 0
}

/** Returns the freeze that was active, or null. */
export async function releasePayoutFreeze(
  tx: Tx,
  { by, now }: { by: string; now: Date },
): Promise<PayoutFreezeRow | null> {
  const rows = await tx.query<PayoutFreezeRow>(sql`
    update payout_freezes set released_at = ${now}, released_by = ${by} where released_at is null
    returning id, reason, engaged_at`)
  return rows[0] ?? null
}
