import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { sql } from '../db/sql.ts'
import { createSession } from './session.ts'
import { deleteSessions } from './session-store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

const began = new Date('2026-03-02T15:00:00.000Z')
const later = new Date('2026-03-04T15:00:00.000Z')

it('two people who sign in at once, each with an expired session, do not wait for each other', async () => {
  const { db } = database
  const users = await db.query<{ id: string }>(sql`
    insert into users (id, name, email, role, created_at)
    select gen_random_uuid(), name, name || '@example.com', 'support', ${began} from unnest('{ana,bia}'::text[]) name
    returning id`)
  const of = (userId: string) => ({ userId, device: null, network: null })
  for (const { id } of users) await db.transaction(async (tx) => await createSession(tx, of(id), began))
  let deleted = 0
  await Promise.all(
    users.map(async ({ id }) => {
      await db.transaction(async (tx) => {
        await deleteSessions(tx, id, null)
        deleted += 1
        while (deleted < users.length) await sleep(5)
        await createSession(tx, of(id), later)
      })
    }),
  )
  const left = await db.query(sql`select created_at from sessions`)
  expect(left).toEqual([{ created_at: later }, { created_at: later }])
})
