import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { systemClock } from '../lib/clock.ts'
import { newSecretKey, parseSecretKey } from '../lib/secrets.ts'
import { registerClient } from './clients.ts'
import { type ClientDirectory, createClientDirectory } from './directory.ts'
import { expireClientSecrets } from './store.ts'

const ageMs = 500
const names = ['one', 'two', 'three']

let database: TestDatabase
let merchantIds: string[]
/** The clients that each statement queried. */
let requested: string[][]
let isBroken: boolean
let directory: ClientDirectory

beforeAll(async () => {
  database = await createTestDatabase()
  const key = parseSecretKey(newSecretKey())
  assert(key, 'a new key can be read')
  merchantIds = await database.db.transaction(async (tx) => {
    const clients = []
    for (const name of names) {
      clients.push(await registerClient(tx, { clock: systemClock, key }, { name, scopes: [], clientId: name }))
    }
    return clients.map(({ merchantId }) => merchantId)
  })
})
afterAll(() => database.drop())

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  requested = []
  isBroken = false
  const query: Db['query'] = async (statement, name) => {
    requested.push(statement.values.flatMap((value) => (Array.isArray(value) ? (value as string[]) : [])))
    if (isBroken) throw new Error('no database')
    return await database.db.query(statement, name)
  }
  directory = createClientDirectory({ db: { ...database.db, query }, clock: systemClock })
})

afterEach(() => {
  vi.useRealTimers()
})

const namesOf = async (clientIds: string[]) =>
  await Promise.all(clientIds.map(async (clientId) => (await directory.find(clientId))?.name))

it('reads a client once, and returns a cached client immediately', async () => {
  expect(await namesOf(['one', 'one', 'one'])).toEqual(['one', 'one', 'one'])
  expect(directory.find('one')).toMatchObject({ name: 'one', has_secret: true })
  expect(requested).toEqual([['one']])
})

it('caches that a client does not exist', async () => {
  expect(await directory.find('nobody')).toBeNull()
  expect(directory.find('nobody')).toBeNull()
  expect(requested).toEqual([['nobody']])
})

it('reads the clients of the last five seconds together, and forgets the others', async () => {
  await namesOf(names)
  // Client three sends nothing more.
  for (let passedMs = 0; passedMs < 5_000; passedMs += ageMs) {
    vi.advanceTimersByTime(ageMs)
    await namesOf(['one', 'two'])
  }
  expect(requested.slice(3, -1)).toEqual(Array.from({ length: 9 }, () => names))
  expect(requested.at(-1)).toEqual(['one', 'two'])
  expect(await namesOf(names)).toEqual(names)
  // A client that was forgotten is read alone, like an unknown one.
  expect(requested.at(-1)).toEqual(['three'])
})

it('notices within half a second that a client was revoked, whichever clients it was read with', async () => {
  await namesOf(names)
  await namesOf(names)
  await database.db.transaction(async (tx) => await expireClientSecrets(tx, merchantIds[1] ?? '', new Date(0)))
  vi.advanceTimersByTime(ageMs)
  await directory.find('one')
  expect(directory.find('two')).toMatchObject({ name: 'two', has_secret: false })
  expect(directory.find('three')).toMatchObject({ name: 'three', has_secret: true })
})

it('returns no stale client without a database, and reads again', async () => {
  await namesOf(names)
  await namesOf(names)
  vi.advanceTimersByTime(ageMs)
  isBroken = true
  const findings = names.map(async (name) => await directory.find(name))
  for (const finding of findings) await expect(finding).rejects.toThrow('no database')
  isBroken = false
  expect(await namesOf(names)).toEqual(names)
})

it('reads an id that the database rejects alone, so that no other client is affected', async () => {
  await namesOf(names)
  await namesOf(names)
  vi.advanceTimersByTime(ageMs)
  const [refused, fine] = [directory.find('\0'), directory.find('one')]
  await expect(refused).rejects.toThrow()
  expect(await fine).toMatchObject({ name: 'one' })
})
