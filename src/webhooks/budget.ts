import { setNewest } from '../lib/newest.ts'
import type { ReceiverLoad } from './queue-store.ts'

/** Most concurrent requests to one receiver: enough for 3,200 deliveries a second at 20 ms each. */
export const perReceiverMax = 64
/**
 * The same while requests to this process wait for it ({@link isLoopBusy}): webhooks then become late, and not the
 * answers. With 64, 1 in 100 answers took 0.5 s at 2,500 creates a second on two cores, and 0.14 s with 32.
 */
const perReceiverBusyMax = 32

/**
 * Most deliveries that one process leases: their bodies take a few kilobytes each, and the sockets of those in flight
 * about 50 kB each with TLS.
 */
export const totalMax = 1_024

/**
 * A receiver starts with this window and gains one for each quick response. Without a slow start, sixteen hanging
 * receivers that the process does not know yet would hold all that it may lease until the time-out.
 */
const startWindow = 4

/**
 * Most receivers remembered while nothing is leased for them: those that hang, and those that were quick. Every claim
 * sends them to the database.
 */
const hangingMax = 1_000
const quickMax = 100

/** A failure this quick blocks nobody either, so it grows the window as well. */
export const quickMs = 1_000
const slowMs = 5_000

/**
 * A receiver that responds this quickly may be leased more deliveries than it has connections: the next one is ready
 * when a connection becomes free, and each query claims many. With 64 connections it is 512, of which at 2,000 deliveries
 * a second some 120 are answered and wait to be recorded (about 60 ms). Those that do not fit are claimed, and cost more.
 * A leased delivery waits for less than a second.
 */
const immediateMs = 100
export const claimsPerConnection = 8

/** A delivery that was claimed from the database, or one of this process's own that it sends from memory. */
export type Kind = 'claimed' | 'own'

type Receiver = {
  leased: Record<Kind, number>
  inFlight: number
  window: number
  isImmediate: boolean
  nothingDueBefore: Date | null
}

/**
 * Shares the capacity of one process among receivers. A receiver that hangs, or one with a hundred thousand deliveries
 * due, delays no other: its window halves with each time-out, down to one, and with each slow response, down to the
 * initial window, and grows with each quick response. A slow response leaves a window below the initial one as it is. A
 * delivery is leased from its claim until its attempt is recorded, and in flight from the request to the response.
 */
export function createBudget(limits: {
  perReceiverMax: number
  totalMax: number
  quickMs: number
  isBusy: () => boolean
}) {
  const receivers = new Map<string, Receiver>()
  // Receivers with nothing leased, the one that has been so for longest first.
  const hanging = new Map<string, Receiver>()
  const quick = new Map<string, Receiver>()
  const initialWindow = Math.min(startWindow, limits.perReceiverMax)
  const total = { claimed: 0, own: 0 }

  return {
    /** The initial window of a receiver that is not among {@link loads}. */
    initialWindow,
    free,
    /** The receivers whose window may differ from `initialWindow`. */
    loads(): ReceiverLoad[] {
      return [...receivers, ...hanging, ...quick].map(([receiver, state]) => {
        const capacity = Math.max(0, capacityOf(state) - state.leased.claimed)
        return { receiver, leased: sumOf(state.leased), capacity, nothingDueBefore: state.nothingDueBefore }
      })
    },
    /** Records that nothing from before `until` is due to the receiver any more. */
    markNothingDueBefore(receiver: string, until: Date): void {
      const state = known(receiver)
      if (state) state.nothingDueBefore = until
    },
    /** Records that a delivery was due to the receiver, perhaps from a moment before which nothing was thought due. */
    noteDue(receiver: string, dueAt: Date): void {
      const state = known(receiver)
      if (state?.nothingDueBefore && state.nothingDueBefore > dueAt) state.nothingDueBefore = null
    },
    lease,
    /**
     * Leases a delivery of this process's own, which is not in the database yet. Each receiver may have as many of these
     * as claimed ones. So new deliveries, which cost less, do not wait behind a backlog, and leave it about half of the
     * connections. False if the receiver is not known or hangs, if it has no capacity left, if this process has leased
     * all that it may, or if half of that is for its own deliveries.
     */
    reserve(receiver: string): boolean {
      const state = known(receiver)
      if (!state || state.window < initialWindow || state.leased.own >= capacityOf(state)) return false
      if (free() <= 0 || total.own * 2 >= limits.totalMax) return false
      lease(receiver, 'own')
      return true
    },
    /** Starts one more request, if the receiver's window allows it. */
    begin(receiver: string): boolean {
      const state = stateOf(receiver)
      if (state.inFlight >= (limits.isBusy() ? Math.min(state.window, perReceiverBusyMax) : state.window)) return false
      state.inFlight += 1
      return true
    },
    /** `hung`: the attempt timed out, see `isTimeout` of attempt-errors.ts. */
    end(receiver: string, { durationMs, hung }: { durationMs: number; hung: boolean }): void {
      const state = stateOf(receiver)
      state.inFlight -= 1
      state.isImmediate = durationMs <= immediateMs
      if (durationMs <= limits.quickMs) state.window = Math.min(limits.perReceiverMax, state.window + 1)
      if (durationMs >= slowMs || hung) {
        const least = hung ? 1 : Math.min(initialWindow, state.window)
        state.window = Math.max(least, Math.floor(state.window / 2))
      }
    },
    /** Deliveries that were claimed ahead for the receiver could not start in time. */
    markSlow(receiver: string): void {
      stateOf(receiver).isImmediate = false
    },
    release(receiver: string, kind: Kind): void {
      const state = stateOf(receiver)
      state.leased[kind] -= 1
      total[kind] -= 1
      if (sumOf(state.leased) === 0) forget(receiver, state)
    },
  }

  function free(): number {
    return limits.totalMax - sumOf(total)
  }

  /** How many deliveries of each kind the receiver may be leased. */
  function capacityOf({ window, isImmediate }: Receiver): number {
    return window * (isImmediate ? claimsPerConnection : 1)
  }

  function lease(receiver: string, kind: Kind): void {
    stateOf(receiver).leased[kind] += 1
    total[kind] += 1
  }

  function known(receiver: string): Receiver | undefined {
    return receivers.get(receiver) ?? hanging.get(receiver) ?? quick.get(receiver)
  }

  function stateOf(receiver: string): Receiver {
    const state = known(receiver) ?? newReceiver(initialWindow)
    hanging.delete(receiver)
    quick.delete(receiver)
    receivers.set(receiver, state)
    return state
  }

  function forget(receiver: string, state: Receiver): void {
    receivers.delete(receiver)
    if (state.window < initialWindow) setNewest(hanging, receiver, state, hangingMax)
    else if (state.window > initialWindow) setNewest(quick, receiver, state, quickMax)
  }
}

function newReceiver(window: number): Receiver {
  return { leased: { claimed: 0, own: 0 }, inFlight: 0, window, isImmediate: false, nothingDueBefore: null }
}

function sumOf({ claimed, own }: Record<Kind, number>): number {
  return claimed + own
}
