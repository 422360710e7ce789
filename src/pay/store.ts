import { type Db, raw, sql } from '../db/sql.ts'
import type { LinkRow } from '../links/store.ts'
import type { AccountHolder } from '../pix/holder.ts'
import { selectByIds } from '../transactions/owner-store.ts'
import type { TransactionStatus } from '../transactions/status.ts'

/** How a merchant's page looks. */
export type Brand = {
  merchant_name: string
  /** Null without a logo. A new logo has a new version. */
  logo_version: string | null
  color: string | null
  shop_url: string | null
}

/** The columns of a brand, of the tables `clients` and `brandings`. */
const brandColumns = raw(`
  clients.name as merchant_name, color, shop_url,
  case when logo is not null then (extract(epoch from brandings.changed_at) * 1000)::bigint::text end as logo_version`)

/**
 * The columns that a payment page needs. Data of the customer is never read for it, and of the payer only the document,
 * for the masked one of the receipt.
 */
export type PaymentRow = Brand & {
  merchant_id: string
  id: string
  status: TransactionStatus
  amount: number
  pix_uri: string | null
  pix_expires_at: Date | null
  error_message: string | null
  return_url: string | null
  payment_date: Date | null
  changed_at: Date
  end_to_end: string | null
  payer_document: string | null
  receiver: AccountHolder | null
  /** What went back to the payer. */
  returned: number
  /** Null unless the merchant shows what is bought. */
  description: string | null
  items: { title: string; unitPrice: number; quantity: number }[] | null
  embed_origins: string[] | null
}

/** A transaction whose attribution was reversed is shown as one without a payment. */
export async function findPayment(db: Db, id: string): Promise<PaymentRow | null> {
  const [row] = await db.query<PaymentRow>(
    sql`
      select merchant_id, id, case when attribution_reversed_at is null then status else 'FAILED' end as status, ${brandColumns},
        case when attribution_reversed_at is null then coalesce(amount_paid, amount) else amount end as amount,
        pix_uri, pix_expires_at, error_message, return_url, payment_date,
        status_dates[cardinality(status_dates)] as changed_at,
        case when attribution_reversed_at is null then end_to_end end as end_to_end, payer->>'document' as payer_document, receiver,
        case when end_to_end is null then 0 else amount_returned + coalesce((
          select sum(refunds.amount) from refunds
          where refunds.merchant_id = transactions.merchant_id and refunds.transaction_id = transactions.id and refunds.status = 'REFUNDED'), 0)
        end::bigint as returned,
        case when shows_items then description end as description, case when shows_items then items end as items,
        embed_origins
      from transactions join clients using (merchant_id) left join brandings using (merchant_id) where id = ${id}`,
    'find-payment',
  )
  return row ?? null
}

/** A link as its public page needs it, with its merchant. */
export type PublicLinkRow = LinkRow & Brand & { client_id: string; moved_to_address: string | null }

export async function findLinkBySlug(db: Db, slug: string): Promise<PublicLinkRow | null> {
  const rows = await db.query<PublicLinkRow>(sql`
    select payment_links.*, client_id, moved_to_address, ${brandColumns}
    from payment_links join clients using (merchant_id) left join brandings using (merchant_id) where slug = ${slug}`)
  return rows[0] ?? null
}

export async function findLogo(db: Db, merchantId: string): Promise<Buffer | null> {
  const [row] = await db.query<{ logo: Buffer | null }>(sql`
    select logo from brandings where merchant_id = ${merchantId}`)
  return row?.logo ?? null
}

export type PaymentStateRow = Pick<PaymentRow, 'id' | 'status' | 'pix_expires_at' | 'error_message'>

export async function findPaymentStates(db: Db, ids: string[]): Promise<PaymentStateRow[]> {
  return await db.query<PaymentStateRow>(
    selectByIds(ids, sql`id, status, pix_expires_at, error_message`),
    'find-payment-states',
  )
}
