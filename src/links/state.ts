import { amountMax } from '../http/schemas.ts'
import type { LinkRow } from './store.ts'

/** Whether a link takes payments, or why not. */
export type LinkState = 'active' | 'disabled' | 'expired' | 'sold_out'

export function linkState(
  row: Pick<LinkRow, 'is_enabled' | 'expires_at' | 'stock'> & { live: number },
  now: Date,
): LinkState {
  if (!row.is_enabled) return 'disabled'
  if (row.expires_at !== null && row.expires_at <= now) return 'expired'
  return row.stock !== null && row.live >= row.stock ? 'sold_out' : 'active'
}

/** The amounts that a link accepts: one, or a range. */
export function amountsOf(row: Pick<LinkRow, 'amount' | 'amount_min' | 'amount_max'>): { min: number; max: number } {
  return { min: row.amount ?? row.amount_min ?? 1, max: row.amount ?? row.amount_max ?? amountMax }
}
