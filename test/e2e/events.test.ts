import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { eventually, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'

type Envelope<Item> = { total: number; data: Item[]; nextCursor: string | null }
type EventItem = { id: string; type: string; recordId: string; sequence: number; delivery: string | null }
type DeliveryItem = {
  eventId: string
  state: string
  attempts: { number: number; status: number }[]
  lastStatus: number
}

let service: TestService
let receiver: TestReceiver
let transactionId: string

beforeAll(async () => {
  service = await startTestService()
  receiver = await startTestReceiver()
  const { body } = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
    body: smallestTransaction({ webhookUrl: receiver.url }),
  })
  transactionId = body.id
  await service.call('/sandbox/payment', { body: { uri: body.pixResponse.uri } })
  await service.call('/transaction', { body: smallestTransaction() })
  await receiver.until(2)
  await eventually(async () => (await deliveries('?state=delivered')).total === 2)
})
afterAll(async () => {
  await receiver.stop()
  await service.stop()
})

async function deliveries(query: string) {
  return (await service.call<Envelope<DeliveryItem>>(`/webhook/delivery${query}`)).body
}

describe('the list of events', () => {
  it('has every change, newest first, with the state of its delivery', async () => {
    const { body } = await service.call<Envelope<EventItem>>('/event')
    expect(body.total).toBe(3)
    expect(
      body.data.filter(({ recordId }) => recordId === transactionId).map(({ type, delivery }) => [type, delivery]),
    ).toEqual(
      expect.arrayContaining([
        ['transaction.paid', 'delivered'],
        ['transaction.pix_qrcode_generated', 'delivered'],
      ]),
    )
    expect(body.data.find(({ recordId }) => recordId !== transactionId)?.delivery).toBeNull()
  })

  it('is read page by page with its cursor', async () => {
    const first = (await service.call<Envelope<EventItem>>('/event?perPage=2')).body
    const second = (await service.call<Envelope<EventItem>>(`/event?perPage=2&cursor=${first.nextCursor}`)).body
    expect(new Set([...first.data, ...second.data].map(({ id }) => id)).size).toBe(3)
    expect(second.nextCursor).toBeNull()
  })

  it('may be limited to one transaction, and is 404 for an unknown one', async () => {
    const { body } = await service.call<Envelope<EventItem>>(`/transaction/${transactionId}/event`)
    expect(body.data.map(({ sequence }) => sequence).sort()).toEqual([1, 2])
    expect((await service.call(`/transaction/${randomUUID()}/event`)).status).toBe(404)
    expect((await service.call('/transaction/none/event')).status).toBe(422)
  })

  it('refuses unknown parameters', async () => {
    expect((await service.call('/event?type=transaction.paid')).status).toBe(422)
  })
})

describe('the list of deliveries', () => {
  it('has each with its attempts, by state, record or event', async () => {
    const { data } = await deliveries(`?recordId=${transactionId}`)
    expect(data).toHaveLength(2)
    expect(data[0]).toMatchObject({ state: 'delivered', lastStatus: 204, attempts: [{ number: 1, status: 204 }] })
    expect((await deliveries(`?eventId=${data[0]?.eventId}`)).total).toBe(1)
    expect((await deliveries('?state=exhausted')).total).toBe(0)
    expect((await service.call('/webhook/delivery?state=lost')).status).toBe(422)
  })

  it('resends a delivery on request, under the same id', async () => {
    const [delivery] = (await deliveries(`?recordId=${transactionId}`)).data
    const before = receiver.received.length
    const resent = await service.call(`/webhook/delivery/${delivery?.eventId}/resend`, { method: 'POST' })
    expect([resent.status, resent.body]).toEqual([200, { eventId: delivery?.eventId, state: 'pending' }])
    await receiver.until(before + 1)
    expect(receiver.received.at(-1)?.event.id).toBe(delivery?.eventId)
    await eventually(async () => (await deliveries(`?eventId=${delivery?.eventId}`)).data[0]?.attempts.length === 2)
  })

  it('answers 404 to a resend of an unknown event', async () => {
    expect((await service.call(`/webhook/delivery/${randomUUID()}/resend`, { method: 'POST' })).status).toBe(404)
  })
})
