import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type Db, raw, type Tx } from '../db/sql.ts'
import type { Window } from './among-store.ts'
import { post } from './post.ts'
import { findAccountBreaches, findTransferBreaches } from './verify.ts'

const merchantId = randomUUID()
const moments = ['12:00:00', '12:01:00', '12:02:00', '12:03:00'].map((time) => new Date(`2026-03-02T${time}.000Z`))
let database: TestDatabase

/** A payment of 100 cents with a fee of 1, at each of the moments. */
beforeAll(async () => {
  database = await createTestDatabase()
  for (const now of moments) {
    const recordId = randomUUID()
    const posting = { merchantId, eventKey: recordId, recordType: 'transaction', recordId, now } as const
    const transfers = () => [
      { kind: 'payment', debit: 'acquirer', credit: 'available', amount: 100 } as const,
      { kind: 'fee', debit: 'available', credit: 'fees', amount: 1 } as const,
    ]
    await database.db.transaction(async (tx) => await post(tx, { ...posting, transfers }))
  }
})
afterAll(async () => await database.drop())

const [, second = new Date(), third = new Date()] = moments
const middle = { from: second, to: third }
const end = { from: third, to: null }
const nobodys = { from: new Date(0), to: new Date(1) }
const all = null

async function findIn(db: Db | Tx, window: Window | null): Promise<string[]> {
  const breaches = [...(await findAccountBreaches(db)), ...(await findTransferBreaches(db, window))]
  return breaches.map(({ rule }) => rule)
}

it.each([[all], [middle], [end], [nobodys]])('finds nothing where all is well: %o', async (window) => {
  expect(await findIn(database.db, window)).toEqual([])
})

/** The rules that are broken after a statement, which is taken back. */
async function rulesAfter(statement: string, window: Window | null): Promise<string[]> {
  const rules: string[] = []
  const work = async (tx: Tx) => {
    const changed = await tx.query(raw(`with changed as (${statement} returning 1) select 1 from changed`))
    expect(changed).not.toEqual([])
    rules.push(...(await findIn(tx, window)))
    throw new Error('taken back')
  }
  await expect(database.db.transaction(work)).rejects.toThrow('taken back')
  return rules
}

describe('a transfer that does not follow from the one before', () => {
  const insert = (time: string) => `
    insert into ledger_transfers (merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance,
      record_type, record_id, created_at)
    values ('${merchantId}', 'x', 9, 'payment', 'acquirer', 'available', 7, -407, 400, 'transaction', '${randomUUID()}', '2026-03-02T${time}Z')`

  it.each([
    ['everything', all, '12:03:00'],
    ['its window, as the only one in it', { from: new Date('2026-03-02T12:04:00Z'), to: null }, '12:05:00'],
    ['its window, among others', end, '12:03:00'],
  ])('is found in %s', async (_, window, time) => {
    // Once in the transfer, and in each of the accounts whose balance is another.
    expect(await rulesAfter(insert(time), window)).toEqual(['balance_is_sum', 'balance_is_sum', 'running_balance'])
  })

  it('is not looked for in other windows', async () => {
    expect(await rulesAfter(insert('12:03:00'), nobodys)).toEqual([])
  })
})

describe('a balance that was changed', () => {
  const change = `update ledger_accounts set balance = balance + 5 where account = 'available'`

  it.each([
    ['everything', all],
    ['a window in which something was booked for its merchant', middle],
  ])('is found in %s', async (_, window) => {
    expect(await rulesAfter(change, window)).toEqual(['trial_balance', 'balance_is_sum'])
  })

  it('is seen by the trial balance in any other', async () => {
    expect(await rulesAfter(change, nobodys)).toEqual(['trial_balance'])
  })
})

it('finds transfers of somebody who has no accounts', async () => {
  expect(await rulesAfter('delete from ledger_accounts', all)).toEqual(Array(3).fill('balance_is_sum'))
})

it('finds a balance without any transfer', async () => {
  const statement = `insert into ledger_accounts (merchant_id, account, balance) values ('${randomUUID()}', 'debt', -1)`
  expect(await rulesAfter(statement, all)).toEqual(['trial_balance', 'balance_is_sum'])
})
