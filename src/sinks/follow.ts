import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { forEachConcurrent } from '../lib/concurrent.ts'
import { createCountedLine } from '../lib/counted-line.ts'
import type { EventSinkSettings } from '../lib/event-sink-settings.ts'
import { type PositionedEvent, readAfter } from '../webhooks/feed.ts'
import { buildBodies, type LoadRecords } from '../webhooks/payload.ts'
import { inTime, loadSink, type Message, type OpenSink, type Sink } from './sink.ts'
import { type Behind, findLag, listBehind, savePosition } from './store.ts'

const pollEveryMs = 250
const firstPauseMs = 250
const longestPauseMs = 30_000
const merchantsConcurrentMax = 4
const eventsPerPage = 100
/** How long one merchant's events are sent before the other merchants get their turn. */
const turnMs = 1_000

type Deps = { db: Db; log: Logger; clock: Clock; registry: Registry; loadRecords: LoadRecords }

/**
 * The job that sends all events to the message broker of EVENT_SINK. Without the setting the job ends at once, so that
 * a job that a process with the setting has left behind ends too.
 */
export async function sinkJobs(
  deps: Deps,
  settings: EventSinkSettings | null,
): Promise<{ jobs: Record<string, Job>; schedules: Record<string, JobSchedule> }> {
  observeLag(deps, settings)
  if (settings === null) return { jobs: { 'sinks.follow': async () => {} }, schedules: {} }
  const open = await loadSink(settings)
  return {
    jobs: { 'sinks.follow': async (_, stopping) => await follow(deps, { settings, open, stopping }) },
    // The job has a key, so that only one process sends, until it ends. Then another one takes over.
    schedules: { 'sinks.follow': { everySeconds: 1 } },
  }
}

type Following = { settings: EventSinkSettings; open: OpenSink; stopping: AbortSignal }

async function follow(deps: Deps, { settings, open, stopping }: Following): Promise<void> {
  const logFailure = createCountedLine((error: Error, count) =>
    deps.log.warn({ sink: settings.name, reason: error.message, count }, 'events could not be sent to the broker'),
  )
  const retryAt = new Map<string, number>()
  let pauseMs = firstPauseMs
  while (!stopping.aborted) {
    let sink: Sink | null = null
    try {
      sink = await openInTime(open)
      while (!stopping.aborted) {
        const all = await listBehind(deps.db, settings.name)
        const behind = all.filter(({ merchantId }) => (retryAt.get(merchantId) ?? 0) <= performance.now())
        const target = { sink, name: settings.name, stopping }
        const send = async (one: Behind) => {
          try {
            await sendPages(deps, one, target)
          } catch (error) {
            if (error instanceof NotAcknowledged) throw error.cause
            if (error instanceof TakenOver) throw error
            // The other merchants' events do not wait for it.
            retryAt.set(one.merchantId, performance.now() + longestPauseMs)
            logFailure(error as Error)
          }
        }
        await forEachConcurrent(behind, stopping, send, merchantsConcurrentMax)
        pauseMs = firstPauseMs
        if (behind.length === 0) await sleep(pollEveryMs, undefined, { signal: stopping }).catch(() => {})
      }
    } catch (error) {
      if (error instanceof TakenOver) {
        deps.log.warn({ sink: settings.name }, 'another process sends the events to the broker as well: this one stops')
        return
      }
      logFailure(error as Error)
      await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {})
      pauseMs = Math.min(longestPauseMs, 2 * pauseMs)
    } finally {
      if (sink) await inTime(sink.close()).catch(() => {})
    }
  }
}

/** A connection that opens only after the time-out is closed. */
async function openInTime(open: OpenSink): Promise<Sink> {
  const opening = open()
  return await inTime(opening).catch((error: unknown) => {
    opening.then(async (sink) => await sink.close()).catch(() => {})
    throw error
  })
}

class NotAcknowledged extends Error {}

/**
 * Another process has taken over this job, because this process lost for a moment the database connection that shows
 * that it is alive. If the job belongs to this process after all, the schedule starts it again.
 */
class TakenOver extends Error {}

type Target = { sink: Sink; name: string; stopping: AbortSignal }

/**
 * Sends a merchant's events for one turn, page by page. The position is saved when the broker has acknowledged a page.
 */
async function sendPages(deps: Deps, { merchantId, clientId, number }: Behind, target: Target): Promise<void> {
  const { db } = deps
  const turnEndsAt = performance.now() + turnMs
  for (let from = number, hasMore = true; hasMore && !target.stopping.aborted && performance.now() < turnEndsAt; ) {
    const page = await readAfter({ db, reads: db }, { merchantId, afterNumber: from, limit: eventsPerPage })
    const messages = await toMessages(deps, clientId, page.events)
    for (const wave of toWaves(messages))
      await inTime(target.sink.publish(wave)).catch((cause: unknown) => {
        throw new NotAcknowledged('the broker did not acknowledge', { cause })
      })
    if (!(await savePosition(db, { sink: target.name, merchantId, from, to: page.nextNumber }))) throw new TakenOver()
    from = page.nextNumber
    hasMore = page.hasMore
  }
}

/**
 * Splits messages into waves with at most one event of each record, in the order of its changes: an event is sent only
 * when the broker has acknowledged the previous one of its record.
 */
function toWaves(messages: Message[]): Message[][] {
  const counts = new Map<string, number>()
  const waves: Message[][] = []
  for (const message of messages) {
    const place = counts.get(message.recordId) ?? 0
    counts.set(message.recordId, place + 1)
    const wave = waves[place] ?? []
    wave.push(message)
    waves[place] = wave
  }
  return waves
}

async function toMessages({ loadRecords }: Deps, client: string, events: PositionedEvent[]): Promise<Message[]> {
  const bodies = await buildBodies(loadRecords, events, (_, cause) => {
    throw cause
  })
  return events.map(({ eventId: id, type, recordId, position }, index) => {
    const body = bodies[index]
    assert(body, 'an event has a body')
    return { id, type, client, recordId, position, body }
  })
}

function observeLag({ db, clock, registry }: Deps, settings: EventSinkSettings | null): void {
  new Gauge({
    name: 'guiche_event_sink_lag_seconds',
    help: 'Age of the oldest event that the broker of EVENT_SINK has not acknowledged',
    labelNames: ['sink'],
    aggregator: 'max',
    registers: [registry],
    async collect() {
      if (settings === null) return
      this.set({ sink: settings.name }, await findLag(db, { sink: settings.name, now: clock.now() }))
    },
  })
}
