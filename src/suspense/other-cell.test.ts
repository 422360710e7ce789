import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/webhooks.ts'
import type { Payment } from '../acquirers/acquirer.ts'
import { sql } from '../db/sql.ts'
import { newIdIn } from '../lib/cell.ts'
import { cents } from '../lib/money.ts'
import { toTxid } from '../pix/ids.ts'
import { takeOtherCells } from './other-cell.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
let database: TestDatabase
let logged: object[]
beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(() => {
  logged = []
})
afterAll(async () => await database.drop())

const paymentFor = (cell: string): Payment => {
  const txid = toTxid(newIdIn(cell))
  return { endToEndId: `E${randomUUID()}`, txid, amount: cents(500), paidAt: now, payer: null, returns: [], fee: null }
}
/** As cell `a`, stores the payments of other cells, and returns the others. */
const take = async (...payments: Payment[]) => {
  const log = { error: (data: object) => logged.push(data) }
  return await takeOtherCells(
    { db: database.db, clock: { now: () => now }, acquirers: { cell: 'a' }, log },
    'a-psp',
    payments,
  )
}

it('does not return a payment of another cell that another caller stores at the same moment', async () => {
  const [own, other] = [paymentFor('a'), paymentFor('b')]
  const { taking } = await database.db.transaction(async (tx) => {
    await tx.query(sql`
      insert into other_cell_payments (acquirer, end_to_end, cell, txid, amount, paid_at, seen_at)
      values ('a-psp', ${other.endToEndId}, 'b', ${other.txid}, 500, ${now}, ${now})`)
    const taking = take(own, other)
    await eventually(async () => {
      const waiting = await database.db.query(sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
      return waiting.length === 1
    })
    return { taking }
  })
  expect(await taking).toEqual([own])
  expect(logged).toEqual([])
})

it('logs only the payments that are new, and their cells', async () => {
  const [first, second] = [paymentFor('b'), paymentFor('c')]
  expect(await take(first)).toEqual([])
  expect(await take(first, second)).toEqual([])
  expect(logged).toEqual([
    { acquirer: 'a-psp', cells: ['b'], count: 1 },
    { acquirer: 'a-psp', cells: ['c'], count: 1 },
  ])
})
