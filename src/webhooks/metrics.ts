import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { Answer } from './attempt.ts'
import { findBacklog } from './queue-store.ts'

export type DeliveryMetrics = { observe(answer: Answer): void }

/** Attempts by outcome, their duration, and the backlog, which is counted only at a scrape. */
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
  const age = new Gauge({
    name: 'guiche_webhook_deliveries_oldest_due_seconds',
    aggregator: 'max',
    help: 'How long the oldest due webhook delivery has been due',
    registers,
  })
  new Gauge({
    name: 'guiche_webhook_deliveries_due',
    aggregator: 'max',
    help: 'Webhook deliveries that are due and not leased by a worker',
    registers,
    async collect() {
      const now = clock.now()
      const { due, oldest } = await findBacklog(db, now)
      this.set(due)
      age.set(oldest ? Math.max(0, now.getTime() - oldest.getTime()) / 1000 : 0)
    },
  })
  return {
    observe: ({ outcome, durationMs }) => {
      attempts.inc({ outcome })
      seconds.observe(durationMs / 1000)
    },
  }
}
