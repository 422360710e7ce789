import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { behaviourAmounts, behaviours, presetNames, presets, traitNames } from '../../simulator/faults/traits.ts'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { behaviours as allBehaviours } from '../../src/sandbox/personality.ts'
import { manualClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { refusedFields } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'

type Opened = { service: TestService; future: Simulator; stop: () => Promise<void> }

async function inProcess(): Promise<Opened> {
  const service = await startTestService()
  return { service, future: await openFuture(service), stop: async () => await service.stop() }
}

/** Another simulator on the same database, whose clock is a month ahead: scheduled faults have happened there. */
async function openFuture({ db, clock, baseUrl }: Pick<TestService, 'db' | 'clock' | 'baseUrl'>): Promise<Simulator> {
  return await createSimulator({
    pool: db.pool,
    clock: { now: () => new Date(clock.now().getTime() + 30 * 86_400_000) },
    publicBaseUrl: baseUrl,
    sendCallback: () => Promise.reject(new Error('nobody pays here')),
    log: { warn: () => {} },
  })
}

async function overHttp(): Promise<Opened> {
  const clock = manualClock()
  const database = await createTestDatabase()
  let simulator: Simulator | null = null
  const server = await startSimulatorServer({
    simulator: { handle: (request) => simulator?.handle(request) ?? Promise.reject(new Error('It is not there yet')) },
    host: '127.0.0.1',
    port: 0,
  })
  const bank = await createSimulator({
    pool: database.db.pool,
    clock,
    publicBaseUrl: server.url,
    sendCallback: async (url, body) => {
      const headers = { 'content-type': 'application/json' }
      return (await fetch(url, { method: 'POST', body: JSON.stringify(body), headers })).status
    },
    log: { warn: () => {} },
  })
  simulator = bank
  const service = await startTestService({ clock, environment: { SIMULATOR_URL: server.url } })
  const stop = async () => {
    await service.stop()
    await server.close()
    await bank.close()
    await database.drop()
  }
  const future = await openFuture({ db: database.db, clock, baseUrl: server.url })
  return { service, future, stop }
}

describe.each([
  ['in process', inProcess],
  ['over HTTP', overHttp],
])('the sandbox %s', (_, open) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(async () => await opened.stop())
  beforeEach(async () => {
    expect((await become({ name: 'honest' })).status).toBe(200)
  })

  const become = async (body: object) => await opened.service.call('/sandbox/personality', { body })
  const truthOf = async (id: string) => {
    const { payments } = await opened.future.truth()
    return payments.filter(({ paysTxid }) => paysTxid === id.replaceAll('-', ''))
  }

  it.each(behaviours)('triggers %s when a payment requests it', async (behaviour) => {
    const { service } = opened
    const { id, uri } = await charge(service)
    const { status, body, text } = await payAt(service, uri, { behaviour })
    expect(status, text).toBe(200)
    const payments = await truthOf(id)
    expect(payments.map(({ endToEndId }) => endToEndId)).toContain(body.endToEndId)
    expect(payments.map((one) => one.behaviours)).toEqual(payments.map(() => [behaviour]))
    expect(payments).toHaveLength(behaviour === 'twice' ? 2 : 1)
  })

  it.each(behaviours)('triggers %s by the amount of a transaction', async (behaviour) => {
    const { service } = opened
    const { id, uri } = await charge(service, { amount: behaviourAmounts[behaviour] })
    expect((await payAt(service, uri)).status).toBe(200)
    expect((await truthOf(id))[0]?.behaviours).toEqual([behaviour])
  })

  it('changes the fault profile of the whole bank, and back', async () => {
    const { service } = opened
    // Created before: a hostile bank may not answer.
    const { id, uri } = await charge(service)
    const personality = { name: 'hostile', seed: 42, traits: { ...presets.hostile, twice: 1 } }
    const changed = await become({ name: 'hostile', seed: 42, traits: { twice: 1 } })
    expect(changed.body).toEqual(personality)
    expect((await service.call('/sandbox/personality')).body).toEqual(personality)
    expect((await payAt(service, uri)).status).toBe(200)
    expect((await truthOf(id))[0]?.behaviours).toContain('twice')
    expect((await become({ name: 'honest' })).body).toEqual({ name: 'honest', seed: 1, traits: {} })
  })

  it('pays without faults on request, whatever the fault profile', async () => {
    const { service } = opened
    await become({ name: 'honest', traits: { twice: 1, without_txid: 1, callback_never: 1 } })
    const { id, uri } = await charge(service)
    await payAt(service, uri, { behaviour: 'honest' })
    expect((await untilStatus(service, id, 'PAID')).amountPaid).toBe(1000)
    expect(await truthOf(id)).toHaveLength(1)
  })

  it('refuses an unknown behaviour or fault profile, and names the field', async () => {
    const { service } = opened
    const { uri } = await charge(service)
    const requested = async (path: string, body: object) => refusedFields(await service.call(path, { body }))
    expect(await requested('/sandbox/payment', { uri, behaviour: 'thrice' })).toEqual(['behaviour'])
    expect(await requested('/sandbox/personality', {})).toEqual(['name'])
    expect(await requested('/sandbox/personality', { name: 'wicked' })).toEqual(['name'])
    expect(await requested('/sandbox/personality', { name: 'hostile', seed: -1 })).toEqual(['seed'])
    expect(await requested('/sandbox/personality', { name: 'hostile', traits: { twice: 2 } })).toEqual(['traits.twice'])
    expect(await requested('/sandbox/personality', { name: 'hostile', traits: { thrice: 1 } })).toEqual([
      'traits.thrice',
    ])
  })

  it('requires a token to change it', async () => {
    const { service } = opened
    expect((await service.call('/sandbox/personality', { token: null })).status).toBe(401)
    expect((await service.call('/sandbox/personality', { token: null, body: { name: 'hostile' } })).status).toBe(401)
  })
})

it('offers exactly the faults of the simulated bank', async () => {
  expect([...allBehaviours]).toEqual(behaviours)
  const { service, stop } = await inProcess()
  const traits = Object.fromEntries(traitNames.map((trait) => [trait, 0]))
  for (const name of presetNames) {
    const { status, body } = await service.call('/sandbox/personality', { body: { name, traits } })
    expect({ status, body }).toEqual({ status: 200, body: { name, seed: 1, traits } })
  }
  await stop()
})
