import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { findClients, type KnownClient } from './store.ts'

/** The maximum age of a cached client: half of the second within which every instance must see a revocation. */
const ageMaxMs = 500
const clientsMax = 10_000
/** The maximum number of clients that are read together with another one. */
const readTogetherMax = 100
/**
 * A client that made a request within this time is read again together with others. After that it is read again only
 * with its next request.
 */
const activeMs = 5_000

/** The guard reads it at every request: the client, and the time before which its tokens are revoked. */
export type ClientDirectory = {
  /** Returns a cached value immediately. */
  find(clientId: string): KnownClient | null | Promise<KnownClient | null>
}

type Clients = Map<string, KnownClient>
type Reading = { at: number; clients: Clients | Promise<Clients> }

/**
 * Caches clients for half a second. Without a database it throws, so that nobody is admitted by stale data.
 * Concurrent requests of one client share a query, and active clients are read together.
 */
export function createClientDirectory({ db, clock }: { db: Db; clock: Clock }): ClientDirectory {
  // In the order in which they were read.
  const known = new Map<string, { reading: Reading; usedAt: number }>()

  /** Takes out the clients that are due to be read again. Returns the active ones, with their last request’s time. */
  function takeActive(now: number): [clientId: string, usedAt: number][] {
    const active: [string, number][] = []
    for (const [clientId, { reading, usedAt }] of known) {
      if (now - reading.at < ageMaxMs / 2 || active.length === readTogetherMax) break
      known.delete(clientId)
      if (now - usedAt < activeMs) active.push([clientId, usedAt])
    }
    return active
  }

  function read(clientId: string, now: number): Reading {
    // An unknown client is read alone: if the database rejects its id, no other client is affected.
    const usedAt = new Map([[clientId, now], ...(known.delete(clientId) ? takeActive(now) : [])])
    const clientIds = [...usedAt.keys()]
    const clients = readClients(db, clientIds, clock.now())
    const reading: Reading = { at: now, clients }
    for (const [id, at] of usedAt) known.set(id, { reading, usedAt: at })
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
      if (isFresh) entry.usedAt = now
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
