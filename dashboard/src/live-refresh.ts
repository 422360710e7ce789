import type { QueryClient } from '@tanstack/react-query'
import { actingMerchant } from './api.ts'
import type { Changed, ChangeKind } from './types.ts'

/** The first part of the keys of the queries whose answers a change may change. */
const roots: Record<ChangeKind, readonly string[]> = {
  transaction: [
    ...['transactions', 'transaction', 'record', 'overview', 'sandbox', 'events', 'deliveries', 'receivers'],
    ...['statement', 'balance', 'balance-history', 'ledger', 'month', 'customer', 'links', 'link', 'api-requests'],
  ],
  withdrawal: [
    ...['withdrawals', 'withdrawal', 'record', 'pending-review', 'overview', 'sandbox', 'events', 'deliveries'],
    ...['statement', 'balance', 'balance-history', 'ledger', 'month', 'api-requests', 'attention'],
  ],
  approval: ['pending-review', 'proposals', 'withdrawals', 'withdrawal', 'record', 'attention'],
  dispute: ['disputes', 'record', 'transaction', 'transactions', 'customer', 'attention'],
  delivery: ['deliveries', 'delivery', 'receivers', 'events', 'record'],
  suspense: ['reconciliation', 'attention'],
}
/** Queries of one record: their keys contain its id. */
const ofOneRecord = new Set(['transaction', 'withdrawal', 'record'])
/** Expensive queries, such as sums over many records: they are repeated less often. */
const slow = new Set([
  ...['overview', 'statement', 'balance', 'balance-history', 'ledger', 'month', 'receivers', 'reconciliation'],
  ...['customer', 'links', 'link', 'api-requests', 'attention'],
])
const pauseMs = { usual: 1_000, slow: 3_000 }
/** The service reuses these figures for two seconds or more: they are read once more after the last change. */
const mayBeOld = 'overview'

/** Lists that somebody is reading further down: they would move under the reader's eyes. True: there are changes. */
const paused = new Map<string, boolean>()
let onReleased: (root: string) => void = () => {}
const watchers = new Set<() => void>()

/** Keeps the queries of a list as they are. Returns how to release them. */
export function pauseList(root: string): () => void {
  paused.set(root, false)
  for (const notify of watchers) notify()
  return () => {
    const hasChanges = paused.get(root)
    paused.delete(root)
    for (const notify of watchers) notify()
    if (hasChanges) onReleased(root)
  }
}

export function isPaused(root: unknown): boolean {
  return paused.has(String(root))
}

/** Calls `notify` when a list is paused or released, until the returned function is called. */
export function watchPaused(notify: () => void): () => void {
  watchers.add(notify)
  return () => watchers.delete(notify)
}

type Pending = { ids: Set<string>; isAll: boolean }

export type Refresher = { refresh(message: Changed): void; refreshAll(): void }

/** Whether somebody has loaded further pages: all of them would be read again, and move. */
function isReadFurther(data: unknown): boolean {
  return (
    typeof data === 'object' && data !== null && 'pages' in data && Array.isArray(data.pages) && data.pages.length > 1
  )
}

/** Repeats the queries that changes concern: one at a time of each kind, with a pause, however many changes arrive. */
export function createRefresher(queries: QueryClient): Refresher {
  const pending = new Map<string, Pending>()
  const busy = new Set<string>()

  async function work(root: string): Promise<void> {
    if (busy.has(root)) return
    busy.add(root)
    let readsAgain = root === mayBeOld
    for (let next = pending.get(root); next; next = pending.get(root)) {
      pending.delete(root)
      if (paused.has(root)) {
        paused.set(root, true)
        break
      }
      const { ids, isAll } = next
      await queries.invalidateQueries({
        predicate: ({ queryKey, state }) =>
          queryKey[0] === root &&
          !isReadFurther(state.data) &&
          (isAll || queryKey.some((part) => typeof part === 'string' && ids.has(part))),
      })
      await new Promise((done) => setTimeout(done, slow.has(root) ? pauseMs.slow : pauseMs.usual))
      if (pending.has(root)) {
        readsAgain = root === mayBeOld
        continue
      }
      if (readsAgain) pending.set(root, next)
      readsAgain = false
    }
    busy.delete(root)
  }

  function add(root: string, ids: readonly string[], isAll: boolean): void {
    if (paused.has(root)) {
      paused.set(root, true)
      return
    }
    const { ids: others, isAll: wasAll } = pending.get(root) ?? { ids: [], isAll: false }
    pending.set(root, { ids: new Set([...others, ...ids]), isAll: wasAll || isAll })
    void work(root)
  }

  onReleased = (root) => add(root, [], true)
  return {
    refresh({ changes, isMore }) {
      if (isMore) {
        this.refreshAll()
        return
      }
      const shown = actingMerchant()
      for (const { kind, clientId, count, records } of changes) {
        const ids = records.map(({ id }) => id)
        const isShown = shown === null || clientId === null || clientId === shown
        for (const root of roots[kind]) {
          // A delivery names no record.
          if (ofOneRecord.has(root)) add(root, ids, kind === 'delivery' || count > records.length)
          else if (isShown) add(root, [], true)
        }
      }
    },
    refreshAll() {
      for (const root of new Set(Object.values(roots).flat())) add(root, [], true)
    },
  }
}
