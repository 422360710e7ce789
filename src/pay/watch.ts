import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../db/sql.ts'
import { createEventStreams, type EventStream } from '../http/event-streams.ts'
import type { Clock } from '../lib/clock.ts'
import { createPolling } from '../lib/polling.ts'
import { isOpen, type PageState, pageState } from './state.ts'
import { findPaymentStates, type PaymentStateRow } from './store.ts'

/** With longer pauses a customer would start to wonder; shorter ones would only load the database. */
const pollEveryMs = 1_000
/**
 * A fifth of the connections that a process accepts (http/server.ts). Many customers of a mobile network share an
 * address. A refused page polls every few seconds instead.
 */
const limitsDefault = { totalMax: 2_000, perAddressMax: 50 }

export type Watch = {
  /**
   * A stream of server-sent events: the state now, and again when it has changed. Null when there are too many, and
   * after a stop.
   */
  open(payment: PaymentStateRow, address: string): Readable | null
  /** Ends all streams for good. */
  stop(): Promise<void>
}

type Watcher = { id: string; stream: EventStream; state: PageState }

/**
 * Notifies open pages when their payments change. Each process queries all of its open pages with one statement, about
 * once per second; so it does not matter which process posts the payment.
 */
export function createWatch(
  { db, clock, log }: { db: Db; clock: Clock; log: FastifyBaseLogger },
  limits = limitsDefault,
): Watch {
  const watchers = new Set<Watcher>()
  const streams = createEventStreams({ totalMax: limits.totalMax, perKeyMax: limits.perAddressMax })
  const polling = createPolling({
    isNeeded: () => watchers.size > 0,
    poll: async () => {
      // A stream that opens during the query is not among these: it would seem to have no transaction.
      const present = [...watchers]
      const rows = await findPaymentStates(db, [...new Set(present.map(({ id }) => id))])
      const rowsById = new Map(rows.map((row) => [row.id, row]))
      for (const watcher of present) notify(watcher, rowsById.get(watcher.id), clock.now())
    },
    onError: (error) => log.error({ err: error }, 'payment pages could not be notified'),
    pauseMs: () => pollEveryMs,
  })

  return {
    open(payment, address) {
      const stream = streams.open(address, () => watchers.delete(watcher))
      if (!stream) return null
      const watcher: Watcher = { id: payment.id, stream, state: pageState(payment, clock.now()) }
      watchers.add(watcher)
      stream.send(`retry: 3000\ndata: ${watcher.state}\n\n`)
      polling.begin()
      return stream.body
    },
    async stop() {
      streams.stop()
      await polling.stop()
    },
  }
}

function notify(watcher: Watcher, row: PaymentStateRow | undefined, now: Date): void {
  const state = row ? pageState(row, now) : watcher.state
  if (state !== watcher.state) watcher.stream.send(`data: ${state}\n\n`)
  else watcher.stream.keepAlive()
  watcher.state = state
  if (!row || !isOpen(row)) watcher.stream.end()
}
