/**
 * What becomes of a payment in suspense: matched to the transaction that it was meant for, which can be undone, or sent back. A return that
 * the acquirer refuses leaves it held.
 */
export const suspenseStatuses = ['held', 'matched', 'returning', 'returned'] as const

export type SuspenseStatus = (typeof suspenseStatuses)[number]

/** Every move that is allowed, and no other. The database holds the same table, as a check on each row's history. */
export const suspenseMoves: Readonly<Record<SuspenseStatus, readonly SuspenseStatus[]>> = {
  held: ['matched', 'returning', 'returned'],
  matched: ['held'],
  returning: ['returned', 'held'],
  returned: [],
}
