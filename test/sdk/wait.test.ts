import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { Guiche, GuicheError } from '../../sdk/src/index.ts'
import { type FaultyProxy, openFaultyProxy } from '../support/faulty-proxy.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let proxy: FaultyProxy
let guiche: Guiche

beforeAll(async () => {
  service = await startTestService()
})
afterAll(async () => await service.stop())
beforeEach(async () => {
  proxy = await openFaultyProxy(service.baseUrl)
  guiche = new Guiche({ ...service.sandbox, baseUrl: proxy.baseUrl })
  return async () => await proxy.stop()
})

describe('waiting for a transaction', () => {
  it('returns the transaction as soon as it has the status', async () => {
    const { id, pixResponse } = await guiche.transactions.create({ amount: 2590 })
    const waiting = guiche.transactions.waitFor(id, 'PAID')
    await guiche.sandbox.pay({ uri: pixResponse.uri })
    expect(await waiting).toMatchObject({ id, status: 'PAID', amountPaid: 2590 })
  })

  it('ends as soon as the caller’s condition is met, even when answers are lost', async () => {
    const { id, pixResponse } = await guiche.transactions.create({ amount: 2590 })
    await guiche.sandbox.pay({ uri: pixResponse.uri })
    proxy.plan(`GET /transaction/${id}`, 'lose-answer', { status: 503 })
    const paid = await guiche.transactions.waitFor(id, ({ amountPaid }) => amountPaid !== undefined)
    expect(paid.amountPaid).toBe(2590)
    expect(proxy.count(`GET /transaction/${id}`)).toBeGreaterThanOrEqual(3)
  })

  it('reports the current status when the time is over, after polling less and less often', async () => {
    const { id } = await guiche.transactions.create({ amount: 2590 })
    const error = await failure(guiche.transactions.waitFor(id, 'PAID', { timeoutMs: 3_000 }))
    expect(error).toMatchObject({
      code: 'wait_timed_out',
      detail: `Transaction ${id} is PIX_QRCODE_GENERATED, not PAID, after 3000 ms. Wait longer, or check again later.`,
    })
    expect(proxy.count(`GET /transaction/${id}`)).toBeLessThanOrEqual(8)
  })

  it('polls once more shortly before the time is over', async () => {
    const paidAt = performance.now() + 1_700
    const fetch = async () => Response.json({ id: 'an-id', status: performance.now() < paidAt ? 'PENDING' : 'PAID' })
    const late = new Guiche({ baseUrl: 'http://pix.test', accessToken: () => 'a-token', fetch })
    expect((await late.transactions.waitFor('an-id', 'PAID', { timeoutMs: 2_000 })).status).toBe('PAID')
  })

  it('ends in time without an answer', async () => {
    const { id } = await guiche.transactions.create({ amount: 2590 })
    proxy.plan(`GET /transaction/${id}`, 'hang')
    const error = await failure(guiche.transactions.waitFor(id, () => true, { timeoutMs: 100 }))
    expect(error.message).toMatch(/is of unknown status and does not meet the condition, after 100 ms/)
  })

  it('ends immediately when it is aborted, with the given reason', async () => {
    const { id } = await guiche.transactions.create({ amount: 2590 })
    const stop = new AbortController()
    const waiting = guiche.transactions.waitFor(id, 'PAID', { signal: stop.signal })
    stop.abort(new Error('The customer went away'))
    await expect(waiting).rejects.toThrow('The customer went away')
    await expect(guiche.transactions.waitFor(id, 'PAID', { signal: stop.signal })).rejects.toThrow('went away')
  })

  it('does not wait for an unknown transaction', async () => {
    const error = await failure(guiche.transactions.waitFor('35457624-6b28-437c-8386-5ed3581f33f2', 'PAID'))
    expect(error.code).toBe('not_found')
  })
})

describe('following the events', () => {
  it('waits as long as the service asks, and at most an hour, before it reads on', async () => {
    const pauses = vi.spyOn(globalThis, 'setTimeout')
    for (const [retryAfter, pauseMs] of [
      ['90', 90_000],
      ['999999999', 3_600_000],
    ] as const) {
      proxy.plan('GET /event', { status: 429, headers: { 'retry-after': retryAfter } })
      const stop = new AbortController()
      const following = guiche.events.follow({}, { signal: stop.signal }).next()
      const ended = expect(following).rejects.toThrow('enough')
      await expect.poll(() => pauses.mock.calls.map(([, ms]) => ms)).toContain(pauseMs)
      stop.abort(new Error('enough'))
      await ended
    }
    pauses.mockRestore()
  })
})

describe('the message of an error', () => {
  it('has every error, not only the first', async () => {
    const error = await failure(guiche.transactions.create({ amount: 0, externalCode: 'short' }))
    expect(error.message).toMatch(/^amount .+\. externalCode .*8.*\. \[validation_failed, HTTP 422/)
  })

  it('lists only a few errors', async () => {
    const pix = { expirationSeconds: 0 }
    const customer = { name: '', document: '1', email: 'none' }
    const input = { amount: 0, externalCode: 'short', idempotencyKey: 'short', webhookUrl: 'none', customer, pix }
    const error = await failure(guiche.transactions.create(input))
    expect(error.errors.length).toBeGreaterThan(5)
    expect(error.message).toContain(`. And ${error.errors.length - 5} more in "errors". [`)
    expect(error.message).not.toContain(error.errors[5]?.message)
  })

  it('says what to do when a key was reused, however many fields differ', async () => {
    const idempotencyKey = randomUUID()
    await guiche.transactions.create({ amount: 100, idempotencyKey })
    const other = { amount: 200, description: 'Another order', idempotencyKey }
    const error = await failure(guiche.transactions.create(other))
    expect(error.errors).toHaveLength(2)
    expect(error.message).toMatch(/^.*Use a new key.* \[idempotency_key_reused, HTTP 422/)
  })
})

async function failure(promise: Promise<unknown>): Promise<GuicheError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof GuicheError)) throw new Error('It should have failed with a GuicheError.', { cause: error })
  return error
}
