import { randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { deliveryFixture } from '../../../test/support/delivery-fixture.ts'
import { commitEvents, eventually, type Received, testEvent } from '../../../test/support/webhooks.ts'
import { sql, type Tx } from '../../db/sql.ts'
import { enqueueEvents } from '../outbox.ts'
import { resendDelivery } from '../resend.ts'
import { findSigningSecrets } from '../secrets.ts'
import { changeEndpoint, createEndpoint, deleteEndpoint, rotateEndpointSecret } from './change.ts'
import { failingMaxMs } from './disable.ts'
import { applyEndpointChangeJob, endpointJobs } from './jobs.ts'
import { type EndpointRow, listDisabledEndpoints } from './store.ts'

const second = 1000
const day = 24 * 60 * 60 * second

const fixture = deliveryFixture()
const { clock, key, setUp, work, receive, inTurn, enqueue, deliveries, until, states } = fixture

const deps = () => ({ db: fixture.database.db, clock, key })
const ofMerchant = () => ({ merchantId: fixture.merchant.merchantId, by: null })
const register = async (url: string, input: { eventTypes?: string[]; description?: string } = {}) =>
  await createEndpoint(deps(), { ...ofMerchant(), input: { url, ...input } as never })
const targetOf = ({ id }: EndpointRow) => ({ ...ofMerchant(), endpointId: id })

async function follow(row: EndpointRow): Promise<void> {
  const jobs = endpointJobs({ ...deps(), wakeDeliveries: () => {} })
  const payload = { merchantId: row.merchant_id, endpointId: row.id }
  await jobs[applyEndpointChangeJob]?.(payload, new AbortController().signal)
}

async function stateOf({ id }: EndpointRow) {
  const [row] = await fixture.database.db.query<EndpointRow & { deleted_at: Date | null }>(
    sql`select * from webhook_endpoints where id = ${id}`,
  )
  return row
}

const idsOf = (received: Received[]) => received.map(({ headers }) => headers['webhook-id'])
const flat = (one: Received | undefined) =>
  Object.fromEntries(Object.entries(one?.headers ?? {}).map(([k, v]) => [k, String(v)]))
const verifies = (secret: string, one: Received | undefined) => new Webhook(secret).verify(one?.body ?? '', flat(one))

describe('a registered endpoint', () => {
  it('receives the matching events of all records, beside the record’s own URL, with the same id and its own secret', async () => {
    await setUp()
    const [own, all, paid, none] = await Promise.all([receive(), receive(), receive(), receive()])
    const first = await register(all.url)
    await register(paid.url, { eventTypes: ['transaction.paid', 'withdrawal.processed'] })
    await register(none.url, { eventTypes: ['transaction.refunded'] })
    await enqueue(own.url, { status: 'PAID' })
    const { merchantId } = fixture.merchant
    await commitEvents(
      fixture.database.db,
      testEvent({ merchantId, occurredAt: clock.now(), status: 'FAILED' }),
      testEvent({ merchantId, occurredAt: clock.now(), recordType: 'withdrawal', status: 'PROCESSED' }),
      // Another merchant's.
      testEvent({ merchantId: randomUUID(), occurredAt: clock.now(), status: 'PAID' }),
    )
    work()
    await until('delivered', 6)
    expect([own, all, paid, none].map((one) => one.received.length)).toEqual([1, 3, 2, 0])
    expect(idsOf(all.received)).toContain(idsOf(own.received)[0])
    expect(paid.received.map(({ event }) => event.type).sort()).toEqual(['transaction.paid', 'withdrawal.processed'])
    const same = all.received.find((one) => idsOf([one])[0] === idsOf(own.received)[0])
    expect(same?.body).toBe(own.received[0]?.body)
    expect(verifies(fixture.merchant.secret, own.received[0])).toBeTruthy()
    expect(verifies(first.secret, same)).toBeTruthy()
    expect(() => verifies(fixture.merchant.secret, same)).toThrow()
    expect((await deliveries()).map(({ endpoint_id }) => endpoint_id === null).sort()).toEqual([
      ...[false, false, false, false, false],
      true,
    ])
  })

  it('with the address of the record’s own URL gets no second delivery', async () => {
    await setUp()
    const receiver = await receive()
    await register(receiver.url)
    await enqueue(receiver.url)
    await enqueue(`${receiver.url}?other`)
    expect((await deliveries()).map(({ endpoint_id }) => endpoint_id === null).sort()).toEqual([false, true, true])
    work()
    await until('delivered', 3)
    expect(verifies(fixture.merchant.secret, receiver.received[0])).toBeTruthy()
  })

  it('gets the events of a record in order, and one that fails delays no other address', async () => {
    await setUp()
    const dead = await inTurn(...Array.from({ length: 50 }, () => 500))
    const [own, other] = await Promise.all([receive(), receive()])
    await register(dead.url)
    await register(other.url)
    const recordId = randomUUID()
    work()
    for (let sequence = 1; sequence <= 4; sequence += 1) await enqueue(own.url, { recordId, sequence })
    await Promise.all([own.until(4), other.until(4)])
    for (const one of [own, other]) expect(one.received.map(({ event }) => event.data.sequence)).toEqual([1, 2, 3, 4])
    await eventually(async () => (await states()).delivered === 8)
    expect(await states()).toEqual({ delivered: 8, pending: 1, waiting: 3 })
    expect(new Set(dead.received.map(({ event }) => event.data.sequence))).toEqual(new Set([1]))
  })

  it('gets the events of a record without a URL in order too', async () => {
    await setUp()
    const receiver = await inTurn(500)
    await register(receiver.url)
    const { merchantId } = fixture.merchant
    const event = { merchantId, recordId: randomUUID(), occurredAt: clock.now() }
    await commitEvents(fixture.database.db, testEvent(event), testEvent({ ...event, sequence: 2 }))
    await commitEvents(fixture.database.db, testEvent({ ...event, sequence: 3 }))
    expect(await states()).toEqual({ pending: 1, waiting: 2 })
    work()
    await eventually(async () => (await deliveries())[0]?.attempts.length === 1)
    clock.advance(5 * second)
    await until('delivered', 3)
    expect(receiver.received.map(({ event }) => event.data.sequence)).toEqual([1, 1, 2, 3])
  })

  it('signs with the former and the new secret during a rotation', async () => {
    await setUp()
    const receiver = await receive()
    const { row, secret } = await register(receiver.url)
    const next = await rotateEndpointSecret(deps(), { ...targetOf(row), overlapHours: 1 })
    await commitEvents(fixture.database.db, testEvent({ ...ofMerchant(), occurredAt: clock.now() }))
    work()
    await receiver.until(1)
    for (const one of [secret, next.secret]) expect(verifies(one, receiver.received[0])).toBeTruthy()
    expect(() => verifies(fixture.merchant.secret, receiver.received[0])).toThrow()
    clock.advance(3_600 * second + 1)
    await commitEvents(fixture.database.db, testEvent({ ...ofMerchant(), occurredAt: clock.now() }))
    await receiver.until(2)
    expect(String(receiver.received[1]?.headers['webhook-signature']).split(' ')).toHaveLength(1)
  })
})

describe('a rotation of an endpoint’s secret', () => {
  const live = async (row: EndpointRow) => {
    const found = await findSigningSecrets(fixture.database.db, {
      key,
      merchantIds: [row.merchant_id],
      now: clock.now(),
    })
    return [found.get(row.id), found.get(row.merchant_id)]
  }

  it('is repeated with its id after a lost answer, and the secret in use stays', async () => {
    await setUp()
    const { row, secret } = await register('https://shop.example/hook')
    const secretId = randomUUID()
    const lost = await rotateEndpointSecret(deps(), { ...targetOf(row), secretId })
    clock.advance(second)
    const again = await rotateEndpointSecret(deps(), { ...targetOf(row), secretId })
    expect(again.formerExpiresAt).toEqual(lost.formerExpiresAt)
    expect(await live(row)).toEqual([[again.secret, secret], [fixture.merchant.secret]])
    await rotateEndpointSecret(deps(), targetOf(row))
    const late = rotateEndpointSecret(deps(), { ...targetOf(row), secretId })
    await expect(late).rejects.toMatchObject({ code: 'validation_failed' })
  })

  it('ends no secret of another endpoint or of the merchant with its id', async () => {
    await setUp()
    const [one, other] = [await register('https://shop.example/one'), await register('https://shop.example/other')]
    const secretId = randomUUID()
    const { secret } = await rotateEndpointSecret(deps(), { ...targetOf(one.row), secretId })
    const wrong = rotateEndpointSecret(deps(), { ...targetOf(other.row), secretId })
    await expect(wrong).rejects.toMatchObject({ code: 'validation_failed' })
    expect((await live(one.row))[0]).toEqual([secret, one.secret])
    expect((await live(other.row))[0]).toEqual([other.secret])
  })
})

describe('a change of an endpoint', () => {
  const fail = async () => {
    const receiver = await inTurn(...Array.from({ length: 50 }, () => 500))
    const { row } = await register(receiver.url)
    const event = { ...ofMerchant(), recordId: randomUUID(), occurredAt: clock.now() }
    await commitEvents(fixture.database.db, testEvent(event), testEvent({ ...event, sequence: 2 }))
    work()
    await eventually(async () => (await deliveries())[0]?.attempts.length === 1)
    return { receiver, row, event }
  }

  it.each(['disabled', 'deleted'])('%s: what waits for it is canceled, and later events are not sent', async (how) => {
    await setUp()
    const { receiver, row, event } = await fail()
    if (how === 'deleted') await deleteEndpoint(deps(), targetOf(row))
    else await changeEndpoint(deps(), { ...targetOf(row), input: { enabled: false } })
    await follow(row)
    await until('canceled', 2)
    await commitEvents(fixture.database.db, testEvent({ ...event, sequence: 3 }))
    expect(await states()).toEqual({ canceled: 2 })
    expect(receiver.requests()).toBe(1)
    expect((await stateOf(row))?.disabled_reason ?? null).toBe(how === 'deleted' ? null : 'request')
  })

  it('cancels an event that was committed at the same moment', async () => {
    await setUp()
    const receiver = await receive()
    const { row } = await register(receiver.url)
    await fixture.database.db.transaction(async (tx) => {
      enqueueEvents(tx, [testEvent({ ...ofMerchant(), occurredAt: clock.now() })])
      await tx.query(sql`select`)
      await deleteEndpoint(deps(), targetOf(row))
    })
    work()
    await until('canceled')
    expect(receiver.requests()).toBe(0)
  })

  it('of its URL moves what waits', async () => {
    await setUp()
    const { row } = await fail()
    const next = await receive()
    await changeEndpoint(deps(), { ...targetOf(row), input: { url: next.url } })
    await follow(row)
    await until('delivered', 2)
    expect(next.received.map(({ event }) => event.data.sequence)).toEqual([1, 2])
    expect((await deliveries()).map(({ url }) => url)).toEqual([next.url, next.url])
  })

  it('of its description brings no attempt forward, not even after a failure at a new URL', async () => {
    await setUp()
    const { row } = await fail()
    const failing = await inTurn(...Array.from({ length: 50 }, () => 500))
    await changeEndpoint(deps(), { ...targetOf(row), input: { url: failing.url } })
    await follow(row)
    await eventually(async () => (await deliveries())[0]?.attempts.length === 2)
    const times = async () =>
      await fixture.database.db.query(sql`select next_attempt_at from webhook_deliveries where attempts > 0`)
    const before = await times()
    await changeEndpoint(deps(), { ...targetOf(row), input: { description: 'orders' } })
    await follow(row)
    expect(await times()).toEqual(before)
    expect(failing.requests()).toBe(1)
  })

  it.each([410, 500])('of its URL while the former one answers %d: the new one stays healthy', async (status) => {
    await setUp()
    let answer = () => {}
    const former = await receive((response) => {
      answer = () => response.writeHead(status).end()
    })
    const next = await receive()
    const { row } = await register(former.url)
    await commitEvents(fixture.database.db, testEvent({ ...ofMerchant(), occurredAt: clock.now() }))
    work()
    await former.until(1)
    await changeEndpoint(deps(), { ...targetOf(row), input: { url: next.url } })
    answer()
    await eventually(async () => (await deliveries())[0]?.attempts.length === 1)
    expect(await stateOf(row)).toMatchObject({ url: next.url, disabled_at: null, failing_since: null })
  })

  it('enables it again: later events are sent, and canceled ones with a resend', async () => {
    await setUp()
    const receiver = await receive()
    const { row } = await register(receiver.url)
    await enqueue(receiver.url.replace('hook', 'own'))
    await changeEndpoint(deps(), { ...targetOf(row), input: { enabled: false } })
    work()
    await until('canceled')
    await until('delivered')
    const eventId = receiver.received[0]?.event.id ?? ''
    const resend = async (endpointId?: string) =>
      await resendDelivery(fixture.database.db, { ...ofMerchant(), eventId, endpointId, now: clock.now() })
    expect(await resend(row.id)).toBe('disabled')
    await changeEndpoint(deps(), { ...targetOf(row), input: { enabled: true } })
    expect(await resend(row.id)).toBe('pending')
    await receiver.until(2)
    expect(receiver.received.map(({ path }) => path)).toEqual(['/own', '/hook'])
    await until('delivered', 2)
    // To all addresses.
    expect(await resend()).toBe('pending')
    await receiver.until(4)
    expect(new Set(idsOf(receiver.received))).toEqual(new Set([eventId]))
  })
})

describe('an endpoint is disabled automatically', () => {
  it('when it answers 410, without its other events being sent', async () => {
    await setUp()
    const receiver = await receive((response) => response.writeHead(410).end('closed'))
    const { row } = await register(receiver.url)
    const event = { ...ofMerchant(), recordId: randomUUID(), occurredAt: clock.now() }
    await commitEvents(fixture.database.db, testEvent(event), testEvent({ ...event, sequence: 2 }))
    work()
    await eventually(async () => (await stateOf(row))?.disabled_reason === 'gone')
    await until('canceled')
    expect(await states()).toEqual({ gone: 1, canceled: 1 })
    const [action] = await fixture.database.db.query(sql`
      select actor, action, record_id from audit_log order by at desc limit 1`)
    expect(action).toEqual({ actor: 'service', action: 'webhook-endpoint.disable', record_id: row.id })
    expect((await deliveries())[0]?.attempts).toMatchObject([{ status: 410, response: 'closed' }])
    // What alerts the operator, until the merchant enables the endpoint or disables it itself.
    const alerting = async () => (await listDisabledEndpoints(fixture.database.db, 20)).map((one) => one.receiver)
    expect(await alerting()).toEqual([row.receiver])
    // A later one does not end the alert of the first.
    const { row: later } = await register('https://later.example')
    await fixture.database.db.query(sql`
      update webhook_endpoints set disabled_at = ${new Date(clock.now().getTime() + 1_000)}, disabled_reason = 'failing'
      where id = ${later.id}`)
    expect((await listDisabledEndpoints(fixture.database.db, 1)).map((one) => one.receiver)).toEqual([row.receiver])
    await changeEndpoint(deps(), { ...targetOf(later), input: { enabled: false } })
    await changeEndpoint(deps(), { ...targetOf(row), input: { enabled: false } })
    expect(await alerting()).toEqual([])
  })

  it('when every attempt has failed for days, but not when one succeeded', async () => {
    await setUp()
    let status = 500
    const receiver = await receive((response) => response.writeHead(status).end())
    const { row } = await register(receiver.url)
    const attempt = async () => {
      const before = receiver.requests()
      await commitEvents(fixture.database.db, testEvent({ ...ofMerchant(), occurredAt: clock.now() }))
      await receiver.until(before + 1)
    }
    const worker = work()
    const startedAt = clock.now()
    await attempt()
    await eventually(async () => (await stateOf(row))?.failing_since?.getTime() === startedAt.getTime())
    clock.advance(4 * day)
    await fixture.database.db.query(sql`update webhook_deliveries set state = 'exhausted'`)
    status = 204
    await attempt()
    await eventually(async () => (await stateOf(row))?.failing_since === null)
    status = 500
    await attempt()
    await eventually(async () => (await stateOf(row))?.failing_since !== null)
    await worker.stop()
    await fixture.database.db.query(sql`update webhook_deliveries set state = 'exhausted' where state <> 'delivered'`)
    clock.advance(failingMaxMs - 1)
    work()
    await attempt()
    // The newest delivery is the first: once its attempt is recorded, the endpoint's health was updated.
    await eventually(async () => (await deliveries())[0]?.attempts.length === 1)
    expect((await stateOf(row))?.disabled_at).toBeNull()
    clock.advance(5 * second)
    await eventually(async () => (await stateOf(row))?.disabled_reason === 'failing')
  })
})

describe('the answer of a receiver', () => {
  it('is kept with the attempt, up to 2 kB of text', async () => {
    await setUp()
    const answers = ['', 'ok\u0000\u001b[0m\nçã', 'é'.repeat(5_000)]
    const receiver = await receive((response) => response.writeHead(200).end(answers.shift() ?? ''))
    work()
    for (let count = 1; count <= 3; count += 1) {
      await enqueue(receiver.url)
      await until('delivered', count)
    }
    const kept = (await deliveries()).flatMap(({ attempts }) => attempts.map(({ response }) => response))
    expect(kept.sort()).toEqual([null, 'ok[0m\nçã', 'é'.repeat(1_024)].sort())
  })
})

it('an event costs one statement, with endpoints or without', async () => {
  await setUp()
  const run = async (event: Partial<Parameters<typeof testEvent>[0]>) => {
    const names: (string | undefined)[] = []
    await fixture.database.db.transaction(async (tx) => {
      const counting: Tx = {
        ...tx,
        query: async (statement, name) => {
          names.push(name)
          return await tx.query(statement, name)
        },
      }
      enqueueEvents(counting, [testEvent({ ...ofMerchant(), occurredAt: clock.now(), ...event })])
    })
    return names
  }
  const webhookUrl = 'https://shop.example/hook'
  expect(await run({})).toEqual(['insert-events'])
  expect(await run({ sequence: 2 })).toEqual(['insert-events'])
  expect(await run({ webhookUrl })).toEqual(['insert-events'])
  await register('https://other.example/hook')
  expect(await run({ webhookUrl, sequence: 2 })).toEqual(['insert-events'])
})
