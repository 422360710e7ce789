/** The statuses of a transaction: see "States and transitions" of the service interface. */
export const transactionStatuses = [
  'PENDING',
  'PIX_QRCODE_GENERATED',
  'PAID',
  'PROCESSING_REFUND',
  'PROCESSING_INFRACTION',
  'REFUNDED',
  'INFRACTION',
  'FAILED',
  'BLOCKED',
] as const

export type TransactionStatus = (typeof transactionStatuses)[number]

/** Every allowed transition, and no other. The database has the same table, as a check on each row's history. */
export const transactionTransitions: Readonly<Record<TransactionStatus, readonly TransactionStatus[]>> = {
  PENDING: ['PIX_QRCODE_GENERATED', 'FAILED'],
  PIX_QRCODE_GENERATED: ['PAID', 'FAILED'],
  // Money that arrives late is never lost.
  FAILED: ['PAID'],
  PAID: ['PROCESSING_REFUND', 'BLOCKED', 'INFRACTION'],
  PROCESSING_REFUND: ['REFUNDED', 'PAID', 'BLOCKED', 'INFRACTION'],
  REFUNDED: ['INFRACTION'],
  BLOCKED: ['PROCESSING_INFRACTION', 'PAID', 'PROCESSING_REFUND', 'INFRACTION'],
  // To BLOCKED when another dispute is still open.
  PROCESSING_INFRACTION: ['INFRACTION', 'PAID', 'PROCESSING_REFUND', 'BLOCKED'],
  // A dispute may have been about a part: what is left can be disputed again, or refunded.
  INFRACTION: ['BLOCKED', 'PROCESSING_REFUND'],
}

export function isTransition(from: TransactionStatus, to: TransactionStatus): boolean {
  return transactionTransitions[from].includes(to)
}
