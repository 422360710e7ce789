import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../db/sql.ts'
import { createEventStreams, type EventStream } from '../http/event-streams.ts'
import { createPolling } from '../lib/polling.ts'
import { createChangeReader, isSeenBy, type ReadChange, type Viewer } from './live-changes.ts'
import type { Changed } from './live-schema.ts'

/** A change is usually on the screen within a second, and no browser gets more than two lists of changes a second. */
const pollEveryMs = 500
/** The polls of one process take at most this share of the time of a connection to the database. */
const shareOfTime = 1 / 20
/** How often it is checked whether the sessions of open streams have ended. Every request checks its own anyway. */
const sessionsEveryMs = 2_000
/** A tenth of the connections that a process accepts. A person's tabs above the limit refresh regularly instead. */
const limitsDefault = { totalMax: 1_000, perKeyMax: 20 }
/** About 12 kB. Whoever sees more changes at once is notified that there are more. */
const changesMax = 50

type Deps = {
  db: Db
  log: FastifyBaseLogger
  /** The people of these sessions, by the session's hash in hexadecimal. Those that have ended are missing. */
  findPeople: (sessions: Buffer[]) => Promise<Map<string, Viewer>>
}

type Open = { session: Buffer; viewer: Viewer; stream: EventStream; isConnected: boolean }

export type Live = {
  /** A stream of server-sent events for this session; null if too many are open. */
  open(viewer: Viewer, session: Buffer): Readable | null
  /** Ends all streams for good. */
  stop(): Promise<void>
}

/**
 * Notifies open dashboards of changes, whichever process made them. While dashboards are open, their process reads what
 * has changed, at most twice a second; otherwise nothing is read.
 */
export function createLive({ db, log, findPeople }: Deps, limits = limitsDefault): Live {
  const open = new Set<Open>()
  const streams = createEventStreams(limits)
  let readChanges = createChangeReader(db)
  let checkSessionsAt = 0
  const polling = createPolling({
    isNeeded: () => open.size > 0,
    poll: async () => {
      const begunAt = performance.now()
      if (begunAt >= checkSessionsAt) {
        await checkSessions()
        checkSessionsAt = begunAt + sessionsEveryMs
      }
      const present = [...open]
      const changes = await readChanges(merchantsSeen(present))
      for (const one of present) notify(one, changes)
    },
    onError: (error) => log.error({ err: error }, 'open dashboards could not be notified'),
    pauseMs: (tookMs) => Math.max(pollEveryMs, tookMs / shareOfTime),
  })

  async function checkSessions(): Promise<void> {
    // A stream that opens during the query is not among these: it would seem to have no session.
    const present = [...open]
    const people = await findPeople(present.map(({ session }) => session))
    for (const one of present) {
      const viewer = people.get(one.session.toString('hex'))
      if (viewer && !viewer.needsSecondFactor) {
        if (viewer.role !== one.viewer.role) one.stream.send('event: role-changed\ndata: {}\n\n')
        one.viewer = viewer
      } else {
        one.stream.send('event: ended\ndata: {}\n\n')
        one.stream.end()
      }
    }
  }

  return {
    open(viewer, session) {
      const stream = streams.open(viewer.id, () => open.delete(one))
      if (!stream) return null
      const one: Open = { session, viewer, stream, isConnected: false }
      // Nobody needs what has changed while no dashboard was open.
      if (open.size === 0) readChanges = createChangeReader(db)
      open.add(one)
      polling.begin()
      return stream.body
    },
    async stop() {
      streams.stop()
      await polling.stop()
    },
  }
}

/** Null: of all, because a user of the operator is among them. */
function merchantsSeen(present: Open[]): string[] | null {
  const merchants = present.map(({ viewer }) => viewer.merchant?.merchantId)
  return merchants.includes(undefined) ? null : [...new Set(merchants.filter((id) => id !== undefined))]
}

function notify(one: Open, changes: ReadChange[]): void {
  const { viewer, stream } = one
  if (!one.isConnected) {
    one.isConnected = true
    // From now on the page misses no change. What it read before this may be older.
    stream.send('event: connected\ndata: {}\n\n')
    return
  }
  const seen = changes.filter((change) => isSeenBy(viewer, change))
  if (seen.length === 0) {
    stream.keepAlive()
    return
  }
  const message: Changed = {
    changes: seen.slice(0, changesMax).map(({ kind, clientId, status, count, records }) => ({
      ...{ kind, clientId, status, count, records },
    })),
    isMore: seen.length > changesMax,
  }
  stream.send(`event: changed\ndata: ${JSON.stringify(message)}\n\n`)
}
