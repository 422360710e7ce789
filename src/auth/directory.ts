import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { findClients, type KnownClient } from './store.ts'

/** How old what is known of a client may be: half of the second within which every instance sees a revocation. */
const ageMaxMs = 500
const clientsMax = 10_000
/** As many as are read along with one. */
const alongMax = 100

/** What the guard asks at every request: who is this client, and since when are its tokens good, if they are at all? */
export type ClientDirectory = {
  /** What is known is given at once. */
  find(clientId: string): KnownClient | null | Promise<KnownClient | null>
}

type Clients = Map<string, KnownClient>
type Reading = { at: number; clients: Clients | Promise<Clients> }

/**
 * Remembers clients for half a second. Without a database there is no answer, so nobody gets in on old knowledge; requests of
 * one client that come together share one query, and so do clients that are asked for again and again.
 */
export function createClientDirectory({ db, clock }: { db: Db; clock: Clock }): ClientDirectory {
  // In the order in which they were read.
  const known = new Map<string, { reading: Reading; isAskedForAgain: boolean }>()

  /** Those known who were asked for since they were read will be again, and are read along; the others are forgotten. */
  function takeAlong(now: number): string[] {
    const along: string[] = []
    for (const [clientId, { reading, isAskedForAgain }] of known) {
      if (now - reading.at < ageMaxMs / 2 || along.length === alongMax) break
      known.delete(clientId)
      if (isAskedForAgain) along.push(clientId)
    }
    return along
  }

  function read(clientId: string, now: number): Reading {
    // Who was not known is read alone: should the database refuse a name, nobody else bears it.
    const clientIds = known.delete(clientId) ? [clientId, ...takeAlong(now)] : [clientId]
    const clients = readClients(db, clientIds, clock.now())
    const reading: Reading = { at: now, clients }
    for (const id of clientIds) known.set(id, { reading, isAskedForAgain: false })
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
      if (isFresh) entry.isAskedForAgain = true
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
