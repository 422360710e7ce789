import { type Network, timerMsMax, waited } from './network.ts'
import type { SpiCode } from './spi-codes.ts'

/**
 * The outcome of outgoing money. It is decided and stored with the request, and is visible from `settlesAt` on by the
 * network's clock. So it needs no timer and survives a restart; only its callback needs one.
 */
export type Settlement = { settlesAt: Date; rejection: SpiCode | null }

export type SettlementState = 'processing' | 'done' | 'rejected'

/** The simulator's delay: of slow payments, returns and payouts, late payments after expiry, and automatic returns. */
export const slowMs = 600_000
// So that the callback is sent after the answer to its request, as it nearly always is at a PSP.
const callbackPauseMs = 50

export function stateOf(settlement: Settlement, now: Date): SettlementState {
  if (now < settlement.settlesAt) return 'processing'
  return settlement.rejection === null ? 'done' : 'rejected'
}

/**
 * Calls `notify` once the money is settled or rejected, if this process still runs then. Otherwise the client finds out
 * by a query.
 */
export function notifyWhenSettled(network: Network, settlement: Settlement, notify: () => Promise<void>): void {
  network.inBackground(async () => {
    const inMs = Math.max(0, settlement.settlesAt.getTime() - network.clock.now().getTime())
    if (!(await waited(network, Math.min(timerMsMax, inMs + callbackPauseMs)))) return
    if (stateOf(settlement, network.clock.now()) !== 'processing') await notify()
  })
}
