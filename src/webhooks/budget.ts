import { setNewest } from '../lib/newest.ts'
import type { ReceiverLoad } from './queue-store.ts'

/**
 * Most concurrent requests to one receiver: enough for 1,600 deliveries a second at 20 ms each, the time of one
 * delivery under full load.
 */
export const perReceiverMax = 32

/**
 * Most deliveries that one process leases: their bodies take a few kilobytes each, and the sockets of those in flight
 * about 50 kB each with TLS.
 */
export const totalMax = 512

/**
 * A receiver starts with this window and gains one for each quick response. Without a slow start, sixteen hanging
 * receivers that the process does not know yet would hold all connections until the time-out.
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
 * when a connection becomes free, and each query claims many. With 32 connections it is 256, half of them for attempts
 * that are answered and wait to be recorded (about 60 ms). With half as many, 1,500 deliveries a second did not fit,
 * and those that cannot be sent from memory cost more. A claimed delivery waits for less than a second.
 */
const immediateMs = 100
export const claimsPerConnection = 8

type Receiver = { leased: number; inFlight: number; window: number; isImmediate: boolean; clearUntil: Date | null }

/**
 * Shares the capacity of one process among receivers. A receiver that hangs, or one with a hundred thousand deliveries
 * due, delays no other: its window halves with each time-out, down to one, and with each slow response, down to its
 * start, and grows with each quick response. A delivery is leased from its claim until its attempt is recorded, and in
 * flight from the request to the response.
 */
export function createBudget(limits: { perReceiverMax: number; totalMax: number; quickMs: number }) {
  const receivers = new Map<string, Receiver>()
  // Receivers with nothing leased, the one that has been so for longest first.
  const hanging = new Map<string, Receiver>()
  const quick = new Map<string, Receiver>()
  const start = Math.min(startWindow, limits.perReceiverMax)
  let total = 0

  return {
    /** The initial window of a receiver that is not among {@link loads}. */
    start,
    free: () => limits.totalMax - total,
    /** The receivers whose window may differ from `start`. */
    loads(): ReceiverLoad[] {
      return [...receivers, ...hanging, ...quick].map(([receiver, state]) => {
        const { leased, clearUntil } = state
        return { receiver, leased, capacity: capacityOf(state), clearUntil }
      })
    },
    /** Records that nothing from before `until` is due to the receiver any more. */
    markNothingDueBefore(receiver: string, until: Date): void {
      const state = known(receiver)
      if (state) state.clearUntil = until
    },
    /** Records that a delivery was due to the receiver, perhaps from a moment before which nothing was thought due. */
    noteDue(receiver: string, dueAt: Date): void {
      const state = known(receiver)
      if (state?.clearUntil && state.clearUntil > dueAt) state.clearUntil = null
    },
    lease,
    /**
     * Leases one delivery that is not in the database yet. False if others may be due to the receiver, which go first;
     * or if the receiver has no capacity left, or this process has leased half of what it may.
     */
    reserve(receiver: string, clearSince: Date): boolean {
      const state = known(receiver)
      if (!state?.clearUntil || state.clearUntil < clearSince) return false
      if (capacityOf(state) === 0 || total * 2 >= limits.totalMax) return false
      lease(receiver)
      return true
    },
    /** Starts one more request, if the receiver's window allows it. */
    begin(receiver: string): boolean {
      const state = stateOf(receiver)
      if (state.inFlight >= state.window) return false
      state.inFlight += 1
      return true
    },
    /** `hung`: the receiver did not respond before the deadline. */
    end(receiver: string, { durationMs, hung }: { durationMs: number; hung: boolean }): void {
      const state = stateOf(receiver)
      state.inFlight -= 1
      state.isImmediate = durationMs <= immediateMs
      if (durationMs <= limits.quickMs) state.window = Math.min(limits.perReceiverMax, state.window + 1)
      if (durationMs >= slowMs || hung) state.window = Math.max(hung ? 1 : start, Math.floor(state.window / 2))
    },
    /** Deliveries that were claimed ahead for the receiver could not start in time. */
    markSlow(receiver: string): void {
      stateOf(receiver).isImmediate = false
    },
    release(receiver: string): void {
      const state = stateOf(receiver)
      state.leased -= 1
      total -= 1
      if (state.leased === 0) forget(receiver, state)
    },
  }

  function capacityOf({ leased, window, isImmediate }: Receiver): number {
    return Math.max(0, window * (isImmediate ? claimsPerConnection : 1) - leased)
  }

  function lease(receiver: string): void {
    stateOf(receiver).leased += 1
    total += 1
  }

  function known(receiver: string): Receiver | undefined {
    return receivers.get(receiver) ?? hanging.get(receiver) ?? quick.get(receiver)
  }

  function stateOf(receiver: string): Receiver {
    const state = known(receiver) ?? { leased: 0, inFlight: 0, window: start, isImmediate: false, clearUntil: null }
    hanging.delete(receiver)
    quick.delete(receiver)
    receivers.set(receiver, state)
    return state
  }

  function forget(receiver: string, state: Receiver): void {
    receivers.delete(receiver)
    if (state.window < start) setNewest(hanging, receiver, state, hangingMax)
    else if (state.window > start) setNewest(quick, receiver, state, quickMax)
  }
}
