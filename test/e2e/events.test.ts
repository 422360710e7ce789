import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyWebhook } from '../../sdk/src/index.ts'
import { sql } from '../../src/db/sql.ts'
import { addTestClient } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant } from '../support/users.ts'
import { eventually, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'

type Envelope<Item> = { total: number; data: Item[]; nextCursor: string | null }
type EventItem = { id: string; type: string; recordId: string; sequence: number; delivery: string | null }
type DeliveryItem = {
  eventId: string
  type: string
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
  // The list is in the order of the times of the events.
  service.clock.advance(1_000)
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
  const answer = await service.call<Envelope<DeliveryItem>>(`/webhook/delivery${query}`)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

describe('the list of events', () => {
  it('has every change, newest first, with the state of its delivery', async () => {
    const { body } = await service.call<Envelope<EventItem>>('/event')
    expect(body.total).toBe(3)
    expect(
      body.data.filter(({ recordId }) => recordId === transactionId).map(({ type, delivery }) => [type, delivery]),
    ).toEqual([
      ['transaction.paid', 'delivered'],
      ['transaction.pix_qrcode_generated', 'delivered'],
    ])
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
  it('returns deliveries with their attempts, filtered by state, record or event', async () => {
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
    const path = `/webhook/delivery/${randomUUID()}/resend`
    const { status, body } = await service.call<{ detail: string }>(path, { method: 'POST' })
    expect([status, body.detail]).toEqual([404, 'No delivery exists for an event with this id.'])
  })
})

describe('a webhook endpoint', () => {
  type Endpoint = { id: string; url: string; enabled: boolean; secret: string; eventTypes: string[] }
  const url = () => `${receiver.url}/endpoint`

  it('is registered, shown, changed, tested and deleted', async () => {
    const input = { url: url(), description: 'Orders', eventTypes: ['transaction.paid'] }
    const made = await service.call<Endpoint>('/webhook-endpoint', { body: input })
    expect(made.status, made.text).toBe(201)
    const { secret, ...endpoint } = made.body
    expect(endpoint).toMatchObject({ ...input, enabled: true, disabledReason: null, failingSince: null })
    expect(secret).toMatch(/^whsec_/)
    const path = `/webhook-endpoint/${endpoint.id}`
    expect(made.headers.get('location')).toBe(`${service.baseUrl}${path}`)
    expect((await service.call(path)).body).toEqual(endpoint)
    expect((await service.call<Envelope<Endpoint>>('/webhook-endpoint')).body.data).toEqual([endpoint])

    const twice = await service.call<{ errors: object[] }>('/webhook-endpoint', { body: input })
    expect([twice.status, twice.body.errors]).toMatchObject([422, [{ field: 'url', code: 'duplicate' }]])
    // A public address must have https.
    const withoutHttps = { url: 'http://93.184.216.34/' }
    for (const body of [{ eventTypes: ['transaction.paied'] }, { eventTypes: [] }, withoutHttps])
      expect((await service.call(path, { method: 'PATCH', body })).status).toBe(422)
    const changed = await service.call<Endpoint>(path, { method: 'PATCH', body: { eventTypes: ['*'] } })
    expect(changed.body).toMatchObject({ url: url(), description: 'Orders', eventTypes: ['*'] })

    const rotated = await service.call<{ secret: string }>(`${path}/secret`, { body: { overlapHours: 0 } })
    expect(rotated.status, rotated.text).toBe(201)
    expect(rotated.headers.get('location')).toBe(`${service.baseUrl}${path}`)
    const tested = await service.call<{ eventId: string }>(`${path}/test`, { method: 'POST' })
    expect(tested.body).toMatchObject({ delivered: true, status: 204, error: null, errorCode: null, response: null })
    const received = receiver.received.at(-1)
    expect([received?.path, received?.event]).toMatchObject(['/hook/endpoint', { type: 'webhook.test' }])
    const verify = async (by: string) =>
      await verifyWebhook(by, received?.headers ?? {}, received?.body ?? '', { now: service.clock.now() })
    expect(await verify(rotated.body.secret)).toMatchObject({ id: tested.body.eventId })
    await expect(verify(secret)).rejects.toThrow('No signature matches')

    expect((await service.call(path, { method: 'DELETE' })).status).toBe(204)
    for (const method of ['GET', 'DELETE']) expect((await service.call(path, { method })).status).toBe(404)
    expect((await service.call(`${path}/test`, { method: 'POST' })).status).toBe(404)
    expect((await service.call<Envelope<Endpoint>>('/webhook-endpoint')).body.data).toEqual([])
  })

  it('keeps its secret from another merchant that names it in the body of a rotation', async () => {
    const victim = (await service.call<Endpoint>('/webhook-endpoint', { body: { url: url() } })).body
    const { token } = await addTestClient(service)
    const { id } = (await service.call<Endpoint>('/webhook-endpoint', { token, body: { url: url() } })).body
    const secrets = async (of: string) =>
      await service.db.query(sql`
        select id, merchant_id, expires_at from webhook_secrets where endpoint_id = ${of} order by created_at`)
    const before = await secrets(victim.id)
    const merchantId = await findSandboxMerchant(service)
    const body = { overlapHours: 0, merchantId, endpointId: victim.id, by: { actor: 'cli:root' } }
    expect((await service.call(`/webhook-endpoint/${id}/secret`, { token, body })).status).toBe(201)
    expect(await secrets(victim.id)).toEqual(before)
    expect(await secrets(id)).toHaveLength(2)
    await service.call(`/webhook-endpoint/${victim.id}`, { method: 'DELETE' })
  })

  it('receives the events that match its filter, also of transactions without a webhookUrl', async () => {
    const made = await service.call<Endpoint>('/webhook-endpoint', { body: { url: url() } })
    const other = { url: `${url()}/paid`, eventTypes: ['transaction.paid'] }
    const paidOnly = await service.call<Endpoint>('/webhook-endpoint', { body: other })
    const { body } = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
      body: smallestTransaction(),
    })
    // A transaction with the same URL: the endpoint gets no second delivery.
    await service.call('/transaction', { body: smallestTransaction({ webhookUrl: url() }) })
    await service.call('/sandbox/payment', { body: { uri: body.pixResponse.uri } })
    await eventually(async () => (await deliveries(`?recordId=${body.id}&state=delivered`)).total === 3)
    const ofEndpoint = (await deliveries(`?endpointId=${made.body.id}`)).data
    expect(ofEndpoint).toHaveLength(2)
    const toPaidOnly = (await deliveries(`?endpointId=${paidOnly.body.id}`)).data
    const paid = ofEndpoint.find(({ type }) => type === 'transaction.paid')
    expect(toPaidOnly.map(({ eventId }) => eventId)).toEqual([paid?.eventId])
    expect((await deliveries(`?eventId=${paid?.eventId}`)).total).toBe(2)
    await service.call(`/webhook-endpoint/${paidOnly.body.id}`, { method: 'PATCH', body: { enabled: false } })
    const path = `/webhook/delivery/${paid?.eventId}/resend?endpointId=${paidOnly.body.id}`
    const refused = await service.call<{ detail: string }>(path, { method: 'POST' })
    expect([refused.status, refused.body.detail]).toEqual([404, expect.stringContaining('Enable a disabled one')])
    for (const { body: one } of [made, paidOnly])
      expect((await service.call(`/webhook-endpoint/${one.id}`, { method: 'DELETE' })).status).toBe(204)
  })

  it('is one of sixteen at most', async () => {
    const call = async (n: number) =>
      await service.call<Endpoint & { errors: object[] }>('/webhook-endpoint', { body: { url: `${url()}/${n}` } })
    const made = await Promise.all(Array.from({ length: 17 }, (_, n) => call(n)))
    expect(made.filter(({ status }) => status === 201)).toHaveLength(16)
    expect(made.find(({ status }) => status === 422)?.body.errors).toMatchObject([{ code: 'too_many', limit: 16 }])
  })
})
