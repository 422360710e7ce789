import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { sql } from '../db/sql.ts'
import { claimDue, claimedMax } from './queue-store.ts'

const receiver = 'https://shop.example'
const due = 3_000
let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

async function enqueuePile(): Promise<void> {
  await database.db.query(sql`
    with inserted as (
      insert into events (merchant_id, id, type, record_type, record_id, sequence, occurred_at)
      select ${randomUUID()}, gen_random_uuid(), 'transaction.paid', 'transaction', gen_random_uuid(), 1, now()
      from generate_series(1, ${due}::integer)
      returning *
    )
    insert into webhook_deliveries (merchant_id, id, record_id, sequence, url, receiver, state, next_attempt_at, created_at)
    select merchant_id, id, record_id, sequence, ${receiver}, ${receiver}, 'pending', occurred_at, occurred_at from inserted`)
}

it('a claim reads few rows of a large backlog, even with a plan made for an empty table', async () => {
  const now = new Date(Date.now() + 60_000)
  const leasedUntil = new Date(now.getTime() + 60_000)
  const claim = {
    now,
    leasedUntil,
    instance: 1,
    receiversMax: 100,
    initialCapacity: claimedMax,
    receiverLoads: [],
    limit: claimedMax,
  }
  // A transaction uses one connection, which keeps its plan.
  await database.db.transaction(async (tx) => {
    const claimAll = async () => (await claimDue(tx, { ...claim, afterReceiver: '' })).claimed
    for (let time = 0; time < 10; time += 1) expect(await claimAll()).toEqual([])
    await enqueuePile()
    expect(await claimAll()).toHaveLength(claimedMax)
    const [read] = await tx.query<{ rows: number }>(sql`
      select seq_tup_read + idx_tup_fetch as rows from pg_stat_xact_user_tables where relname = 'webhook_deliveries'`)
    expect(read?.rows).toBeLessThan(due)
  })
})
