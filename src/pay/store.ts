import { type Db, sql } from '../db/sql.ts'
import { selectByIds } from '../transactions/owner-store.ts'
import type { TransactionStatus } from '../transactions/status.ts'

/** The columns that a payment page needs. Data of the customer and of the payer are never read for it. */
export type PaymentRow = {
  merchant_id: string
  id: string
  status: TransactionStatus
  merchant_name: string
  amount: number
  pix_uri: string | null
  pix_expires_at: Date | null
  error_message: string | null
  return_url: string | null
  payment_date: Date | null
  changed_at: Date
}

export async function findPayment(db: Db, id: string): Promise<PaymentRow | null> {
  const [row] = await db.query<PaymentRow>(
    sql`
      select merchant_id, id, status, clients.name as merchant_name, coalesce(amount_paid, amount) as amount, pix_uri, pix_expires_at, error_message, return_url, payment_date,
        status_dates[cardinality(status_dates)] as changed_at
      from transactions join clients using (merchant_id) where id = ${id}`,
    'find-payment',
  )
  return row ?? null
}

export type PaymentStateRow = Pick<PaymentRow, 'id' | 'status' | 'pix_expires_at' | 'error_message'>

export async function findPaymentStates(db: Db, ids: string[]): Promise<PaymentStateRow[]> {
  return await db.query<PaymentStateRow>(
    selectByIds(ids, sql`id, status, pix_expires_at, error_message`),
    'find-standings',
  )
}
