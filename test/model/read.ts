import { type Db, sql } from '../../src/db/sql.ts'
import type { Account } from '../../src/ledger/accounts.ts'

/** The state of the service and of the bank, read without the code under test. */
export type Seen = Awaited<ReturnType<typeof readAll>>

export type TransactionSeen = {
  merchant_id: string
  id: string
  txid: string
  statuses: string[]
  status: string
  status_dates: Date[]
  amount: number
  amount_paid: number | null
  fee_amount: number | null
  payment_date: Date | null
  end_to_end: string | null
  pix_uri: string | null
  pix_expires_at: Date | null
  error_message: string | null
  /** The bank has its charge, and has not removed it. */
  is_payable: boolean
}
export type RefundSeen = {
  merchant_id: string
  id: string
  payout: string
  transaction_id: string
  amount: number
  fee_amount: number
  /** The part of the payment's fee that was returned with it, and how much of that the operator's own money covers. */
  fee_returned: number
  covered: number
  status: string
  created_at: Date
}
export type DisputeSeen = {
  merchant_id: string
  id: string
  transaction_id: string
  acquirer_reference: string | null
  source: string
  amount: number
  returned_amount: number
  blocked_amount: number
  state: string
}
export type WithdrawalSeen = {
  merchant_id: string
  id: string
  payout: string
  amount: number
  fee_amount: number
  pix_key: string
  statuses: string[]
  status: string
  review_reason: string | null
  initial_review_reason: string | null
  idempotency_key: string | null
  created_at: Date
  returned: number
}

export type PixAtBank = { end_to_end_id: string; txid: string; amount: number }
export type ReturnAtBank = {
  end_to_end_id: string
  id: string
  amount: number
  nature: string
  is_settled: boolean
  rejection: string | null
}
export type PayoutAtBank = {
  id: string
  amount: number
  pix_key: string
  is_settled: boolean
  rejection: string | null
  returned: number
}
export type DisputeAtBank = { id: string; end_to_end_id: string; amount: number; state: string }

export async function readAll(db: Db, now: Date) {
  return {
    now,
    transactions: await db.query<TransactionSeen>(sql`
      select merchant_id, id, replace(id::text, '-', '') as txid, statuses, status, status_dates, amount, amount_paid, fee_amount,
        payment_date, end_to_end, pix_uri, pix_expires_at, error_message, exists (
          select from simulator.charges where txid = replace(transactions.id::text, '-', '') and removed_at is null) as is_payable
      from transactions order by created_at, id`),
    refunds: await db.query<RefundSeen>(sql`
      select merchant_id, id, replace(id::text, '-', '') as payout, transaction_id, amount, fee_amount, fee_returned, status, created_at, coalesce((
          select sum(amount) from ledger_transfers t
          where t.record_id = refunds.id and t.merchant_id = refunds.merchant_id and t.kind = 'fee_returned' and t.debit like 'acquirer:%'), 0) as covered
      from refunds order by created_at, id`),
    disputes: await db.query<DisputeSeen>(sql`
      select merchant_id, id, transaction_id, acquirer_reference, source, amount, returned_amount, blocked_amount, state
      from disputes order by opened_at, id`),
    withdrawals: await db.query<WithdrawalSeen>(sql`
      select merchant_id, id, replace(id::text, '-', '') as payout, amount, fee_amount, pix_key, statuses, status, review_reason, initial_review_reason, idempotency_key,
        created_at, coalesce((
          select sum(amount) from ledger_transfers t where t.record_id = w.id and t.kind = 'withdrawal_returned'), 0) as returned
      from withdrawals w order by created_at, id`),
    balances: await db.query<{ merchant_id: string; account: Account; balance: number }>(sql`
      select merchant_id, split_part(account, ':', 1) as account, balance from ledger_accounts`),
    // The operator's counterparts of `covered`.
    covers: await db.query<{ debit: 'fees' | 'debt'; amount: number }>(sql`
      select debit, amount from ledger_transfers where kind = 'fee_returned' and credit like 'acquirer:%'`),
    events: await db.query<{ record_id: string; count: number; last: number }>(sql`
      select record_id, count(*) as count, max(sequence) as last from events group by record_id`),
    bank: await readBank(db, now),
  }
}

async function readBank(db: Db, now: Date) {
  return {
    pix: await db.query<PixAtBank>(sql`
      select end_to_end_id, txid, pix.amount
      from simulator.pix join simulator.charges charge on charge.id = pix.charge_id order by paid_at, end_to_end_id`),
    returns: await db.query<ReturnAtBank>(sql`
      select end_to_end_id, id, amount, nature, settles_at <= ${now} as is_settled, rejection
      from simulator.returns order by requested_at, id`),
    payouts: await db.query<PayoutAtBank>(sql`
      select id, amount, pix_key, settles_at <= ${now} as is_settled, rejection, coalesce((
        select sum(amount) from simulator.payout_returns where payout_id = payouts.id), 0) as returned
      from simulator.payouts order by requested_at, id`),
    disputes: await db.query<DisputeAtBank>(sql`
      select id::text as id, end_to_end_id, amount, state from simulator.disputes order by opened_at, id`),
  }
}

export function sum<Item>(items: readonly Item[], amountOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + amountOf(item), 0)
}
