import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { findClients, type KnownClient } from './store.ts'

/** The maximum age of a cached client: half of the second within which every instance must see a revocation. */
const ageMaxMs = 500
const clientsMax = 10_000
/** The maximum number of clients that are read together with another one. */
const readTogetherMax = 100

/** What the guard needs at every request: the client, and since when its tokens are valid, if at all. */
export type ClientDirectory = {
  /** Returns a cached value immediately. */
  find(clientId: string): KnownClient | null | Promise<KnownClient | null>
}

type Clients = Map<string, KnownClient>
type Reading = { at: number; clients: Clients | Promise<Clients> }

/**
 * Caches clients for half a second. Without a database there is no answer, so that nobody gets in on stale data.
 * Concurrent requests of one client share a query, and frequently used clients are read together.
 */
export function createClientDirectory({ db, clock }: { db: Db; clock: Clock }): ClientDirectory {
  // In the order in which they were read.
  const known = new Map<string, { reading: Reading; wasUsed: boolean }>()

  /**
   * Returns the cached clients that were used since they were read, to read them again together; the others are
   * forgotten.
   */
  function takeRecentlyUsed(now: number): string[] {
    const used: string[] = []
    for (const [clientId, { reading, wasUsed }] of known) {
      if (now - reading.at < ageMaxMs / 2 || used.length === readTogetherMax) break
      known.delete(clientId)
      if (wasUsed) used.push(clientId)
    }
    return used
  }

  function read(clientId: string, now: number): Reading {
    // An unknown client is read alone: if the database rejects its id, no other client is affected.
    const clientIds = known.delete(clientId) ? [clientId, ...takeRecentlyUsed(now)] : [clientId]
    const clients = readClients(db, clientIds, clock.now())
    const reading: Reading = { at: now, clients }
    for (const id of clientIds) known.set(id, { reading, wasUsed: false })
    clients.then(
      (read) => {
        reading.clients = read
      },
      () => {
        for (const id of clientIds) if (known.get(id)?.reading === reading) known.delete(id)
      },
    )
    for (const id of known.keys()) {
      if (known.size <= clientsMax) break
      known.delete(id)
    }
    return reading
  }

  return {
    find(clientId) {
      const now = performance.now()
      const entry = known.get(clientId)
      const isFresh = entry !== undefined && now - entry.reading.at < ageMaxMs
      if (isFresh) entry.wasUsed = true
      const { clients } = isFresh ? entry.reading : read(clientId, now)
      return clients instanceof Promise
        ? clients.then((read) => read.get(clientId) ?? null)
        : (clients.get(clientId) ?? null)
    },
  }
}

async function readClients(db: Db, clientIds: string[], now: Date): Promise<Clients> {
  const clients = await findClients(db, clientIds, now)
  return new Map(clients.map((client) => [client.client_id, client]))
}
