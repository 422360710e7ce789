import { type Network, timerMsMax, waited } from './network.ts'
import type { SpiCode } from './spi-codes.ts'

/**
 * How money that leaves ends. It is decided when it is asked for and kept, and shows from `settlesAt` on by the network's
 * clock: no timer is needed, and a restart changes nothing.
 */
export type Settlement = { settlesAt: Date; rejection: SpiCode | null }

export type SettlementState = 'processing' | 'done' | 'rejected'

/** How long what is slow stays in process, by the clock. */
export const slowMs = 600_000
// So that a callback comes after the answer to the request that it tells of, as it nearly always does.
const callbackPauseMs = 50

export function stateOf(settlement: Settlement, now: Date): SettlementState {
  if (now < settlement.settlesAt) return 'processing'
  return settlement.rejection === null ? 'done' : 'rejected'
}

/** Tells when it is settled, if this process still lives then; who is not told finds it by asking. */
export function tellWhenSettled(network: Network, settlement: Settlement, tell: () => Promise<void>): void {
  network.inBackground(async () => {
    const inMs = Math.max(0, settlement.settlesAt.getTime() - network.clock.now().getTime())
    if (!(await waited(network, Math.min(timerMsMax, inMs + callbackPauseMs)))) return
    if (stateOf(settlement, network.clock.now()) !== 'processing') await tell()
  })
}
