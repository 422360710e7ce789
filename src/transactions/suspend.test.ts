import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { settleDepsWith } from '../../test/support/acquirer.ts'
import { chargeMany, openQuietBank, type QuietBank } from '../../test/support/payments.ts'
import { startTestService, type TestService } from '../../test/support/service.ts'
import { sql } from '../db/sql.ts'
import { findBreaches } from '../verification.ts'
import { settleTransaction } from './settle.ts'
import { suspendDuplicate, suspendUnattributed } from './suspend.ts'

let service: TestService
let bank: QuietBank
beforeAll(async () => {
  service = await startTestService()
  bank = await openQuietBank(service)
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

it('a payment either pays its transaction or is in suspense, even when both are tried concurrently', async () => {
  const [client] = await service.db.query<{ merchant_id: string }>(sql`select merchant_id from clients`)
  const merchantId = client?.merchant_id ?? ''
  const reported: { id: string; endToEndId: string }[] = []
  for (const { id, uri } of await chargeMany(service, 60)) {
    const { endToEndId } = await bank.payQuietly(uri)
    reported.push({ id, endToEndId })
  }
  const deps = settleDepsWith(service, async (request) => await bank.handle(request))
  const acquirer = deps.acquirers.named('simulator')
  const settling = reported.map(
    async ({ id, endToEndId }) =>
      await settleTransaction(deps, { merchantId, id, reported: { acquirer: 'simulator', endToEndId } }),
  )
  const suspending = reported.map(async ({ endToEndId }, index) => {
    const payment = await acquirer.findPayment(endToEndId)
    if (!payment) throw new Error('the bank knows its payments')
    // Half of them are tried before any payment is recorded, the others meanwhile.
    if (index % 2 === 0) await Promise.race(settling)
    await suspendUnattributed(deps, { acquirer, payment: { ...payment, txid: null } })
  })
  await Promise.all([...settling, ...suspending])
  expect(await findBreaches(service.db)).toEqual([])
  const [sums] = await service.db.query<{ paid: number; suspended: number }>(sql`
    select (select count(*) from transactions where end_to_end is not null) as paid,
      (select count(*) from suspense_payments where status = 'held') as suspended`)
  // The payments that were placed in suspense first have left it for their transactions.
  expect(sums).toEqual({ paid: 60, suspended: 0 })
  const [balance] = await service.db.query<{ at_bank: number }>(
    sql`select -sum(balance)::bigint as at_bank from ledger_accounts where account like 'acquirer:%'`,
  )
  expect(balance?.at_bank).toBe(60 * 1000)
})

it('does not treat a payment of another transaction as a duplicate', async () => {
  const [client] = await service.db.query<{ merchant_id: string }>(sql`select merchant_id from clients`)
  const merchantId = client?.merchant_id ?? ''
  const [one, other] = await chargeMany(service, 2)
  if (!one || !other) throw new Error('two charges are there')
  const warnings: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
  const deps = settleDepsWith(service, async (request) => await bank.handle(request), { log })
  for (const { id, uri } of [one, other]) {
    const { endToEndId } = await bank.payQuietly(uri)
    await settleTransaction(deps, { merchantId, id, reported: { acquirer: 'simulator', endToEndId } })
  }
  const [paid] = await service.db.query<{ end_to_end: string }>(sql`
    select end_to_end from transactions where id = ${other.id}`)
  const acquirer = deps.acquirers.named('simulator')
  const payment = await acquirer.findPayment(paid?.end_to_end ?? '')
  if (!payment) throw new Error('the bank knows its payments')
  // The bank leaves the txid out, and lists the payment in both charges.
  await suspendDuplicate(deps, { merchantId, id: one.id, acquirer, payment: { ...payment, txid: null } })
  // It is the only payment of the other transaction.
  await suspendDuplicate(deps, { merchantId, id: other.id, acquirer, payment })
  expect(warnings).toEqual([])
  expect(await service.db.query(sql`select from suspense_payments where end_to_end = ${payment.endToEndId}`)).toEqual(
    [],
  )
  expect(await findBreaches(service.db)).toEqual([])
})
