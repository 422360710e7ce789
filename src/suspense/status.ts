/**
 * The statuses of a payment in suspense: attributed (`matched`) to the transaction that it belongs to, which can be
 * reversed, or sent back. A return that the acquirer refuses leaves it `held`.
 */
export const suspenseStatuses = ['held', 'matched', 'returning', 'returned'] as const

export type SuspenseStatus = (typeof suspenseStatuses)[number]

/** Every allowed transition, and no other. The database has the same table, as a check on each row's history. */
export const suspenseMoves: Readonly<Record<SuspenseStatus, readonly SuspenseStatus[]>> = {
  held: ['matched', 'returning', 'returned'],
  matched: ['held'],
  returning: ['returned', 'held'],
  returned: [],
}
