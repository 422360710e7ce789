import type { Reads } from '../db/sql.ts'
import { listPosted, type Posted, type PostedKind } from '../ledger/export-store.ts'
import type { Window } from '../lib/brasilia.ts'

/** As many as an export of a list reads at once. */
const rowsAtOnce = 200
/** A bank's clock may be ahead of ours: a payment that it dates on a day may be posted on the one before. */
const clockSkewMs = 24 * 60 * 60_000

/**
 * Records by the moment at which the ledger has them, or by the bank's own moment of the payment (`paidAt`). Both are
 * found by the ledger's entries, page by page: one index has those of a merchant, and a payment is posted after it was
 * made.
 */
export async function* walkPosted<Row extends { id: string }>(
  db: Reads,
  merchantId: string,
  options: {
    kind: PostedKind
    window: Window
    find: (ids: string[]) => Promise<Row[]>
    paidAt: ((row: Row) => Date | null) | null
  },
): AsyncGenerator<(Row & { posted_at: Date })[]> {
  const { kind, window, find, paidAt } = options
  const from = paidAt ? new Date(window.from.getTime() - clockSkewMs) : window.from
  const until = paidAt ? null : window.to
  for (let beforeId: number | null = null; ; ) {
    const posted: Posted[] = await listPosted(db, merchantId, { kind, from, until, beforeId, limit: rowsAtOnce })
    const rows = new Map((await find(posted.map(({ recordId }) => recordId))).map((row) => [row.id, row]))
    yield posted.flatMap(({ recordId, postedAt }) => {
      const row = rows.get(recordId)
      const at = row && paidAt ? paidAt(row) : postedAt
      return row && at && at >= window.from && at < window.to ? [{ ...row, posted_at: postedAt }] : []
    })
    if (posted.length < rowsAtOnce) return
    beforeId = posted.at(-1)?.id ?? null
  }
}
