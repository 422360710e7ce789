/** What one receiver may have in flight at most: enough for 1,600 deliveries a second at 10 ms each. */
export const perReceiverMax = 16

/** What one process may have in flight: sockets and memory, about 50 kB each with TLS. */
export const totalMax = 256

/**
 * A receiver begins with this much and gains one for each quick answer. Without a slow start sixteen receivers that hang, of
 * which the service knows nothing yet, would hold all connections for the length of a time-out.
 */
const startWindow = 4

/** Receivers whose window is remembered though nothing is in flight to them. Each claim carries the list: 60 kB at most. */
const rememberedMax = 1_000

/** A failure as quick as this holds nobody up either, so it counts as well. */
const quickMs = 1_000
const slowMs = 5_000

type Line = { inFlight: number; window: number }

export type Load = { receiver: string; inFlight: number; room: number }

/**
 * Shares connections among receivers, so that one that hangs, or one with a hundred thousand deliveries due, delays no
 * other: a receiver's window halves with each time-out, down to one, and grows with each quick answer.
 */
export function createBudget(limits: { perReceiverMax: number; totalMax: number }) {
  const lines = new Map<string, Line>()
  const start = Math.min(startWindow, limits.perReceiverMax)
  let total = 0

  return {
    /** What a receiver that is not among {@link loads} may be given. */
    start,
    free: () => limits.totalMax - total,
    inFlight: () => total,
    /** The receivers that may not simply be given `start`. */
    loads(): Load[] {
      return [...lines].map(([receiver, { inFlight, window }]) => ({
        receiver,
        inFlight,
        room: Math.max(0, window - inFlight),
      }))
    },
    take(receiver: string) {
      const line = lines.get(receiver) ?? { inFlight: 0, window: start }
      line.inFlight += 1
      total += 1
      lines.set(receiver, line)
    },
    /** `hung` is a receiver that did not answer at all in the time it had. */
    give(receiver: string, { durationMs, hung }: { durationMs: number; hung: boolean }) {
      const line = lines.get(receiver)
      if (!line) return
      line.inFlight -= 1
      total -= 1
      if (durationMs <= quickMs) line.window = Math.min(limits.perReceiverMax, line.window + 1)
      if (durationMs >= slowMs || hung) line.window = Math.max(hung ? 1 : start, Math.floor(line.window / 2))
      if (line.inFlight === 0) forget(receiver, line)
    },
  }

  function forget(receiver: string, line: Line) {
    lines.delete(receiver)
    if (line.window === start) return
    // Put back at the end, so that the map's order is "longest not heard of first".
    lines.set(receiver, line)
    if (lines.size <= rememberedMax) return
    for (const [oldest, { inFlight }] of lines) {
      if (inFlight > 0) continue
      lines.delete(oldest)
      return
    }
  }
}
