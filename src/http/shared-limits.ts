import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { keyedHash, newUuid, type SecretKey } from '../lib/secrets.ts'
import type { RateLimiter, Taken } from './rate-limit.ts'
import { addUsed, type Used } from './store.ts'

/**
 * How often counts are exchanged. Until a process hears what the others allowed, a limit can be exceeded: for up to
 * two of these intervals, since the others first send and the process then asks; or longer when many buckets wait or
 * the database is away.
 */
const syncEveryMs = 200
/** Buckets in one statement. The rest waits for the next one. */
const bucketsMax = 500
/**
 * At most this many buckets of one limit wait to be sent, which takes two seconds, or longer while several limits are
 * flooded. Requests for further buckets are counted in this process only.
 */
const unsentMax = 5_000

export type SharedLimits = {
  /** The same limit, which also counts the requests that other processes allow. */
  share(limiter: RateLimiter): RateLimiter
  /** Exchanges the counts of up to `bucketsMax` buckets now. While requests come, this also happens automatically. */
  sync(): Promise<void>
}

type Shared = { limiter: RateLimiter; unsent: Map<string, number> }

/**
 * Enforces rate limits across all processes and machines that share the database. Requests are decided in memory. Up to
 * five times a second, one statement adds what the process allowed to the shared buckets (`rate_limits`). It returns
 * how long each takes until it is full again.
 */
export function shareLimits({ db, clock, key }: { db: Db; clock: Clock; key: SecretKey }): SharedLimits {
  const limits: Shared[] = []
  let timer: NodeJS.Timeout | null = null
  let running: Promise<void> | null = null

  return {
    share(limiter) {
      if (limiter.limit.perSecond === 0) return limiter
      const unsent = new Map<string, number>()
      limits.push({ limiter, unsent })
      /**
       * Tokens that were counted in this process only. They are not given back to the shared bucket, from which they
       * were never taken.
       */
      const unshared = new WeakSet<Taken>()
      /** False if too many buckets wait. */
      const addUnsent = (name: string, count: 1 | -1): boolean => {
        const before = unsent.get(name)
        if (before === undefined && unsent.size === unsentMax) return false
        unsent.set(name, (before ?? 0) + count)
        timer ??= setTimeout(syncLater, syncEveryMs).unref()
        return true
      }
      return {
        ...limiter,
        take(name) {
          const taken = limiter.take(name)
          if (taken.isAllowed && !addUnsent(name, 1)) unshared.add(taken)
          return taken
        },
        giveBack(name, taken) {
          limiter.giveBack(name, taken)
          if (!unshared.has(taken)) addUnsent(name, -1)
        },
      }
    },
    sync,
  }

  function syncLater(): void {
    // While the database is away, each process counts alone.
    void sync().catch(() => {})
  }

  async function sync(): Promise<void> {
    while (running) await running.catch(() => {})
    running = exchange()
    try {
      await running
    } finally {
      running = null
    }
  }

  async function exchange(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    const sent = new Map<string, { shared: Shared; name: string }>()
    const rows: Used[] = []
    // Each limit gets an equal part of the rows, and those with few buckets leave the rest to the others: callers that
    // flood one limit cannot keep another from being shared.
    const fewestFirst = limits.toSorted((one, other) => one.unsent.size - other.unsent.size)
    for (const [index, shared] of fewestFirst.entries()) {
      const { limiter, unsent } = shared
      const { perSecond, burst } = limiter.limit
      const rowsMax = rows.length + Math.ceil((bucketsMax - rows.length) / (limits.length - index))
      for (const [name, count] of unsent) {
        if (rows.length === rowsMax) break
        unsent.delete(name)
        if (count === 0) continue
        // Hashed, because names can contain network and e-mail addresses.
        const id = newUuid(keyedHash(key, 'limit', `${limiter.name} ${name}`))
        sent.set(id, { shared, name })
        const [fullLaterMicros, emptyToFullMicros] = [toMicros(count / perSecond), toMicros(burst / perSecond)]
        rows.push({ id, fullLaterMicros, emptyToFullMicros })
      }
    }
    if (limits.some(({ unsent }) => unsent.size > 0)) timer = setTimeout(syncLater, syncEveryMs).unref()
    if (rows.length === 0) return
    const at = clock.now()
    // Not 0 only in tests, which move the clock.
    const clockMovedMs = at.getTime() - Date.now()
    const buckets = await addUsed(db, rows, clockMovedMs)
    for (const { id, seconds } of buckets) {
      const one = sent.get(id)
      if (!one) continue
      const { limiter, unsent } = one.shared
      const { perSecond, burst } = limiter.limit
      limiter.setLevel(one.name, burst - seconds * perSecond - (unsent.get(one.name) ?? 0), at)
    }
  }
}

function toMicros(seconds: number): number {
  return Math.round(seconds * 1e6)
}
