import { runList } from '../db/page.ts'
import { empty, type Reads, raw, type Sql, sql } from '../db/sql.ts'
import { brasilia } from '../lib/brasilia.ts'
import { type TransactionFilters, toConditions as toTransactionConditions } from '../transactions/list/store.ts'
import { toConditions as toWithdrawalConditions, type WithdrawalFilters } from '../withdrawals/list-store.ts'
import type { ReviewReason } from '../withdrawals/status.ts'

export const sorts = ['newest', 'oldest', 'highest', 'lowest'] as const
export type Sort = (typeof sorts)[number]
/** `deadline`: of disputes, the nearest first. */
export type Order = Sort | 'deadline'

/** The matching rows of a table, of one merchant or of all (null). */
export type Matching = {
  table: 'transactions' | 'withdrawals' | 'disputes'
  /** What is read in place of the table. */
  rows?: Sql
  merchantId: string | null
  /** More conditions, each after an `and`. */
  where: Sql
  /** Whether the filters match few rows, which an index for these filters finds. */
  matchesFew: boolean
  /** The merchants that may have matching rows, as a table `clients`; all of them if it is not given. */
  among?: Sql
  /** The id of the user. `runList` limits the reads of each user, so that nobody keeps the others waiting. */
  reader: string
}

export type ListScope = Pick<Matching, 'merchantId' | 'reader'>

export function matchingTransactions(filters: TransactionFilters, scope: ListScope): Matching {
  const { startDate, endDate, statuses, minAmount, maxAmount, ...selective } = filters
  const where = toTransactionConditions(filters, scope.merchantId ?? raw('clients.merchant_id'))
  const matchesFew = isAnySet(selective)
  const isOfOpenCodes = scope.merchantId === null && !matchesFew && statuses?.includes('PIX_QRCODE_GENERATED')
  const among = isOfOpenCodes ? merchantsWith(statuses ?? []) : undefined
  return {
    table: 'transactions',
    where: among ? sql`${where} and created_at >= clients.first_day` : where,
    matchesFew,
    ...(among && { among }),
    ...scope,
  }
}

/**
 * The merchants with transactions of these statuses, and the first day of each: transactions leave the status of an
 * open code within days, so a search of older ones would find nothing.
 */
function merchantsWith(statuses: string[]): Sql {
  const ofStatus = sql`where status = any(${statuses})`
  return sql`(
    select merchant_id, min(day)::timestamp at time zone ${brasilia} as first_day from (
      select merchant_id, day from (
        select merchant_id, day, count from transaction_counts ${ofStatus}
        union all
        select merchant_id, day, change from transaction_count_changes ${ofStatus}
      ) counts
      group by merchant_id, day having sum(count) > 0
    ) days
    group by merchant_id
  ) clients`
}

export function matchingWithdrawals(filters: WithdrawalFilters, scope: ListScope): Matching {
  const { startDate, endDate, statuses, minAmount, maxAmount, ...selective } = filters
  return { table: 'withdrawals', where: toWithdrawalConditions(filters), matchesFew: isAnySet(selective), ...scope }
}

function isAnySet(filters: object): boolean {
  return Object.values(filters).some((value) => value !== undefined)
}

/**
 * A position in a list: the value that it is sorted by (milliseconds or cents), and the id. `isBefore`: the page ends
 * before it.
 */
export type Cursor = { value: number; id: string; isBefore: boolean }

export type ListPosition = { id: string; merchant_id: string; value: Date | number }

const sorted: Record<Order, { column: string; isDescending: boolean }> = {
  newest: { column: 'created_at', isDescending: true },
  oldest: { column: 'created_at', isDescending: false },
  highest: { column: 'amount', isDescending: true },
  lowest: { column: 'amount', isDescending: false },
  deadline: { column: 'due_at', isDescending: false },
}

/**
 * One page of a list, from a position and not by its number, so that no page is slower than the first. Over all
 * merchants, the first rows of each are read from an index that begins with the merchant, and then merged.
 */
export async function findPositions(
  db: Reads,
  matching: Matching,
  { sort, cursor, limit }: { sort: Order; cursor: Cursor | null; limit: number },
): Promise<ListPosition[]> {
  const isDescending = sorted[sort].isDescending !== (cursor?.isBefore ?? false)
  const column = raw(sorted[sort].column)
  const order = isDescending ? sql`order by value desc, id desc` : sql`order by value, id`
  const sign = raw(isDescending ? '<' : '>')
  const beyond = cursor
    ? sql`and (${column}, id) ${sign} (${sortsByAmount(sort) ? cursor.value : new Date(cursor.value)}, ${cursor.id})`
    : empty
  const columns = sql`id, merchant_id, ${column} as value`
  const page = sql`${order} limit ${limit}`
  const rows = (merchant: Sql) => sql`
    select ${columns} from ${toRows(matching)} where merchant_id = ${merchant} ${matching.where} ${beyond}`
  const { merchantId } = matching
  const found =
    merchantId === null ? ofAll(rows, matching.matchesFew ? empty : page, matching.among) : rows(sql`${merchantId}`)
  // `materialized`: otherwise PostgreSQL would search for the few matching rows in the order of the page.
  const statement = matching.matchesFew
    ? sql`with matching as materialized (${found}) select id, merchant_id, value from matching ${page}`
    : sql`${found} ${page}`
  return await runList<ListPosition>(db, `${matching.reader} rows`, statement)
}

export function sortsByAmount(sort: Order): boolean {
  return sorted[sort].column === 'amount'
}

function toRows({ table, rows }: Matching): Sql {
  return rows ?? raw(table)
}

/** The rows of each merchant of `among`, found in an index that begins with the merchant. */
function ofAll(rows: (merchant: Sql) => Sql, page: Sql, among: Sql = raw('clients')): Sql {
  return sql`
    select positions.* from ${among}, lateral (${rows(raw('clients.merchant_id'))} ${page}) positions where true`
}

export type StatusCount = { status: string; count: number; amount: number }

/** The most rows that are counted one by one. */
export const countedMax = 10_000

/** How many of the first matching rows have each status. */
export async function countStatuses(db: Reads, matching: Matching): Promise<StatusCount[]> {
  const some = limited(matching, sql`status, amount`, countedMax + 1)
  return await runList<StatusCount>(
    db,
    `${matching.reader} counts`,
    sql`select status, count(*) as count, sum(amount)::bigint as amount from (${some}) matching group by status order by status`,
  )
}

/** The number and sum of the transactions of each status, from the counts of each day. Days are in Brasília time. */
export async function countTransactions(
  db: Reads,
  { merchantId, reader }: Pick<Matching, 'merchantId' | 'reader'>,
  { from, until }: { from: string | undefined; until: string | undefined },
): Promise<StatusCount[]> {
  const days = sql`where true
    ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}
    ${from === undefined ? empty : sql`and day >= ${from}::date`}
    ${until === undefined ? empty : sql`and day <= ${until}::date`}`
  return await runList<StatusCount>(
    db,
    `${reader} counts`,
    sql`
      select status, sum(count)::bigint as count, sum(amount)::bigint as amount from (
        select status, sum(count) as count, sum(amount) as amount from transaction_counts ${days} group by status
        union all
        select status, sum(change), sum(amount) from transaction_count_changes ${days} group by status
      ) counts
      group by status having sum(count) <> 0 order by status`,
  )
}

/** The most rows that are summed: their fees and refunds are in no index. */
export const summedMax = 20_000

export type Sums = { count: number; amount: number; settled: number; fees: number; refunded: number }

/** The sums of the matching rows; null if there are more than {@link summedMax}. */
export async function sumRows(db: Reads, matching: Matching): Promise<Sums | null> {
  const isOfTransactions = matching.table === 'transactions'
  const settled = raw(isOfTransactions ? 'amount_paid' : 'amount_withdrawn')
  // The fee of a withdrawal that was not sent was released.
  const isCharged = isOfTransactions ? sql`true` : sql`status not in ('FAILED', 'CANCELED', 'REJECTED')`
  const refunded = isOfTransactions
    ? sql`
        coalesce(sum(amount_returned), 0) + (
          select coalesce(sum(refunds.amount), 0) from refunds
          join matching on refunds.merchant_id = matching.merchant_id and refunds.transaction_id = matching.id
          where refunds.status = 'REFUNDED')`
    : // The receiver may have returned a part only.
      sql`
        select coalesce(sum(returned.amount), 0) from ledger_transfers returned
        join matching on returned.merchant_id = matching.merchant_id and returned.record_id = matching.id
        where returned.kind = 'withdrawal_returned'`
  // The index of lists finds the rows: otherwise the whole table would be searched for the few of a rare status.
  const [row] = await runList<Sums>(
    db,
    `${matching.reader} sums`,
    sql`
      with matching as materialized (${limited(matching, sql`id, merchant_id, created_at`, summedMax + 1)})
      select (select count(*) from matching) as count, coalesce(sum(amount), 0)::bigint as amount,
        coalesce(sum(${settled}), 0)::bigint as settled,
        coalesce(sum(fee_amount) filter (where ${isCharged}), 0)::bigint as fees, (${refunded})::bigint as refunded
      from ${raw(matching.table)} join matching using (id, merchant_id)
      where (select count(*) from matching) <= ${summedMax}`,
  )
  return row && row.count <= summedMax ? row : null
}

function limited(matching: Matching, columns: Sql, limit: number): Sql {
  const { merchantId, where, among } = matching
  const rows = (merchant: Sql) =>
    sql`select ${columns} from ${toRows(matching)} where merchant_id = ${merchant} ${where}`
  return merchantId === null
    ? sql`${ofAll(rows, sql`limit ${limit}`, among)} limit ${limit}`
    : sql`${rows(sql`${merchantId}`)} limit ${limit}`
}

export type ListedTransaction = {
  id: string
  clientId: string
  clientName: string
  createdAt: Date
  paidAt: Date | null
  status: string
  amount: number
  amountPaid: number | null
  /** The sum of all refunds, and of all other returns to the payer (under MED or not). */
  refunded: number
  customerName: string | null
  payerName: string | null
  externalCode: string | null
}

const refundedAmount = sql`
  amount_returned + case when amount_paid is null then 0 else (
    select coalesce(sum(refunds.amount), 0) from refunds
    where refunds.merchant_id = transactions.merchant_id and refunds.transaction_id = transactions.id
      and refunds.status = 'REFUNDED') end`

export async function findListedTransactions(db: Reads, positions: ListPosition[]): Promise<ListedTransaction[]> {
  return await db.query<ListedTransaction>(sql`
    select id, client_id as "clientId", name as "clientName", transactions.created_at as "createdAt",
      payment_date as "paidAt", status, amount, amount_paid as "amountPaid", (${refundedAmount})::bigint as refunded,
      customer ->> 'name' as "customerName", payer ->> 'name' as "payerName", external_code as "externalCode"
    from transactions join clients using (merchant_id) where ${areAt(positions)}`)
}

export type ListedWithdrawal = {
  id: string
  clientId: string
  clientName: string
  createdAt: Date
  status: string
  hold: ReviewReason | null
  amount: number
  pixKey: string
  receiverName: string | null
  externalCode: string | null
}

export async function findListedWithdrawals(db: Reads, positions: ListPosition[]): Promise<ListedWithdrawal[]> {
  return await db.query<ListedWithdrawal>(sql`
    select id, client_id as "clientId", name as "clientName", withdrawals.created_at as "createdAt", status,
      review_reason as hold, amount, pix_key as "pixKey", receiver ->> 'name' as "receiverName",
      external_code as "externalCode"
    from withdrawals join clients using (merchant_id) where ${areAt(positions)}`)
}

export function areAt(positions: ListPosition[]): Sql {
  return sql`(id, merchant_id) in (
    select * from unnest(${positions.map(({ id }) => id)}::uuid[], ${positions.map((position) => position.merchant_id)}::uuid[]))`
}
