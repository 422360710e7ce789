import { afterAll, beforeAll, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import type { Db } from '../db/sql.ts'
import { newSecretKey, parseSecretKey, type SecretKey } from '../lib/secrets.ts'
import { createMerchant } from '../merchant.ts'
import { createClient } from '../operator/clients.ts'
import { authenticateClient, revokeClient } from './clients.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

it('a secret that is revoked just before the client is read authenticates nobody', async () => {
  const { db } = database
  const clock = manualClock()
  const key = parseSecretKey(newSecretKey()) as SecretKey
  const credentials = await db.transaction(
    async (tx) => await createMerchant(tx, { clock, key }, { name: 'A shop', scopes: ['transaction.read'] }),
  )
  expect(await authenticateClient({ db, clock, key }, credentials)).not.toBeNull()
  let isRevoked = false
  const revoking: Db = {
    ...db,
    query: async (statement, name) => {
      if (!isRevoked) {
        isRevoked = true
        clock.advance(10)
        const by = { actor: 'cli:ana' } as const
        await revokeClient({ db, clock }, { clientId: credentials.clientId, tokensOnly: false, by })
      }
      return await db.query(statement, name)
    },
  }
  expect(await authenticateClient({ db: revoking, clock, key }, credentials)).toBeNull()
})

it('creates one client when two requests for the same id arrive at once', async () => {
  const deps = { db: database.db, clock: manualClock(), key: parseSecretKey(newSecretKey()) as SecretKey }
  const input = { name: 'A shop', scopes: [], clientId: 'twice', by: { actor: 'cli:ana' as const } }
  const create = async () => await createClient({ ...deps, hasProvider: false }, input)
  const outcomes = await Promise.allSettled([create(), create()])
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const refused = outcomes.find((outcome) => outcome.status === 'rejected')
  expect(refused?.reason).toMatchObject({
    code: 'validation_failed',
    message: expect.stringMatching(/twice already exists/),
  })
})
