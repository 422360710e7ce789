import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type Db, type Sql, sql } from '../db/sql.ts'
import { newSecretKey, parseSecretKey, type SecretKey } from '../lib/secrets.ts'
import { createRateLimiter } from './rate-limit.ts'
import { type SharedLimits, shareLimits } from './shared-limits.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

const clock = manualClock()
const key = readKey()

function readKey(): SecretKey {
  const read = parseSecretKey(newSecretKey())
  if (!read) throw new Error('a new key can be read')
  return read
}

/**
 * One of several services, with a limit of ten at once and then one every 50 seconds: the time that a statement takes
 * refills nothing.
 */
function open(name: string) {
  const { share, sync } = shareLimits({ db: database.db, clock, key })
  return { sync, ...openLimit(share, name) }
}

function openLimit(share: SharedLimits['share'], name: string) {
  const limiter = share(createRateLimiter({ name, limit: { perSecond: 0.02, burst: 10 }, clock }))
  return {
    /** Makes `count` requests, and returns how many were allowed. */
    request: (count: number, shop = 'shop') =>
      Array.from({ length: count }, () => limiter.take(shop).isAllowed).filter(Boolean).length,
    /** Takes tokens. The returned function gives them back. */
    take: (count: number) => {
      const tokens = Array.from({ length: count }, () => limiter.take('shop'))
      return () => {
        for (const taken of tokens) limiter.giveBack('shop', taken)
      }
    },
  }
}

it('counts over all services, and delays all of them after they allowed too many together', async () => {
  const [one, other] = [open('create'), open('create')]
  expect(one.request(20)).toBe(10)
  await one.sync()
  // The other service does not know yet what the first one allowed.
  expect(other.request(3)).toBe(3)
  await other.sync()
  expect(other.request(1)).toBe(0)
  // Three too many were allowed: 150 seconds make up for them. After that, one is refilled every 50 seconds, for both
  // services together.
  clock.advance(150_000)
  expect(other.request(1)).toBe(0)
  clock.advance(270_000)
  expect(one.request(2)).toBe(2)
  await one.sync()
  expect(other.request(10)).toBe(5)
  await other.sync()
  await one.sync()
  expect(one.request(10, 'another shop')).toBe(10)
  await one.sync()
})

it('does not forget what was used when a service starts again', async () => {
  const before = open('restarted')
  expect(before.request(10)).toBe(10)
  await before.sync()
  const after = open('restarted')
  expect(after.request(1)).toBe(1)
  await after.sync()
  expect(after.request(10)).toBe(0)
})

it('does not count what was given back', async () => {
  const [one, other] = [open('returned'), open('returned')]
  one.take(10)()
  await one.sync()
  expect(other.request(1)).toBe(1)
  await other.sync()
  // What was sent already is given back later.
  const giveBack = one.take(5)
  await one.sync()
  giveBack()
  await one.sync()
  expect(other.request(1)).toBe(1)
  await other.sync()
  expect(other.request(10)).toBe(8)
})

it('never blocks for longer than two bursts take to refill, and stores no name', async () => {
  const one = open('set back')
  expect(one.request(1)).toBe(1)
  await one.sync()
  // As if the database's clock was set back by an hour.
  await database.db.query(sql`update rate_limits set full_at = full_at + interval '1 hour'`)
  expect(one.request(1)).toBe(1)
  await one.sync()
  expect(one.request(1)).toBe(0)
  clock.advance(1_000_000)
  expect(one.request(10)).toBeGreaterThan(0)
  const rows = await database.db.query(sql`select * from rate_limits`)
  expect(JSON.stringify(rows)).not.toContain('shop')
})

describe('callers with many keys', () => {
  const countRows = async () => (await database.db.query(sql`select from rate_limits`)).length
  const requestEach = (limit: { request(count: number, shop: string): number }, count: number) => {
    for (let number = 0; number < count; number += 1) limit.request(1, `key ${number}`)
  }

  it('keep no other limit from being shared', async () => {
    // Only the first sync is checked: others may follow automatically.
    const rowsOfSyncs: number[] = []
    const db: Db = {
      ...database.db,
      async query<Row extends object>(statement: Sql, name?: string) {
        const rows = await database.db.query<Row>(statement, name)
        rowsOfSyncs.push(rows.length)
        return rows
      },
    }
    const { share, sync } = shareLimits({ db, clock, key })
    const names = ['flooded', 'also flooded', 'quiet']
    const before = await countRows()
    for (const name of names) {
      const limit = openLimit(share, name)
      expect(limit.request(10)).toBe(10)
      if (name !== 'quiet') requestEach(limit, 600)
    }
    await sync()
    expect(rowsOfSyncs[0]).toBe(500)
    for (const name of names) {
      const other = open(name)
      other.request(1)
      await other.sync()
      expect(other.request(10), name).toBe(0)
    }
    for (let count = 0; count < 2; count += 1) await sync()
    expect((await countRows()) - before).toBe(2 * 601 + 1)
  })

  it('do not fill the memory: at most 5,000 of them wait', async () => {
    const one = open('bounded')
    const before = await countRows()
    requestEach(one, 6_000)
    for (let count = 0; count < 12; count += 1) await one.sync()
    expect((await countRows()) - before).toBe(5_000)
  })

  it('add no tokens to the bucket of a request that was not counted and is given back', async () => {
    const [one, other] = [open('given back'), open('given back')]
    expect(other.request(5)).toBe(5)
    await other.sync()
    requestEach(one, 5_000)
    const giveBack = one.take(5)
    await one.sync()
    giveBack()
    for (let count = 0; count < 10; count += 1) await one.sync()
    expect(other.request(1)).toBe(1)
    await other.sync()
    expect(other.request(10)).toBe(4)
  })
})
