import { Gauge, type Registry } from 'prom-client'

type GaugeOf<Read> = { name: string; help: string; value: (read: Read) => number }

/**
 * Registers gauges that get their values from one reading, which is shared within a scrape. Each gauge collects its own
 * value: a scrape collects all metrics at once, so a gauge that another one sets could still have the value of the
 * previous scrape.
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
