import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'

/** The interval of the histogram's timer, which is part of each delay that it records. */
const resolutionMs = 10
/** A shorter period gives no reliable average. */
const periodMinMs = 100
/** A process that has answered no request for this long counts as idle. */
const idleAfterMs = 1_000

let loop: { histogram: IntervalHistogram; readAt: number; lateMs: number; isEnabled: boolean } | undefined
let answeredAt = Number.NEGATIVE_INFINITY

/** Notes that this process answers requests. */
export function noteRequest(): void {
  answeredAt = performance.now()
}

/**
 * How late the timers of the event loop were lately, on average: a lower bound of how long requests waited for it; 0
 * while the process is idle. All services in a process share one measurement (tests run several). A call starts it, or
 * stops it while the process is idle, because its timer costs a percent of a core.
 */
export function loopWaitMs(): number {
  const now = performance.now()
  loop ??= { histogram: monitorEventLoopDelay({ resolution: resolutionMs }), readAt: now, lateMs: 0, isEnabled: false }
  const { histogram, isEnabled } = loop
  loop.isEnabled = now - answeredAt <= idleAfterMs
  if (!loop.isEnabled) histogram.disable()
  else if (!isEnabled) {
    histogram.enable()
    // Without the reset, the whole time for which the histogram was disabled would count as its first delay.
    histogram.reset()
    Object.assign(loop, { readAt: now, lateMs: 0 })
  }
  if (now - loop.readAt >= periodMinMs) {
    const { mean, count } = histogram
    loop.lateMs = count === 0 ? 0 : Math.max(0, mean / 1e6 - resolutionMs)
    loop.readAt = now
    histogram.reset()
  }
  return loop.isEnabled ? loop.lateMs : 0
}

/** With an average wait of at least this, requests come first: webhooks and background work become slower. */
export const loopBusyMs = 5

export function isLoopBusy(): boolean {
  return loopWaitMs() >= loopBusyMs
}
