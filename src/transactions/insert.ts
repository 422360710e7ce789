import { type By, recordAction } from '../audit/record.ts'
import { type Db, mayBeOneRowsFault, type Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { createBatcher } from '../lib/batch.ts'
import type { Clock } from '../lib/clock.ts'
import { compare } from '../lib/compare.ts'
import { firstEvents } from '../webhooks/outbox.ts'
import type { ChangeDeliveries } from '../webhooks/own-events.ts'
import type { LiveSecret } from '../webhooks/store.ts'
import { toEvent, toSnapshot } from './change.ts'
import { insertTransactions } from './insert-store.ts'
import type { TransactionResponse } from './schema.ts'
import { type NewTransaction, nothingPaid } from './store.ts'
import { toTransactionView } from './view.ts'

/** Rows per commit, and commits in progress at once. Measured best; an idle service does not wait. */
const batchRowsMax = 64
const batchesMax = 2
const minConcurrentBatch = 16
const lingerMs = 3

/**
 * Inserts all transactions that arrive during one commit with the next one.
 *
 * @param deliveries sends the webhooks of creations
 */
export function createTransactionWriter(
  db: Db,
  deliveries: ChangeDeliveries | null = null,
): (transaction: NewTransaction) => Promise<boolean> {
  return createBatcher({
    name: 'create',
    maxBatchSize: batchRowsMax,
    maxConcurrency: batchesMax,
    minConcurrentBatch,
    lingerMs,
    retryIndividually: mayBeOneRowsFault,
    sort: byKey,
    run: async (transactions: NewTransaction[]) => await insertWithEvents(db, transactions, deliveries),
  })
}

/** What a person creates is in the audit log, so it has its own commit. */
export async function insertBy(
  { db, clock, wakeDeliveries }: { db: Db; clock: Clock; wakeDeliveries: () => void },
  { row, by }: { row: NewTransaction; by: By },
): Promise<boolean> {
  const isNew = await db.transaction(async (tx) => {
    const isNew = (await insertWithEvents(tx, [row])).includes(true)
    const { merchant_id: merchantId, id: recordId, amount } = row
    const about = { action: 'transaction.create', merchantId, recordId, details: { amount } } as const
    if (isNew) await recordAction(tx, { ...about, by, now: clock.now() })
    return isNew
  })
  if (isNew) wakeDeliveries()
  return isNew
}

/**
 * Inserts transactions with the events of their creation. Says of each whether it is new.
 *
 * @param deliveries null if `db` is a transaction: webhooks must not be sent before it commits
 */
export async function insertWithEvents(
  db: Db | Tx,
  transactions: NewTransaction[],
  deliveries: ChangeDeliveries | null = null,
): Promise<boolean[]> {
  // One batch may contain two equal requests: the row is inserted for the first of them only.
  const ids = new Set<string>()
  const unique = transactions.filter(({ id }) => !ids.has(id) && ids.add(id))
  // PENDING alone has no event.
  const changed = unique.filter(({ statuses }) => statuses.length > 1)
  const first = firstEvents(
    changed.map((row) => toEvent(row, isPlain(row) ? null : toSnapshot(withNothingPaid(row)))),
    (receiver) => deliveries?.reserve(receiver) ?? null,
  )
  const send = (rows: NewTransaction[], secrets: LiveSecret[]) => {
    const rowOf = new Map(rows.map((row) => [row.id, row]))
    const reserved = first.reserved.map((delivery) => {
      const row = rowOf.get(delivery.recordId)
      return { delivery, record: row ? toFirstView(row) : null }
    })
    deliveries?.send(reserved, secrets)
  }
  const { inserted, toEndpoints, secrets } = await insertTransactions(db, unique, first).catch((error: unknown) => {
    send([], [])
    throw error
  })
  const rows = unique.filter(({ id }) => inserted.has(id))
  // After the responses.
  if (first.reserved.length > 0) setImmediate(send, rows, secrets)
  if (first.isAnyUnreserved || toEndpoints) deliveries?.wake()
  return transactions.map(({ id }) => inserted.delete(id))
}

/** What GET returned right after the creation. */
function toFirstView(row: NewTransaction): TransactionResponse {
  const status = row.statuses.at(-1)
  assert(status, 'a transaction has a history')
  return toTransactionView(Object.assign(withNothingPaid(row), { status, cancel_requested_at: null }))
}

/** Most rows need no snapshot: their initial state can be derived from the current row. */
function isPlain({ pix_uri, other_acquirers }: NewTransaction): boolean {
  return pix_uri !== null && other_acquirers.length === 0
}

/** Adds the fields of a payment, all empty, to the row itself: a copy takes as long as encoding the BR Code. */
function withNothingPaid(transaction: NewTransaction) {
  return Object.assign(transaction, nothingPaid)
}

/** Everyone inserts in the same order: two statements that insert the same keys in opposite order deadlock. */
function byKey(left: NewTransaction, right: NewTransaction): number {
  return (
    compare(left.merchant_id, right.merchant_id) ||
    compare(left.idempotency_key ?? '', right.idempotency_key ?? '') ||
    compare(left.id, right.id)
  )
}
