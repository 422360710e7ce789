import type { Load } from './queue-store.ts'

/** Requests to one receiver at once at most: enough for 1,600 deliveries a second at 20 ms each, as it takes when all hands are full. */
export const perReceiverMax = 32

/** What one process may have in hand: bodies of some kilobytes, and for those under way sockets, about 50 kB each with TLS. */
export const totalMax = 512

/**
 * A receiver begins with this much and gains one for each quick answer. Without a slow start sixteen receivers that hang, of
 * which the service knows nothing yet, would hold all connections for the length of a time-out.
 */
const startWindow = 4

/** Receivers that are remembered though nothing is in hand for them: those that hang, and those that were quick. A claim carries them. */
const hangingMax = 1_000
const quickMax = 100

/** A failure as quick as this holds nobody up either, so it counts as well. */
const quickMs = 1_000
const slowMs = 5_000

/**
 * For a receiver that answers as soon as this, more is held ready than it has connections: the next is then at hand when one answers,
 * and the database is asked for many at a time. What is ready waits for 0.3 s at most.
 */
const swiftMs = 100
const depthOfSwift = 4

type Line = { held: number; underWay: number; window: number; isSwift: boolean; clearUntil: Date | null }

/**
 * Shares what a process can do among receivers, so that one that hangs, or one with a hundred thousand deliveries due, delays no
 * other: a receiver's window halves with each time-out, down to one, and grows with each quick answer. What was claimed for it is
 * held until it is booked, and under way from the request to the answer.
 */
export function createBudget(limits: { perReceiverMax: number; totalMax: number }) {
  const lines = new Map<string, Line>()
  // Nothing in hand, longest so first.
  const hanging = new Map<string, Line>()
  const quick = new Map<string, Line>()
  const start = Math.min(startWindow, limits.perReceiverMax)
  let total = 0

  return {
    /** What a receiver that is not among {@link loads} may be given. */
    start,
    free: () => limits.totalMax - total,
    /** The receivers that may not simply be given `start`. */
    loads(): Load[] {
      return [...lines, ...hanging, ...quick].map(([receiver, { held, window, isSwift, clearUntil }]) => ({
        receiver,
        held,
        room: Math.max(0, window * (isSwift ? depthOfSwift : 1) - held),
        clearUntil,
      }))
    },
    /** Nothing of before that moment is due to the receiver any more. */
    clear(receiver: string, until: Date): void {
      const line = known(receiver)
      if (line) line.clearUntil = until
    },
    /** Something of that moment was due to it. */
    find(receiver: string, at: Date): void {
      const line = known(receiver)
      if (line?.clearUntil && line.clearUntil > at) line.clearUntil = null
    },
    take(receiver: string): void {
      const line = lineOf(receiver)
      line.held += 1
      total += 1
    },
    /** Lets one more be under way, if the receiver may have it. */
    begin(receiver: string): boolean {
      const line = lineOf(receiver)
      if (line.underWay >= line.window) return false
      line.underWay += 1
      return true
    },
    /** `hung` is a receiver that did not answer at all in the time it had. */
    end(receiver: string, { durationMs, hung }: { durationMs: number; hung: boolean }): void {
      const line = lineOf(receiver)
      line.underWay -= 1
      line.isSwift = durationMs <= swiftMs
      if (durationMs <= quickMs) line.window = Math.min(limits.perReceiverMax, line.window + 1)
      if (durationMs >= slowMs || hung) line.window = Math.max(hung ? 1 : start, Math.floor(line.window / 2))
    },
    /** What was held ready for the receiver could not be begun in time. */
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
