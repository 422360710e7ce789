import { EventEmitter, once } from 'node:events'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/webhooks.ts'
import { connect } from '../db/sql.ts'
import { newUuid } from '../lib/secrets.ts'
import type { PaymentStateRow } from './store.ts'
import { createWatch } from './watch.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => {
  await database.drop()
})

const clock = manualClock()
const waiting = (): PaymentStateRow => ({
  id: newUuid(),
  status: 'PIX_QRCODE_GENERATED',
  pix_expires_at: null,
  error_message: null,
})

it('accepts streams up to its total limit, whatever their address, and none after a stop', async () => {
  const watch = createWatch(
    { db: database.db, clock, log: pino({ level: 'silent' }) },
    { totalMax: 2, perAddressMax: 2 },
  )
  const [one, other] = [watch.open(waiting(), 'a'), watch.open(waiting(), 'b')]
  expect(watch.open(waiting(), 'c')).toBeNull()
  await once(one?.destroy() ?? new EventEmitter(), 'close')
  const third = watch.open(waiting(), 'c')
  expect(third).not.toBeNull()
  await watch.stop()
  expect(String(await other?.toArray())).toMatch(/^retry: \d+\ndata: waiting\n\n$/)
  expect(watch.open(waiting(), 'd')).toBeNull()
})

it('ends the stream of a transaction that is not there, and polls again for a later one', async () => {
  const watch = createWatch({ db: database.db, clock, log: pino({ level: 'silent' }) })
  // The first poll finds no transaction, so there is nothing to wait for.
  for (let round = 0; round < 2; round += 1)
    expect(String(await watch.open(waiting(), 'a')?.toArray())).toContain('data: waiting')
  await watch.stop()
})

it('keeps a stream that opens during a poll open until the next poll', async () => {
  const watch = createWatch({ db: database.db, clock, log: pino({ level: 'silent' }) })
  // The first one begins a poll. Neither has a transaction in the database.
  const [first, second] = [watch.open(waiting(), 'a'), watch.open(waiting(), 'a')]
  await first?.toArray()
  const firstEndedAt = performance.now()
  await second?.toArray()
  expect(performance.now() - firstEndedAt).toBeGreaterThan(500)
  await watch.stop()
})

it('continues while the database is unavailable, logs that, and can still be stopped', async () => {
  let failures = 0
  const log = pino(
    { level: 'error' },
    {
      write: () => {
        failures += 1
      },
    },
  )
  const db = connect({ connectionString: 'postgresql://127.0.0.1:1/nowhere', connectionsMax: 1, onError: () => {} })
  const watch = createWatch({ db, clock, log })
  const stream = watch.open(waiting(), 'a')
  await eventually(() => failures >= 2)
  expect(stream?.destroyed).toBe(false)
  await watch.stop()
  expect(String(await stream?.toArray())).toContain('data: waiting')
  await db.pool.end()
})
