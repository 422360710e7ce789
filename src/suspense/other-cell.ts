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
 * Takes out the payments whose txid names another cell. Two cells list them only if an account at a PSP is configured
 * in both, which is an error: the payment is in the ledger of its own cell, and in suspense it would be in two. Each is
 * stored once, for the operator, and posted nowhere. One that is in suspense already stays there.
 *
 * @returns the other payments
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
      'payments of another cell arrived at this account, which belongs to one cell only: they were not posted here',
    )
  return payments.filter(({ endToEndId }) => !stored.has(endToEndId))
}
