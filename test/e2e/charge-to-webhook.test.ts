import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { startTestReceiver } from '../support/webhooks.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService()
})
afterAll(async () => await service.stop())

it('a merchant creates a charge, is paid, and receives the webhooks', async () => {
  const receiver = await startTestReceiver()
  const created = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
    body: smallestTransaction({ amount: 2590, webhookUrl: receiver.url }),
  })
  expect(created.status).toBe(201)
  const { id, pixResponse } = created.body
  const paid = await service.call<{ endToEndId: string }>('/sandbox/payment', { body: { uri: pixResponse.uri } })
  expect(paid.status).toBe(200)

  await receiver.until(2)
  expect(receiver.received.map(({ event }) => [event.type, event.data.sequence])).toEqual([
    ['transaction.pix_qrcode_generated', 1],
    ['transaction.paid', 2],
  ])
  const fetched = await service.call(`/transaction/${id}`)
  expect(fetched.body).toMatchObject({ status: 'PAID', amountPaid: 2590, endToEnd: paid.body.endToEndId })
  const last = receiver.received.at(-1)
  const headers = Object.fromEntries(Object.entries(last?.headers ?? {}).map(([name, value]) => [name, String(value)]))
  const realNow = Date.now
  Date.now = () => service.clock.now().getTime()
  try {
    expect(new Webhook(service.sandbox.webhookSecret).verify(last?.body ?? '', headers)).toMatchObject({
      data: { ...fetched.body, sequence: 2 },
    })
  } finally {
    Date.now = realNow
  }
  const listed = await service.call<{ data: unknown[] }>('/transaction?status=PAID')
  expect(listed.body.data).toEqual([fetched.body])
  await receiver.stop()
})
