import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  AcquirerRefusedError,
  AcquirerUnavailableError,
  Guiche,
  GuicheError,
  IdempotencyKeyReusedError,
  InsufficientBalanceError,
  NotFoundError,
  ValidationError,
} from '../../sdk/src/index.ts'
import { createWebhookReceiver, type WebhookReceiver } from '../../sdk/src/testing.ts'
import { type ApiDocument, listOperations } from '../support/api-document.ts'
import { pollUntil } from '../support/disputes.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let guiche: Guiche
let receiver: WebhookReceiver
/** Every route that was called, as `GET /transaction/{id}`. */
const called = new Set<string>()

beforeAll(async () => {
  service = await startTestService()
  guiche = new Guiche({ ...service.sandbox, baseUrl: service.baseUrl, fetch: noteRoute })
  // The service uses the test's clock, so its signatures are old.
  receiver = await createWebhookReceiver({ secret: service.sandbox.webhookSecret, toleranceSeconds: Infinity })
})
afterAll(async () => {
  await receiver.close()
  await service.stop()
})

const operations = listOperations(JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as ApiDocument)

const noteRoute: typeof fetch = async (url, init) => {
  const { pathname } = new URL(String(url))
  for (const { method, path } of operations) {
    const form = new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)
    if (method === (init?.method ?? 'GET') && form.test(pathname)) called.add(`${method} ${path}`)
  }
  return await fetch(url, init)
}

/** A paid transaction, as the shop receives it. */
async function pay(amount: number) {
  const created = await guiche.transactions.create({ amount, webhookUrl: receiver.url })
  const { endToEndId } = await guiche.sandbox.pay({ uri: created.pixResponse.uri })
  const { data } = await receiver.waitFor('transaction.paid', ({ data: { id } }) => id === created.id)
  expect(data).toMatchObject({ amountPaid: amount, endToEnd: endToEndId })
  return data
}

describe('a shop on the SDK', () => {
  it('creates a charge, receives the payment’s event, fetches it and refunds it', async () => {
    const paid = await pay(2590)
    expect(await guiche.transactions.get(paid.id)).toMatchObject({ status: 'PAID', amountPaid: 2590 })

    const { id, ...refund } = await guiche.transactions.refund(paid.id, { amount: 590, reason: 'One was broken' })
    expect(refund).toEqual({ transactionId: paid.id, amount: 590, type: 'REFUND', status: 'PROCESSING' })
    await receiver.waitFor(
      'transaction.paid',
      ({ data }) => data.id === paid.id && data.refunds?.find((one) => one.id === id)?.status === 'REFUNDED',
    )
    const { data } = await guiche.transactions.events(paid.id).page()
    expect(data.map(({ type }) => type)).toContain('transaction.processing_refund')
  })

  it('sends its customer to the payment page', async () => {
    const { id, pixResponse } = await guiche.transactions.create({ amount: 2590 })
    const { url, expiresAt } = await guiche.transactions.paymentLink(id)
    expect(expiresAt).toBe(pixResponse.expirationDate)
    expect(await (await fetch(url)).text()).toContain(pixResponse.uri)
    expect(await guiche.transactions.cancel(id)).toMatchObject({ status: 'FAILED', failureCode: 'canceled' })
  })

  it('follows a dispute and its decision', async () => {
    const paid = await pay(3300)
    const { reference } = await guiche.sandbox.openDispute({ endToEnd: paid.endToEnd ?? '' })
    await pollUntil(service, paid.id, 'BLOCKED')
    await receiver.waitFor('transaction.blocked', ({ data }) => data.id === paid.id)
    await guiche.sandbox.decide(reference, 'reject')
    await pollUntil(service, paid.id, 'PAID')
    const free = await receiver.waitFor(
      'transaction.paid',
      ({ data }) => data.id === paid.id && data.sequence > paid.sequence,
    )
    expect(free.data.infractionDate).not.toBeNull()
  })

  it('receives an event for an unannounced return', async () => {
    const paid = await pay(4400)
    await guiche.sandbox.returnPayment({ endToEnd: paid.endToEnd ?? '' })
    await receiver.waitFor('transaction.infraction', ({ data }) => data.id === paid.id)
  })

  it('pays out, cancels, confirms a possible duplicate, and receives an event when the money comes back', async () => {
    await pay(90_000)
    const payout = { amount: 1500, pixKey: { key: '+5511987654321', type: 'PHONE' }, webhookUrl: receiver.url } as const
    const first = await guiche.withdrawals.create(payout)
    expect(first).toMatchObject({ amount: 1500, type: 'WITHDRAWAL', status: 'PENDING' })
    const sent = await receiver.waitFor('withdrawal.processed', ({ data }) => data.id === first.id)
    expect(sent.data.amountWithdrawn).toBe(1500)

    const second = await guiche.withdrawals.create(payout)
    expect(second.hold).toBe('duplicate')
    expect((await guiche.withdrawals.confirm(second.id)).hold).toBeUndefined()
    const third = await guiche.withdrawals.create(payout)
    expect((await guiche.withdrawals.cancel(third.id)).status).toBe('CANCELED')
    expect((await guiche.withdrawals.get(third.id)).status).toBe('CANCELED')

    await guiche.sandbox.returnWithdrawal(first.id, { amount: 500 })
    await receiver.waitFor('withdrawal.refunded', ({ data }) => data.id === first.id)
    const { data } = await guiche.withdrawals.events(first.id).page()
    expect(data.map(({ type }) => type)).toContain('withdrawal.refunded')
    const canceled = await guiche.withdrawals.list({ status: ['CANCELED'] }).all()
    expect(canceled.map(({ id }) => id)).toEqual([third.id])
  })

  it('reads its balance, now and in the past, its statement and its exports', async () => {
    const before = new Date(service.clock.now().getTime() - 60_000)
    const now = await guiche.balance.get()
    expect(now.available).toBeGreaterThan(0)
    expect(await guiche.balance.get({ at: before })).toMatchObject({ available: 0, at: before.toISOString() })
    const [latest] = await guiche.statement.list().all({ limit: 1 })
    expect(latest?.balance).toBe(now.available)

    // Personal data does not get into the address.
    expect((await guiche.transactions.list({ customerName: 'nobody' }).page()).total).toBe(0)
    expect((await guiche.withdrawals.list({ pixKey: 'nobody@example.com' }).page()).total).toBe(0)
    for (const exported of [guiche.transactions, guiche.withdrawals, guiche.statement]) {
      const answer = await exported.export()
      expect(answer.headers.get('content-type')).toMatch(/^text\/csv/)
      expect((await answer.text()).split('\r\n').length).toBeGreaterThan(2)
    }
    expect((await guiche.transactions.list().page()).total).toBeGreaterThan(0)
    for (const search of [
      guiche.transactions.export({ customerName: 'nobody' }),
      guiche.withdrawals.export({ pixKey: 'nobody@example.com' }),
    ])
      expect((await (await search).text()).split('\r\n')).toHaveLength(2)
  })

  it('follows its events from the first one, and fetches one', async () => {
    const [first] = receiver.events
    for await (const event of guiche.events.follow({ after: 'start', type: ['transaction.paid'] })) {
      expect(event).toMatchObject({ type: 'transaction.paid', data: { amountPaid: 2590 } })
      const { number: _, position, ...payload } = event
      expect(await guiche.events.get(event.id)).toEqual(payload)
      const next = await guiche.events.read({ after: position, limit: 1 })
      expect(next.data[0]?.number).toBe(event.number + 1)
      break
    }
    expect(await guiche.events.get(first?.id ?? '')).toEqual(first)
    const interruptions: string[] = []
    const away = new Guiche({ baseUrl: 'http://127.0.0.1:9', accessToken: () => 'a-token', maxRetries: 0 })
    const controller = new AbortController()
    const onInterruption = ({ code }: GuicheError) => {
      interruptions.push(code)
      controller.abort()
    }
    const following = away.events.follow({}, { onInterruption, signal: controller.signal }).next()
    await expect(following).rejects.toMatchObject({ name: 'AbortError' })
    expect(interruptions).toEqual(['connection_failed'])
  })

  it('lists deliveries and resends one', async () => {
    const eventId = receiver.events[0]?.id ?? ''
    const events = await guiche.events.list().all()
    expect(events.map(({ id }) => id)).toContain(eventId)
    // The attempt is recorded after the receiver's answer.
    const states = async () => (await guiche.deliveries.list({ eventId }).page()).data.map(({ state }) => state)
    await expect.poll(states).toEqual(['delivered'])
    const [delivery] = await guiche.deliveries.list({ eventId, recordId: receiver.events[0]?.data.id ?? '' }).all()
    expect(delivery?.attempts.length).toBeGreaterThan(0)
    const times = () => receiver.events.filter(({ id }) => id === eventId).length
    const before = times()
    expect((await guiche.deliveries.resend(eventId)).eventId).toBe(eventId)
    await expect.poll(times).toBeGreaterThan(before)
    expect(receiver.refused).toEqual([])
  })

  it('registers a webhook endpoint, tests it and deletes it', async () => {
    const url = new URL('?endpoint', receiver.url).href
    const { secret, ...made } = await guiche.webhookEndpoints.create({ url, eventTypes: ['transaction.paid'] })
    expect(await guiche.webhookEndpoints.get(made.id)).toEqual(made)
    expect(await guiche.webhookEndpoints.list().all()).toEqual([made])
    const { secret: next } = await guiche.webhookEndpoints.rotateSecret(made.id, { overlapHours: 0 })
    expect(next).not.toBe(secret)
    // The receiver has the secret of the client, not that of the endpoint.
    expect(await guiche.webhookEndpoints.test(made.id)).toMatchObject({ delivered: false, status: 401 })
    expect(receiver.refused.splice(0)).toHaveLength(1)
    expect(await guiche.webhookEndpoints.update(made.id, { enabled: false })).toMatchObject({ enabled: false })
    await guiche.webhookEndpoints.delete(made.id)
    await expect(guiche.webhookEndpoints.get(made.id)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('changes the fault profile of the simulated bank, and restores it', async () => {
    expect(await guiche.sandbox.setPersonality({ name: 'late', seed: 7 })).toMatchObject({ name: 'late', seed: 7 })
    const honest = await guiche.sandbox.setPersonality({ name: 'honest' })
    expect(await guiche.sandbox.personality()).toEqual(honest)
    expect(await guiche.sandbox.advanceClock(60)).toMatchObject({ advancedSeconds: 60, offsetSeconds: 60 })
  })

  it('has a method for every route of the API, except those for tokens and operation', () => {
    const ofShops = operations.filter(({ tags }) => !tags?.some((tag) => tag === 'Operation' || tag === 'Token'))
    expect(ofShops.length).toBeGreaterThan(15)
    expect(ofShops.map(({ method, path }) => `${method} ${path}`).filter((route) => !called.has(route))).toEqual([])
  })
})

describe('lists', () => {
  let mine: Guiche
  const codes = Array.from({ length: 7 }, (_, index) => `listed-order-${index}`)

  beforeAll(async () => {
    mine = new Guiche({ ...service.sandbox, baseUrl: service.baseUrl })
    for (const externalCode of codes) {
      await mine.transactions.create({ amount: 777, externalCode })
      service.clock.advance(1000)
    }
  })

  const filters = { minAmount: 777, maxAmount: 777 }

  it('are read to their end, newest first, however many pages that takes', async () => {
    const read: (string | undefined)[] = []
    for await (const { externalCode } of mine.transactions.list({ ...filters, perPage: 3 })) read.push(externalCode)
    expect(read).toEqual(codes.toReversed())
  })

  it('are read from the requested page on', async () => {
    // Personal data does not get into the address.
    const named = { ...filters, customerName: 'maria', startDate: new Date(0), perPage: 3 }
    for await (const { customer } of mine.transactions.list(named)) expect(customer?.name).toMatch(/maria/i)
    const csv = await mine.transactions.export({ customerDocument: '52998224725', status: ['PAID'] })
    expect([csv.url, csv.status]).toEqual([expect.stringMatching(/\/transaction\/search\.csv$/), 200])
    await csv.body?.cancel()
    const items = await mine.transactions.list({ ...filters, perPage: 2, page: 3 }).all()
    expect(items.map(({ externalCode }) => externalCode)).toEqual(codes.toReversed().slice(4))
  })

  it('are read a page at a time, by number or by cursor', async () => {
    const first = await mine.transactions.list({ ...filters, perPage: 5 }).page()
    expect(first).toMatchObject({ total: 7, totalPages: 2, currentPage: 1, perPage: 5 })
    const second = await mine.transactions.list({ ...filters, perPage: 5, cursor: first.nextCursor ?? '' }).page()
    expect(second).toMatchObject({ currentPage: 2, nextCursor: null })
    expect(second.data).toHaveLength(2)
    const sizes: number[] = []
    for await (const { data } of mine.transactions.list({ ...filters, perPage: 3 }).pages()) sizes.push(data.length)
    expect(sizes).toEqual([3, 3, 1])
  })

  it('request nothing before they are read, and no more than is read', async () => {
    let requests = 0
    const counting = new Guiche({
      ...service.sandbox,
      baseUrl: service.baseUrl,
      fetch: (url, init) => {
        if (String(url).includes('/transaction')) requests += 1
        return fetch(url, init)
      },
    })
    const list = counting.transactions.list({ ...filters, perPage: 2 })
    expect(requests).toBe(0)
    for await (const _ of list) break
    expect(requests).toBe(1)
    expect(await list.all({ limit: 4 })).toHaveLength(4)
    expect(requests).toBe(3)
    expect(await list.all({ limit: 0 })).toEqual([])
    expect(requests).toBe(3)
  })

  it('send dates and several values, and refuse an empty list of values', async () => {
    const now = service.clock.now()
    const status = ['PAID', 'PIX_QRCODE_GENERATED'] as const
    const { total } = await mine.transactions
      .list({ ...filters, status: [...status], startDate: new Date(now.getTime() - 3_500), endDate: now })
      .page()
    expect(total).toBe(3)
    await expect(mine.transactions.list({ status: [] }).page()).rejects.toThrow(/status is an empty list/)
  })
})

describe('a refusal', () => {
  it('names every error at once, and the request', async () => {
    const error = await failure(guiche.transactions.create({ amount: 0, externalCode: 'short' }))
    expect(error).toBeInstanceOf(ValidationError)
    expect(error).toMatchObject({ code: 'validation_failed', status: 422 })
    expect(error.errors.map(({ field }) => field)).toEqual(['amount', 'externalCode'])
    expect(error.message).toMatch(/amount .*\[validation_failed, HTTP 422, request [0-9a-f]{32}\]$/)
    expect(error.requestId).toMatch(/^[0-9a-f]{32}$/)
  })

  it('has a class or a code for everything that a shop acts on', async () => {
    const idempotencyKey = 'the-same-key-for-two'
    await guiche.transactions.create({ amount: 1000, idempotencyKey })
    const reused = await failure(guiche.transactions.create({ amount: 1001, idempotencyKey }))
    expect(reused).toBeInstanceOf(IdempotencyKeyReusedError)
    expect(reused).toMatchObject({ idempotencyKey, errors: [{ field: 'amount' }] })

    const refused = await failure(guiche.transactions.create({ amount: 4220422 }))
    expect(refused).toBeInstanceOf(AcquirerRefusedError)
    const unknown = await failure(guiche.transactions.create({ amount: 5040504 }, { maxRetries: 0 }))
    expect(unknown).toBeInstanceOf(AcquirerUnavailableError)
    const { transactionId } = unknown as AcquirerUnavailableError
    expect((await guiche.transactions.get(transactionId ?? '')).status).toBe('PENDING')

    const tooMuch = { amount: 10_000_000, pixKey: { key: 'maria@example.com', type: 'EMAIL' } } as const
    expect(await failure(guiche.withdrawals.create(tooMuch))).toBeInstanceOf(InsufficientBalanceError)
    const missing = await failure(guiche.transactions.get('00000000-0000-4000-8000-000000000000'))
    expect(missing).toBeInstanceOf(NotFoundError)
    expect(missing.code).toBe('not_found')
    expect(await failure(guiche.sandbox.pay({ uri: 'no code at all' }))).toMatchObject({ code: 'payment_refused' })
  })

  it('is thrown before a request when an id could change the path', async () => {
    for (const id of ['', '..', 'a/b', 'a?b']) {
      expect(() => guiche.transactions.get(id)).toThrow(TypeError)
      expect(() => guiche.transactions.refund(id)).toThrow(TypeError)
    }
  })
})

async function failure(promise: Promise<unknown>): Promise<GuicheError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error instanceof GuicheError) return error
  throw new Error(`No GuicheError, but ${String(error)}`)
}
