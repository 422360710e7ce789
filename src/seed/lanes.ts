import type pg from 'pg'
import type { Db } from '../db/sql.ts'
import { type Sheets, type Table, tables } from './sheets.ts'
import { beginFilling, copyPages, run } from './store.ts'

/** Two connections that work side by side; whoever has work for them waits until one is free. */
export type Lanes = {
  /** Takes what is written so far. */
  copy(sheets: Sheets): Promise<void>
  /** No more is copied. */
  commit(): Promise<void>
  run(statement: string): Promise<void>
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
  close(): Promise<void>
}

/** What the second connection fills: half of all bytes. A table is filled by one, see {@link beginFilling}. */
const tablesOfSecond: readonly Table[] = ['events', 'ledger_accounts', 'ledger_transfers']

export async function openLanes(db: Db): Promise<Lanes> {
  const first = await db.pool.connect()
  const second = await db.pool.connect()
  const clients = [first, second]
  const tablesOf = (client: pg.PoolClient) =>
    tables.filter((table) => tablesOfSecond.includes(table) === (client === second))
  for (const client of clients) await beginFilling(client, tablesOf(client))
  const busy = new Map<pg.PoolClient, Promise<void>>()
  let failure: unknown = null

  async function give(client: pg.PoolClient, work: () => Promise<void>): Promise<void> {
    await busy.get(client)
    if (failure !== null) throw failure
    const done = work()
      .catch((error: unknown) => {
        failure ??= error
      })
      .finally(() => busy.delete(client))
    busy.set(client, done)
  }

  async function idle(): Promise<void> {
    await Promise.all(busy.values())
    if (failure !== null) throw failure
  }

  return {
    async copy(sheets) {
      const written = sheets.take()
      for (const client of clients)
        await give(client, async () => {
          for (const table of tablesOf(client)) {
            const pages = written.get(table) ?? []
            if (pages.length === 0) continue
            await copyPages(client, table, pages)
            sheets.giveBack(pages)
          }
        })
    },
    async commit() {
      for (const client of clients) await give(client, async () => await run(client, 'commit'))
      await idle()
    },
    async run(statement) {
      if (busy.size === clients.length) await Promise.race(busy.values())
      const free = clients.find((client) => !busy.has(client)) ?? first
      await give(free, async () => await run(free, statement))
    },
    idle,
    async close() {
      await Promise.allSettled(busy.values())
      for (const client of clients) client.release(true)
    },
  }
}
