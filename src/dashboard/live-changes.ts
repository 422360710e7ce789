import type { Db } from '../db/sql.ts'
import type { SignedIn } from '../http/caller.ts'
import { proposalKinds } from '../proposal-kinds.ts'
import type { ChangeView } from './live-schema.ts'
import {
  findSnapshot,
  listEventsSince,
  listFirstPayments,
  listNewestAttempts,
  listQueues,
  type QueueEntry,
  queueMax,
} from './live-store.ts'

export type Viewer = Pick<SignedIn, 'id' | 'role' | 'merchant' | 'permissions' | 'needsSecondFactor'>

/** A change with who may see it. */
export type ReadChange = ChangeView & {
  /** Null: the operator's own. */
  merchantId: string | null
  /** The permission to see it. Null: nobody has it. */
  needs: string | null
}

const permissionOf = {
  transaction: 'transaction.read',
  withdrawal: 'withdrawal.read',
  approval: 'withdrawal.read',
  dispute: 'infraction.read',
  delivery: 'webhook.read',
  suspense: 'reconciliation.read',
} as const

export function isSeenBy({ merchant, permissions }: Viewer, { kind, merchantId, needs }: ReadChange): boolean {
  if (needs === null || !permissions.includes(needs)) return false
  // Payments in suspense are on a screen of the operator only, even those of a merchant.
  if (merchant !== null && kind === 'suspense') return false
  return merchant === null || merchant.merchantId === merchantId
}

/**
 * Reads what has changed since the previous call. The first call only finds out where to begin: the page has just read
 * what was there. What is not an event is compared with the previous call.
 */
export function createChangeReader(db: Db): (merchantIds: string[] | null) => Promise<ReadChange[]> {
  let snapshot: string | null = null
  let queues: Queues | null = null
  let attempts: Set<string> | null = null

  async function readEvents(merchantIds: string[] | null): Promise<ReadChange[]> {
    if (snapshot === null) {
      snapshot = await findSnapshot(db)
      return []
    }
    const read = await listEventsSince(db, { snapshot, merchantIds })
    snapshot = read.snapshot
    const paid = read.groups.flatMap(({ type, ids }) => (type === 'transaction.paid' ? ids : []))
    const amounts = paid.length === 0 ? new Map<string, number>() : await listFirstPayments(db, paid)
    return read.groups.map(({ merchantId, clientId, type, count, ids }) => {
      const kind = type.startsWith('withdrawal.') ? 'withdrawal' : 'transaction'
      const status = type.slice(type.indexOf('.') + 1).toUpperCase()
      const records = ids.map((id) => ({ id, amount: (status === 'PAID' && amounts.get(id)) || null }))
      return { kind, clientId, status, count, records, merchantId, needs: permissionOf[kind] }
    })
  }

  async function readQueues(): Promise<ReadChange[]> {
    const before = queues
    const now = toQueues(await listQueues(db))
    queues = now
    if (before === null) return []
    const changed = [...now.entries].flatMap(([key, entry]) => {
      const known = before.entries.get(key)
      const isChanged = known ? known.status !== entry.status : isCovered(before, entry)
      return isChanged ? [toChange(entry, entry.status)] : []
    })
    const gone = [...before.entries].flatMap(([key, entry]) =>
      !now.entries.has(key) && isCovered(now, entry) ? [toChange(entry, 'closed')] : [],
    )
    return [...changed, ...gone]
  }

  async function readAttempts(): Promise<ReadChange[]> {
    const before = attempts
    const rows = await listNewestAttempts(db)
    attempts = new Set(rows.map(({ key }) => key))
    if (before === null) return []
    const groups = new Map<string, ReadChange>()
    for (const { key, merchantId, clientId, isDelivered } of rows) {
      if (before.has(key)) continue
      const status = isDelivered ? 'delivered' : 'failed'
      const name = `${merchantId} ${status}`
      const group = groups.get(name) ?? {
        ...{ kind: 'delivery', clientId, status, count: 0, records: [], merchantId, needs: permissionOf.delivery },
      }
      groups.set(name, { ...group, count: group.count + 1 })
    }
    return [...groups.values()]
  }

  return async (merchantIds) => {
    const before = { snapshot, queues, attempts }
    try {
      const parts = [await readEvents(merchantIds), await readQueues(), await readAttempts()]
      return parts.flat()
    } catch (error) {
      // The next call reads the same changes again.
      ;({ snapshot, queues, attempts } = before)
      throw error
    }
  }
}

/** The entries that one poll read, and since when all of a queue were read, if it has more than a poll reads. */
type Queues = { entries: Map<string, QueueEntry>; allSince: Map<QueueEntry['queue'], number> }

function toQueues(rows: QueueEntry[]): Queues {
  const allSince = new Map<QueueEntry['queue'], number>()
  for (const queue of new Set(rows.map((row) => row.queue))) {
    const times = rows.flatMap((row) => (row.queue === queue ? [row.since.getTime()] : []))
    if (times.length >= queueMax) allSince.set(queue, Math.min(...times))
  }
  return { entries: new Map(rows.map((entry) => [`${entry.queue} ${entry.id}`, entry])), allSince }
}

/**
 * Whether a poll read all entries that are as new as this one. It reads only the newest entries of each queue. An older
 * entry that is missing may still be in the queue, and an older one that appears may have been there before.
 */
function isCovered({ allSince }: Queues, { queue, since }: QueueEntry): boolean {
  return since.getTime() > (allSince.get(queue) ?? Number.NEGATIVE_INFINITY)
}

function toChange({ queue, merchantId, clientId, id, status: before }: QueueEntry, status: string): ReadChange {
  const shown = { clientId, count: 1, records: [{ id, amount: null }], merchantId }
  if (queue !== 'proposal') return { ...shown, kind: queue, status, needs: permissionOf[queue] }
  // A merchant's users may see the reviews of its withdrawals, but no proposal of the operator's: no role of a merchant
  // has the permission of a proposal.
  const kind = proposalKinds.find(({ name }) => name === before)
  return {
    ...shown,
    kind: 'approval',
    status: status === 'closed' ? status : 'proposed',
    needs: kind?.permission ?? null,
  }
}
