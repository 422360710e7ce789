import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import type { Tx } from '../db/sql.ts'
import { freezePayouts, freezePayoutsAlso } from './payout-freeze.ts'
import { findPayoutFreeze, releasePayoutFreeze } from './store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

const now = new Date('2026-11-21T15:00:00.000Z')

it('payouts stay frozen if the freeze to which a reason is added is released at that moment', async () => {
  const { db } = database
  await freezePayouts(db, { reason: 'the first', now })
  await db.transaction(async (tx) => {
    let isReleased = false
    const query: Tx['query'] = async (statement, name) => {
      const rows = await tx.query(statement, name)
      // After the first statement, which found the freeze active.
      if (!isReleased) await db.transaction(async (other) => await releasePayoutFreeze(other, { by: 'cli:test', now }))
      isReleased = true
      return rows as never
    }
    await freezePayoutsAlso({ ...tx, query }, { reason: 'a loss', now })
  })
  expect((await findPayoutFreeze(db))?.reason).toBe('a loss')
})
