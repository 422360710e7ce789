import type { Load } from './queue-store.ts'

/**
 * Most concurrent requests to one receiver: enough for 1,600 deliveries a second at 20 ms each, the time of one
 * delivery under full load.
 */
export const perReceiverMax = 32

/**
 * Most deliveries that one process holds: their bodies take a few kilobytes each, and the sockets of those in flight
 * about 50 kB each with TLS.
 */
export const totalMax = 512

/**
 * A receiver starts with this window and gains one for each quick response. Without a slow start, sixteen hanging
 * receivers that the process does not know yet would hold all connections until the time-out.
 */
const startWindow = 4

/**
 * Most receivers remembered while nothing is held for them: those that hang, and those that were quick. Every claim
 * sends them to the database.
 */
const hangingMax = 1_000
const quickMax = 100

/** A failure this quick blocks nobody either, so it grows the window as well. */
const quickMs = 1_000
const slowMs = 5_000

/**
 * For a receiver that responds this quickly, the process claims more deliveries than the receiver has connections:
 * the next one is ready when a connection becomes free, and each query claims many. A claimed delivery waits 0.3 s at
 * most.
 */
const swiftMs = 100
const depthOfSwift = 4

type Line = { held: number; underWay: number; window: number; isSwift: boolean; clearUntil: Date | null }

/**
 * Shares the capacity of one process among receivers. A receiver that hangs, or one with a hundred thousand
 * deliveries due, delays no other: its window halves with each time-out, down to one, and grows with each quick
 * response. A delivery is held from its claim until its attempt is recorded, and under way from the request to the
 * response.
 */
export function createBudget(limits: { perReceiverMax: number; totalMax: number }) {
  const lines = new Map<string, Line>()
  // Receivers with nothing held, the one that has been so for longest first.
  const hanging = new Map<string, Line>()
  const quick = new Map<string, Line>()
  const start = Math.min(startWindow, limits.perReceiverMax)
  let total = 0

  return {
    /** The initial window of a receiver that is not among {@link loads}. */
    start,
    free: () => limits.totalMax - total,
    /** The receivers whose window may differ from `start`. */
    loads(): Load[] {
      return [...lines, ...hanging, ...quick].map(([receiver, { held, window, isSwift, clearUntil }]) => ({
        receiver,
        held,
        room: Math.max(0, window * (isSwift ? depthOfSwift : 1) - held),
        clearUntil,
      }))
    },
    /** Records that nothing from before `until` is due to the receiver any more. */
    clear(receiver: string, until: Date): void {
      const line = known(receiver)
      if (line) line.clearUntil = until
    },
    /** Records that a delivery from this moment was due to the receiver after all. */
    find(receiver: string, at: Date): void {
      const line = known(receiver)
      if (line?.clearUntil && line.clearUntil > at) line.clearUntil = null
    },
    take(receiver: string): void {
      const line = lineOf(receiver)
      line.held += 1
      total += 1
    },
    /** Starts one more request, if the receiver's window allows it. */
    begin(receiver: string): boolean {
      const line = lineOf(receiver)
      if (line.underWay >= line.window) return false
      line.underWay += 1
      return true
    },
    /** `hung`: the receiver did not respond before the deadline. */
    end(receiver: string, { durationMs, hung }: { durationMs: number; hung: boolean }): void {
      const line = lineOf(receiver)
      line.underWay -= 1
      line.isSwift = durationMs <= swiftMs
      if (durationMs <= quickMs) line.window = Math.min(limits.perReceiverMax, line.window + 1)
      if (durationMs >= slowMs || hung) line.window = Math.max(hung ? 1 : start, Math.floor(line.window / 2))
    },
    /** Deliveries that were claimed ahead for the receiver could not start in time. */
    stall(receiver: string): void {
      lineOf(receiver).isSwift = false
    },
    give(receiver: string): void {
      const line = lineOf(receiver)
      line.held -= 1
      total -= 1
      if (line.held === 0) forget(receiver, line)
    },
  }

  function known(receiver: string): Line | undefined {
    return lines.get(receiver) ?? hanging.get(receiver) ?? quick.get(receiver)
  }

  function lineOf(receiver: string): Line {
    const line = known(receiver) ?? { held: 0, underWay: 0, window: start, isSwift: false, clearUntil: null }
    hanging.delete(receiver)
    quick.delete(receiver)
    lines.set(receiver, line)
    return line
  }

  function forget(receiver: string, line: Line): void {
    lines.delete(receiver)
    if (line.window < start) remember(hanging, hangingMax)
    else if (line.window > start) remember(quick, quickMax)

    function remember(some: Map<string, Line>, max: number): void {
      some.set(receiver, line)
      const [oldest] = some.keys()
      if (some.size > max && oldest !== undefined) some.delete(oldest)
    }
  }
}
