import type { Db, Tx } from '../db/sql.ts'
import type { Cell } from '../lib/cell.ts'
import * as store from './store.ts'

const cellSetting = 'cell'

/**
 * The cell to which the database belongs; null for an installation that is no cell. A cell is one of several whole
 * installations, each with its own merchants and database, behind one proxy.
 */
export async function findCell(db: Db | Tx): Promise<Cell | null> {
  return await store.findSetting(db, cellSetting)
}

/**
 * Stores the cell at the first start that names one: from then on the database belongs to it. An installation may become
 * a cell later. The ids that it issued before contain no cell, so a proxy routes them to its default cell.
 *
 * @throws {Error} if the database belongs to another cell: ids of two cells must never come from one database
 */
export async function claimCell(db: Db, configured: Cell | null): Promise<Cell | null> {
  if (configured !== null) await store.insertSetting(db, cellSetting, configured)
  await checkCell(db, configured)
  return configured
}

/** @throws {Error} if the database belongs to another cell, or to one although none is configured */
export async function checkCell(db: Db, configured: Cell | null): Promise<void> {
  const claimed = await findCell(db)
  if (claimed === configured || claimed === null) return
  throw new Error(
    configured === null
      ? `This database belongs to the cell ${claimed}, and CELL is not set: set CELL=${claimed}.`
      : `CELL is ${configured}, but this database belongs to the cell ${claimed}. Set CELL=${claimed}, or use the database of the cell ${configured}.`,
  )
}
