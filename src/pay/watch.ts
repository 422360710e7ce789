import { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { createSignal } from '../lib/signal.ts'
import { isOpen, type PageState, pageState } from './state.ts'
import { findStandings, type StandingRow } from './store.ts'

/** Over this a customer would wonder; below, the database would be asked for nothing. */
const lookEveryMs = 1_000
/** Proxies cut a connection that is silent for a minute. */
const heartbeatMs = 15_000
/** Who still looks after that comes back by itself. */
const lifeMsMax = 30 * 60_000
/** A fifth of all connections; and many customers of a mobile network share an address. Who is refused asks again every few seconds. */
const limitsDefault = { inAll: 2_000, perHost: 50 }

export type Watch = {
  /** A stream of server-sent events: the state now, and again when it has changed. Null when there are too many. */
  open(payment: StandingRow, host: string): Readable | null
  /** Ends all streams, for ever. */
  stop(): Promise<void>
}

type Watcher = { id: string; stream: Readable; state: PageState; saidAt: number; endsAt: number; isEnded: boolean }

/** Tells pages what became of their payments. One statement a second for all of them, whichever process books the payment. */
export function createWatch(
  { db, clock, log }: { db: Db; clock: Clock; log: FastifyBaseLogger },
  limits = limitsDefault,
): Watch {
  const watchers = new Set<Watcher>()
  const hosts = new Map<string, number>()
  const signal = createSignal()
  let isStopped = false
  let isLooking = false
  let looking = Promise.resolve()

  async function look(): Promise<void> {
    isLooking = true
    while (watchers.size > 0 && !isStopped) {
      try {
        const ids = new Set([...watchers].map(({ id }) => id))
        const rows = await findStandings(db, [...ids])
        const standings = new Map(rows.map((row) => [row.id, row]))
        for (const watcher of watchers) tell(watcher, standings.get(watcher.id), clock.now())
      } catch (error) {
        log.error({ err: error }, 'payment pages were not told')
      }
      await signal.wait(lookEveryMs)
    }
    isLooking = false
  }

  return {
    open(payment, host) {
      const there = hosts.get(host) ?? 0
      if (isStopped || watchers.size >= limits.inAll || there >= limits.perHost) return null
      const now = performance.now()
      const state = pageState(payment, clock.now())
      const stream = new Readable({ read() {} })
      const watcher = { id: payment.id, stream, state, saidAt: now, endsAt: now + lifeMsMax, isEnded: false }
      watchers.add(watcher)
      hosts.set(host, there + 1)
      stream.once('close', () => {
        watchers.delete(watcher)
        const left = (hosts.get(host) ?? 1) - 1
        if (left > 0) hosts.set(host, left)
        else hosts.delete(host)
      })
      say(watcher, `retry: 3000\ndata: ${state}\n\n`)
      if (!isLooking) looking = look()
      return stream
    },
    async stop() {
      isStopped = true
      for (const watcher of watchers) end(watcher)
      signal.notify()
      await looking
    },
  }
}

function tell(watcher: Watcher, standing: StandingRow | undefined, now: Date): void {
  if (watcher.isEnded) return
  const state = standing ? pageState(standing, now) : watcher.state
  if (state !== watcher.state) say(watcher, `data: ${state}\n\n`)
  else if (performance.now() - watcher.saidAt > heartbeatMs) say(watcher, ':\n\n')
  watcher.state = state
  if (!standing || !isOpen(standing) || performance.now() > watcher.endsAt) end(watcher)
}

function say(watcher: Watcher, text: string): void {
  watcher.saidAt = performance.now()
  // Nobody reads at the other end: it is let go of, not kept for.
  if (!watcher.stream.push(text)) watcher.stream.destroy()
}

function end(watcher: Watcher): void {
  if (!watcher.isEnded) watcher.stream.push(null)
  watcher.isEnded = true
}
