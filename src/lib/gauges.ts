import { Gauge, type Registry } from 'prom-client'

type GaugeOf<Read> = { name: string; help: string; value: (read: Read) => number }

/**
 * Registers gauges that one reading fills. Each collects, because a scrape collects all metrics at once: one that
 * another sets would still have the value of the scrape before. Those of one scrape share the reading.
 */
export function registerGauges<Read>(registry: Registry, read: () => Promise<Read>, gauges: GaugeOf<Read>[]): void {
  let reading: Promise<Read> | null = null
  const readOnce = () => {
    reading ??= read().finally(() => {
      reading = null
    })
    return reading
  }
  for (const { name, help, value } of gauges)
    new Gauge({
      name,
      help,
      aggregator: 'max',
      registers: [registry],
      async collect() {
        this.set(value(await readOnce()))
      },
    })
}
