import { type Db, sql } from '../db/sql.ts'
import type { AccountHolder } from '../pix/holder.ts'

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
 * Null if there is no such transaction, or it is not paid, or its payer paid for something else: the payment's
 * attribution to it was reversed.
 *
 * @param merchantId null: of any merchant, for the operator's users and for whoever has the link of the payment page
 */
export async function findReceipt(
  db: Db,
  { id, merchantId }: { id: string; merchantId: string | null },
): Promise<ReceiptRow | null> {
  const ofMerchant = merchantId === null ? sql`` : sql`and merchant_id = ${merchantId}`
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
