import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { sql } from '../db/sql.ts'
import { type Posting, post, postAll } from './post.ts'
import { findBalancesAt } from './store.ts'
import { disputed, paid, reserved, sent } from './transfers.ts'
import { findLedgerBreaches } from './verify.ts'

const began = new Date('2026-03-02T15:00:00.000Z')
const later = (ms: number) => new Date(began.getTime() + ms)
const merchantId = randomUUID()
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

async function postNow(now: Date, transfers: Posting['transfers']): Promise<void> {
  const event = {
    merchantId,
    eventKey: `test:${randomUUID()}`,
    recordType: 'transaction',
    acquirer: 'psp',
    recordId: randomUUID(),
  } as const
  await database.db.transaction(async (tx) => await post(tx, { ...event, now, transfers }))
}

it('keeps a past balance consistent although an earlier event was posted later', async () => {
  await postNow(began, paid(1_000, 0))
  await postNow(later(1_000), reserved('withdrawal_reserved', 1_000, 0))
  // This event started before the reservation, waited for the lock on the accounts, and then sent the reserved money.
  await postNow(later(400), sent('withdrawal_sent', 1_000, 0))
  const at = async (ms: number) => await findBalancesAt(database.db, merchantId, later(ms))
  expect(await at(500)).toMatchObject({ available: 1_000, reserved: 0, acquirer: -1_000 })
  expect(await at(1_000)).toMatchObject({ available: 0, reserved: 0, acquirer: 0 })
})

describe('many postings at once', () => {
  const toPosting = (id: string, now: Date, transfers: Posting['transfers']): Posting => ({
    merchantId: id,
    eventKey: `test:${randomUUID()}`,
    recordType: 'transaction',
    acquirer: 'psp',
    recordId: randomUUID(),
    now,
    transfers,
  })
  const postTogether = async (postings: Posting[]) =>
    await database.db.transaction(async (tx) => await postAll(tx, postings))

  it('have the same result as one after another: each sees the balances left by the earlier ones', async () => {
    const [one, other, alone] = [randomUUID(), randomUUID(), randomUUID()]
    const events = [paid(1_000, 10), disputed(1_500), paid(300, 5), paid(900, 0)]
    const mixed = events.flatMap((transfers, index) => [one, other].map((id) => toPosting(id, later(index), transfers)))
    await postTogether(mixed)
    for (const transfers of events)
      await database.db.transaction(async (tx) => await post(tx, toPosting(alone, began, transfers)))
    const transfersOf = async (id: string) =>
      await database.db.query(sql`
        select kind, debit, credit, amount, debit_balance, credit_balance, position
        from ledger_transfers where merchant_id = ${id} order by id`)
    expect(await transfersOf(one)).toEqual(await transfersOf(alone))
    expect(await transfersOf(other)).toEqual(await transfersOf(alone))
    expect(await findBalancesAt(database.db, one, later(60_000))).toMatchObject({
      available: 685,
      blocked: 1_500,
      debt: 0,
    })
    expect(await findLedgerBreaches(database.db)).toEqual([])
  })

  it('have transfers dated in posting order, also after the earlier transfers of the merchant', async () => {
    const id = randomUUID()
    await postTogether([toPosting(id, later(500), paid(100, 0))])
    const moments = [later(100), later(900), later(700)]
    await postTogether(moments.map((now) => toPosting(id, now, paid(100, 0))))
    const rows = await database.db.query<{ created_at: Date }>(sql`
      select created_at from ledger_transfers where merchant_id = ${id} order by id`)
    expect(rows.map((row) => row.created_at.getTime() - began.getTime())).toEqual([500, 500, 900, 900])
  })

  it('are all posted or none', async () => {
    const [one, other] = [randomUUID(), randomUUID()]
    const postings = [toPosting(one, began, paid(100, 0)), toPosting(other, began, reserved('refund_reserved', 1, 0))]
    await expect(postTogether(postings)).rejects.toMatchObject({ code: 'insufficient_balance' })
    expect(await database.db.query(sql`select from ledger_accounts where merchant_id = any(${[one, other]})`)).toEqual(
      [],
    )
  })

  it('do not deadlock with postings of the same merchants in another order', async () => {
    const ids = Array.from({ length: 12 }, () => randomUUID())
    const rounds = Array.from({ length: 40 }, async (_, round) => {
      const order = ids.toSorted(() => ((round * 7) % 5) - 2)
      await postTogether(order.map((id) => toPosting(id, began, paid(100, 1))))
    })
    await Promise.all(rounds)
    const [row] = await database.db.query(sql`
      select count(*), min(balance), max(balance) from ledger_accounts
      where account = 'available' and merchant_id = any(${ids})`)
    expect(row).toEqual({ count: 12, min: 40 * 99, max: 40 * 99 })
    expect(await findLedgerBreaches(database.db)).toEqual([])
  })
})
