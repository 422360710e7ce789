import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { registerGauges } from '../lib/gauges.ts'
import type { Answer } from './attempt.ts'
import { listDisabledEndpoints } from './endpoints/store.ts'
import { findBacklog, listFailingReceivers } from './queue-store.ts'

/**
 * The maximum number of time series of each of the two gauges by receiver. Only a receiver with one can have an alert.
 */
const failingMax = 20
/** When all deliveries to a receiver were given up, the receiver still counts as failing for this long. */
const givenUpMs = 30 * 24 * 60 * 60_000

export type DeliveryMetrics = { observe(answer: Answer): void }

/**
 * Counts attempts by outcome and measures their duration. The backlog, the failing receivers and the disabled endpoints
 * are read from the database at each scrape.
 */
export function createMetrics({ registry, db, clock }: { registry: Registry; db: Db; clock: Clock }): DeliveryMetrics {
  const registers = [registry]
  const attempts = new Counter({
    name: 'guiche_webhook_attempts_total',
    help: 'Attempts to deliver a webhook, by outcome',
    labelNames: ['outcome'],
    registers,
  })
  const seconds = new Histogram({
    name: 'guiche_webhook_attempt_seconds',
    help: 'How long an attempt to deliver a webhook took',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15],
    registers,
  })
  const read = async () => {
    const now = clock.now()
    return { ...(await findBacklog(db, now)), now }
  }
  registerGauges(registry, read, [
    {
      name: 'guiche_webhook_deliveries_oldest_due_seconds',
      help: 'How long the oldest due webhook delivery has been due',
      value: ({ oldest, now }) => (oldest ? Math.max(0, now.getTime() - oldest.getTime()) / 1000 : 0),
    },
    {
      name: 'guiche_webhook_deliveries_due',
      help: 'Webhook deliveries that are due and not leased by a worker',
      value: ({ due }) => due,
    },
  ])
  new Gauge({
    name: 'guiche_webhook_receiver_failing_seconds',
    help: `How long deliveries to a merchant’s receiver have failed without a success; only the ${failingMax} that have failed longest`,
    labelNames: ['client', 'receiver'],
    aggregator: 'max',
    registers,
    async collect() {
      const now = clock.now().getTime()
      this.reset()
      for (const { client, receiver, since } of await listFailingReceivers(db, {
        givenUpAfter: new Date(now - givenUpMs),
        limit: failingMax,
      }))
        this.set({ client, receiver }, Math.max(0, now - since.getTime()) / 1000)
    },
  })
  new Gauge({
    name: 'guiche_webhook_endpoint_disabled_seconds',
    help: `How long a merchant’s webhook endpoint has been disabled because it failed or answered 410; only the ${failingMax} that were disabled first`,
    labelNames: ['client', 'receiver'],
    aggregator: 'max',
    registers,
    async collect() {
      const now = clock.now().getTime()
      this.reset()
      for (const { client, receiver, since } of await listDisabledEndpoints(db, failingMax))
        this.set({ client, receiver }, Math.max(0, now - since.getTime()) / 1000)
    },
  })
  return {
    observe: ({ outcome, durationMs }) => {
      attempts.inc({ outcome })
      seconds.observe(durationMs / 1000)
    },
  }
}
