import { afterAll, beforeAll, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { sql } from '../db/sql.ts'
import { signInAtProvider } from './oidc-sign-in.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

it('a person who has signed in too often still loses the role that the provider has taken away', async () => {
  const { db } = database
  const signIn = async (group: string, limitSuccess: () => void) =>
    await signInAtProvider(
      { db, clock: manualClock() },
      {
        claims: {
          issuer: 'https://id.example.com',
          subject: 'ana',
          email: 'ana@example.com',
          name: 'Ana Souza',
          roleValues: [group],
          hasSecondFactor: false,
        },
        rules: ['admin', 'support'].map((role) => ({ value: role, role, clientId: null })),
        requireSecondFactor: [],
        device: null,
        network: null,
        limitSuccess,
      },
    )
  await signIn('admin', () => {})
  const limited = signIn('support', () => {
    throw new Error('too often')
  })
  await expect(limited).rejects.toThrow('too often')
  const left = await db.query(sql`
    select role, (select count(*) from sessions where user_id = users.id) as sessions from users`)
  expect(left).toEqual([{ role: 'support', sessions: 0 }])
})
