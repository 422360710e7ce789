import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/webhooks.ts'
import { sql } from '../db/sql.ts'
import { post as postToLedger } from '../ledger/post.ts'
import { type NewEntry, post, postEntry } from './post.ts'
import { sumFees } from './store.ts'

const clock = manualClock()
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

async function earnFee(amount: number): Promise<void> {
  const recordId = randomUUID()
  const about = { merchantId: randomUUID(), eventKey: `correction:${recordId}`, recordType: 'correction' } as const
  const transfers = () => [{ kind: 'correction', debit: 'acquirer', credit: 'fees', amount } as const]
  const posting = { ...about, recordId, acquirer: 'bank', now: clock.now(), transfers }
  await database.db.transaction(async (tx) => await postToLedger(tx, posting))
}

it('draws the fees of another merchant while a concurrent draw takes those of the first', async () => {
  for (const amount of [200, 100]) await earnFee(amount)
  const draw = (amount: number): NewEntry => {
    const entry = { type: 'fee_draw', merchantId: null, acquirer: 'bank', description: 'a test' } as const
    return { ...entry, idempotencyKey: randomUUID(), amount, by: { actor: 'cli:test' } }
  }
  const { second } = await database.db.transaction(async (tx) => {
    await post(tx, draw(200), clock.now())
    const waiting = postEntry({ db: database.db, clock }, draw(100))
    await eventually(async () => {
      const [found] = await database.db.query<{ waits: boolean }>(sql`
        select exists(
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') as waits`)
      return found?.waits === true
    })
    return { second: waiting }
  })
  expect(await second).toMatchObject({ entry: { amount: 100 } })
  expect(await sumFees(database.db)).toBe(0)
})
