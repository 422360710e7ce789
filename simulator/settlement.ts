import { type Network, timerMsMax, waited } from './network.ts'
import type { SpiCode } from './spi-codes.ts'

/**
 * The outcome of outgoing money. It is decided and stored with the request, and is visible from `settlesAt` on by the
 * network's clock: no timer is needed, and it survives a restart.
 */
export type Settlement = { settlesAt: Date; rejection: SpiCode | null }

export type SettlementState = 'processing' | 'done' | 'rejected'

/** How long a slow payment, return or payout stays in process, by the clock. */
export const slowMs = 600_000
// With this pause a callback follows the answer to its request, as it nearly always does at a PSP.
const callbackPauseMs = 50

export function stateOf(settlement: Settlement, now: Date): SettlementState {
  if (now < settlement.settlesAt) return 'processing'
  return settlement.rejection === null ? 'done' : 'rejected'
}

/**
 * Calls `notify` when the money is settled, if this process still runs then. Otherwise the client finds out by a query.
 */
export function notifyWhenSettled(network: Network, settlement: Settlement, notify: () => Promise<void>): void {
  network.inBackground(async () => {
    const inMs = Math.max(0, settlement.settlesAt.getTime() - network.clock.now().getTime())
    if (!(await waited(network, Math.min(timerMsMax, inMs + callbackPauseMs)))) return
    if (stateOf(settlement, network.clock.now()) !== 'processing') await notify()
  })
}
