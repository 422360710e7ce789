import type { Logger } from 'pino'
import type { Payment } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import type { Db } from '../db/sql.ts'
import { cellOfId, isOfOtherCell } from '../lib/cell.ts'
import type { Clock } from '../lib/clock.ts'
import { fromTxid } from '../pix/ids.ts'
import { insertOtherCells, type OtherCellRow } from './other-cell-store.ts'

type Deps = { db: Db; clock: Clock; acquirers: Pick<Acquirers, 'cell'>; log: Pick<Logger, 'error'> }

/**
 * Removes from a list the payments whose txid names another cell (another Guichê installation), and stores each of them
 * once, for the operator. Such a payment is listed here only if the same account at a PSP is configured in two cells,
 * which is an error. Its own cell posts it: if this cell placed it in suspense, it would be in two ledgers. A payment
 * that is already in suspense here stays there, and in the list.
 *
 * @returns the payments that remain, for normal processing
 */
export async function takeOtherCells(deps: Deps, acquirer: string, payments: Payment[]): Promise<Payment[]> {
  const { cell } = deps.acquirers
  const rows = payments.flatMap(({ endToEndId, txid, amount, paidAt }): OtherCellRow[] => {
    const id = txid === null ? null : fromTxid(txid)
    return txid !== null && isOfOtherCell(cell, id)
      ? [{ acquirer, endToEndId, cell: cellOfId(id) ?? '', txid, amount, paidAt }]
      : []
  })
  if (rows.length === 0) return payments
  const { stored, newCells } = await insertOtherCells(deps.db, rows, deps.clock.now())
  if (newCells.length > 0)
    deps.log.error(
      { acquirer, cells: [...new Set(newCells)], count: newCells.length },
      'payments of another cell were listed at this PSP account and were not posted here: configure an account in one cell only',
    )
  return payments.filter(({ endToEndId }) => !stored.has(endToEndId))
}
