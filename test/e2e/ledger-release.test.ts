import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { releasePayouts, stopPayouts } from '../../src/ledger/payout-freeze.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/webhooks.ts'

let database: TestDatabase
let cli: CommandLine
beforeAll(async () => {
  database = await createTestDatabase()
  cli = await openCommandLine(database)
})
afterAll(async () => {
  await cli.stop()
  await database.drop()
})

it('a release does not end another freeze that begins while it verifies the ledger', async () => {
  const { db } = database
  const by = { actor: 'cli:ana' }
  const deps = { db, clock: systemClock }
  await stopPayouts(deps, { reason: 'a look at the bank', by })
  const holder = await db.pool.connect()
  await holder.query('begin; lock table ledger_accounts in access exclusive mode')
  const refused = cli.expectFailure(['ledger', 'release'], /Another payout freeze is active, since .*: another look/)
  const isWaiting = sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and query like '%ledger_accounts%'`
  await eventually(async () => (await db.query(isWaiting)).length > 0)
  await releasePayouts(deps, { by })
  await stopPayouts(deps, { reason: 'another look', by })
  await holder.query('rollback')
  holder.release()
  await refused
  expect(await cli.read(['ledger', 'release'])).toMatch(/^because +another look$/m)
})

it('a restored database that was frozen already gets the reason, and no new freeze', async () => {
  const stop = ['ledger', 'stop', '--reason']
  expect(await cli.runJson([...stop, 'a look at the bank'])).toMatchObject({ isNew: true })
  expect(await cli.runJson([...stop, 'restored up to noon', '--restored'])).toMatchObject({
    payoutFreeze: { reason: 'a look at the bank restored up to noon' },
    isNew: false,
  })
})
