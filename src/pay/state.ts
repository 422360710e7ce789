import { failureCodeOf, type TransactionStatus } from '../transactions/status.ts'

/** What a customer sees about a transaction. */
export type PageState = 'preparing' | 'waiting' | 'expired' | 'canceled' | 'failed' | 'paid' | 'refunded'

/**
 * An open dispute is between banks and merchant: for the payer the transaction stays paid, and the page only mentions
 * the dispute.
 */
const states: Readonly<Record<TransactionStatus, PageState>> = {
  PENDING: 'preparing',
  PIX_QRCODE_GENERATED: 'waiting',
  PAID: 'paid',
  PROCESSING_REFUND: 'paid',
  BLOCKED: 'paid',
  PROCESSING_INFRACTION: 'paid',
  REFUNDED: 'refunded',
  INFRACTION: 'refunded',
  FAILED: 'failed',
}

type StatusFields = { status: TransactionStatus; pix_expires_at: Date | null; error_message: string | null }

/** A code is shown until it expires and no longer, even if the acquirer is queried once more later. */
export function pageState(row: StatusFields, now: Date): PageState {
  if (failureCodeOf(row) === 'canceled') return 'canceled'
  const { status, pix_expires_at } = row
  const state = states[status]
  const isOver = pix_expires_at !== null && pix_expires_at <= now
  return isOver && (state === 'waiting' || state === 'failed') ? 'expired' : state
}

/** Whether the page waits for a payment or its failure: an expired code may just have been paid. */
export function isOpen({ status }: Pick<StatusFields, 'status'>): boolean {
  return status === 'PENDING' || status === 'PIX_QRCODE_GENERATED'
}

/** Whether the banks still examine a dispute of the payment. */
export function isDisputed({ status }: Pick<StatusFields, 'status'>): boolean {
  return status === 'BLOCKED' || status === 'PROCESSING_INFRACTION'
}
