import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Agent } from 'undici'
import { createBatch } from '../db/batch.ts'
import type { Db } from '../db/sql.ts'
import { createBell } from '../lib/bell.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { type Answer, attemptDelivery } from './attempt.ts'
import { createBudget, perReceiverMax, totalMax } from './budget.ts'
import { createDialler } from './dial.ts'
import { createMetrics } from './metrics.ts'
import { buildBodies, type LoadRecords } from './payload.ts'
import { type BookedAttempt, bookAttempts, giveBack, toResult } from './result.ts'
import { findSigningSecrets } from './secrets.ts'
import { signDelivery } from './sign.ts'
import { type Claimed, claimDue } from './store.ts'

export type Deliveries = {
  /** Something was enqueued and committed: look now instead of at the next poll. */
  nudge(): void
  /** Claims nothing more, gives attempts in flight a few seconds, and gives back the rest. */
  stop(): Promise<void>
}

type Deps = {
  db: Db
  key: SecretKey
  clock: Clock
  allowPrivate: boolean
  loadRecords: LoadRecords
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  metrics?: Registry
  options?: Partial<Options>
}

type Options = {
  /** How soon what another process enqueued, or what came due, is seen. */
  pollMs: number
  /** For one attempt as a whole. */
  deadlineMs: number
  /** The deadline, and time to build, to begin and to book. After it the worker counts as dead. */
  leaseMs: number
  /** A claim older than this is not begun any more: it might outlive its lease. */
  startMaxMs: number
  /** How long attempts in flight may go on after stop(). */
  graceMs: number
  perReceiverMax: number
  totalMax: number
  /** Receivers looked at by one claim; two index probes each. */
  receiversMax: number
  random: () => number
  dialler: Agent | null
}

const defaults: Options = {
  pollMs: 250,
  deadlineMs: 15_000,
  leaseMs: 20_000,
  startMaxMs: 2_000,
  graceMs: 5_000,
  perReceiverMax,
  totalMax,
  receiversMax: 1_000,
  random: Math.random,
  dialler: null,
}

/** A pause after the database failed, so that its return is not met by a storm. */
const faultPauseMs = 1_000

/** Starts the delivery worker. Any number of them, in any number of processes, share one database. */
export function startDeliveries(deps: Deps): Deliveries {
  const { db, key, clock, log } = deps
  const options = { ...defaults, ...deps.options }
  const budget = createBudget(options)
  const dialler = options.dialler ?? createDialler({ allowPrivate: deps.allowPrivate })
  const metrics = deps.metrics && createMetrics({ registry: deps.metrics, db, clock })
  const book = createBatch<BookedAttempt, null>({
    run: (attempts) => bookAttempts(db, attempts),
    itemsMax: 128,
    flightsMax: 1,
  })
  const halt = new AbortController()
  // Each attempt listens; Node would warn of a leak at the eleventh.
  setMaxListeners(0, halt.signal)
  const inFlight = new Set<Promise<void>>()
  const bell = createBell()
  let isStopping = false
  let afterReceiver = ''
  const running = run()

  return {
    nudge: () => bell.ring(),
    stop: async () => {
      isStopping = true
      bell.ring()
      await running
      await Promise.race([Promise.all(inFlight), sleep(options.graceMs, undefined, { ref: false })])
      halt.abort()
      await Promise.all(inFlight)
      await dialler.destroy()
    },
  }

  async function run(): Promise<void> {
    while (!isStopping) {
      const hasMore = await round().catch(async (error: unknown) => {
        log.error({ err: error }, 'Webhook deliveries could not be claimed')
        await bell.wait(faultPauseMs)
        return false
      })
      if (!hasMore) await bell.wait(options.pollMs)
    }
  }

  /**
   * One claim and the start of what it gave. True when there are receivers that it did not come to. Those that it did
   * come to have what they may have, until an attempt ends or an event is committed, and either rings.
   */
  async function round(): Promise<boolean> {
    if (budget.free() <= 0) return false
    const now = clock.now()
    const claimedAt = performance.now()
    const { claimed, lastReceiver } = await claimDue(db, {
      now,
      leasedUntil: new Date(now.getTime() + options.leaseMs),
      afterReceiver,
      receiversMax: options.receiversMax,
      perReceiverMax: options.perReceiverMax,
      start: budget.start,
      loads: budget.loads(),
      limit: budget.free(),
    })
    afterReceiver = lastReceiver ?? ''
    if (claimed.length > 0) await begin(claimed, claimedAt)
    return lastReceiver !== null
  }

  async function begin(claimed: Claimed[], claimedAt: number): Promise<void> {
    const merchantIds = [...new Set(claimed.map(({ merchantId }) => merchantId))]
    const secrets = await findSigningSecrets(db, { key, merchantIds, now: clock.now() })
    const bodies = await buildBodies(deps.loadRecords, claimed, ({ merchantId, eventId }, error) => {
      // Not an attempt, because it is our fault: it is claimed again when its lease lapses.
      log.error({ merchantId, eventId, err: error }, 'The payload of a webhook could not be built')
    })
    const isLate = isStopping || performance.now() - claimedAt > options.startMaxMs
    if (isLate) return giveBack(db, { leases: claimed, now: clock.now() })
    for (const [index, delivery] of claimed.entries()) {
      const body = bodies[index] ?? null
      const signing = secrets.get(delivery.merchantId)
      if (!signing) log.error({ merchantId: delivery.merchantId }, 'A client has no webhook secret to sign with')
      else if (body !== null) start(delivery, body, signing)
    }
  }

  function start(delivery: Claimed, body: string, secrets: string[]): void {
    budget.take(delivery.receiver)
    const work = deliver(delivery, body, secrets)
      .catch((error: unknown) => {
        // Delivered or not, it is not booked: it will be tried again, and its id tells the receiver that it is the same.
        log.error(
          { merchantId: delivery.merchantId, eventId: delivery.eventId, err: error },
          'A webhook was not booked',
        )
      })
      .finally(() => {
        inFlight.delete(work)
        bell.ring()
      })
    inFlight.add(work)
  }

  async function deliver(delivery: Claimed, body: string, secrets: string[]): Promise<void> {
    const startedAt = clock.now()
    const headers = signDelivery({ secrets, id: delivery.eventId, timestamp: startedAt, body })
    const answer = await attemptDelivery({
      dialler,
      url: delivery.url,
      headers,
      body,
      deadlineMs: options.deadlineMs,
      signal: halt.signal,
      now: () => clock.now(),
    })
    try {
      if (answer.outcome === 'stopped') return await giveBack(db, { leases: [delivery], now: clock.now() })
      const result = toResult(delivery, answer, { startedAt, finishedAt: clock.now(), random: options.random() })
      metrics?.observe(answer)
      tell(delivery, answer, result.state)
      await book({ ...result, recordId: delivery.recordId })
    } finally {
      // After the commit: so what is in hand, and not yet written, stays bounded as well.
      budget.give(delivery.receiver, { durationMs: answer.durationMs, hung: answer.outcome === 'hung' })
    }
  }

  /** Failures only; successes are counted. A receiver is scheme, host and port: its path and query may hold secrets. */
  function tell(delivery: Claimed, { status, error, durationMs }: Answer, state: string): void {
    if (state === 'delivered') return
    const { merchantId, eventId, receiver } = delivery
    const data = { merchantId, eventId, receiver, attempt: delivery.attempts + 1, status, error, durationMs, state }
    if (state === 'pending') log.info(data, 'A webhook attempt failed and will be repeated')
    else log.warn(data, 'A webhook was given up')
  }
}
