import { type Db, sql, type Tx } from '../db/sql.ts'
import {
  isWithin,
  matchesFilter,
  type RecordFilter,
  type RecordKey,
  transfersByAccountType,
  type Window,
} from '../ledger/record-filter-store.ts'
import type { Breach, Verification } from '../ledger/verify.ts'
import { operatorMerchantId } from '../suspense/status.ts'

/** The confirmed corrections, and whose ledger each changes: a merchant's, or the operator's. */
const corrections = sql`
  select id as record_id, decided_at, (proposal ->> 'cents')::bigint as change, case
      when proposal ->> 'account' = 'house' or merchant_id is null then ${operatorMerchantId}::uuid
      else merchant_id
    end as merchant_id
  from differences where state = 'confirmed' and proposal ->> 'action' = 'correct'`

export type UnequalCorrection = {
  merchant_id: string
  record_id: string
  expected: number | null
  posted: number | null
}

/**
 * Corrections whose transfers are not what was confirmed: transfers without a confirmed discrepancy, or in another
 * merchant's ledger; a confirmed correction without transfers; another amount; or other accounts. Amounts are in cents.
 */
export async function findUnequalCorrections(db: Db | Tx, filter: RecordFilter): Promise<UnequalCorrection[]> {
  return await db.query<UnequalCorrection>(sql`
    with expected as (
      select record_id, change, merchant_id from (${corrections}) confirmed where ${matchesFilter(filter, 'merchant_id', 'record_id')}
    ), posted as (
      select merchant_id, record_id,
        sum(case when debit = 'acquirer' then amount when credit = 'acquirer' then -amount else 0 end) as change,
        bool_and(record_type = 'correction' and event_key = 'correction:' || record_id and (
          (kind = 'correction' and 'acquirer' in (debit, credit) and (debit in ('available', 'debt', 'fees') or credit in ('available', 'debt', 'fees')))
          or (kind = 'debt_repaid' and debit = 'available' and credit = 'debt'))) as has_right_form
      from ${transfersByAccountType} where (record_type = 'correction' or kind = 'correction') and ${matchesFilter(filter, 'merchant_id', 'record_id')}
      group by merchant_id, record_id
    )
    select merchant_id, record_id, expected.change as expected, posted.change as posted
    from expected full join posted using (merchant_id, record_id)
    where expected.change is distinct from posted.change or not coalesce(has_right_form, false)`)
}

export type Misplaced = { merchant_id: string; record_id: string; account: string; acquirer: string }

/** Transfers that use the clearing account of another acquirer than their record's. */
export async function findMisplaced(db: Db | Tx, filter: RecordFilter): Promise<Misplaced[]> {
  return await db.query<Misplaced>(sql`
    with moved as (
      select distinct merchant_id, record_type, record_id, case when debit like 'acquirer:%' then debit else credit end as account
      from ledger_transfers
      where (debit like 'acquirer:%' or credit like 'acquirer:%') and ${matchesFilter(filter, 'merchant_id', 'record_id')}
    ), placed as (
      select moved.*, coalesce(t.acquirer, rt.acquirer, w.acquirer, s.acquirer, d.acquirer) as acquirer
      from moved
      left join transactions t on moved.record_type = 'transaction' and t.id = moved.record_id and t.merchant_id = moved.merchant_id
      left join refunds r on moved.record_type = 'refund' and r.id = moved.record_id and r.merchant_id = moved.merchant_id
      left join disputes i on moved.record_type = 'infraction' and i.id = moved.record_id and i.merchant_id = moved.merchant_id
      left join transactions rt
        on rt.id = coalesce(r.transaction_id, i.transaction_id) and rt.merchant_id = moved.merchant_id
      left join withdrawals w on moved.record_type = 'withdrawal' and w.id = moved.record_id and w.merchant_id = moved.merchant_id
      left join suspense_payments s on moved.record_type = 'suspense' and s.id = moved.record_id and s.merchant_id = moved.merchant_id
      left join differences d on moved.record_type = 'correction' and d.id = moved.record_id
    )
    select merchant_id, record_id, account, acquirer from placed where account <> 'acquirer:' || acquirer`)
}

/** Corrections that were confirmed in the window. */
export async function findTouched(db: Db | Tx, window: Window): Promise<RecordKey[]> {
  return await db.query<RecordKey>(sql`
    select merchant_id as "merchantId", record_id as id from (${corrections}) confirmed where ${isWithin(window, 'decided_at')}`)
}

/**
 * Checks the ledger against discrepancies: each posted correction belongs to a confirmed one, and each confirmed one is
 * posted, to the cent; and every transfer with an acquirer's account is with the acquirer of its record. The transfers
 * of the operator's entries are checked in entries/verify-store.ts.
 */
export async function findCorrectionBreaches(db: Db | Tx, filter: RecordFilter = null): Promise<Breach[]> {
  const misplaced = (await findMisplaced(db, filter)).map((row) => ({
    rule: 'clearing_account',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `a transfer uses ${row.account}, but the acquirer of its record is ${row.acquirer}`,
  }))
  const unequal = (await findUnequalCorrections(db, filter)).map((row) => ({
    rule: 'correction_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: describeUnequal(row),
  }))
  return [...misplaced, ...unequal]
}

function describeUnequal({ expected, posted }: UnequalCorrection): string {
  if (expected === posted)
    return 'the transfers of the correction of a discrepancy have other accounts, another record type or another event key than a correction'
  const toText = (change: number | null) => (change === null ? 'nothing' : `${change} cents`)
  return `the correction of a discrepancy must change the acquirer’s balance by ${toText(expected)}, but changed it by ${toText(posted)}`
}

export const correctionVerification: Verification = { findBreaches: findCorrectionBreaches, findTouched }
