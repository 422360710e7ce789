import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'

let ofProcess: Registry | undefined

/**
 * Adds the metrics of the process. They are measured once: each measurement has a timer of 10 ms and an observer of the
 * garbage collector that nothing ends, and in a test many services follow each other in one process.
 */
export function addProcessMetrics(registry: Registry): void {
  if (!ofProcess) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
  }
  for (const { name } of ofProcess.getMetricsAsArray())
    registry.registerMetric(ofProcess.getSingleMetric(name) as Metric)
}
