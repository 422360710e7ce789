import { type Gauge, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { addProcessMetrics } from './process-metrics.ts'

it('reports no lag of the event loop if nothing was measured since the last scrape', async () => {
  const registry = new Registry()
  addProcessMetrics(registry)
  await registry.metrics()
  await registry.metrics()
  for (const name of ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']) {
    const gauge = registry.getSingleMetric(`nodejs_eventloop_lag_${name}_seconds`) as Gauge
    expect([name, (await gauge.get()).values[0]?.value]).toEqual([name, 0])
  }
})
