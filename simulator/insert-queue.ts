import type { ChargeRow } from './store.ts'

// Beyond this many rows a statement gains nothing more.
const rowsMax = 128

type Waiting = { row: ChargeRow; resolve: (isNew: boolean) => void; reject: (error: unknown) => void }

/**
 * Inserts charges, those that arrive while a statement is under way together in the next one. No timer, so nothing is
 * added when idle; under load PostgreSQL is asked once for many. Resolves with whether the charge is new.
 */
export function createInsertQueue(
  insert: (rows: ChargeRow[]) => Promise<Set<string>>,
): (row: ChargeRow) => Promise<boolean> {
  const waiting: Waiting[] = []
  let isBusy = false

  async function work() {
    if (isBusy) return
    isBusy = true
    while (waiting.length > 0) await insertBatch(waiting.splice(0, rowsMax))
    isBusy = false
  }

  async function insertBatch(batch: Waiting[]) {
    try {
      const inserted = await insert(batch.map((entry) => entry.row))
      // Of two with the same id in one batch the first is the one that made it: `delete` tells true once.
      for (const entry of batch) entry.resolve(inserted.delete(entry.row.id))
    } catch (error) {
      for (const entry of batch) entry.reject(error)
    }
  }

  return (row) =>
    new Promise((resolve, reject) => {
      waiting.push({ row, resolve, reject })
      void work()
    })
}
