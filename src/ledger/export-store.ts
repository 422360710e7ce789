import { runList } from '../db/page.ts'
import { empty, type Reads, raw, sql } from '../db/sql.ts'
import { entriesOf, lastIds, type StatementFilters, type StatementRow, statementColumns } from './store.ts'
import { isPostedWithin } from './window-store.ts'

/** An entry of a statement as exported: with the bank's and the merchant's identifier of its payment or withdrawal. */
export type ExportedEntry = StatementRow & { end_to_end: string | null; external_code: string | null }

/** The next entries of an export, without counting: those before an id, the last posted first. */
export async function listStatementBefore(
  db: Reads,
  merchantId: string,
  filters: StatementFilters,
  { beforeId, limit }: { beforeId: number | null; limit: number },
): Promise<ExportedEntry[]> {
  const ids = lastIds(entriesOf(merchantId, filters), { before: beforeId, limit, offset: 0 })
  // Scalar subqueries, each by a key: a join would read all refunds and withdrawals of the merchant for each piece.
  const statement = sql`
    select entry.*,
      case record_type
        when 'withdrawal' then (
          select end_to_end from withdrawals where withdrawals.merchant_id = ${merchantId} and withdrawals.id = entry.record_id)
        when 'refund' then (
          select end_to_end from refunds where refunds.merchant_id = ${merchantId} and refunds.id = entry.record_id)
        else (
          select end_to_end from transactions
          where transactions.merchant_id = ${merchantId} and transactions.id = entry.transaction_id)
      end as end_to_end,
      case record_type
        when 'withdrawal' then (
          select external_code from withdrawals
          where withdrawals.merchant_id = ${merchantId} and withdrawals.id = entry.record_id)
        else (
          select external_code from transactions
          where transactions.merchant_id = ${merchantId} and transactions.id = entry.transaction_id)
      end as external_code
    from (
      select ${statementColumns} from ledger_transfers join (${ids}) places using (id) where merchant_id = ${merchantId}
    ) entry
    order by entry.id desc`
  return await runList<ExportedEntry>(db, merchantId, statement)
}

export type Posted = { id: number; recordId: string; postedAt: Date }

/** Where the transfer that posts a payment, or a withdrawal that was sent, is in the indexes of the ledger. */
const postedSides = { payment: ['credit', 'available'], withdrawal_sent: ['debit', 'reserved'] } as const

export type PostedKind = keyof typeof postedSides

/**
 * The next payments, or withdrawals that were sent, the last posted first. `until` is null for no end. One index has
 * all of it, and a piece ends after `limit` entries, whatever its window.
 */
export async function listPosted(
  db: Reads,
  merchantId: string,
  {
    kind,
    from,
    until,
    beforeId,
    limit,
  }: { kind: PostedKind; from: Date; until: Date | null; beforeId: number | null; limit: number },
): Promise<Posted[]> {
  const [side, account] = postedSides[kind]
  return await db.query<Posted>(sql`
    select id, record_id as "recordId", created_at as "postedAt" from ledger_transfers
    where merchant_id = ${merchantId} and ${raw(side)} = ${account} and kind = ${kind}
      and ${isPostedWithin(merchantId, { from, until })} ${beforeId === null ? empty : sql`and id < ${beforeId}`}
    order by id desc limit ${limit}`)
}

export type AccountAtDayEnd = { day: string; account: 'available' | 'reserved' | 'blocked'; balance: number }

/**
 * The balances at the end of each day (in Brazil) on which one of them changed, from a day on. The indexes say which
 * transfer of a day is the last of an account; only those few are read.
 */
export async function listDayBalances(db: Reads, merchantId: string, from: Date): Promise<AccountAtDayEnd[]> {
  const lastOf = (side: 'debit' | 'credit') => sql`
    select brazilian_day(created_at) as day, ${raw(side)} as account, max(id) as id from ledger_transfers
    where merchant_id = ${merchantId} and ${raw(side)} in ('available', 'reserved', 'blocked')
      and ${isPostedWithin(merchantId, { from, until: null })}
    group by 1, 2`
  return await db.query<AccountAtDayEnd>(sql`
    select last.day::text, last.account, case when debit = last.account then debit_balance else credit_balance end as balance
    from (
      select day, account, max(id) as id from ((${lastOf('debit')}) union all (${lastOf('credit')})) either group by day, account
    ) last join ledger_transfers on merchant_id = ${merchantId} and ledger_transfers.id = last.id
    order by last.day`)
}
