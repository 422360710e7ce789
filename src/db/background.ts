import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, Gauge, type Registry } from 'prom-client'
import { loopBusyMs, loopWaitMs } from '../lib/load.ts'
import type { Db, Step } from './sql.ts'

/**
 * The part of the time that background work may use: `max` while no request waits, and down to `min` the longer they
 * do. `min` is guaranteed: background work becomes slow, and never stops.
 */
const share = { max: 0.5, min: 0.1 }
/** The average wait of requests for the event loop from which the share falls, and at which it reaches `min`. */
const waitMs = { idle: 1, busy: loopBusyMs }

/** The connections that background work may use at once, as a part of the pool. */
const shareOfPool = 0.2
/**
 * The longest wait for another step to end, and the longest pause after it: a step of a minute would otherwise be
 * followed by minutes of pause.
 */
const waitMaxMs = 1_000
/** Shorter pauses are added up: a timer costs more than it saves. */
const pauseMinMs = 5

export type Background = {
  /** Its statements and transactions are steps, each of which waits for its turn. */
  db: Db
  /** From now on nothing waits. */
  stop(): void
}

/**
 * Lets work in the background give way to requests: after each step it pauses for as long as the step took, and for
 * nine times as long while requests wait for the event loop or for a connection. All background work of a process
 * shares this time, and a fifth of the connections.
 */
export function startBackground(db: Db, registry?: Registry): Background {
  const stopping = new AbortController()
  const atOnceMax = Math.max(1, Math.floor(db.pool.options.max * shareOfPool))
  /** Steps that wait for another step to end. */
  const waiting = new Set<() => void>()
  const seconds = registry && observe(registry, currentShare)
  let running = 0
  let mayStartAt = 0

  function currentShare(): number {
    if (db.pool.waitingCount > 0) return share.min
    const pressure = (loopWaitMs() - waitMs.idle) / (waitMs.busy - waitMs.idle)
    return share.min + (share.max - share.min) * (1 - Math.min(1, Math.max(0, pressure)))
  }

  const step: Step = async (work) => {
    const queuedAt = performance.now()
    if (running >= atOnceMax && !stopping.signal.aborted) await takePlace()
    else running += 1
    await pause()
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      const endedAt = performance.now()
      const pauseMs = (endedAt - startedAt) * (1 / currentShare() - 1)
      mayStartAt = Math.min(Math.max(mayStartAt, endedAt) + pauseMs, endedAt + waitMaxMs)
      const [next] = waiting
      running -= 1
      // Steps that waited for too long run beyond the limit. Until enough of all have ended, none starts in their
      // place.
      if (running < atOnceMax) next?.()
      seconds?.inc({ state: 'waiting' }, (startedAt - queuedAt) / 1000)
      seconds?.inc({ state: 'working' }, (endedAt - startedAt) / 1000)
    }
  }

  /** Waits for the end of another step. */
  async function takePlace(): Promise<void> {
    await new Promise<void>((resolve) => {
      const start = () => {
        clearTimeout(timer)
        waiting.delete(start)
        running += 1
        resolve()
      }
      // A step that a running one waits for must start as well.
      const timer = setTimeout(start, waitMaxMs)
      waiting.add(start)
    })
  }

  async function pause(): Promise<void> {
    const pauseMs = mayStartAt - performance.now()
    if (pauseMs >= pauseMinMs) await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
  }

  return {
    db: {
      ...db,
      query: async (statement, name) => await step(async () => await db.query(statement, name)),
      transaction: async (work, lock) => await step(async () => await db.transaction(work, lock)),
      background: { of: db, step },
    },
    stop() {
      stopping.abort()
      for (const start of waiting) start()
    },
  }
}

/** Returns the counter of the seconds that steps work and wait. */
function observe(registry: Registry, currentShare: () => number): Counter<'state'> {
  new Gauge({
    name: 'guiche_background_share',
    help: `The part of the time that background work may use now: ${share.min} while requests wait, ${share.max} while none does`,
    aggregator: 'average',
    registers: [registry],
    collect() {
      this.set(currentShare())
    },
  })
  return new Counter({
    name: 'guiche_background_seconds_total',
    help: 'Seconds that steps of background work took, and seconds that they waited for requests',
    labelNames: ['state'],
    registers: [registry],
  })
}
