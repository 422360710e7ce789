import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import { startSimulatorServer } from '../../simulator/server.ts'
import type { Finding } from '../../src/acquirers/probe-finding.ts'
import { scopes } from '../../src/auth/scopes.ts'
import { saveSetting } from '../../src/auth/store.ts'
import { baseUrlSetting } from '../../src/config.ts'
import { newSecretKey, parseSecretKey } from '../../src/lib/secrets.ts'
import { createMerchant } from '../../src/merchant.ts'
import { manualClock } from '../support/clock.ts'
import { openCommandLine } from '../support/command-line.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'
import { listen, makeFolder } from '../support/https-psp.ts'
import { payOne, requestRefund } from '../support/refunds.ts'
import { fetchToken, smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { type TestSimulator, testSimulator } from '../support/simulator.ts'
import { eventually } from '../support/webhooks.ts'

const secretKey = newSecretKey()
const clock = manualClock()
let database: TestDatabase
let bank: TestSimulator
let server: { url: string; close(): Promise<void> }
let files: Awaited<ReturnType<typeof makeFolder>>
const cleanups: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  database = await createEmptyDatabase()
  bank = await testSimulator(database.db.pool, { clock })
  server = await startSimulatorServer({ simulator: bank, host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await server.close()
  await bank.close()
  await database.drop()
})
beforeEach(async () => {
  files = await makeFolder()
  cleanups.push(files.remove)
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function environmentOf(more: object = {}): Promise<Record<string, string>> {
  const acquirer = {
    name: 'psp',
    dialect: 'generic',
    environment: 'sandbox',
    baseUrl: server.url,
    clientId: simulatorCredentials.clientId,
    clientSecret: { env: 'PSP_SECRET' },
    chave: receiverKey,
    receiver: receiverAccount,
    overrides: { offers: { payouts: true, disputes: true } },
    ...more,
  }
  await files.write('acquirers.json', JSON.stringify({ acquirers: [acquirer] }))
  return {
    ACQUIRERS_FILE: files.path('acquirers.json'),
    PSP_SECRET: simulatorCredentials.clientSecret,
    SECRET_KEY: secretKey,
  }
}

async function start(more: object = {}): Promise<TestService> {
  const service = await startTestService({ clock, environment: await environmentOf(more) })
  cleanups.push(service.stop)
  return service
}

/** A token of an API client: with real money there is no sandbox client. */
async function signIn(service: TestService): Promise<string> {
  const key = parseSecretKey(secretKey)
  if (!key) throw new Error('this is a key')
  const input = { name: 'A shop', scopes: [...scopes] }
  const client = await service.db.transaction(async (tx) => await createMerchant(tx, { clock, key }, input))
  return await fetchToken(service.baseUrl, client)
}

const registered = async () => (await bank.request('GET', `/webhook/${receiverKey}`)).body.webhookUrl

describe('a service with an acquirer of a settings file', () => {
  it('is paid through it, and has no sandbox', async () => {
    const service = await start()
    const token = await signIn(service)
    await eventually(async () => String(await registered()).startsWith(`${service.baseUrl}/callbacks/psp/`))
    expect(service.sandbox).toEqual({})
    expect((await service.call('/sandbox/payment', { token, body: { uri: 'x' } })).status).toBe(404)

    const created = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
      token,
      body: smallestTransaction(),
    })
    expect(created.status).toBe(201)
    await bank.pay({ uri: created.body.pixResponse.uri })
    await service.runJob('transactions.poll')
    const fetched = async () =>
      (await service.call<{ status: string; acquirer: string }>(`/transaction/${created.body.id}`, { token })).body
    await eventually(async () => (await fetched()).status === 'PAID')
    expect((await fetched()).acquirer).toBe('psp')
    const { text } = await service.call('/metrics', { token: null })
    expect(text).toContain('guiche_acquirer_circuit_state{acquirer="psp"} 0')
    expect(text).toMatch(
      /guiche_acquirer_requests_total\{acquirer="psp",operation="createCharge",outcome="created"\} 1/,
    )
  })

  it('registers another callback address if the settings have one, or none if that is done by hand', async () => {
    await start({ callbacks: { baseUrl: 'https://callbacks.example.com' } })
    await eventually(async () => String(await registered()).startsWith('https://callbacks.example.com/callbacks/psp/'))
    const before = await registered()
    await start({ callbacks: { register: false } })
    expect(await registered()).toBe(before)
  })

  it('starts while the PSP is down, and says that the outcome is not known', async () => {
    const gone = await listen(() => {})
    await gone.close()
    const service = await start({ baseUrl: gone.url })
    const token = await signIn(service)
    const created = await service.call('/transaction', { token, body: smallestTransaction() })
    expect(created).toMatchObject({ status: 500, body: { code: 'acquirer_unavailable' } })
  })

  it('does not start with invalid settings', async () => {
    await expect(start({ chave: 'x', baseUrl: 'y' })).rejects.toThrow(
      /acquirers\[0\]\.baseUrl .*\n.*acquirers\[0\]\.chave/,
    )
  })
})

it('serves no real acquirer on a database of simulated money, and only a simulator on this machine', async () => {
  const shared = await createTestDatabase()
  cleanups.push(shared.drop)
  const before = await startTestService({ clock, database: shared, environment: { SECRET_KEY: secretKey } })
  await payOne(before)
  await before.stop()
  const startWith = async (more: object) =>
    await startTestService({ clock, database: shared, environment: await environmentOf(more) })

  for (const environment of ['production', 'sandbox']) {
    await expect(startWith({ environment, baseUrl: 'https://pix.example.com' })).rejects.toThrow(
      /belongs to a simulated Pix network.*Set DATABASE_URL or DATA_DIR to another, empty database/,
    )
  }
  const again = await startWith({})
  cleanups.push(again.stop)
})

it('a start that is refused for its acquirers or its cell leaves the database its secret key and its cell', async () => {
  const shared = await createTestDatabase()
  cleanups.push(shared.drop)
  // It keeps a generated key, which any SECRET_KEY replaces.
  const startAlone = async () => await startTestService({ clock, database: shared, environment: {} })
  await (await startAlone()).stop()
  const production = await environmentOf({ environment: 'production', baseUrl: 'https://pix.example.com' })
  for (const environment of [production, { ...production, ACQUIRERS_FILE: files.path('missing.json') }])
    await expect(
      startTestService({ clock, database: shared, environment: { ...environment, CELL: 'b' } }),
    ).rejects.toThrow(/belongs to a simulated Pix network|missing\.json/)
  await (await startAlone()).stop()
  const startAs = async (environment: Record<string, string>) =>
    await startTestService({ clock, database: shared, environment })
  await (await startAs({ CELL: 'a' })).stop()
  await expect(startAs({ CELL: 'b', SECRET_KEY: secretKey })).rejects.toThrow('belongs to the cell a')
  cleanups.push((await startAs({ CELL: 'a' })).stop)
})

it('reports records of an acquirer that the settings no longer have', async () => {
  const shared = await createTestDatabase()
  cleanups.push(shared.drop)
  const before = await startTestService({ clock, database: shared, environment: { SECRET_KEY: secretKey } })
  const paid = await payOne(before)
  const open = await before.call<{ id: string }>('/transaction', { body: smallestTransaction() })
  const client = before.sandbox
  await before.stop()

  const environment = await environmentOf()
  const service = await startTestService({ clock, database: shared, environment })
  cleanups.push(service.stop)
  const token = await fetchToken(service.baseUrl, client)
  const refund = await requestRefund(service, paid.id, {}, { token })
  expect(refund).toMatchObject({ status: 422, body: { code: 'refund_not_possible' } })
  expect(refund.text).toContain('at the acquirer simulator, which is not configured')

  const commands = await openCommandLine({ connectionString: shared.connectionString, environment })
  cleanups.push(commands.stop)
  expect(await commands.read(['transaction', 'explain', open.body.id])).toContain(
    'Its acquirer simulator is not configured, so Guichê cannot query it',
  )
  expect(await commands.read(['reconcile'])).toMatch(
    /^not compared: simulator \(it has open records, but is not configured\)$/m,
  )
})

describe('guiche acquirer', () => {
  const open = async (more: object = {}) => {
    const commands = await openCommandLine({
      connectionString: database.connectionString,
      environment: await environmentOf(more),
    })
    cleanups.push(commands.stop)
    return commands
  }
  type Report = { isFit: boolean; findings: Finding[] }

  it('lists the acquirers of the file', async () => {
    const commands = await open()
    expect(await commands.read(['acquirer', 'list'])).toMatch(
      /^psp +generic +sandbox +http:\/\/127\.0\.0\.1:\d+ +yes +yes$/m,
    )
    expect(await commands.runJson(['acquirer', 'list'])).toEqual([expect.objectContaining({ name: 'psp' })])
  })

  it('checks one, and exits with 1 when something is missing', async () => {
    const fit = await open()
    expect(await fit.read(['acquirer', 'check', 'psp'])).toMatch(
      /✓ token .*\n[\s\S]*It supports all that Guichê needs\./,
    )
    const report = await fit.runJson<Report>(['acquirer', 'check', 'psp'])
    expect(report).toMatchObject({ isFit: true })
    const unfit = await open({ clientId: 'somebody' })
    const lacking = await unfit.runJson<Report>(['acquirer', 'check', 'psp'], 1)
    expect(lacking.isFit).toBe(false)
    expect(lacking.findings.find(({ state }) => state === 'missing')).toMatchObject({ subject: 'token' })
    expect((await unfit.run(['acquirer', 'check', 'psp'])).stdout).toContain(
      'change: clientId, clientSecret, overrides.token',
    )
  })

  it('compares the registered address with the one that the service registers, as far as it is known', async () => {
    const { db, connectionString, drop } = await createTestDatabase()
    cleanups.push(drop)
    await saveSetting(db, baseUrlSetting, 'https://shop.example')
    const { SECRET_KEY: _, ...environment } = await environmentOf()
    const commands = await openCommandLine({ connectionString, environment })
    const lost = await openCommandLine({ connectionString: 'postgres://127.0.0.1:1/guiche', environment })
    cleanups.push(commands.stop, lost.stop)
    const { url } = await commands.runJson<{ url: string }>(['acquirer', 'callback-url', 'psp'])
    expect(await commands.read(['acquirer', 'check', 'psp'])).toContain('ours is at https://shop.example')
    await bank.request('PUT', `/webhook/${receiverKey}`, { body: { webhookUrl: url } })
    expect(await commands.read(['acquirer', 'check', 'psp'])).toContain(
      'our address at https://shop.example is registered',
    )
    expect(await lost.read(['acquirer', 'check', 'psp'])).toMatch(
      /https:\/\/shop\.example is registered; our address is not known: The database of DATABASE_URL cannot be used/,
    )
  })

  it('says what to do without a file, for an unknown acquirer, or for an error', async () => {
    const commands = await open()
    await commands.expectFailure(
      ['acquirer', 'check', 'other'],
      /There is no acquirer other\. .*acquirers\.json defines psp\./,
    )
    await files.write('acquirers.json', '{}')
    await commands.expectFailure(['acquirer', 'list'], /acquirers\.json: acquirers is not set/)
    const none = await openCommandLine({ connectionString: database.connectionString })
    cleanups.push(none.stop)
    await none.expectFailure(['acquirer', 'check', 'simulator'], /ACQUIRERS_FILE is not set/)
    expect(await none.read(['acquirer', 'list'])).toMatch(/^simulator +generic +simulated +built in +yes +yes$/m)
  })
})
