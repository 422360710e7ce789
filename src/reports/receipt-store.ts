import { type Db, empty, sql } from '../db/sql.ts'
import type { AccountHolder } from '../pix/holder.ts'
import type { PixKey } from '../pix/key.ts'

/** What a receipt shows of a paid transaction. */
export type ReceiptRow = {
  id: string
  merchant_name: string
  amount: number
  paid_at: Date
  end_to_end: string
  payer: AccountHolder | null
  receiver: AccountHolder | null
  external_code: string | null
  /** What went back to the payer, by refunds and otherwise. */
  returned: number
  logo: Buffer | null
}

/**
 * Null if there is no such transaction, it is not paid, or the payment was attributed to it by mistake: that
 * attribution was reversed.
 *
 * @param merchantId null: of any merchant, for the operator's users and for whoever has the link of the payment page
 */
export async function findReceipt(
  db: Db,
  { id, merchantId }: { id: string; merchantId: string | null },
): Promise<ReceiptRow | null> {
  const ofMerchant = merchantId === null ? empty : sql`and merchant_id = ${merchantId}`
  const [row] = await db.query<ReceiptRow>(sql`
    select id, clients.name as merchant_name, amount_paid as amount, payment_date as paid_at, end_to_end, payer, receiver, external_code,
      amount_returned + coalesce((
        select sum(refunds.amount) from refunds
        where refunds.merchant_id = transactions.merchant_id and refunds.transaction_id = transactions.id and status = 'REFUNDED'), 0)::bigint as returned,
      logo
    from transactions join clients using (merchant_id) left join brandings using (merchant_id)
    where id = ${id} and end_to_end is not null and attribution_reversed_at is null ${ofMerchant}`)
  return row ?? null
}

/** What a receipt shows of a withdrawal that was sent. */
export type WithdrawalReceiptRow = {
  id: string
  merchant_name: string
  amount: number
  sent_at: Date
  end_to_end: string | null
  /** The account that paid. */
  payer: AccountHolder | null
  receiver: AccountHolder | null
  /** Null once the receiver's data was erased. */
  key: PixKey | null
  external_code: string | null
  fee: number
  /** What the receiver sent back later. */
  returned: number
  logo: Buffer | null
}

/** Null if there is no such withdrawal, or it was not sent. */
export async function findWithdrawalReceipt(
  db: Db,
  { id, merchantId }: { id: string; merchantId: string | null },
): Promise<WithdrawalReceiptRow | null> {
  const ofMerchant = merchantId === null ? empty : sql`and merchant_id = ${merchantId}`
  const [row] = await db.query<WithdrawalReceiptRow>(sql`
    select id, clients.name as merchant_name, amount_withdrawn as amount, processed_date as sent_at, end_to_end, payer, receiver,
      case when erased_at is null then json_build_object('key', pix_key, 'type', pix_key_type) end as key,
      external_code, fee_amount as fee, coalesce((
        select sum(amount) from ledger_transfers
        where ledger_transfers.merchant_id = withdrawals.merchant_id and record_id = withdrawals.id and kind = 'withdrawal_returned'), 0)::bigint as returned,
      logo
    from withdrawals join clients using (merchant_id) left join brandings using (merchant_id)
    where id = ${id} and status in ('PROCESSED', 'REFUNDED') and processed_date is not null ${ofMerchant}`)
  return row ?? null
}

/** What a receipt shows of a refund that was sent. */
export type RefundReceiptRow = {
  id: string
  merchant_name: string
  amount: number
  sent_at: Date
  end_to_end: string | null
  /** The payment that was refunded. */
  end_to_end_paid: string
  payer: AccountHolder | null
  external_code: string | null
  logo: Buffer | null
}

/** Null if there is no such refund, it was not sent, or it reversed an attribution: then the payer got no money. */
export async function findRefundReceipt(
  db: Db,
  { id, merchantId }: { id: string; merchantId: string | null },
): Promise<RefundReceiptRow | null> {
  const ofMerchant = merchantId === null ? empty : sql`and refunds.merchant_id = ${merchantId}`
  const [row] = await db.query<RefundReceiptRow>(sql`
    select refunds.id, clients.name as merchant_name, refunds.amount, refunds.finished_at as sent_at, refunds.end_to_end,
      t.end_to_end as end_to_end_paid, t.payer, t.external_code, logo
    from refunds
    join transactions t on t.id = refunds.transaction_id and t.merchant_id = refunds.merchant_id
    join clients on clients.merchant_id = refunds.merchant_id
    left join brandings on brandings.merchant_id = refunds.merchant_id
    where refunds.id = ${id} and refunds.status = 'REFUNDED' and suspense_payment_id is null ${ofMerchant}`)
  return row ?? null
}
