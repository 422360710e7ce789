import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'

let service: TestService
let merchantId: string
let receiver: TestReceiver
/** The receiver's answer. */
let status = 204
let developer: Browser

beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400', WEBHOOK_ALLOW_PRIVATE: 'true' } })
  merchantId = await findSandboxMerchant(service)
  receiver = await startTestReceiver((response) => response.writeHead(status).end())
  developer = await browserOf('developer', merchantId)
})
afterAll(async () => {
  await receiver.stop()
  await service.stop()
})

async function browserOf(role: string, ofMerchant: string | null = null): Promise<Browser> {
  service.clock.advance(2 * 60_000)
  const email = await inviteUser(service, { role, merchantId: ofMerchant })
  return await openBrowser(service, { email, password })
}

/** Advances the clock, so that a period begins empty. Sessions have ended by then. */
async function passHours(hours: number): Promise<void> {
  service.clock.advance(hours * 3_600_000)
  developer = await browserOf('developer', merchantId)
}

/** Creates another merchant, and signs in as its owner. */
async function ownerOfAnother(): Promise<Browser> {
  const admin = await browserOf('admin')
  const body = { name: 'Another shop', scopes: ['webhook.read', 'webhook.write'] }
  const { clientId } = (await admin.call('/dashboard/api/client', { body })).body
  const [row] = await service.db.query<{ id: string }>(
    sql`select merchant_id as id from clients where client_id = ${String(clientId)}`,
  )
  return await browserOf('owner', row?.id ?? '')
}

type Delivery = { eventId: string; type: string; state: string; recordId: string; attempts: { status: number }[] }

async function deliveries(query = '', who = developer): Promise<Delivery[]> {
  const answer = await who.call<{ data: Delivery[] }>(`/dashboard/api/webhook/delivery${query}`)
  expect(answer.status, answer.text).toBe(200)
  return answer.body.data
}

/** Waits until every delivery was tried. None is tried again before the clock advances. */
async function untilNoneIsDue(): Promise<void> {
  await eventually(async () => {
    const due = await service.db.query(sql`
      select from webhook_deliveries
      where state = 'pending' and (next_attempt_at <= ${service.clock.now()} or leased_until > ${service.clock.now()})`)
    return due.length === 0
  })
}

const around = () => ({
  from: new Date(service.clock.now().getTime() - 3_600_000).toISOString(),
  until: new Date(service.clock.now().getTime() + 1_000).toISOString(),
})

const inPeriod = (period: Record<string, string>, ...states: string[]) => {
  const query = new URLSearchParams(period)
  for (const state of states) query.append('state', state)
  return query.toString()
}

/** Creates and pays charges. Each has two events, which get the receiver's current answer. */
async function payMany(count: number): Promise<string[]> {
  const ids: string[] = []
  for (let made = 0; made < count; made += 1) {
    const { id, uri } = await charge(service, { webhookUrl: receiver.url })
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    ids.push(id)
  }
  return ids
}

describe('the deliveries of a merchant', () => {
  it('are found by state, type, record and time, each with its payload', async () => {
    status = 204
    const [id = ''] = await payMany(1)
    await eventually(async () => (await deliveries(`?recordId=${id}&state=delivered`)).length === 2)
    const { from, until } = around()
    const period = `from=${encodeURIComponent(from)}&until=${encodeURIComponent(until)}`
    const paid = await deliveries(`?type=transaction.paid&${period}`)
    expect(paid.map(({ recordId }) => recordId)).toContain(id)
    expect(new Set(paid.map(({ type }) => type))).toEqual(new Set(['transaction.paid']))
    expect(await deliveries(`?from=${encodeURIComponent(until)}`)).toEqual([])
    const to = (origin: string) => `?recordId=${id}&receiver=${encodeURIComponent(origin)}`
    expect(await deliveries(to(new URL(receiver.url).origin))).toHaveLength(2)
    expect(await deliveries(to('https://another.example'))).toEqual([])
    expect((await developer.call('/dashboard/api/webhook/delivery?receiver=anything')).status).toBe(422)
    const [one] = paid.filter(({ recordId }) => recordId === id)
    expect(one?.attempts.map((attempt) => attempt.status)).toEqual([204])
    const shown = await developer.call(`/dashboard/api/webhook/delivery/${one?.eventId}/payload`)
    const sent = receiver.received.find(({ event }) => event.id === one?.eventId)
    expect(shown.body.payload).toEqual(JSON.parse(sent?.body ?? ''))
    const health = await developer.call<{ data: object[] }>('/dashboard/api/webhook/receiver')
    expect(health.body.data).toEqual([
      expect.objectContaining({
        receiver: new URL(receiver.url).origin,
        deliveries: 2,
        tried: 2,
        delivered: 2,
        p95Ms: expect.any(Number),
        waiting: 0,
        failing: 0,
        oldestWaitingAt: null,
        lastError: null,
        nextAttemptAt: null,
      }),
    ])
  })

  it('are not visible to others', async () => {
    const [one] = await deliveries()
    const other = await ownerOfAnother()
    expect(await deliveries('', other)).toEqual([])
    // A merchant's people see their own, whatever merchant they name.
    expect(await deliveries(`?clientId=${service.sandbox.clientId}`, other)).toEqual([])
    expect((await other.call(`/dashboard/api/webhook/delivery/${one?.eventId}/payload`)).status).toBe(404)
    const period = around()
    const preview = await other.call(
      `/dashboard/api/webhook/resend?${inPeriod({ ...period, clientId: service.sandbox.clientId }, 'delivered')}`,
    )
    expect(preview.body.total).toBe(0)
    const before = receiver.requests()
    const body = { ...period, clientId: service.sandbox.clientId, states: ['delivered'] }
    const sent = await other.call(`/dashboard/api/webhook/resend/${randomUUID()}`, { method: 'PUT', body })
    expect(sent.body.count).toBe(0)
    expect(receiver.requests()).toBe(before)
    const support = await browserOf('support')
    expect((await support.call('/dashboard/api/webhook/delivery')).status).toBe(422)
    expect(await deliveries(`?clientId=${service.sandbox.clientId}`, support)).not.toEqual([])
    const finance = await browserOf('finance', merchantId)
    expect((await finance.call('/dashboard/api/webhook/delivery')).status).toBe(403)
    const reader = await browserOf('read_only')
    const path = `/dashboard/api/webhook/resend?${inPeriod(period, 'delivered')}`
    expect((await reader.call(path)).status).toBe(403)
  })
})

describe('a test event to the URL of a record', () => {
  it('never has the type of an event, is signed, shows the answer, and is in the audit log', async () => {
    await passHours(3)
    status = 204
    const [id = ''] = await payMany(1)
    await eventually(async () => (await deliveries(`?recordId=${id}&state=delivered`)).length === 2)
    status = 500
    const path = `/dashboard/api/record/${id}/webhook-test`
    const sent = await developer.call(path, { body: { eventType: 'transaction.refunded' } })
    expect(sent.body, sent.text).toMatchObject({ delivered: false, status: 500, error: 'The receiver answered 500' })
    const received = receiver.received.at(-1)
    expect(received?.event).toEqual({
      ...{ id: sent.body.eventId, type: 'webhook.test', timestamp: expect.any(String) },
      data: { eventType: 'transaction.refunded', recordType: 'transaction', recordId: id },
    })
    expect(received?.headers['webhook-signature']).toMatch(/^v1,/)
    expect(await deliveries(`?recordId=${id}`)).toHaveLength(2)
    const actions = await service.db.query(
      sql`select actor, action, details from audit_log where record_id = ${id} order by id`,
    )
    expect(actions).toEqual([
      {
        ...{ actor: expect.stringMatching(/^user:developer/), action: 'transaction.test-webhook' },
        details: { receiver: new URL(receiver.url).origin, eventType: 'transaction.refunded' },
      },
    ])
    const ofOther = await developer.call(path, { body: { eventType: 'withdrawal.processed' } })
    expect(ofOther.body).toMatchObject({ errors: [{ field: 'eventType' }] })
    const other = await charge(service)
    const none = await developer.call(`/dashboard/api/record/${other.id}/webhook-test`, {
      body: { eventType: 'transaction.paid' },
    })
    expect([none.status, none.body.detail]).toEqual([422, 'The transaction has no webhookUrl of its own.'])
    const foreign = await (await ownerOfAnother()).call(path, { body: { eventType: 'transaction.paid' } })
    expect(foreign.status).toBe(404)
  })
})

describe('the resend of a period', () => {
  it('has a preview, and sends each event once, in order, however often it is requested', async () => {
    status = 410
    await passHours(3)
    const ids = await payMany(3)
    const period = around()
    await eventually(
      async () =>
        (await deliveries(`?state=gone&from=${encodeURIComponent(period.from)}`)).filter(({ recordId }) =>
          ids.includes(recordId),
        ).length === 6,
    )
    const withCommas = inPeriod(period, 'gone', 'exhausted').replaceAll('.', ',')
    const preview = await developer.call(`/dashboard/api/webhook/resend?${withCommas}`)
    expect(preview.body).toMatchObject({
      total: 6,
      isTooMany: false,
      receivers: [{ receiver: new URL(receiver.url).origin, count: 6 }],
    })
    status = 204
    const before = receiver.received.length
    const resendId = randomUUID()
    const body = { ...period, states: ['gone', 'exhausted'] }
    const request = async () =>
      await developer.call(`/dashboard/api/webhook/resend/${resendId}`, { method: 'PUT', body })
    const answers = await Promise.all([request(), request(), request()])
    expect(answers.map((answer) => [answer.status, answer.body.count])).toEqual(answers.map(() => [200, 6]))
    const progress = async () => (await developer.call(`/dashboard/api/webhook/resend/${resendId}`)).body
    await eventually(async () => (await progress()).delivered === 6)
    expect(await progress()).toEqual({ requested: 6, delivered: 6, waiting: 0, failing: 0, givenUp: 0 })
    expect((await request()).body.count).toBe(6)
    const again = receiver.received.slice(before).filter(({ event }) => ids.includes(event.data.id))
    expect(again).toHaveLength(6)
    expect(new Set(again.map(({ event }) => event.id)).size).toBe(6)
    for (const id of ids) {
      const sequences = again.filter(({ event }) => event.data.id === id).map(({ event }) => event.data.sequence)
      expect(sequences, id).toEqual(sequences.toSorted((a, b) => a - b))
    }
    const actions = await service.db.query<{ actor: string; details: { count: number } }>(
      sql`select actor, details from audit_log where record_id = ${resendId}`,
    )
    expect(actions).toEqual([
      { actor: expect.stringMatching(/^user:developer/), details: expect.objectContaining({ count: 6 }) },
    ])
    // As when an endpoint is disabled meanwhile: these deliveries are not tried again either.
    await service.db.query(sql`update webhook_deliveries set state = 'canceled' where resend_id = ${resendId}`)
    expect(await progress()).toEqual({ requested: 6, delivered: 0, waiting: 0, failing: 0, givenUp: 6 })
  })

  it('sends immediately what still waits for its next attempt', async () => {
    status = 503
    await passHours(3)
    const [id = ''] = await payMany(1)
    const period = around()
    const [failed] = await deliveries(`?recordId=${id}&state=pending`)
    await untilNoneIsDue()
    status = 204
    const body = { ...period, states: ['pending'] }
    const sent = await developer.call(`/dashboard/api/webhook/resend/${randomUUID()}`, { method: 'PUT', body })
    expect(sent.body.count, sent.text).toBe(1)
    await eventually(async () => (await deliveries(`?recordId=${id}&state=delivered`)).length === 2)
    expect((await deliveries(`?recordId=${id}`)).map(({ eventId }) => eventId)).toContain(failed?.eventId)
  })
})

describe('the resend of selected deliveries', () => {
  it('sends each once, however often it is requested, and no other merchant’s', async () => {
    status = 410
    await passHours(3)
    const [id = '', other = ''] = await payMany(2)
    const gone = async () => (await deliveries('?state=gone')).filter((one) => [id, other].includes(one.recordId))
    await eventually(async () => (await gone()).length === 4)
    const selected = (await gone()).filter(({ recordId }) => recordId === id)
    status = 204
    const before = receiver.received.length
    const path = `/dashboard/api/webhook/resend/${randomUUID()}`
    const body = {
      clientId: service.sandbox.clientId,
      deliveries: [...selected.map(({ eventId }) => eventId), randomUUID()].map((eventId) => ({
        eventId,
        endpointId: null,
      })),
    }
    const request = async () => await developer.call(`${path}/selection`, { method: 'PUT', body })
    const otherOwner = await ownerOfAnother()
    expect((await otherOwner.call(`${path}/selection`, { method: 'PUT', body })).body.count).toBe(0)
    const answers = await Promise.all([request(), request()])
    expect(answers.map((answer) => [answer.status, answer.body.count])).toEqual([
      [200, 2],
      [200, 2],
    ])
    await eventually(async () => (await developer.call(path)).body.delivered === 2)
    expect((await request()).body.count).toBe(2)
    const again = receiver.received.slice(before).map(({ event }) => event)
    expect(again.map((event) => event.id).sort()).toEqual(selected.map(({ eventId }) => eventId).sort())
    const sequences = again.map(({ data }) => data.sequence)
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
    const left = await gone()
    expect(left.map(({ recordId }) => recordId)).toEqual([other, other])
    const ofOther = left.map(({ eventId }) => ({ eventId, endpointId: null }))
    const next = `/dashboard/api/webhook/resend/${randomUUID()}/selection`
    await developer.call(next, { method: 'PUT', body: { ...body, deliveries: ofOther } })
    const delivered = async () => (await deliveries('?state=delivered')).filter((one) => one.recordId === other)
    await eventually(async () => (await delivered()).length === 2)
    const tooMany = Array.from({ length: 51 }, () => ({ eventId: randomUUID(), endpointId: null }))
    const refused = await developer.call(`${path}/selection`, { method: 'PUT', body: { ...body, deliveries: tooMany } })
    expect(refused.status).toBe(422)
  })
})

describe('failing deliveries', () => {
  it('are counted on the system screen as on the merchant’s own', async () => {
    await passHours(3)
    status = 410
    await payMany(1)
    let last: Counts[] = []
    const counted = async () => {
      const { data } = (await developer.call<{ data: Counts[] }>('/dashboard/api/webhook/receiver')).body
      const sum = (name: keyof Counts) => data.reduce((total, one) => total + one[name], 0)
      last = data
      return { waiting: sum('waiting') - sum('failing'), failing: sum('failing'), givenUp: sum('givenUp') }
    }
    // Waits until the results of all that was sent before are recorded.
    await eventually(
      async () => isDeepStrictEqual(await counted(), { waiting: 0, failing: 0, givenUp: 2 }),
      () => JSON.stringify(last),
    )
    expect(last).toEqual([
      expect.objectContaining({
        ...{ lastStatus: 410, lastErrorCode: 'gone', failedAt: expect.any(String), nextAttemptAt: null },
      }),
    ])
    const [before] = last
    status = 503
    await payMany(1)
    // The second event waits for the first.
    await eventually(
      async () => (await counted()).failing === 1 && (await counted()).waiting === 1,
      () => JSON.stringify(last),
    )
    const [attempt] = (await developer.call<{ data: Failing[] }>('/dashboard/api/webhook/delivery?state=pending')).body
      .data
    expect(last).toEqual([
      expect.objectContaining({
        // All but the one that waits.
        ...{ tried: (last[0]?.deliveries ?? 0) - 1, delivered: before?.delivered, givenUp: 2 },
        ...{ lastStatus: 503, lastError: 'The receiver answered 503', lastErrorCode: null },
        ...{ failedAt: attempt?.attempts[0]?.startedAt, nextAttemptAt: attempt?.nextAttemptAt },
      }),
    ])
    const finance = await browserOf('finance')
    const deliveries = async () => (await finance.call<{ deliveries: Counts }>('/dashboard/api/system')).body.deliveries
    expect(await deliveries()).toMatchObject({ waiting: 1, failing: 1, givenUp: 2 })
    expect(await deliveries()).toMatchObject({
      worst: [{ clientId: service.sandbox.clientId, failing: 1, givenUp: 2, state: 'pending' }],
    })
    status = 204
    await passHours(1)
    await eventually(async () => (await counted()).failing === 0)
  })
})

type Failing = { nextAttemptAt: string; attempts: { startedAt: string }[] }
type Counts = { waiting: number; failing: number; givenUp: number; deliveries: number; delivered: number }

describe('the secrets of a client', () => {
  it('are listed without their values: how many are valid, and until when', async () => {
    const path = `/dashboard/api/client/${service.sandbox.clientId}`
    type Secret = { id: string; expiresAt: string | null }
    type Kept = { secrets: Secret[]; webhookSecrets: Secret[] }
    const kept = async () => (await developer.call<Kept>(path)).body
    expect((await kept()).secrets).toEqual([{ id: expect.any(String), createdAt: expect.any(String), expiresAt: null }])
    service.clock.advance(1_000)
    const body = { of: 'client', overlapHours: 24 }
    // It would give this person all rights of the client.
    const refused = await developer.call(`${path}/secret`, { method: 'POST', body })
    expect([refused.status, refused.body.code]).toEqual([403, 'permission_missing'])
    expect(refused.body.detail).toContain('refund.write')
    const owner = await browserOf('owner', merchantId)
    const rotated = await owner.call(`${path}/secret`, { method: 'POST', body })
    expect(rotated.status).toBe(201)
    const { secrets, webhookSecrets } = await kept()
    expect(secrets.map(({ expiresAt }) => expiresAt)).toEqual([null, rotated.body.formerExpiresAt])
    expect(webhookSecrets).toHaveLength(1)
    expect(JSON.stringify(await kept())).not.toContain(String(rotated.body.secret))
    expect((await (await ownerOfAnother()).call(path)).status).toBe(404)
    expect((await (await browserOf('finance', merchantId)).call(path)).status).toBe(403)
  })
})

describe('the sandbox', () => {
  it('may be used by support as well, which may create nothing', async () => {
    const support = await browserOf('support')
    const headers = { 'x-guiche-merchant': service.sandbox.clientId }
    const { id, uri } = await charge(service)
    const paid = await support.call('/sandbox/payment', { headers, body: { uri, behaviour: 'honest' } })
    expect(paid.status, paid.text).toBe(200)
    await untilStatus(service, id, 'PAID')
    const body = { amount: 1000, paymentMethod: 'PIX', pix: {} }
    expect((await support.call('/transaction', { headers, body })).status).toBe(403)
    const reader = await browserOf('read_only')
    expect((await reader.call('/sandbox/payment', { headers, body: { uri } })).status).toBe(403)
  })
})
