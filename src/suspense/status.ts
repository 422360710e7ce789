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

/**
 * The operator's own merchant: its accounts hold what belongs to no other merchant. It has no API client, so nobody
 * can call the API for it. Its id is a UUID of version 8, which no registered merchant can have
 * (migrations/0001_settings_and_auth.sql).
 */
export const operatorMerchantId = '00000000-0000-8000-8000-000000000001'
