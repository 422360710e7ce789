import { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { createSignal } from '../lib/signal.ts'
import { isOpen, type PageState, pageState } from './state.ts'
import { findPaymentStates, type PaymentStateRow } from './store.ts'

/** With longer pauses a customer would start to wonder; shorter ones would only load the database. */
const pollEveryMs = 1_000
/** Proxies close a connection that is silent for a minute. */
const heartbeatMs = 15_000
/** A page that is still open after that reconnects automatically. */
const lifeMsMax = 30 * 60_000
/**
 * A fifth of all connections. Many customers of a mobile network share an address. A refused page polls every few
 * seconds instead.
 */
const limitsDefault = { inAll: 2_000, perHost: 50 }

export type Watch = {
  /** A stream of server-sent events: the state now, and again when it has changed. Null when there are too many. */
  open(payment: PaymentStateRow, host: string): Readable | null
  /** Ends all streams for good. */
  stop(): Promise<void>
}

type Watcher = { id: string; stream: Readable; state: PageState; sentAt: number; endsAt: number; isEnded: boolean }

/**
 * Notifies open pages when their payments change. One statement per second for all of them, whichever process posts
 * the payment.
 */
export function createWatch(
  { db, clock, log }: { db: Db; clock: Clock; log: FastifyBaseLogger },
  limits = limitsDefault,
): Watch {
  const watchers = new Set<Watcher>()
  const hosts = new Map<string, number>()
  const signal = createSignal()
  let isStopped = false
  let isPolling = false
  let polling = Promise.resolve()

  async function poll(): Promise<void> {
    isPolling = true
    while (watchers.size > 0 && !isStopped) {
      try {
        const ids = new Set([...watchers].map(({ id }) => id))
        const rows = await findPaymentStates(db, [...ids])
        const rowsById = new Map(rows.map((row) => [row.id, row]))
        for (const watcher of watchers) notify(watcher, rowsById.get(watcher.id), clock.now())
      } catch (error) {
        log.error({ err: error }, 'payment pages could not be notified')
      }
      await signal.wait(pollEveryMs)
    }
    isPolling = false
  }

  return {
    open(payment, host) {
      const openOfHost = hosts.get(host) ?? 0
      if (isStopped || watchers.size >= limits.inAll || openOfHost >= limits.perHost) return null
      const now = performance.now()
      const state = pageState(payment, clock.now())
      const stream = new Readable({ read() {} })
      const watcher = { id: payment.id, stream, state, sentAt: now, endsAt: now + lifeMsMax, isEnded: false }
      watchers.add(watcher)
      hosts.set(host, openOfHost + 1)
      stream.once('close', () => {
        watchers.delete(watcher)
        const left = (hosts.get(host) ?? 1) - 1
        if (left > 0) hosts.set(host, left)
        else hosts.delete(host)
      })
      send(watcher, `retry: 3000\ndata: ${state}\n\n`)
      if (!isPolling) polling = poll()
      return stream
    },
    async stop() {
      isStopped = true
      for (const watcher of watchers) end(watcher)
      signal.notify()
      await polling
    },
  }
}

function notify(watcher: Watcher, row: PaymentStateRow | undefined, now: Date): void {
  if (watcher.isEnded) return
  const state = row ? pageState(row, now) : watcher.state
  if (state !== watcher.state) send(watcher, `data: ${state}\n\n`)
  else if (performance.now() - watcher.sentAt > heartbeatMs) send(watcher, ':\n\n')
  watcher.state = state
  if (!row || !isOpen(row) || performance.now() > watcher.endsAt) end(watcher)
}

function send(watcher: Watcher, text: string): void {
  watcher.sentAt = performance.now()
  // The reader is too slow or gone: its stream is closed instead of buffered.
  if (!watcher.stream.push(text)) watcher.stream.destroy()
}

function end(watcher: Watcher): void {
  if (!watcher.isEnded) watcher.stream.push(null)
  watcher.isEnded = true
}
