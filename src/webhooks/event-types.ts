/** Every status change that is an event. `transactions/status.ts` and `withdrawals/status.ts` have the statuses. */
export const eventTypes = [
  'transaction.pix_qrcode_generated',
  'transaction.paid',
  'transaction.processing_refund',
  'transaction.processing_infraction',
  'transaction.refunded',
  'transaction.infraction',
  'transaction.failed',
  'transaction.blocked',
  'withdrawal.processing',
  'withdrawal.processed',
  'withdrawal.failed',
  'withdrawal.canceled',
  'withdrawal.refunded',
  'withdrawal.rejected',
] as const
