import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type DatabaseProxy, openDatabaseProxy } from '../support/database-proxy.ts'
import { charge, payAt } from '../support/payments.ts'
import { fetchRefundable, payOne, requestRefund, returnsOf, untilRefund } from '../support/refunds.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'
import { requestWithdrawal, untilWithdrawal } from '../support/withdrawals.ts'

// The connection breaks after PostgreSQL has committed and before its answer arrives.

let database: TestDatabase
let proxy: DatabaseProxy
let service: TestService

beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await openDatabaseProxy(database.connectionString)
  service = await startTestService({ database: { db: database.db, connectionString: proxy.connectionString } })
})
afterAll(async () => {
  await service.stop()
  await proxy.stop()
  await database.drop()
})

const unavailable = { status: 503, body: { code: 'database_unavailable' } }

it('a charge is created once', async () => {
  const body = smallestTransaction({ idempotencyKey: randomUUID(), externalCode: randomUUID() })
  const lost = proxy.loseAnswerTo('insert-transactions', String(body.idempotencyKey))
  expect(await service.call('/transaction', { body })).toMatchObject(unavailable)
  await lost
  const again = await service.call<{ id: string }>('/transaction', { body })
  expect(again.status).toBe(201)
  expect(await database.db.query(sql`select id from transactions where external_code = ${body.externalCode}`)).toEqual([
    { id: again.body.id },
  ])
})

it('a payment is recorded once', async () => {
  const { id, uri } = await charge(service)
  const lost = proxy.loseAnswerTo('lock-to-be-paid', 'commit\0')
  await payAt(service, uri)
  await service.runJob('transactions.poll')
  await lost
  await eventually(async () => (await fetchRefundable(service, id)).status === 'PAID')
  const transaction = await fetchRefundable(service, id)
  expect(transaction.statusHistory.filter(({ status }) => status === 'PAID')).toHaveLength(1)
  const events = await database.db.query<{ type: string }>(sql`select type from events where record_id = ${id}`)
  expect(events.map(({ type }) => type).filter((type) => type === 'transaction.paid')).toHaveLength(1)
})

it('a refund is made and sent once', async () => {
  const { id, endToEnd } = await payOne(service, 1_000)
  const idempotencyKey = randomUUID()
  const lost = proxy.loseAnswerTo(idempotencyKey, 'commit\0')
  expect(await requestRefund(service, id, { amount: 400, idempotencyKey })).toMatchObject(unavailable)
  await lost
  const again = await requestRefund(service, id, { amount: 400, idempotencyKey })
  expect(again.status).toBe(201)
  await untilRefund(service, id, again.body.id, 'REFUNDED')
  expect(await returnsOf(database.db, endToEnd)).toMatchObject([{ amount: 400 }])
})

it('a withdrawal is made and sent once', async () => {
  await payOne(service, 5_000)
  const idempotencyKey = randomUUID()
  const lost = proxy.loseAnswerTo(idempotencyKey, 'commit\0')
  const body = { amount: 700, idempotencyKey, pixKey: { key: randomUUID(), type: 'EVP' } }
  expect(await requestWithdrawal(service, body)).toMatchObject(unavailable)
  await lost
  const again = await requestWithdrawal(service, body)
  expect(again.status).toBe(201)
  await untilWithdrawal(service, again.body.id, 'PROCESSED')
  expect(await database.db.query(sql`select amount from simulator.payouts`)).toEqual([{ amount: 700 }])
})
