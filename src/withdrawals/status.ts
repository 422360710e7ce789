/** The statuses of a withdrawal: see "States and transitions" of the service interface. */
export const withdrawalStatuses = [
  'PENDING',
  'PROCESSING',
  'PROCESSED',
  'FAILED',
  'CANCELED',
  'REFUNDED',
  'REJECTED',
] as const

export type WithdrawalStatus = (typeof withdrawalStatuses)[number]

/** Every move that is allowed, and no other. The database holds the same table, as a check on each row's history. */
export const withdrawalMoves: Readonly<Record<WithdrawalStatus, readonly WithdrawalStatus[]>> = {
  PENDING: ['PROCESSING', 'CANCELED', 'REJECTED'],
  // Failed only when it is certain that nothing left.
  PROCESSING: ['PROCESSED', 'FAILED'],
  PROCESSED: ['REFUNDED'],
  FAILED: [],
  CANCELED: [],
  REFUNDED: [],
  REJECTED: [],
}

/**
 * Why a PENDING withdrawal waits for somebody. A duplicate waits for the merchant, and then, where it needs one, for the operator's
 * approval; the operator's approval lets either go.
 */
export const withdrawalHolds = ['approval', 'duplicate'] as const

export type WithdrawalHold = (typeof withdrawalHolds)[number]
