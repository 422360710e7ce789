import { afterEach, beforeEach, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type GeneratedDay, generateDay, generatedDay } from '../../test/support/generated-day.ts'
import { reconcilingWith } from '../../test/support/reconciling.ts'
import { sql } from '../db/sql.ts'
import { postEntry } from '../entries/post.ts'
import { findPayoutFreeze } from '../ledger/store.ts'
import { reconcile } from './run.ts'

const { from, to } = generatedDay

let database: TestDatabase
let made: GeneratedDay

beforeEach(async () => {
  database = await createTestDatabase()
  made = await generateDay(database.db, { seed: 7, agreeing: 20, each: 0 })
})
afterEach(async () => await database.drop())

it('recognizes drawn fees by no payout from before Guichê first read the lists', async () => {
  const clock = manualClock(new Date('2026-11-21T15:00:00.000Z'))
  const deps = reconcilingWith({ db: database.db, clock, send: made.bank.send })
  const at = (hour: number) => new Date(from.getTime() + hour * 60 * 60_000)
  await database.db.query(sql`update acquirer_cursors set first_listed_at = ${at(6)}`)
  const [foreign, drawn] = ['E12345678202611200300beforeguiche', 'E12345678202611201200thedrawnfees']
  for (const [endToEndId, hour] of [
    [foreign, 3],
    [drawn, 12],
  ] as const)
    made.bank.payouts.set(endToEndId, { endToEndId, payoutId: null, amount: 2_500, at: at(hour), status: 'REALIZADO' })
  for (const type of ['pay_in', 'fee_draw'] as const)
    await postEntry(
      { db: database.db, clock: { now: () => at(11) } },
      {
        type,
        merchantId: null,
        acquirer: 'bank',
        amount: 2_500,
        description: 'a test',
        idempotencyKey: type,
        by: { actor: 'cli:test' },
      },
    )
  await reconcile(deps, { acquirer: deps.acquirer, kind: 'daily', window: { from, to } })
  expect(await database.db.query(sql`select reference from operator_entries where type = 'fee_draw'`)).toEqual([
    { reference: drawn },
  ])
  expect(await findPayoutFreeze(database.db)).toBeNull()
})
