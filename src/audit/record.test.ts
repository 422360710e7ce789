import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type Db, sql } from '../db/sql.ts'
import { recordAction, recordedDb } from './record.ts'
import { listActions } from './store.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

/** An operation that knows nothing of the log: it writes a setting in each of its commits. */
async function operate(db: Db, name: string, { commits = 1, fails = false } = {}): Promise<string> {
  for (let count = 0; count < commits; count += 1) {
    await db.transaction(async (tx) => {
      await tx.query(sql`insert into settings (name, value) values (${`${name} ${count}`}, 'x')`)
      if (fails) throw new Error('refused')
    })
  }
  return 'done'
}

const actionsOf = async (recordId: string) => await listActions(database.db, { recordIds: [recordId], limit: 10 })

it('records who did what in the commit that did it, once, and gives the operation its result', async () => {
  const [recordId, merchantId] = [randomUUID(), randomUUID()]
  const action = { actor: 'cli:maria', action: 'test.do', recordId, merchantId, details: { amount: 1 }, now }
  expect(await operate(recordedDb(database.db, action), 'twice', { commits: 2 })).toBe('done')
  expect(await actionsOf(recordId)).toMatchObject([
    { actor: 'cli:maria', action: 'test.do', merchant_id: merchantId, details: { amount: 1 }, at: now },
  ])
})

it('records nothing of what was refused', async () => {
  const recordId = randomUUID()
  const db = recordedDb(database.db, { actor: 'cli:maria', action: 'test.do', recordId, now })
  await expect(operate(db, 'refused', { fails: true })).rejects.toThrow('refused')
  expect(await actionsOf(recordId)).toEqual([])
})

it('does nothing that cannot be recorded', async () => {
  const unrecordable = { actor: 'cli:maria', action: 'test.do', recordId: 'not an id', now }
  await expect(operate(recordedDb(database.db, unrecordable), 'unrecorded')).rejects.toThrow()
  expect(await database.db.query(sql`select from settings where name = 'unrecorded 0'`)).toEqual([])
})

it('lists the last ones in order, and only those asked for', async () => {
  const [recordId, other] = [randomUUID(), randomUUID()]
  await database.db.transaction(async (tx) => {
    for (const action of ['one', 'two', 'three']) await recordAction(tx, { actor: 'cli:x', action, recordId, now })
    await recordAction(tx, { actor: 'cli:x', action: 'other', recordId: other, now })
  })
  const names = (rows: { action: string }[]) => rows.map(({ action }) => action)
  expect(names(await actionsOf(recordId))).toEqual(['one', 'two', 'three'])
  expect(names(await listActions(database.db, { recordIds: null, limit: 2 }))).toEqual(['three', 'other'])
})
