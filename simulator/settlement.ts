import { type Network, timerMsMax, waitUnlessClosed } from './network.ts'
import type { SpiCode } from './spi-codes.ts'

/**
 * The outcome of outgoing money. It is decided and stored with the request, and is visible from `settlesAt` on by the
 * network's clock. So it needs no timer and survives a restart; only its callback needs one.
 */
export type Settlement = { settlesAt: Date; rejection: SpiCode | null }

export type SettlementState = 'processing' | 'done' | 'rejected'

/**
 * How long the simulator delays slow payments, returns and payouts; late payments, from the expiry of the charge on;
 * and automatic returns, from the payment on.
 */
export const slowMs = 600_000
// So that the callback is sent after the answer to its request, as it nearly always is at a PSP.
const callbackPauseMs = 50

export function stateOf(settlement: Settlement, now: Date): SettlementState {
  if (now < settlement.settlesAt) return 'processing'
  return settlement.rejection === null ? 'done' : 'rejected'
}

/**
 * Calls `notify` shortly after `settlesAt`, if this process still runs then. Otherwise the client finds out by a query.
 * If `advance` in time.ts makes the money due earlier, it sends the callback itself, and this timer sends it again
 * after the original time: a PSP may also send a callback twice. So `notify` must read what is stored then.
 */
export function notifyWhenSettled(
  network: Network,
  { settlesAt }: Pick<Settlement, 'settlesAt'>,
  notify: () => Promise<void>,
): void {
  network.inBackground(async () => {
    const inMs = Math.max(0, settlesAt.getTime() - network.clock.now().getTime())
    if (!(await waitUnlessClosed(network, Math.min(timerMsMax, inMs + callbackPauseMs)))) return
    if (network.clock.now() >= settlesAt) await notify()
  })
}
