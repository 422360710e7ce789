/** The statuses of a transaction, as in the API. The transitions are below. */
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

/**
 * Why a charge failed, in our own words; any other text is the reason of a refusal: the acquirer's, or the adapter's.
 */
export const failureMessages = {
  expired: 'PIX QR code expired',
  removed: 'The acquirer removed the charge: the PIX QR code cannot be paid any more',
  canceled: 'The charge was canceled',
}

export const failureCodes = ['expired', 'removed', 'canceled', 'refused'] as const
export type FailureCode = (typeof failureCodes)[number]

/** Why a transaction is FAILED, as a code that programs can compare; undefined in any other status. */
export function failureCodeOf(row: {
  status: TransactionStatus
  error_message: string | null
}): FailureCode | undefined {
  if (row.status !== 'FAILED') return undefined
  const known = failureCodes.find((code) => code !== 'refused' && failureMessages[code] === row.error_message)
  return known ?? 'refused'
}

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
