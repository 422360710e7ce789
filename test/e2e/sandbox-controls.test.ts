import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { manualClock } from '../support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'

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

  it.each(['accept', 'reject', 'cancel'])('opens an dispute, and can %s it once', async (decision) => {
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

  it('refuses an unknown control', async () => {
    expect((await control('/sandbox/infraction', { endToEnd: 1 })).status).toBe(422)
    expect((await control('/sandbox/infraction/x/ponder')).status).toBe(422)
    expect((await control('/sandbox/return', { endToEnd: 'E1', amount: 0 })).status).toBe(422)
    expect((await service.call('/sandbox/return', { body: { endToEnd: 'E1' }, token: null })).status).toBe(401)
  })
})
