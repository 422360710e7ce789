import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import type { Tx } from '../db/sql.ts'
import { freezePayouts, freezePayoutsAlso, releasePayouts, stopPayouts } from './payout-freeze.ts'
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
    await freezePayoutsAlso({ ...tx, query }, { reason: 'a loss', by: { actor: 'service' }, now })
  })
  expect((await findPayoutFreeze(db))?.reason).toBe('a loss')
})

it('only the freeze that the operator has read about is released', async () => {
  const { db } = database
  const by = { actor: 'cli:test' }
  const deps = { db, clock: { now: () => now } }
  await releasePayouts(deps, { by })
  const { payoutFreeze } = await stopPayouts(deps, { reason: 'a drill', by })
  const { engagedAt = '' } = payoutFreeze ?? {}
  const ofAnother = new Date(now.getTime() - 1).toISOString()
  await expect(releasePayouts(deps, { by, engagedAt: ofAnother })).rejects.toMatchObject({
    code: 'release_not_possible',
    details: { fields: [{ code: 'changed' }] },
  })
  expect(await releasePayouts(deps, { by, engagedAt })).toEqual(payoutFreeze)
})

it('a freeze to which a reason was added after the operator has read it is not released', async () => {
  const { db } = database
  const by = { actor: 'cli:test' }
  const deps = { db, clock: { now: () => now } }
  const { payoutFreeze } = await stopPayouts(deps, { reason: 'a drill', by })
  const { engagedAt = '', reason = '' } = payoutFreeze ?? {}
  await db.transaction(async (tx) => await freezePayoutsAlso(tx, { reason: 'money left', by, now }))
  await expect(releasePayouts(deps, { by, engagedAt, reasonLength: reason.length })).rejects.toMatchObject({
    code: 'release_not_possible',
    details: { fields: [{ code: 'changed' }] },
  })
  expect(await releasePayouts(deps, { by, engagedAt, reasonLength: 'a drill money left'.length })).toMatchObject({
    reason: 'a drill money left',
  })
})
