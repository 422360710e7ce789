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

export type UnequalTransfer = {
  merchant_id: string
  record_id: string
  status: string | null
  event_key: string
  kind: string
  expected: number | null
  posted: number | null
}

/**
 * Transfers that a withdrawal must have in its status and that are missing or different; and transfers that should
 * not exist, or that belong to no withdrawal. {@link findReturnsOutOfRange} checks how much a receiver returned, and
 * how much of that repaid a debt.
 */
export async function findUnequalTransfers(db: Db | Tx, filter: RecordFilter): Promise<UnequalTransfer[]> {
  return await db.query<UnequalTransfer>(sql`
    with expected as (
      select w.merchant_id, w.id as record_id, 'withdrawal:' || w.id || ':' || step.event as event_key,
        step.kind, step.debit, step.credit, step.amount
      from withdrawals w
      cross join lateral (
        values
          ('reserved', 'withdrawal_reserved', 'available', 'reserved', w.amount + w.fee_amount, null),
          ('sent', 'withdrawal_sent', 'reserved', 'acquirer', w.amount, array['PROCESSED', 'REFUNDED']),
          ('sent', 'fee', 'reserved', 'fees', w.fee_amount, array['PROCESSED', 'REFUNDED']),
          ('released', 'withdrawal_released', 'reserved', 'available', w.amount + w.fee_amount,
            array['FAILED', 'CANCELED', 'REJECTED'])
      ) step (event, kind, debit, credit, amount, statuses)
      where step.amount > 0 and (step.statuses is null or w.status = any (step.statuses))
        and ${matchesFilter(filter, 'w.merchant_id', 'w.id')}
    ), posted as (
      -- Compared as sums: a transfer that was added to a past event is not hidden by an equal one.
      select merchant_id, record_id, event_key, kind, debit, credit, sum(amount) as amount
      from ${transfersByAccountType}
      where (record_type = 'withdrawal' or kind like 'withdrawal_%') and kind not in ('debt_repaid', 'withdrawal_returned')
        and ${matchesFilter(filter, 'merchant_id', 'record_id')}
      group by merchant_id, record_id, event_key, kind, debit, credit
    )
    select merchant_id, record_id, w.status, event_key, kind, expected.amount as expected, posted.amount as posted
    from expected
    full join posted using (merchant_id, record_id, event_key, kind, debit, credit)
    left join (
      select merchant_id, id as record_id, status from withdrawals where ${matchesFilter(filter, 'merchant_id', 'id')}
    ) w using (merchant_id, record_id)
    where expected.amount is distinct from posted.amount`)
}

export type Returned = {
  merchant_id: string
  record_id: string
  status: string | null
  returned: number
  repaid: number
}

/**
 * Withdrawals that are REFUNDED although nothing was returned, or that are not REFUNDED although something was; those
 * of which more was returned than sent; debts repaid with more than was returned or released; and events that post a
 * return, or the repayment of a debt, twice.
 */
export async function findReturnsOutOfRange(db: Db | Tx, filter: RecordFilter): Promise<Returned[]> {
  return await db.query<Returned>(sql`
    with sums as (
      select merchant_id, record_id,
        coalesce(sum(amount) filter (where kind = 'withdrawal_returned' and debit = 'acquirer' and credit = 'available'), 0) as returned,
        coalesce(sum(amount) filter (where kind = 'withdrawal_released'), 0) as released,
        coalesce(sum(amount) filter (where kind = 'debt_repaid'), 0) as repaid,
        -- The returned amount is stored nowhere else, so the sums alone would hide it.
        count(*) filter (where kind in ('withdrawal_returned', 'debt_repaid'))
          > count(distinct (event_key, kind)) filter (where kind in ('withdrawal_returned', 'debt_repaid')) as is_posted_twice
      from ${transfersByAccountType}
      where (record_type = 'withdrawal' or kind = 'withdrawal_returned') and ${matchesFilter(filter, 'merchant_id', 'record_id')}
      group by merchant_id, record_id
    )
    select merchant_id, record_id, w.status, coalesce(returned, 0) as returned, coalesce(repaid, 0) as repaid
    from sums
    full join (
      select merchant_id, id as record_id, status, amount from withdrawals where ${matchesFilter(filter, 'merchant_id', 'id')}
    ) w using (merchant_id, record_id)
    where (w.status = 'REFUNDED') is distinct from (coalesce(returned, 0) > 0)
      or coalesce(returned, 0) > w.amount
      or repaid > returned + released
      or is_posted_twice`)
}

/** Withdrawals that were requested or executed in the window. */
export async function findTouched(db: Db | Tx, window: Window): Promise<RecordKey[]> {
  return await db.query<RecordKey>(sql`
    select merchant_id as "merchantId", id from withdrawals where ${isWithin(window, 'created_at')}
    union
    select merchant_id, id from withdrawals where ${isWithin(window, 'processed_date')}`)
}

/**
 * What must hold between withdrawals and the ledger at any moment, because status and transfers share a commit: each
 * withdrawal has exactly the transfers of its status, and every transfer has its withdrawal.
 */
export async function findWithdrawalBreaches(db: Db | Tx, filter: RecordFilter = null): Promise<Breach[]> {
  const unequal = (await findUnequalTransfers(db, filter)).map((row) => ({
    rule: 'withdrawal_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${describe(row.status)} should have ${row.expected ?? 'no'} cents as ${row.kind} of ${row.event_key}, and has ${row.posted ?? 'none'}`,
  }))
  const returns = (await findReturnsOutOfRange(db, filter)).map((row) => ({
    rule: 'withdrawal_returned',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${describe(row.status)} got ${row.returned} cents back, and ${row.repaid} cents of a debt were repaid from it`,
  }))
  return [...unequal, ...returns]
}

function describe(status: string | null): string {
  return status === null ? 'a withdrawal that does not exist' : `a withdrawal that is ${status}`
}

export const withdrawalVerification: Verification = { findBreaches: findWithdrawalBreaches, findTouched }
