import { afterEach, beforeEach, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type GeneratedDay, generateDay, generatedDay } from '../../test/support/generated-day.ts'
import { meanwhileAfterComparison, type Reconciling, reconcilingWith } from '../../test/support/reconciling.ts'
import { type Db, sql } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { closeDay } from './close.ts'

const { day } = generatedDay
const nextDay = '2026-11-21'

let database: TestDatabase
let made: GeneratedDay
let deps: Reconciling

beforeEach(async () => {
  database = await createTestDatabase()
  made = await generateDay(database.db, { seed: 11, agreeing: 20, each: 1 })
  const clock = manualClock(new Date('2026-11-22T15:00:00.000Z'))
  deps = reconcilingWith({ db: database.db, clock, send: made.bank.send })
})
afterEach(async () => await database.drop())

async function close(which: string, some = deps) {
  const closed = await closeDay(some, { acquirer: some.acquirer, day: which })
  if (closed.state !== 'closed') throw new Error(closed.error)
  return closed
}

/** The bank lists one more payment of the day. */
function addPayment(): void {
  const endToEndId = 'E12345678202611201200latelatelate'
  const at = new Date('2026-11-20T12:00:00.000Z')
  made.bank.payments.set(endToEndId, { endToEndId, txid: null, amount: 4_321, fee: null, returns: [], at })
}

it('reads the lists again when another process has signed a later reading of the same day meanwhile', async () => {
  let isOvertaken = false
  const overtaken = meanwhileAfterComparison(deps, async () => {
    if (isOvertaken) return
    isOvertaken = true
    addPayment()
    await close(day)
  })
  const { statement, isNew } = await close(day, overtaken)
  expect({ version: statement.version, isNew }).toEqual({ version: 1, isNew: false })
})

it('names the version of the day before from which it took the opening balances', async () => {
  const first = await close(day)
  let isClosedAgain = false
  const transaction: Db['transaction'] = async (work, lock) =>
    await database.db.transaction(
      async (tx) =>
        await work({
          ...tx,
          query: async (statement, name) => {
            // The first statement after the content of the next day was read.
            if (statement.values.includes('closing bank') && !isClosedAgain) {
              isClosedAgain = true
              addPayment()
              await close(day)
            }
            return await tx.query(statement, name)
          },
        }),
      lock,
    )
  const { statement } = await close(nextDay, { ...deps, db: { ...deps.db, transaction } })
  expect(isClosedAgain).toBe(true)
  expect(statement.dayBefore).toEqual({ day, version: 1, sha256: first.sha256 })
  expect(statement.acquirerSide.opening).toBe(first.statement.acquirerSide.closing)
})

it('resolves a payment at the cut-off with the close of the next day, also if the bank’s clock is ahead', async () => {
  const reference = [...made.expected].find((name) => name.startsWith('cut_off '))?.slice('cut_off '.length) ?? ''
  const payment = made.bank.payments.get(reference)
  assert(payment, 'a payment is at the cut-off')
  const midnight = generatedDay.to.getTime()
  payment.at = new Date(midnight + 20_000)
  await database.db.query(sql`
    update transactions set payment_date = ${payment.at}, status_dates[3] = ${new Date(midnight - 10_000)}
    where end_to_end = ${reference}`)
  const stateIn = async (which: string) =>
    (await close(which)).statement.differences.find((one) => one.reference === reference)
  expect(await stateIn(day)).toMatchObject({ class: 'cut_off', state: 'open' })
  expect(await stateIn(nextDay)).toMatchObject({ class: 'cut_off', state: 'resolved' })
})
