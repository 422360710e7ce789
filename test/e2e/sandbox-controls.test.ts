import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusedAmount } from '../../simulator/charges.ts'
import { slowPayoutAmount } from '../../simulator/payouts.ts'
import { slowReturnAmount } from '../../simulator/returns.ts'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { sql } from '../../src/db/sql.ts'
import { manualClock } from '../support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type Disputed, pollUntil } from '../support/disputes.ts'
import { fetchToken, smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { registerShop } from '../support/token.ts'
import { eventually, startTestReceiver } from '../support/webhooks.ts'

const post = (url: string, body: unknown) =>
  fetch(url, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })

type Stop = () => Promise<void>

async function inProcess(): Promise<{ service: TestService; stop: Stop }> {
  const service = await startTestService()
  return { service, stop: () => service.stop() }
}

async function overHttp(): Promise<{ service: TestService; stop: Stop }> {
  const clock = manualClock()
  const database: TestDatabase = await createTestDatabase()
  let simulator: Simulator | null = null
  const server = await startSimulatorServer({
    simulator: { handle: (request) => simulator?.handle(request) ?? Promise.reject(new Error('It is not there yet')) },
    host: '127.0.0.1',
    port: 0,
  })
  const running = await createSimulator({
    pool: database.db.pool,
    clock,
    publicBaseUrl: server.url,
    sendCallback: async (url, body) => (await post(url, body)).status,
    log: { warn: () => {} },
  })
  simulator = running
  const service = await startTestService({ clock, environment: { SIMULATOR_URL: server.url } })
  const stop = async () => {
    await service.stop()
    await server.close()
    await running.close()
    await database.drop()
  }
  return { service, stop }
}

describe.each([
  ['in process', inProcess],
  ['over HTTP', overHttp],
])('the sandbox %s', (_, open) => {
  let service: TestService
  let stop: Stop
  beforeAll(async () => {
    const opened = await open()
    service = opened.service
    stop = opened.stop
  })
  afterAll(async () => await stop())

  const pay = async () => {
    const created = await service.call<{ pixResponse: { uri: string } }>('/transaction', {
      body: smallestTransaction({ amount: 1000 }),
    })
    const { uri } = created.body.pixResponse
    const paid = await service.call<{ endToEndId: string }>('/sandbox/payment', { body: { uri } })
    return paid.body.endToEndId
  }
  const control = (path: string, body?: unknown) =>
    service.call<Record<string, unknown>>(path, { method: 'POST', ...(body !== undefined && { body }) })

  it.each(['accept', 'reject', 'cancel'])('opens a dispute, and can %s it once', async (decision) => {
    const endToEnd = await pay()
    const opened = await control('/sandbox/infraction', { endToEnd, amount: 400, reason: 'operational_failure' })
    expect(opened).toMatchObject({ status: 200, body: { reference: expect.stringMatching(/^[\da-f-]{36}$/) } })
    expect(await control('/sandbox/infraction', { endToEnd })).toMatchObject({
      status: 422,
      body: { errors: [{ code: 'already_open' }] },
    })
    const path = `/sandbox/infraction/${String(opened.body.reference)}/${decision}`
    expect(await control(path)).toMatchObject({ status: 200, body: opened.body })
    expect(await control(path)).toMatchObject({
      status: 422,
      body: { code: 'validation_failed', errors: [{ field: 'reference', code: 'not_open' }] },
    })
  })

  it('returns a payment without announcing it', async () => {
    const endToEnd = await pay()
    const returned = await control('/sandbox/return', { endToEnd, amount: 400 })
    expect(returned).toMatchObject({ status: 200, body: { endToEndId: expect.stringMatching(/^D.{31}$/) } })
    expect(await control('/sandbox/return', { endToEnd, amount: 601 })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'amount', code: 'amount_invalid' }] },
    })
  })

  it('sends a withdrawal back', async () => {
    await pay()
    const body = {
      amount: 500,
      method: 'PIX',
      pixKey: { key: 'maria@example.com', type: 'EMAIL' },
      idempotencyKey: 'sent-and-back',
    }
    // Refused until the payment is reported and posted.
    const withdraw = () => service.call<{ id: string }>('/withdrawal', { body })
    await expect.poll(async () => (await withdraw()).status).toBe(201)
    const { id } = (await withdraw()).body
    const path = `/sandbox/withdrawal/${id}/return`
    await expect.poll(async () => (await control(path, { amount: 1 })).status).toBe(200)
    expect(await control(path, {})).toMatchObject({ status: 200, body: { endToEndId: expect.stringMatching(/^D/) } })
    expect(await control(path, {})).toMatchObject({ status: 422, body: { errors: [{ code: 'nothing_left' }] } })
  })

  it('answers 404 for an unknown record', async () => {
    const nothing = '00000000-0000-4000-8000-000000000000'
    for (const [path, body] of [
      ['/sandbox/infraction', { endToEnd: 'E1' }],
      [`/sandbox/infraction/${nothing}/accept`, undefined],
      ['/sandbox/return', { endToEnd: 'E1' }],
      [`/sandbox/withdrawal/${nothing}/return`, {}],
    ] as const) {
      expect(await control(path, body), path).toMatchObject({ status: 404, body: { code: 'not_found' } })
    }
  })

  it('refuses an invalid request, and one without a token', async () => {
    expect((await control('/sandbox/infraction', { endToEnd: 1 })).status).toBe(422)
    expect((await control('/sandbox/infraction/x/ponder')).status).toBe(422)
    expect((await control('/sandbox/return', { endToEnd: 'E1', amount: 0 })).status).toBe(422)
    expect((await service.call('/sandbox/return', { body: { endToEnd: 'E1' }, token: null })).status).toBe(401)
  })

  describe('the clock', () => {
    type Advanced = { offsetSeconds: number; due: Record<string, number> }
    type Shown = { status: string; errorMessage: string | null; pixResponse: { uri: string; expirationDate: string } }
    type Created = { id: string; pixResponse: { uri: string } }
    const day = 86_400
    const advance = async (advanceSeconds: number, token = service.token) => {
      const answer = await service.call<Advanced>('/sandbox/clock', { body: { advanceSeconds }, token })
      expect(answer.status, answer.text).toBe(200)
      return answer.body
    }
    const create = async (more = {}, token = service.token) =>
      (await service.call<Created>('/transaction', { body: smallestTransaction(more), token })).body
    const fetchOf = async (id: string, token = service.token) =>
      (await service.call<Shown & Disputed>(`/transaction/${id}`, { token })).body
    const untilStatus = async (path: string, status: string) =>
      await eventually(async () => (await service.call<{ status: string }>(path)).body.status === status)
    const earn = async () => {
      const { id, pixResponse } = await create({ amount: 2_000_000 })
      await control('/sandbox/payment', { uri: pixResponse.uri })
      await untilStatus(`/transaction/${id}`, 'PAID')
    }

    it('lets the codes of one merchant expire, and nobody else’s', async () => {
      const shop = await registerShop(service)
      const token = await fetchToken(service.baseUrl, shop)
      const [own, other] = [await create(), await create({}, token)]
      const before = await fetchOf(other.id, token)
      const { offsetSeconds } = await advance(60)
      expect(await fetchOf(own.id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED' })
      const advanced = await advance(day)
      expect(advanced).toMatchObject({ offsetSeconds: offsetSeconds + day })
      expect(advanced.due.charges).toBeGreaterThan(0)
      await untilStatus(`/transaction/${own.id}`, 'FAILED')
      expect(await fetchOf(own.id)).toMatchObject({ errorMessage: 'PIX QR code expired' })
      expect(await control('/sandbox/payment', { uri: own.pixResponse.uri })).toMatchObject({
        status: 422,
        body: { errors: [{ code: 'charge_expired' }] },
      })
      expect(await fetchOf(other.id, token)).toEqual(before)
      expect((await advance(1, token)).offsetSeconds).toBe(1)
    })

    it('gives no expiry to a charge without a code', async () => {
      const { id } = await create()
      await service.db.query(sql`
        update transactions set pix_uri = null, pix_expires_at = null, statuses = array['PENDING'],
          status_dates = array[created_at] where id = ${id}`)
      await advance(60)
      const rows = await service.db.query(sql`select pix_expires_at as expiry from transactions where id = ${id}`)
      expect(rows).toEqual([{ expiry: null }])
      // Its first event exists already: a check would fail to insert it again.
      await service.db.query(sql`update transactions set check_at = null where id = ${id}`)
    })

    it('makes every attempt of a webhook that its receiver never accepts', async () => {
      const receiver = await startTestReceiver((response) => response.writeHead(500).end())
      // Refused by the acquirer: no later event starts its schedule again.
      const refused = { body: smallestTransaction({ amount: refusedAmount, webhookUrl: receiver.url }) }
      const { transactionId: id } = (await service.call<{ transactionId: string }>('/transaction', refused)).body
      await receiver.until(1)
      type Listed = { data: { state: string; nextAttemptAt: string | null; attempts: { startedAt: string }[] }[] }
      const delivery = async () => {
        const { data } = (await service.call<Listed>(`/webhook/delivery?recordId=${id}`)).body
        return data[0]
      }
      const untilMade = async (made: number) =>
        await eventually(async () => (await delivery())?.attempts.length === made)
      await untilMade(1)
      // The second attempt is due after five seconds, the third half a minute later.
      expect((await advance(10)).due.webhooks).toBe(1)
      await untilMade(2)
      expect(Date.parse((await delivery())?.nextAttemptAt ?? '')).toBeGreaterThan(service.clock.now().getTime())
      await advance(4 * day)
      await eventually(async () => (await delivery())?.state === 'exhausted')
      expect((await delivery())?.attempts).toHaveLength(12)
      await receiver.stop()
    })

    it('makes happen what the bank does later: payments, refunds and withdrawals', async () => {
      await earn()
      const slow = await create()
      await control('/sandbox/payment', { uri: slow.pixResponse.uri, behaviour: 'slow' })
      const refunded = await create({ amount: slowReturnAmount })
      await control('/sandbox/payment', { uri: refunded.pixResponse.uri })
      await untilStatus(`/transaction/${refunded.id}`, 'PAID')
      await control(`/transaction/${refunded.id}/refund`, { idempotencyKey: 'slow-refund' })
      const withdrawal = await control('/withdrawal', {
        ...{ amount: slowPayoutAmount, method: 'PIX', pixKey: { key: 'maria@example.com', type: 'EMAIL' } },
        idempotencyKey: 'slow-withdrawal',
      })
      const expected = [
        [`/transaction/${slow.id}`, 'PAID'],
        [`/transaction/${refunded.id}`, 'REFUNDED'],
        [`/withdrawal/${String(withdrawal.body.id)}`, 'PROCESSED'],
      ]
      const sum = { payments: 0, refunds: 0, withdrawals: 0 }
      await eventually(async () => {
        // The refund and the withdrawal may not have reached the bank yet.
        const { due } = await advance(600)
        for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += due[name] ?? 0
        const found = await Promise.all(expected.map(([path = '']) => service.call<{ status: string }>(path)))
        return found.every(({ body }, index) => body.status === expected[index]?.[1])
      })
      expect(sum).toEqual({ payments: 1, refunds: 1, withdrawals: 1 })
    })

    it('makes a later dispute happen, and moves its deadline closer', async () => {
      const { id, pixResponse } = await create()
      await control('/sandbox/payment', { uri: pixResponse.uri, behaviour: 'contested' })
      await untilStatus(`/transaction/${id}`, 'PAID')
      await advance(2 * day)
      await pollUntil(service, id, 'BLOCKED')
      const deadline = async () => Date.parse((await fetchOf(id)).disputes[0]?.deadline ?? '')
      const before = await deadline()
      await advance(3 * day)
      await eventually(async () => {
        await service.runJob('transactions.disputes')
        return (await deadline()) === before - 3 * day * 1000
      })
    })

    it('does not change the time of a check that may be in progress', async () => {
      await earn()
      const { body } = await control('/withdrawal', {
        ...{ amount: slowPayoutAmount, method: 'PIX', pixKey: { key: 'jose@example.com', type: 'EMAIL' } },
        idempotencyKey: 'withdrawal-in-progress',
      })
      const id = String(body.id)
      await untilStatus(`/withdrawal/${id}`, 'PROCESSING')
      const checkedAfter = async (seconds: number) => {
        const now = service.clock.now().getTime()
        await service.db.query(
          sql`update withdrawals set check_at = ${new Date(now + seconds * 1000)} where id = ${id}`,
        )
        await advance(50)
        const [row] = await service.db.query<{ at: Date }>(sql`select check_at as at from withdrawals where id = ${id}`)
        return ((row?.at.getTime() ?? 0) - now) / 1000
      }
      // The service writes the time of the next check as well, once the bank has answered.
      await expect.poll(async () => await checkedAfter(175)).toBe(175)
      expect(await checkedAfter(300)).toBe(250)
    })

    it('refuses to go back or further than 90 days, and a token without the scope', async () => {
      for (const advanceSeconds of [0, -1, 1.5, 90 * day + 1])
        expect((await control('/sandbox/clock', { advanceSeconds })).status).toBe(422)
      await advance(90 * day)
      const token = await fetchToken(service.baseUrl, await registerShop(service, { scopes: ['transaction.read'] }))
      expect((await service.call('/sandbox/clock', { body: { advanceSeconds: 1 }, token })).status).toBe(403)
    })
  })
})
