import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { receiverAccount } from '../../simulator/receiver-account.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import type { PaymentReturn } from '../acquirers/acquirer.ts'
import { sql } from '../db/sql.ts'
import { findBalances } from '../ledger/store.ts'
import { findLedgerBreaches } from '../ledger/verify.ts'
import { cents } from '../lib/money.ts'
import { placeInSuspense, type SuspensePayment } from './place.ts'
import { operatorMerchantId } from './status.ts'
import type { SuspenseRow } from './store.ts'
import { findSuspenseBreaches } from './verify-store.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  expect([...(await findLedgerBreaches(database.db)), ...(await findSuspenseBreaches(database.db))]).toEqual([])
})
afterAll(async () => await database.drop())

const unattributed = (amount: number, endToEndId = `E${randomUUID()}`): SuspensePayment => ({
  acquirer: { name: 'a-psp', receiver: receiverAccount },
  payment: { endToEndId, txid: null, amount: cents(amount), paidAt: now, payer: null, returns: [], fee: null },
  kind: 'unattributed',
  merchantId: null,
  transactionId: null,
})
const withReturns = (one: SuspensePayment, ...amounts: number[]): SuspensePayment => {
  const returns = amounts.map((amount, n): PaymentReturn => {
    return { id: `return${n}`, endToEndId: null, amount: cents(amount), nature: 'MED_FRAUDE', isDone: true, at: now }
  })
  return { ...one, payment: { ...one.payment, returns } }
}
const place = async (...payments: SuspensePayment[]) =>
  await database.db.transaction(async (tx) => await placeInSuspense(tx, payments, now))
const find = async ({ payment }: SuspensePayment) =>
  await database.db.query<SuspenseRow>(sql`
    select * from suspense_payments where end_to_end = ${payment.endToEndId}`)
const inSuspense = async () => (await findBalances(database.db, operatorMerchantId)).suspense

it('places a payment in suspense once, however many callers report it at once and in whatever order', async () => {
  const before = await inSuspense()
  const payments = [1, 20, 300, 4_000].map((amount) => unattributed(amount))
  const reported = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? payments : payments.toReversed()))
  await Promise.all(reported.map(async (some) => await place(...some)))
  await place(...payments, ...payments)
  for (const one of payments)
    expect(await find(one)).toMatchObject([{ status: 'held', merchant_id: operatorMerchantId }])
  expect(await inSuspense()).toBe(before + 4_321)
})

it('keeps the same endToEndId of two acquirers as two payments', async () => {
  const one = unattributed(500)
  await place(one, { ...one, acquirer: { ...one.acquirer, name: 'another-psp' } })
  expect(await find(one)).toHaveLength(2)
})

it('follows the acquirer’s returns, in parts and reported twice, until nothing is left', async () => {
  const before = await inSuspense()
  const one = unattributed(1_000)
  await place(one)
  await place(withReturns(one, 300))
  await place(withReturns(one, 300))
  expect(await find(one)).toMatchObject([{ status: 'held', taken_amount: 300 }])
  expect(await inSuspense()).toBe(before + 700)
  await Promise.all(Array.from({ length: 5 }, async () => await place(withReturns(one, 300, 700))))
  expect(await find(one)).toMatchObject([{ status: 'returned', taken_amount: 1_000, check_at: null }])
  expect(await inSuspense()).toBe(before)
})

it('records a payment that was returned before it was first reported, and closes it at once', async () => {
  const before = await inSuspense()
  const [whole, part] = [withReturns(unattributed(1_000), 1_000), withReturns(unattributed(1_000), 999)]
  await place(whole, part)
  expect(await find(whole)).toMatchObject([{ statuses: ['held', 'returned'] }])
  expect(await find(part)).toMatchObject([{ statuses: ['held'], taken_amount: 999 }])
  expect(await inSuspense()).toBe(before + 1)
})

it('ignores a return that is not complete yet', async () => {
  const one = withReturns(unattributed(1_000), 1_000)
  const incomplete = {
    ...one,
    payment: { ...one.payment, returns: one.payment.returns.map((back) => ({ ...back, isDone: false })) },
  }
  await place(incomplete)
  await place(incomplete)
  expect(await find(one)).toMatchObject([{ status: 'held', taken_amount: 0 }])
})
