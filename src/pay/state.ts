import type { TransactionStatus } from '../transactions/status.ts'

/** What a customer needs to know of a transaction. */
export type PageState = 'preparing' | 'waiting' | 'expired' | 'failed' | 'paid' | 'refunded'

/** A contest under way is between banks and shop: for whoever paid, it is paid. */
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

type Standing = { status: TransactionStatus; pix_expires_at: Date | null }

/** A code is shown to its last second and no longer, whenever the acquirer is asked about it for the last time. */
export function pageState({ status, pix_expires_at }: Standing, now: Date): PageState {
  const state = states[status]
  const isOver = pix_expires_at !== null && pix_expires_at <= now
  return isOver && (state === 'waiting' || state === 'failed') ? 'expired' : state
}

/** Whether it may change while somebody looks: a code that has expired may just have been paid. */
export function isOpen({ status }: Pick<Standing, 'status'>): boolean {
  return status === 'PENDING' || status === 'PIX_QRCODE_GENERATED'
}
