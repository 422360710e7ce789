import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'

/** The event loop's own pause between two measurements, which is part of what they measure. */
const resolutionMs = 10
/** A shorter time says little about the average. */
const measuredForMs = 100
/** A process that answered no request for this long keeps nobody waiting. */
const idleAfterMs = 1_000

let loop: { histogram: IntervalHistogram; readAt: number; lateMs: number; isEnabled: boolean } | undefined
let answeredAt = Number.NEGATIVE_INFINITY

/** Notes that this process answers requests. */
export function noteRequest(): void {
  answeredAt = performance.now()
}

/**
 * How long requests to this process lately waited for its event loop, on average; 0 while there are none. It is
 * measured once in a process, however many services it runs, as a test does, and from the first call on: its timer
 * would cost an idle process a percent of a core.
 */
export function loopWaitMs(): number {
  const now = performance.now()
  loop ??= { histogram: monitorEventLoopDelay({ resolution: resolutionMs }), readAt: now, lateMs: 0, isEnabled: false }
  const { histogram, isEnabled } = loop
  loop.isEnabled = now - answeredAt <= idleAfterMs
  if (!loop.isEnabled) histogram.disable()
  else if (!isEnabled) {
    histogram.enable()
    // Without it, the time since it was disabled would be the first delay.
    histogram.reset()
    Object.assign(loop, { readAt: now, lateMs: 0 })
  }
  if (now - loop.readAt >= measuredForMs) {
    const { mean, count } = histogram
    loop.lateMs = count === 0 ? 0 : Math.max(0, mean / 1e6 - resolutionMs)
    loop.readAt = now
    histogram.reset()
  }
  return loop.isEnabled ? loop.lateMs : 0
}
