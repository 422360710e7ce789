import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type Db, raw, type Tx } from '../db/sql.ts'
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
    const posting = {
      merchantId,
      eventKey: recordId,
      recordType: 'transaction',
      recordId,
      acquirer: 'psp',
      now,
    } as const
    const transfers = () => [
      { kind: 'payment', debit: 'acquirer', credit: 'available', amount: 100 } as const,
      { kind: 'fee', debit: 'available', credit: 'fees', amount: 1 } as const,
    ]
    await database.db.transaction(async (tx) => await post(tx, { ...posting, transfers }))
  }
})
afterAll(async () => await database.drop())

const [, , third = new Date()] = moments
const all = null
const tomorrow = new Date('2026-03-03T12:00:00.000Z')

async function findSince(db: Db | Tx, since: Date | null): Promise<string[]> {
  const breaches = [...(await findAccountBreaches(db)), ...(await findTransferBreaches(db, since))]
  return breaches.map(({ rule }) => rule)
}

it.each<Date | null>([all, ...moments, tomorrow])(
  'finds nothing when everything is consistent: since %o',
  async (since) => {
    expect(await findSince(database.db, since)).toEqual([])
  },
)

/** The rules that are broken after a statement, which is rolled back. */
async function rulesAfter(statement: string, since: Date | null): Promise<string[]> {
  const rules: string[] = []
  const work = async (tx: Tx) => {
    const changed = await tx.query(raw(`with changed as (${statement} returning 1) select 1 from changed`))
    expect(changed).not.toEqual([])
    rules.push(...(await findSince(tx, since)))
    throw new Error('taken back')
  }
  await expect(database.db.transaction(work)).rejects.toThrow('taken back')
  return rules
}

describe('a transfer that does not follow from the one before', () => {
  const insert = (time: string) => `
    insert into ledger_transfers (merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance,
      record_type, record_id, created_at)
    values ('${merchantId}', 'x', 9, 'payment', 'acquirer:psp', 'available', 7, -407, 400, 'transaction', '${randomUUID()}', '2026-03-02T${time}Z')`

  it.each([
    ['everything', all],
    ['the later transfers, among others', third],
    ['the later transfers, as the only one', new Date('2026-03-02T12:04:00.000Z')],
  ])('is found in %s', async (_, since) => {
    // Once for each side of the transfer whose previous balance differs, and once for each account whose balance
    // differs.
    expect(await rulesAfter(insert('12:05:00'), since)).toEqual(['balance_is_sum', 'balance_is_sum', 'running_balance'])
  })

  it('is not searched for in earlier transfers', async () => {
    expect(await rulesAfter(insert('12:05:00'), tomorrow)).toEqual([])
  })
})

describe('a balance that was changed', () => {
  const change = `update ledger_accounts set balance = balance + 5 where account = 'available'`

  it.each([
    ['everything', all],
    ['the later transfers', third],
  ])('is found in %s', async (_, since) => {
    expect(await rulesAfter(change, since)).toEqual(['trial_balance', 'balance_is_sum'])
  })

  it('is found by the trial balance when nothing was posted since', async () => {
    expect(await rulesAfter(change, tomorrow)).toEqual(['trial_balance'])
  })
})

it('finds transfers of a merchant without accounts', async () => {
  expect(await rulesAfter('delete from ledger_accounts', all)).toEqual(Array(3).fill('balance_is_sum'))
})

it('finds a balance without any transfer', async () => {
  const statement = `insert into ledger_accounts (merchant_id, account, balance) values ('${randomUUID()}', 'debt', -1)`
  expect(await rulesAfter(statement, all)).toEqual(['trial_balance', 'balance_is_sum'])
})
