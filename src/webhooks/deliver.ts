import { channel } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Db, mayBeOneRowsFault } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { createBatcher } from '../lib/batch.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { createPollPause, createSignal } from '../lib/signal.ts'
import { findTrace, inSpan, type SpanOptions, traceHeaders } from '../lib/spans.ts'
import { type Answer, createSender } from './attempt.ts'
import { isTimeout } from './attempt-errors.ts'
import { createBudget, type Kind } from './budget.ts'
import { type DeliveryOptions, defaults } from './deliver-options.ts'
import { createDialler } from './dial.ts'
import { updateEndpointHealth } from './endpoints/disable.ts'
import { createMetrics } from './metrics.ts'
import { createOwnDeliveries, type OwnDeliveries } from './own.ts'
import type { LoadRecords } from './payload.ts'
import { type Prepared, prepareDeliveries, type Sendable } from './prepare.ts'
import {
  type AttemptResult,
  type Claimed,
  claimDue,
  claimDueOf,
  claimedMax,
  type ReceiverLoad,
  releaseLeases,
} from './queue-store.ts'
import { recordAttempts, redirectDeliveries, toResult } from './result.ts'
import { signDelivery } from './sign.ts'

export type Deliveries = OwnDeliveries & {
  /** An event was enqueued and committed: check now instead of at the next poll. */
  wake(): void
  /** Claims nothing more, gives attempts in flight a few seconds, and releases the rest. */
  stop(): Promise<void>
}

type Deps = {
  db: Db
  /** What it leases names this instance. */
  instance: number
  key: SecretKey
  clock: Clock
  allowPrivate: boolean
  loadRecords: LoadRecords
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  metrics?: Registry
  options?: Partial<DeliveryOptions>
}

/** Pause after a database error, so that the workers do not all return at the same moment. */
const faultPauseMs = 1_000

/**
 * Pause after each claim: deliveries that become due meanwhile share the next claim. For one receiver 5 ms cost least:
 * 225 µs of CPU per delivery in Guichê and PostgreSQL, against 272 at 2 ms and 237 at 10.
 */
const restMs = 5
/**
 * After a claim that found little, the pause is twice as long as the claim took, up to `restMsMax`: a claim takes
 * long on a busy machine.
 */
const restsPerClaim = 2
const restMsMax = 25
/**
 * Attempts are recorded together: one costs nearly as much as ten, and only the next event of the same record waits for
 * it.
 */
const recordIntervalMs = 100

/**
 * After a complete scan of all receivers, the worker claims for the known ones only, until the next scan is due: after
 * ten times the duration of the scan’s last claim, but after `scanPauseMaxMs` at most.
 */
const restsPerScan = 10
const scanPauseMaxMs = 5_000

/**
 * An event may be committed this long after it occurred. The scan of all receivers finds one that is committed even
 * later.
 */
const lateCommitMs = 2_000

/**
 * The modes of the worker. Each says what its next claim covers.
 *
 * ## SCANNING
 * All receivers, in the order of their names, from the first one after `afterReceiver`. With more receivers than one
 * claim covers, a scan takes several claims. The worker starts in this mode.
 * - SCANNING: the claim did not reach the last receiver, or found so much that there is probably more.
 * - SCANNED: the scan has ended, but the worker waited during it: what was committed meanwhile is claimed at once.
 * - WAITING: the scan has ended, the worker holds as many deliveries as it may, or the claim failed.
 *
 * ## SCANNED
 * The known receivers only: a delivery that has just become due is nearly always for one of them. A claim covers all
 * receivers, as in SCANNING, after `scanAgainAt`, if no known receiver has capacity left, or if the worker holds so
 * much that the rest has to be shared by all.
 * - SCANNING: such a claim did not reach the last receiver, or found so much that there is probably more.
 * - SCANNED: a claim for the known receivers found so much that there is probably more.
 * - WAITING: it found little, the worker holds as many deliveries as it may, or the claim failed.
 *
 * ## WAITING
 * Nothing. The receivers that the last claim covered hold as much as they may, until an attempt is recorded, or have
 * nothing due, until an event is committed: both notify. Then, or at the next poll, the worker continues in `next`.
 */
type Mode = Scanning | Scanned | Waiting
type Scanning = { name: 'SCANNING'; afterReceiver: string; waited: boolean }
/** `owesScan`: claims for known receivers were made since the scan. The last notification may be for another one. */
type Scanned = { name: 'SCANNED'; scanAgainAt: number; owesScan: boolean }
type Waiting = { name: 'WAITING'; next: Scanning | Scanned }

const transitions: Record<Mode['name'], readonly Mode['name'][]> = {
  SCANNING: ['SCANNING', 'SCANNED', 'WAITING'],
  SCANNED: ['SCANNING', 'SCANNED', 'WAITING'],
  WAITING: ['SCANNING', 'SCANNED'],
}

const newScan: Scanning = { name: 'SCANNING', afterReceiver: '', waited: false }

/** Leased and built. It starts as soon as its receiver has a free connection. */
type Ready = Sendable & { kind: Kind; claimedAt: number; builtAt: number }

/** Published for each recorded attempt: when it passed each point. Numbers are of `performance.now()`. */
export type DeliveryStages = Record<'occurredAt' | 'dueAt', Date> &
  Record<'claimedAt' | 'builtAt' | 'sentAt' | 'answeredAt' | 'recordedAt', number>
const stages = channel('guiche:delivery')

/** Starts the delivery worker. Any number of them, in any number of processes, share one database. */
export function startDeliveries(deps: Deps): Deliveries {
  const { db, clock, log } = deps
  const options = { ...defaults, ...deps.options }
  const budget = createBudget(options)
  const dialler = createDialler({ allowPrivate: deps.allowPrivate })
  const sender = createSender({ dialler, deadlineMs: options.deadlineMs, now: () => clock.now() })
  const metrics = deps.metrics && createMetrics({ registry: deps.metrics, db, clock })
  const record = createBatcher<AttemptResult, null>({
    name: 'record attempts',
    run: async (attempts) => {
      if (await recordAttempts(db, attempts)) signal.notify()
      pause.noteWork()
      return attempts.map(() => null)
    },
    maxBatchSize: 128,
    maxConcurrency: 1,
    retryIndividually: mayBeOneRowsFault,
    intervalMs: recordIntervalMs,
  })
  const ready = new Map<string, Ready[]>()
  const inFlight = new Set<Promise<void>>()
  const signal = createSignal()
  const pause = createPollPause({ minMs: options.pollMs, maxMs: options.pollMaxMs })
  let isStopping = false
  /** The last claim left something, or may have: the next free connection is a reason to claim. */
  let isCapped = false
  const running = run()

  return {
    ...createOwnDeliveries({
      ...deps,
      budget,
      leaseMs: options.leaseMs,
      lease: () => (isStopping ? null : lease()),
      start,
      track,
    }),
    wake: () => signal.notify(),
    stop: async () => {
      isStopping = true
      signal.notify()
      await running
      await releaseReady(() => true).catch((error: unknown) => {
        log.error(
          { err: error },
          'Webhook deliveries were not released: they are claimed again when their lease expires',
        )
      })
      await Promise.race([Promise.all(inFlight), sleep(options.graceMs, undefined, { ref: false })])
      sender.stop()
      await Promise.all(inFlight)
      await dialler.destroy()
    },
  }

  async function run(): Promise<void> {
    let mode: Mode = newScan
    while (!isStopping) {
      const next: Mode = mode.name === 'WAITING' ? await wait(mode.next) : await claimAndRest(mode)
      assert(transitions[mode.name].includes(next.name), `the worker never goes from ${mode.name} to ${next.name}`)
      mode = next
    }
  }

  async function wait(next: Scanning | Scanned): Promise<Scanning | Scanned> {
    const owesScan = next.name === 'SCANNED' && next.owesScan
    const pauseMs = pause.ms()
    await signal.wait(owesScan ? Math.min(Math.max(0, next.scanAgainAt - performance.now()), pauseMs) : pauseMs)
    return next.name === 'SCANNING' ? { ...next, waited: next.afterReceiver !== '' } : next
  }

  async function claimAndRest(mode: Scanning | Scanned): Promise<Mode> {
    const startedAt = performance.now()
    const next = await claim(mode).catch(async (error: unknown): Promise<Mode> => {
      log.error({ err: error }, 'Webhook deliveries could not be claimed')
      await signal.wait(faultPauseMs)
      return { name: 'WAITING', next: mode }
    })
    const longRestMs = Math.min((performance.now() - startedAt) * restsPerClaim, restMsMax)
    await sleep(next.name === 'WAITING' ? Math.max(restMs, longRestMs) : restMs)
    return next
  }

  /** Claims once and starts what it claimed. */
  async function claim(mode: Scanning | Scanned): Promise<Mode> {
    await releaseReady(isStale)
    const limit = Math.min(budget.free(), claimedMax)
    isCapped = true
    if (limit <= 0) return { name: 'WAITING', next: mode }
    if (mode.name === 'SCANNING') return await scan(mode, limit)
    const loads = budget.loads()
    const known = loads.filter(({ capacity }) => capacity > 0)
    const isTight = budget.free() * 2 < options.totalMax
    const isTimeToScan = known.length === 0 || isTight || performance.now() >= mode.scanAgainAt
    if (isTimeToScan) return await scan(newScan, limit)
    isCapped = known.length < loads.length
    return await claimForKnown(mode, limit, known)
  }

  async function scan({ afterReceiver, waited }: Scanning, limit: number): Promise<Mode> {
    const claimedAt = performance.now()
    const { claimed, lastReceiver } = await claimDue(db, {
      ...lease(),
      afterReceiver,
      receiversMax: options.receiversMax,
      initialCapacity: budget.initialWindow,
      receiverLoads: budget.loads(),
      limit,
    })
    const endedAt = performance.now()
    for (const { receiver, dueAt } of claimed) budget.noteDue(receiver, dueAt)
    if (claimed.length > 0) await build(claimed, claimedAt)
    if (lastReceiver !== null) return { name: 'SCANNING', afterReceiver: lastReceiver, waited }
    if (claimed.length * 2 >= limit) return { ...newScan, waited }
    const pauseMs = Math.min((endedAt - claimedAt) * restsPerScan, scanPauseMaxMs)
    const scanned: Scanned = { name: 'SCANNED', scanAgainAt: endedAt + pauseMs, owesScan: false }
    return waited ? scanned : { name: 'WAITING', next: scanned }
  }

  async function claimForKnown({ scanAgainAt }: Scanned, limit: number, known: ReceiverLoad[]): Promise<Mode> {
    const claimedAt = performance.now()
    const own = lease()
    // With many receivers, a few deliveries of each are enough to choose from.
    const capacityMax = budget.initialWindow + Math.ceil((2 * limit) / known.length)
    const loads = known.map((load) => ({ ...load, capacity: Math.min(load.capacity, capacityMax) }))
    const { claimed, isAll } = await claimDueOf(db, { ...own, receiverLoads: loads, limit })
    if (isAll) {
      const counts = new Map<string, number>()
      for (const { receiver } of claimed) counts.set(receiver, (counts.get(receiver) ?? 0) + 1)
      const nothingDueBefore = new Date(own.now.getTime() - lateCommitMs)
      for (const { receiver, capacity } of loads) {
        if ((counts.get(receiver) ?? 0) < capacity) budget.markNothingDueBefore(receiver, nothingDueBefore)
        else isCapped = true
      }
    } else isCapped = true
    if (claimed.length > 0) await build(claimed, claimedAt)
    const scanned: Scanned = { name: 'SCANNED', scanAgainAt, owesScan: true }
    return claimed.length * 2 >= limit ? scanned : { name: 'WAITING', next: scanned }
  }

  function lease(): { now: Date; leasedUntil: Date; instance: number } {
    const now = clock.now()
    return { now, leasedUntil: new Date(now.getTime() + options.leaseMs), instance: deps.instance }
  }

  async function build(claimed: Claimed[], claimedAt: number): Promise<void> {
    await start('claimed', claimed, claimedAt, await prepareDeliveries(deps, claimed))
  }

  async function start(kind: Kind, leased: Claimed[], claimedAt: number, prepared: Prepared): Promise<void> {
    const { sendable, changed } = prepared
    if (isStopping || isStale({ claimedAt })) return releaseLeases(db, { leases: leased, now: clock.now() })
    for (const one of sendable) addReady({ ...one, kind, claimedAt, builtAt: performance.now() })
    if (changed.length > 0) await redirectDeliveries(db, { leases: changed, now: clock.now() })
    for (const receiver of new Set(leased.map((delivery) => delivery.receiver))) begin(receiver)
  }

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => inFlight.delete(tracked))
    inFlight.add(tracked)
  }

  function addReady(one: Ready): void {
    const { receiver } = one.delivery
    budget.lease(receiver, one.kind)
    const waiting = ready.get(receiver)
    if (waiting) waiting.push(one)
    else ready.set(receiver, [one])
  }

  function isStale({ claimedAt }: { claimedAt: number }): boolean {
    return performance.now() - claimedAt > options.startMaxMs
  }

  /** Starts the receiver's ready deliveries while it may have another connection. */
  function begin(receiver: string): void {
    const waiting = ready.get(receiver)
    if (!waiting) return
    let started = 0
    for (const one of waiting) {
      if (isStopping || isStale(one) || !budget.begin(receiver)) break
      started += 1
      track(deliver(one))
    }
    waiting.splice(0, started)
    if (waiting.length === 0) ready.delete(receiver)
  }

  /**
   * Releases ready deliveries that will not start, because their receiver became slow or the worker stops. Another
   * worker may claim them at once.
   */
  async function releaseReady(which: (one: Ready) => boolean): Promise<void> {
    const released: Ready[] = []
    for (const [receiver, waiting] of ready) {
      const kept = waiting.filter((one) => !which(one))
      if (kept.length === waiting.length) continue
      released.push(...waiting.filter(which))
      ready.set(receiver, kept)
      if (kept.length === 0) ready.delete(receiver)
    }
    for (const { delivery, kind } of released) {
      budget.markSlow(delivery.receiver)
      budget.release(delivery.receiver, kind)
    }
    const leases = released.map(({ delivery }) => delivery)
    if (leases.length > 0) await releaseLeases(db, { leases, now: clock.now() })
  }

  async function deliver({ kind, delivery, body, secrets, endpoint, claimedAt, builtAt }: Ready): Promise<void> {
    const { merchantId, eventId, receiver, url } = delivery
    const startedAt = clock.now()
    const sentAt = performance.now()
    const headers = signDelivery({ secrets, id: eventId, timestamp: startedAt, body })
    const answer = await inSpan(
      'webhook delivery',
      () => spanOf(delivery),
      async (span) => {
        const trace = span && traceHeaders()
        const sent = await sender.send({ url, headers: trace ? { ...headers, ...trace } : headers, body })
        span?.set({ 'guiche.outcome': sent.outcome, ...(sent.status && { 'http.response.status_code': sent.status }) })
        return sent
      },
    )
    const answeredAt = performance.now()
    budget.end(receiver, { durationMs: answer.durationMs, hung: isTimeout(answer.error) })
    // Not before undici has taken its connection back, or it opens another.
    setImmediate(() => begin(receiver))
    try {
      if (answer.outcome === 'stopped') return await releaseLeases(db, { leases: [delivery], now: clock.now() })
      const result = toResult(delivery, answer, { startedAt, finishedAt: clock.now(), random: options.random() })
      metrics?.observe(answer)
      logFailure(delivery, answer, result.state)
      // First: a disabled endpoint gets none of the events that the result releases.
      if (endpoint) await updateEndpointHealth(deps, { merchantId, endpoint, answer, startedAt })
      await record(result)
      if (stages.hasSubscribers) {
        const { occurredAt, dueAt } = delivery
        const times = { claimedAt, builtAt, sentAt, answeredAt, recordedAt: performance.now() }
        stages.publish({ occurredAt, dueAt, ...times } satisfies DeliveryStages)
      }
    } catch (error) {
      // Delivered or not, the attempt is not recorded, so it is repeated. The receiver knows the repeat by its id.
      log.error({ merchantId, eventId, err: error }, 'A webhook delivery attempt could not be recorded')
    } finally {
      // After the commit, so that the attempts that wait to be written are limited as well.
      budget.release(receiver, kind)
      if (isCapped) signal.notify()
    }
  }

  /**
   * Logs failures only; metrics count the successes. A receiver is scheme, host and port: the path and query may hold
   * secrets.
   */
  function logFailure(delivery: Claimed, { status, error, durationMs }: Answer, state: string): void {
    if (state === 'delivered') return
    const { merchantId, eventId, receiver } = delivery
    const data = { merchantId, eventId, receiver, attempt: delivery.attempts + 1, status, error, durationMs, state }
    if (state === 'pending') log.info(data, 'A webhook attempt failed and will be repeated')
    else log.warn(data, 'A webhook was given up')
  }
}

/** Continues the trace of the request that created the record, if this process served it. */
function spanOf({ recordId, type, attempts }: Claimed): SpanOptions {
  const attributes = { 'guiche.record_id': recordId, 'guiche.event_type': type, 'guiche.attempt': attempts + 1 }
  return { kind: 'client', parent: findTrace(recordId), attributes }
}
