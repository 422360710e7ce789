import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { type ChangeDeliveries, sendAfterCommit } from '../webhooks/own-events.ts'
import { changeStatuses, type Move } from './change.ts'
import { lockTransactions, type TransactionRow } from './store.ts'
import { toTransactionView } from './view.ts'

/** `row`: an unpaid transaction as it was when its acquirer was queried. `reason`: why it fails. */
export type Failing = { row: TransactionRow; reason: string }

/**
 * Makes transactions FAILED in one commit. One that a payment or another process has changed since its acquirer was
 * queried stays as it is.
 */
export async function failTransactions(
  { db, clock, deliveries }: { db: Db; clock: Clock; deliveries: ChangeDeliveries | null },
  failing: Failing[],
): Promise<void> {
  const failingOf = new Map(failing.map((one) => [one.row.id, one]))
  const keys = failing.map(({ row }) => ({ merchantId: row.merchant_id, id: row.id }))
  await sendAfterCommit(deliveries, async (ownEvents) => {
    await db.transaction(async (tx) => {
      const now = clock.now()
      const moves = (await lockTransactions(tx, keys)).flatMap((row): Move[] => {
        const one = failingOf.get(row.id)
        if (row.status !== one?.row.status) return []
        return [{ row, to: 'FAILED', now, checkAt: null, set: { error_message: one.reason } }]
      })
      for (const changed of await changeStatuses(tx, moves, { ownEvents })) {
        const whole = failingOf.get(changed.id)?.row
        if (whole) ownEvents?.setView(changed.id, () => toTransactionView({ ...whole, ...changed }))
      }
    })
  })
}
