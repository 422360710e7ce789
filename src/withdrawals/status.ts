/** The statuses of a withdrawal, as in the API. The transitions are below. */
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

/** Every allowed transition, and no other. The database has the same table, as a check on each row's history. */
export const withdrawalTransitions: Readonly<Record<WithdrawalStatus, readonly WithdrawalStatus[]>> = {
  PENDING: ['PROCESSING', 'CANCELED', 'REJECTED'],
  // FAILED only when it is certain that nothing was sent.
  PROCESSING: ['PROCESSED', 'FAILED'],
  PROCESSED: ['REFUNDED'],
  FAILED: [],
  CANCELED: [],
  REFUNDED: [],
  REJECTED: [],
}

/**
 * Why a PENDING withdrawal is pending review. `approval`: the operator must approve it. `duplicate`: it looks like a
 * repeated one, and the merchant must confirm it; if it also needs an approval, its reason is then `approval`. The
 * operator can approve a `duplicate` without the merchant.
 */
export const reviewReasons = ['approval', 'duplicate'] as const

export type ReviewReason = (typeof reviewReasons)[number]

/** The outcome for one withdrawal when a person decides on several at once. */
export const decisionOutcomes = ['done', 'needs_other_person', 'changed', 'not_found'] as const

export type DecisionOutcome = (typeof decisionOutcomes)[number]
