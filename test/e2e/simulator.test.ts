import { readFile } from 'node:fs/promises'
import { createServer, request } from 'node:https'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { receiverKey } from '../../simulator/receiver-account.ts'
import { openTlsFolder, type TlsFolder } from '../../simulator/tls-folder.ts'
import { openCommandLine } from '../support/command-line.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { makeDataDir } from '../support/process.ts'
import { cob, txidOf } from '../support/simulator.ts'
import { startOwnSimulator, startSimulatorProcess } from '../support/simulator-process.ts'
import { eventually } from '../support/webhooks.ts'

// Processes start, one with its own PostgreSQL, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 300_000 })

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

let database: TestDatabase
beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(async () => await database.drop())

it('runs alone with its own PostgreSQL, is paid from the command line, and ends on a signal', async () => {
  const simulator = await startSimulatorProcess([
    '--dialect',
    'sicoob',
    '--tls',
    '--personality',
    'late',
    '--seed',
    '7',
  ])
  cleanups.push(simulator.stop)
  expect(simulator.said()).toContain('speaks as sicoob')
  await eventually(() =>
    simulator.said().includes('Personality of the bank: late, seed 7. --personality honest turns the faults off.'),
  )
  const { acquirers } = JSON.parse(await readFile(join(simulator.dataDir, 'simulator/acquirers.json'), 'utf8'))
  expect(acquirers).toMatchObject([{ dialect: 'sicoob', baseUrl: simulator.url, chave: receiverKey }])
  expect(acquirers[0]).not.toHaveProperty('clientSecret')

  const made = await call(simulator, 'PUT', `/pix/api/v2/cob/${txidOf(1)}`, cob('15.00'))
  expect(made.status).toBe(201)
  const paid = await run(['simulator', 'pay', '--behaviour', 'honest', String(made.body.brcode)], simulator.dataDir)
  expect(paid).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^endToEndId {2}E\w{31}\n$/) })
  const again = await run(['simulator', 'pay', String(made.body.brcode)], simulator.dataDir)
  expect(again).toEqual({ code: 1, stdout: '', stderr: 'guiche: The charge is already paid.\n' })

  const twice = await run(['simulator', 'pay', '--behaviour', 'twice', String(made.body.brcode)], simulator.dataDir)
  expect(twice).toMatchObject({ code: 0, stderr: '' })
  expect(twice.stdout).not.toBe(paid.stdout)

  simulator.signal('SIGTERM')
  expect(await simulator.ended).toEqual({ code: 0, signal: null })
  const gone = await run(['simulator', 'pay', String(made.body.brcode)], simulator.dataDir)
  expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining('Check that it is running') })
})

it('writes settings that match its quirks', async () => {
  const quirks = ['tokenPath=/token', 'chargesPath=/v9', 'hasPayouts=true']
  const { dataDir, remove } = await makeDataDir()
  cleanups.push(remove)
  const place = { dataDir, databaseUrl: database.connectionString }
  const simulator = await startOwnSimulator({ dialect: 'bb', quirk: quirks }, place)
  cleanups.push(simulator.stop)
  const file = JSON.parse(await readFile(join(dataDir, 'simulator/acquirers.json'), 'utf8'))
  expect(file.acquirers).toMatchObject([
    {
      dialect: 'bb',
      tokenUrl: `${simulator.url}/token`,
      settings: { appKey: 'simulated-app-key' },
      overrides: {
        paths: { cob: '/v9/cob', pix: '/pix/v2/pix', webhook: '/pix/v2/webhook' },
        offers: { payouts: true, disputes: false },
      },
    },
  ])
})

it.each([
  { dialect: 'generic', quirk: ['tokenClient=id_only', 'payouts=sicoob', 'balance=sicoob', 'listDaysMax=5'] },
  { dialect: 'generic', quirk: ['tokenClient=body', 'tokenBody=json', 'payouts=inter', 'balance=inter'] },
  { dialect: 'efi', quirk: ['tokenClient=body', 'tokenBody=form', 'hasDefences=true', 'chargesPath=/v9'] },
])('writes settings with which its client is accepted: $dialect, $quirk', async ({ dialect, quirk }) => {
  const { dataDir, remove } = await makeDataDir()
  cleanups.push(remove)
  const simulator = await startOwnSimulator({ dialect, quirk }, { dataDir, databaseUrl: database.connectionString })
  cleanups.push(simulator.stop)
  const environment = { DATA_DIR: dataDir, ACQUIRERS_FILE: join(dataDir, 'simulator/acquirers.json') }
  const commandLine = await openCommandLine({ connectionString: database.connectionString, environment })
  cleanups.push(commandLine.stop)
  expect(await commandLine.read(['acquirer', 'check', `simulated-${dialect}`])).toContain(
    'It supports all that Guichê needs.',
  )
})

it('shows its certificate to a callback address that requires one, and trusts the configured authority', async () => {
  const { dataDir, remove } = await makeDataDir()
  cleanups.push(remove)
  // The operator's own authority, which no PSP trusts by default.
  const own = await openTlsFolder(join(dataDir, 'own'), { hosts: ['127.0.0.1'], now: new Date() })
  const tlsDir = join(dataDir, 'psp')
  const psp = await openTlsFolder(tlsDir, { hosts: ['localhost', '127.0.0.1', '::1'], now: new Date() })
  const proxy = await startProxy({ own, psp })
  cleanups.push(proxy.stop)
  const place = { dataDir, databaseUrl: database.connectionString }
  const options = { dialect: 'efi', tls: true, tlsDir, callbackCa: own.paths.caFile }
  const simulator = { dataDir, ...(await startOwnSimulator(options, place)) }
  cleanups.push(simulator.stop)

  // Efí first calls the address without a certificate, and refuses an address that accepts the call.
  const registered = await call(simulator, 'PUT', `/v2/webhook/${receiverKey}`, { webhookUrl: proxy.url })
  expect(registered.status).toBe(201)
  const made = await call(simulator, 'PUT', `/v2/cob/${txidOf(2)}`, cob('15.00'))
  await simulator.control('payment', { uri: String(made.body.pixCopiaECola) })
  await eventually(() => proxy.received.length > 0)
  expect(proxy.received[0]).toMatchObject({ by: 'localhost', body: { pix: [{ txid: txidOf(2) }] } })
  expect(proxy.refused()).toBeGreaterThan(0)
})

it('keeps the personality of its last run when only the seed changes', async () => {
  const { dataDir, remove } = await makeDataDir()
  cleanups.push(remove)
  const place = { dataDir, databaseUrl: database.connectionString }
  const personalityWith = async (options: { personality?: string; seed?: number }) => {
    const simulator = await startOwnSimulator(options, place)
    const { body } = await simulator.control('personality', {})
    await simulator.stop()
    return body
  }
  expect(await personalityWith({ personality: 'late', seed: 3 })).toMatchObject({ name: 'late', seed: 3 })
  const { traits } = await personalityWith({})
  expect(await personalityWith({ seed: 7 })).toEqual({ name: 'late', seed: 7, traits })
  expect(await personalityWith({ personality: 'honest' })).toEqual({ name: 'honest', seed: 1, traits: {} })
})

describe('a mistake', () => {
  it.each([
    [['--port', 'abc'], 'A whole number from 1 to 65535'],
    [['--dialect', 'nubank'], 'Available: generic, efi, bb'],
    [['--quirk', 'payer=all'], 'payer=account|person|none'],
    [['--control-token', 'short'], '16 to 128 letters'],
    [['--personality', 'wicked'], 'Available: honest, forgetful'],
    [['--seed', '-1'], 'A whole number from 0'],
    [['--callback-ca', 'none.pem'], 'none.pem'],
  ])('is reported with the valid values: %j', async (args, said) => {
    const { dataDir, remove } = await makeDataDir()
    cleanups.push(remove)
    const ended = await run(['simulator', ...args], dataDir)
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(said) })
    expect(ended.stderr).not.toMatch(/^\s+at .*:\d+:\d+/m)
  })

  it('is reported when the port is in use', async () => {
    const { dataDir, remove } = await makeDataDir()
    cleanups.push(remove)
    const databaseUrl = database.connectionString
    const first = await startOwnSimulator({}, { dataDir, databaseUrl })
    cleanups.push(first.stop)
    const second = await run(['simulator', '--port', new URL(first.url).port], dataDir, { DATABASE_URL: databaseUrl })
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('choose another --port') })
  })
})

async function run(args: string[], dataDir: string, more: Record<string, string> = {}) {
  const line = await openCommandLine({ environment: { DATA_DIR: dataDir, ...more } })
  cleanups.push(line.stop)
  return await line.run(args)
}

type Answer = { status: number; body: Record<string, unknown> }

/** Calls the PSP as its client, with the settings that it wrote. */
async function call(
  simulator: { dataDir: string; url: string },
  method: string,
  path: string,
  body: object,
): Promise<Answer> {
  const file = JSON.parse(await readFile(join(simulator.dataDir, 'simulator/acquirers.json'), 'utf8'))
  const { tls, tokenUrl, clientId, clientSecret } = file.acquirers[0]
  const identity = {
    ca: await readFile(tls.caFile),
    pfx: await readFile(tls.pfxFile),
    passphrase: (await readFile(tls.passphrase.file, 'utf8')).trim(),
  }
  const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  const scope = 'cob.read cob.write webhook.write'
  const grant = clientSecret
    ? {
        headers: { authorization: basic, 'content-type': 'application/json' },
        body: '{"grant_type":"client_credentials"}',
      }
    : { headers: {}, body: `grant_type=client_credentials&client_id=${clientId}&scope=${scope}` }
  const token = await send(tokenUrl, { method: 'POST', ...identity, headers: grant.headers }, grant.body)
  const headers = { authorization: `Bearer ${String(token.body.access_token)}`, client_id: clientId }
  return await send(simulator.url + path, { method, ...identity, headers }, JSON.stringify(body))
}

async function send(url: string, options: object, body: string): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const sent = request(url, { agent: false, ...options }, (answer) => {
      let text = ''
      answer.on('data', (part) => {
        text += String(part)
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: text === '' ? {} : JSON.parse(text) }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** A proxy in front of a gateway: it accepts clients with a certificate of the PSP's authority. */
async function startProxy({ own, psp }: { own: TlsFolder; psp: TlsFolder }) {
  const received: { by: unknown; body: unknown }[] = []
  let refused = 0
  const server = createServer(
    {
      cert: own.server.certificate,
      key: own.server.key,
      ca: psp.authority.certificate,
      requestCert: true,
      rejectUnauthorized: true,
    },
    (incoming, outgoing) => {
      const { socket } = incoming
      const by = 'getPeerCertificate' in socket ? Object(socket).getPeerCertificate().subject.CN : null
      let text = ''
      incoming.on('data', (part) => {
        text += String(part)
      })
      incoming.on('end', () => {
        received.push({ by, body: JSON.parse(text) })
        outgoing.end()
      })
    },
  )
  server.on('tlsClientError', () => {
    refused += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `https://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/callbacks`,
    received,
    refused: () => refused,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
