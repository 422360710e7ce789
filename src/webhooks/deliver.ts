import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Agent } from 'undici'
import { type Db, mayBeOneRowsFault } from '../db/sql.ts'
import { createBatcher } from '../lib/batch.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { createSignal } from '../lib/signal.ts'
import { type Answer, createSender } from './attempt.ts'
import { createBudget, perReceiverMax, totalMax } from './budget.ts'
import { createDialler } from './dial.ts'
import { createMetrics } from './metrics.ts'
import { buildBodies, type LoadRecords } from './payload.ts'
import {
  type AttemptResult,
  type Claimed,
  claimDue,
  claimDueOf,
  claimedMax,
  type Load,
  releaseLeases,
} from './queue-store.ts'
import { bookAttempts, toResult } from './result.ts'
import { findSigningSecrets } from './secrets.ts'
import { signDelivery } from './sign.ts'

export type Deliveries = {
  /** Something was enqueued and committed: look now instead of at the next poll. */
  wake(): void
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

/**
 * A rest after each claim, in which more come together. To one receiver, 5 ms cost least: 225 µs of CPU per delivery here and in PostgreSQL, against
 * 272 at 2 ms and 237 at 10.
 */
const restMs = 5
/** Where a claim gave little, the rest is twice as long as it took, up to this: it takes long where there is much else to do. */
const restsPerLook = 2
const restMsMax = 25
/** Nobody waits for a booking, but for the next event of the record. Where so many wait they are enough. */
const bookingLingerMs = 30
const bookingsMin = 64

/** After a look at all receivers that came to the end, those that are known are looked at for ten times as long as it took, and no longer than this. */
const restsPerLookAtAll = 10
const lookAtAllMaxMs = 5_000

/** An event may be committed so long after it occurred; what is later still is found by the look at all. */
const lateCommitMs = 2_000

/** Claimed, built, and begun as soon as its receiver has a connection free. */
type Ready = { delivery: Claimed; body: Buffer; secrets: string[]; claimedAt: number }

/** Starts the delivery worker. Any number of them, in any number of processes, share one database. */
export function startDeliveries(deps: Deps): Deliveries {
  const { db, key, clock, log } = deps
  const options = { ...defaults, ...deps.options }
  const budget = createBudget(options)
  const dialler = options.dialler ?? createDialler({ allowPrivate: deps.allowPrivate })
  const sender = createSender({ dialler, deadlineMs: options.deadlineMs, now: () => clock.now() })
  const metrics = deps.metrics && createMetrics({ registry: deps.metrics, db, clock })
  const book = createBatcher<AttemptResult, null>({
    run: (attempts) => bookAttempts(db, attempts),
    maxBatchSize: 128,
    maxConcurrency: 1,
    retryIndividually: mayBeOneRowsFault,
    lingerMs: bookingLingerMs,
    minConcurrentBatch: bookingsMin,
  })
  const ready = new Map<string, Ready[]>()
  const inFlight = new Set<Promise<void>>()
  const signal = createSignal()
  let isStopping = false
  let afterReceiver = ''
  // A scan of all receivers is under way: those before `afterReceiver` were not scanned since the last notify().
  let isAmid = false
  let lookAtAllAt = 0
  // The last notify() may have been for a receiver that is not among the known ones.
  let owesLookAtAll = false
  const running = run()

  return {
    wake: () => signal.notify(),
    stop: async () => {
      isStopping = true
      signal.notify()
      await running
      await letGo(() => true).catch((error: unknown) => {
        log.error({ err: error }, 'Webhook deliveries were not given back: they are taken up when their lease lapses')
      })
      await Promise.race([Promise.all(inFlight), sleep(options.graceMs, undefined, { ref: false })])
      sender.stop()
      await Promise.all(inFlight)
      await dialler.destroy()
    },
  }

  async function run(): Promise<void> {
    while (!isStopping) {
      const startedAt = performance.now()
      const hasMore = await round().catch(async (error: unknown) => {
        log.error({ err: error }, 'Webhook deliveries could not be claimed')
        await signal.wait(faultPauseMs)
        return false
      })
      const longRestMs = Math.min((performance.now() - startedAt) * restsPerLook, restMsMax)
      await sleep(hasMore ? restMs : Math.max(restMs, longRestMs))
      if (hasMore) continue
      const untilAllMs = owesLookAtAll ? Math.max(0, lookAtAllAt - performance.now()) : options.pollMs
      await signal.wait(Math.min(untilAllMs, options.pollMs))
      isAmid = afterReceiver !== ''
    }
  }

  /**
   * One claim and the start of what it gave. True when there may be more that it did not come to. The receivers that it did
   * come to have what they may have, until an attempt is recorded or an event is committed; both notify.
   */
  async function round(): Promise<boolean> {
    await letGo(isStale)
    const limit = Math.min(budget.free(), claimedMax)
    if (limit <= 0) return false
    const known = budget.loads().filter(({ room }) => room > 0)
    const isTight = budget.free() * 2 < options.totalMax
    const isTimeForAll = known.length === 0 || isTight || afterReceiver !== '' || performance.now() >= lookAtAllAt
    if (isTimeForAll) return lookAtAll(limit)
    return lookAtKnown(limit, known)
  }

  async function lookAtAll(limit: number): Promise<boolean> {
    const claimedAt = performance.now()
    const { claimed, lastReceiver } = await claimDue(db, {
      ...lease(),
      afterReceiver,
      receiversMax: options.receiversMax,
      start: budget.start,
      loads: budget.loads(),
      limit,
    })
    afterReceiver = lastReceiver ?? ''
    const hasMore = lastReceiver !== null || claimed.length * 2 >= limit
    const endedAt = performance.now()
    lookAtAllAt = hasMore ? 0 : endedAt + Math.min((endedAt - claimedAt) * restsPerLookAtAll, lookAtAllMaxMs)
    owesLookAtAll = false
    for (const { receiver, dueAt } of claimed) budget.find(receiver, dueAt)
    if (claimed.length > 0) await build(claimed, claimedAt)
    if (hasMore) return true
    const wasAmid = isAmid
    isAmid = false
    return wasAmid
  }

  /** In between: what has just become due is nearly always for one of them. */
  async function lookAtKnown(limit: number, known: Load[]): Promise<boolean> {
    const claimedAt = performance.now()
    const { now, leasedUntil } = lease()
    // Of many receivers few of each are enough to choose from.
    const roomMax = budget.start + Math.ceil((2 * limit) / known.length)
    const loads = known.map((load) => ({ ...load, room: Math.min(load.room, roomMax) }))
    const { claimed, isAll } = await claimDueOf(db, { now, leasedUntil, loads, limit })
    owesLookAtAll = true
    if (isAll) {
      const counts = new Map<string, number>()
      for (const { receiver } of claimed) counts.set(receiver, (counts.get(receiver) ?? 0) + 1)
      const clearUntil = new Date(now.getTime() - lateCommitMs)
      for (const { receiver, room } of loads) if ((counts.get(receiver) ?? 0) < room) budget.clear(receiver, clearUntil)
    }
    if (claimed.length > 0) await build(claimed, claimedAt)
    return claimed.length * 2 >= limit
  }

  function lease(): { now: Date; leasedUntil: Date } {
    const now = clock.now()
    return { now, leasedUntil: new Date(now.getTime() + options.leaseMs) }
  }

  async function build(claimed: Claimed[], claimedAt: number): Promise<void> {
    const merchantIds = [...new Set(claimed.map(({ merchantId }) => merchantId))]
    const [secretsOf, bodies] = await Promise.all([
      findSigningSecrets(db, { key, merchantIds, now: clock.now() }),
      buildBodies(deps.loadRecords, claimed, ({ merchantId, eventId }, error) => {
        // Not an attempt, because it is our fault: it is claimed again when its lease lapses.
        log.error({ merchantId, eventId, err: error }, 'The payload of a webhook could not be built')
      }),
    ])
    if (isStopping || isStale({ claimedAt })) return releaseLeases(db, { leases: claimed, now: clock.now() })
    for (const [index, delivery] of claimed.entries()) {
      const body = bodies[index] ?? null
      const secrets = secretsOf.get(delivery.merchantId)
      if (!secrets) log.error({ merchantId: delivery.merchantId }, 'A client has no webhook secret to sign with')
      else if (body !== null) hold({ delivery, body, secrets, claimedAt })
    }
    for (const receiver of new Set(claimed.map((delivery) => delivery.receiver))) begin(receiver)
  }

  function hold(one: Ready): void {
    const { receiver } = one.delivery
    budget.take(receiver)
    const line = ready.get(receiver)
    if (line) line.push(one)
    else ready.set(receiver, [one])
  }

  function isStale({ claimedAt }: { claimedAt: number }): boolean {
    return performance.now() - claimedAt > options.startMaxMs
  }

  /** Begins what is ready for a receiver, for as long as it may have another connection. */
  function begin(receiver: string): void {
    const line = ready.get(receiver)
    if (!line) return
    let begun = 0
    for (const one of line) {
      if (isStopping || isStale(one) || !budget.begin(receiver)) break
      begun += 1
      const work = deliver(one).finally(() => inFlight.delete(work))
      inFlight.add(work)
    }
    line.splice(0, begun)
    if (line.length === 0) ready.delete(receiver)
  }

  /** Gives back what is ready and not to be begun: its receiver became slow, or we stop. Another worker may take it at once. */
  async function letGo(which: (one: Ready) => boolean): Promise<void> {
    const leases: Claimed[] = []
    for (const [receiver, line] of ready) {
      const kept = line.filter((one) => !which(one))
      if (kept.length === line.length) continue
      leases.push(...line.filter(which).map(({ delivery }) => delivery))
      ready.set(receiver, kept)
      if (kept.length === 0) ready.delete(receiver)
    }
    for (const { receiver } of leases) {
      budget.stall(receiver)
      budget.give(receiver)
    }
    if (leases.length > 0) await releaseLeases(db, { leases, now: clock.now() })
  }

  async function deliver({ delivery, body, secrets }: Ready): Promise<void> {
    const { merchantId, eventId, receiver, url } = delivery
    const startedAt = clock.now()
    const headers = signDelivery({ secrets, id: eventId, timestamp: startedAt, body })
    const answer = await sender.send({ url, headers, body })
    budget.end(receiver, { durationMs: answer.durationMs, hung: answer.outcome === 'hung' })
    // Not before undici has taken its connection back, or it would open another.
    setImmediate(() => begin(receiver))
    try {
      if (answer.outcome === 'stopped') return await releaseLeases(db, { leases: [delivery], now: clock.now() })
      const result = toResult(delivery, answer, { startedAt, finishedAt: clock.now(), random: options.random() })
      metrics?.observe(answer)
      tell(delivery, answer, result.state)
      await book(result)
    } catch (error) {
      // Delivered or not, it is not booked: it will be tried again, and its id tells the receiver that it is the same.
      log.error({ merchantId, eventId, err: error }, 'A webhook was not booked')
    } finally {
      // After the commit: so what is in hand, and not yet written, stays bounded as well.
      budget.give(receiver)
      signal.notify()
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
