import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { findClient, type KnownClient } from './store.ts'

/** How old what is known of a client may be: half of the second within which every instance sees a revocation. */
const ageMaxMs = 500
const clientsMax = 10_000

/** What the guard asks at every request: who is this client, and since when are its tokens good, if they are at all? */
export type ClientDirectory = {
  /** What is known is given at once. */
  find(clientId: string): KnownClient | null | Promise<KnownClient | null>
}

/**
 * Remembers clients for half a second. Without a database there is no answer, so nobody gets in on old knowledge; requests of
 * one client that come together share one query.
 */
export function createClientDirectory({ db, clock }: { db: Db; clock: Clock }): ClientDirectory {
  const known = new Map<string, { readAt: number; client: ReturnType<ClientDirectory['find']> }>()
  return {
    find(clientId) {
      const now = performance.now()
      const entry = known.get(clientId)
      if (entry && now - entry.readAt < ageMaxMs) return entry.client
      const reading = findClient(db, clientId, clock.now())
      const read: typeof entry = { readAt: now, client: reading }
      known.delete(clientId)
      known.set(clientId, read)
      reading.then(
        (client) => {
          read.client = client
        },
        () => known.delete(clientId),
      )
      const oldest = known.size > clientsMax ? known.keys().next() : undefined
      if (oldest && !oldest.done) known.delete(oldest.value)
      return reading
    },
  }
}
