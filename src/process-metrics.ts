import { monitorEventLoopDelay } from 'node:perf_hooks'
import { collectDefaultMetrics, type Gauge, type Metric, Registry } from 'prom-client'
import { assert } from './lib/assert.ts'

let processRegistry: Registry | undefined

/**
 * Adds the metrics of the process. They are collected once per process, and every registry gets the same ones: the
 * collection starts a timer and an observer of the garbage collector that cannot be stopped, and tests start many
 * services in one process.
 */
export function addProcessMetrics(registry: Registry): void {
  if (!processRegistry) {
    processRegistry = new Registry()
    collectDefaultMetrics({ register: processRegistry, eventLoopMonitoringPrecision: neverMs })
    measureEventLoop(processRegistry)
  }
  for (const { name } of processRegistry.getMetricsAsArray())
    registry.registerMetric(processRegistry.getSingleMetric(name) as Metric)
}

/** The longest interval of a timer (25 days): with it, the library's own measurement practically never runs. */
const neverMs = 2 ** 31 - 1
/**
 * The pause between two measurements. With the library's 10 ms, an idle process would use a percent of a core for them.
 */
const pauseMs = 100

/**
 * Replaces the library's measurement. The pause, which is part of what is measured, is subtracted. All are 0 if nothing
 * was measured since the last scrape, a moment ago: an empty histogram has no mean, and a minimum of 292 years.
 */
function measureEventLoop(registry: Registry): void {
  const histogram = monitorEventLoopDelay({ resolution: pauseMs })
  histogram.enable()
  const find = (name: string) => {
    const metric = registry.getSingleMetric(`nodejs_eventloop_lag${name}_seconds`) as
      | (Gauge & { collect(): void })
      | undefined
    assert(metric, 'the library has this metric')
    return metric
  }
  const set = (name: string, nanoseconds: number) =>
    find(name).set(histogram.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - pauseMs / 1e3))
  const first = find('')
  const collect = first.collect
  // The library sets all of these metrics when it collects the first one.
  first.collect = () => {
    collect()
    set('_min', histogram.min)
    set('_max', histogram.max)
    set('_mean', histogram.mean)
    for (const percent of [50, 90, 99]) set(`_p${percent}`, histogram.percentile(percent))
    find('_stddev').set(histogram.count === 0 ? 0 : histogram.stddev / 1e9)
    histogram.reset()
  }
}
