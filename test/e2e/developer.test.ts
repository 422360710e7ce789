import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { Guiche } from '../../sdk/src/index.ts'
import { createWebhookReceiver, type WebhookReceiver } from '../../sdk/src/testing.ts'
import type { Check } from '../../src/cli/developer/checks.ts'
import type { Triggered } from '../../src/cli/developer/trigger.ts'
import { sql } from '../../src/db/sql.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { charge, fetchTransaction, payAt, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { registerShop } from '../support/token.ts'
import { eventually } from '../support/webhooks.ts'

let service: TestService
let receiver: WebhookReceiver
/** Longer than anything takes on a busy machine. */
const patience = { timeoutMs: 90_000 }
/** The commands of a merchant's developer: they have no way to the database. */
let line: CommandLine

beforeAll(async () => {
  // Signatures are checked against the real time.
  service = await startTestService({ clock: { now: () => new Date(), advance: () => {}, set: () => {} } })
  receiver = await createWebhookReceiver({ secret: service.sandbox.webhookSecret })
  line = await openCommandLine({
    connectionString: 'postgres://nobody@127.0.0.1:1/none',
    environment: { DATA_DIR: service.dataDir },
  })
})
afterAll(async () => {
  await line.stop()
  await receiver.close()
  await service.stop()
})

describe('guiche try', () => {
  it('goes from a charge to its payment, and shows each step with its time', async () => {
    const shown = await line.read(['try', '--amount', '4990'])
    expect(shown).toMatch(/^ +\d+\.\d{3} s {2}signed in +as /)
    expect(shown).toMatch(/created +transaction [\da-f-]{36}, R\$ 49,90\n/)
    expect(shown).toMatch(/PAID +R\$ 49,90\n/)
    expect(shown).toMatch(/transaction\.pix_qrcode_generated\n.*transaction\.paid\n/)
    // No colours outside a terminal.
    expect(shown).not.toContain('\u001b')
  })

  it('says what to do about a damaged sandbox.json', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'guiche-data-'))
    onTestFinished(async () => await rm(dataDir, { recursive: true }))
    await writeFile(join(dataDir, 'sandbox.json'), '')
    const damaged = await openCommandLine({ environment: { DATA_DIR: dataDir } })
    onTestFinished(damaged.stop)
    await damaged.expectFailure(['try'], /sandbox\.json is damaged.* delete it and set GUICHE_URL/)
  })
})

describe('guiche trigger', () => {
  // The other events occur on the way to one of these.
  const last: Triggered[] = [
    ...(['transaction.failed', 'transaction.refunded', 'transaction.infraction'] as const),
    ...(['withdrawal.failed', 'withdrawal.canceled', 'withdrawal.refunded'] as const),
  ]
  it.each(last)('causes %s, and shows the event', async (type) => {
    const { id, recordId } = await line.runJson<{ id: string; recordId: string }>([
      ...['trigger', type, '--webhook-url', receiver.url],
    ])
    const event = await receiver.waitFor(type, ({ data }) => data.id === recordId, patience)
    expect(event.id).toBe(id)
  })

  it('names the events that it can cause', async () => {
    await line.expectFailure(['trigger', 'transaction.shipped'], /Allowed choices are .*transaction\.paid/)
    await line.expectFailure(['trigger', 'withdrawal.failed', '--amount', '100'], /leave --amount out/)
  })
})

describe('guiche cancel', () => {
  it('cancels an open charge, also twice, so that nobody can pay it', async () => {
    const { id, uri } = await charge(service, { externalCode: 'order-cancel-1', amount: 4990 })
    const canceled = { id, status: 'FAILED', failureCode: 'canceled', externalCode: 'order-cancel-1', amount: 4990 }
    expect(await line.runJson(['cancel', id])).toEqual(canceled)
    expect(await line.read(['cancel', id])).toMatch(/^amount +R\$ 49,90\n\nNobody can pay it any more\.\n$/m)
    expect((await fetchTransaction(service, id)).status).toBe('FAILED')
    expect((await service.call('/sandbox/payment', { body: { uri } })).body).toMatchObject({ code: 'payment_refused' })
  })

  it('says why it cancels nothing', async () => {
    const { id, uri } = await charge(service)
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    await line.expectFailure(['cancel', id], /refund it instead.*cancel_not_possible/)
    await line.expectFailure(['cancel', randomUUID()], /not_found/)
    await line.expectFailure(['cancel', 'order-1'], /An id such as/)
  })
})

describe('guiche listen', () => {
  const start = (home: string, args: string[]) => {
    const child = spawn(process.execPath, [join(inject('build'), 'src/cli/main.js'), ...args], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, DATA_DIR: service.dataDir },
    })
    const output = { out: '', err: '' }
    child.stdout.on('data', (data) => (output.out += String(data)))
    child.stderr.on('data', (data) => (output.err += String(data)))
    const ended = new Promise<number | null>((done) => child.once('close', done))
    const started = new Promise<void>((done) => {
      child.stderr.on('data', () => output.err.includes('Ctrl-C') && done())
      child.once('close', () => done())
    })
    return {
      output,
      started,
      async interrupt() {
        child.kill('SIGINT')
        expect({ code: await ended, err: output.err }).toEqual({ code: 0, err: output.err })
      },
    }
  }
  const pay = async () => (await line.runJson<{ recordId: string }>(['trigger', 'transaction.paid'])).recordId
  const isOf = (recordId: string) => (event: { data: { id: string } }) => event.data.id === recordId
  const makeHome = async () => {
    const home = await mkdtemp(join(tmpdir(), 'guiche-home-'))
    onTestFinished(async () => await rm(home, { recursive: true }))
    return home
  }
  /** The file that `listen` keeps for its next run. */
  const findSaved = async (home: string) => {
    const [name = ''] = await readdir(join(home, '.guiche'))
    return join(home, '.guiche', name)
  }
  const runOnce = async (home: string, args: string[]) => {
    const listening = start(home, args)
    // Interrupted at the very moment at which it says how to end it.
    await listening.started
    await listening.interrupt()
  }

  it('sends each event once, signed, and continues where it was interrupted', async () => {
    const args = ['listen', '--forward-to', receiver.url]
    const home = await makeHome()
    const [first, tail] = [start(home, args), start(home, ['tail', '--json', '--type', 'transaction.paid'])]
    await first.started
    expect(first.output.err).toContain(`Signed with ${service.sandbox.webhookSecret}`)
    // `tail` shows what happens after its start, and does not say when it has started.
    const early: string[] = []
    await eventually(async () => {
      early.push(await pay())
      return tail.output.out !== ''
    })
    const before = await pay()
    await receiver.waitFor('transaction.paid', isOf(before), patience)
    await eventually(() => first.output.out.includes('transaction.paid'))
    await first.interrupt()
    expect(first.output.out).toMatch(/^\d\d:\d\d:\d\d {2}transaction\.pix_qrcode_generated .* 204 in \d+ ms\n/)

    const meanwhile = await pay()
    const second = start(home, args)
    await receiver.waitFor('transaction.paid', isOf(meanwhile), patience)
    const { id } = await receiver.waitFor('transaction.pix_qrcode_generated', isOf(meanwhile), patience)
    await eventually(() => second.output.out.includes('transaction.paid'))
    await second.interrupt()
    expect(second.output.out.trim().split('\n')).toHaveLength(2)
    expect(receiver.events.map((event) => event.id).filter((one) => one === id)).toHaveLength(1)

    const tailed = () =>
      tail.output.out
        .split('\n')
        .slice(0, -1)
        .map((text) => JSON.parse(text).data.id)
    await eventually(() => tailed().includes(meanwhile))
    expect(tailed()).toEqual([...early, before, meanwhile].slice(-tailed().length))
    await tail.interrupt()

    expect(await line.read(['events', 'resend', id, '--forward-to', receiver.url])).toContain(' 204 in ')
    expect(receiver.events.filter((event) => event.id === id)).toHaveLength(2)
    expect(receiver.refused).toEqual([])
  })

  it('says what to do about a damaged file', async () => {
    const home = await makeHome()
    const listen = ['listen', '--forward-to', receiver.url]
    await runOnce(home, listen)
    await writeFile(await findSaved(home), '{"position":')
    const ofHome = await openCommandLine({ environment: { HOME: home, DATA_DIR: service.dataDir } })
    onTestFinished(ofHome.stop)
    await ofHome.expectFailure(listen, /listen-\w+\.json is damaged.* Delete it/)
  })

  it('leaves the saved position where it was when it selects events', async () => {
    const home = await makeHome()
    const listen = ['listen', '--forward-to', receiver.url]
    await runOnce(home, listen)
    const saved = await readFile(await findSaved(home), 'utf8')
    await pay()
    await runOnce(home, [...listen, '--from', 'end', '--type', 'transaction.paid'])
    expect(await readFile(await findSaved(home), 'utf8')).toBe(saved)
  })

  it('has an event sent to its webhook again', async () => {
    const { id, recordId } = await line.runJson<{ id: string; recordId: string }>([
      ...['trigger', 'transaction.paid', '--webhook-url', receiver.url],
    ])
    await receiver.waitFor('transaction.paid', isOf(recordId), patience)
    // Before that, the result of the first attempt would count as the result of the resend.
    await eventually(async () => {
      const [row] = await service.db.query<{ state: string }>(
        sql`select state from webhook_deliveries where id = ${id}`,
      )
      return row?.state === 'delivered'
    })
    expect((await line.run(['events', 'resend', id])).code).toBe(0)
    await eventually(() => receiver.events.filter((event) => event.id === id).length >= 2)
  })
})

describe('guiche mcp', () => {
  const open = async (args: string[] = [], credentials: Record<string, string> = {}) => {
    const client = new Client({ name: 'test', version: '1.0.0' })
    const environment = { PATH: process.env.PATH ?? '', DATA_DIR: service.dataDir, ...credentials }
    const command = [join(inject('build'), 'src/cli/main.js'), 'mcp', ...args]
    await client.connect(new StdioClientTransport({ command: process.execPath, args: command, env: environment }))
    const call = async (name: string, input: Record<string, unknown> = {}) => {
      const { content, isError } = await client.callTool({ name, arguments: input })
      const [{ text }] = content as [{ text: string }]
      return isError ? text : JSON.parse(text)
    }
    return { client, call }
  }
  const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)

  it('reads records without personal data, and creates nothing', async () => {
    const person = { name: 'Maria da Silva', document: '529.982.247-25', email: 'maria@example.com' }
    const { body } = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
      body: { amount: 4321, paymentMethod: 'PIX', pix: {}, customer: person, externalCode: 'order-mcp' },
    })
    await service.call('/sandbox/payment', { body: { uri: body.pixResponse.uri } })
    await eventually(
      async () => (await service.call<{ status: string }>(`/transaction/${body.id}`)).body.status === 'PAID',
    )

    const { client, call } = await open()
    const { total, transactions } = await call('search_transactions', { externalCode: 'order-mcp' })
    expect([total, transactions]).toEqual([1, [expect.objectContaining({ id: body.id, status: 'PAID', amount: 4321 })]])
    const one = await call('get_transaction', { id: body.id })
    expect(one.history.map(({ status }: { status: string }) => status)).toEqual([
      'PENDING',
      'PIX_QRCODE_GENERATED',
      'PAID',
    ])
    const answers = [one, transactions, await call('list_events'), await call('get_statement', { limit: 5 })]
    // The payer of the simulated bank is left out as well.
    expect(JSON.stringify(answers)).not.toMatch(/maria|silva|52998224725|529\.982|payer|customer/i)
    expect(await call('get_balance')).toMatchObject({ available: expect.any(Number) })
    expect(await call('search_withdrawals')).toMatchObject({ total: expect.any(Number) })

    expect(await call('get_transaction', { id: '../balance' })).toMatch(/id of a record is needed/)
    expect(await call('search_transactions', { clientId: 'other' })).toBe('Unknown arguments: clientId.')
    expect(await call('get_balance', { constructor: 'other' })).toBe('Unknown arguments: constructor.')
    expect(await call('get_transaction')).toBe('Missing arguments: id.')
    expect(await call('create_test_charge', { amount: 100 })).toBe('There is no tool create_test_charge.')
    expect((await client.listTools()).tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true)
    await client.close()
  })

  it('shows a record without its deliveries to a client that may not read them', async () => {
    const { clientId, clientSecret } = await registerShop(service, {
      scopes: ['transaction.read', 'transaction.write'],
    })
    const shop = { clientId, clientSecret, baseUrl: service.baseUrl }
    const { id } = await new Guiche(shop).transactions.create({ amount: 4321 })
    const { client, call } = await open([], {
      ...{ GUICHE_URL: service.baseUrl, GUICHE_CLIENT_ID: clientId, GUICHE_CLIENT_SECRET: clientSecret },
    })
    expect(await call('get_transaction', { id })).toMatchObject({
      ...{ id, amount: 4321, history: expect.arrayContaining([expect.objectContaining({ status: 'PENDING' })]) },
      webhooks: 'Reading webhook deliveries needs the scope webhook.read.',
    })
    await client.close()
  })

  it('creates and pays charges in the sandbox only when it is allowed', async () => {
    const { client, call } = await open(['--allow-charges'])
    expect(await namesOf(client)).toEqual(expect.arrayContaining(['create_test_charge', 'pay_test_charge']))
    const { id, paymentPage } = await call('create_test_charge', { amount: 1990 })
    expect(paymentPage).toContain('/pay/')
    expect(await call('pay_test_charge', { id })).toMatchObject({ status: 'PAID', amountPaid: 1990 })
    await client.close()
  })
})

describe('guiche doctor', () => {
  const run = async (args: string[], code = 0) => {
    const { checks } = await line.runJson<{ checks: Check[] }>(['doctor', ...args], code)
    return new Map(checks.map((check) => [check.name, check]))
  }

  it('finds nothing wrong with the sandbox and a receiver that verifies', async () => {
    const checks = await run([receiver.url])
    expect([...checks].filter(([, { outcome }]) => outcome !== 'ok').map(([name]) => name)).toEqual(['address'])
    expect([...checks.keys()]).toEqual([
      ...['reachable', 'clock', 'credentials', 'scopes', 'money', 'address', 'accepts', 'answer_time', 'repeat'],
      ...['wrong_signature', 'no_signature', 'changed_body', 'old_timestamp'],
    ])
  })

  it('says for people what to fix', async () => {
    const server = await answerAlways(204)
    const { port } = server.address() as AddressInfo
    await new Promise((done) => server.close(done))
    const { code, stdout } = await line.run(['doctor', `http://127.0.0.1:${port}/pix`])
    expect(code).toBe(1)
    expect(stdout).toMatch(/fail {2}It cannot be reached: The connection was refused\n {8}Check that the receiver runs/)
    expect(stdout).toMatch(/One thing needs a fix\.\n$/)
  })

  it.each([
    [
      204,
      { accepts: 'ok', wrong_signature: 'fail', no_signature: 'fail', changed_body: 'fail', old_timestamp: 'fail' },
    ],
    [404, { accepts: 'fail', refuses: 'skip' }],
    [302, { accepts: 'fail' }],
  ] as const)('finds what is wrong with a receiver that always answers %i', async (status, expected) => {
    const server = await answerAlways(status)
    try {
      const { port } = server.address() as AddressInfo
      const checks = await run([`http://127.0.0.1:${port}/pix`], 1)
      for (const [name, outcome] of Object.entries(expected))
        expect([name, checks.get(name)?.outcome]).toEqual([name, outcome])
      for (const { outcome, fix } of checks.values()) if (outcome === 'fail') expect(fix).toMatch(/\.$/)
    } finally {
      server.close()
    }
  })

  it('says that it is not known whether real money moves when the service does not say', async () => {
    const server = createServer(({ url }, response) => {
      response.statusCode = url === '/auth/token' ? 200 : 500
      response.end(JSON.stringify({ access_token: 't', scope: 'transaction.read transaction.write' }))
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as AddressInfo
    const checks = await run(['--url', `http://127.0.0.1:${port}`, '--client-id', 'a', '--client-secret', 'b'])
    expect(checks.get('money')).toMatchObject({ outcome: 'note', detail: expect.stringContaining('not known') })
    server.close()
  })

  it('tells wrong credentials, a lack of scopes and an address without a service apart', async () => {
    const url = ['--url', service.baseUrl]
    expect(
      (await run([...url, '--client-id', 'nobody', '--client-secret', 'none'], 1)).get('credentials'),
    ).toMatchObject({
      outcome: 'fail',
      detail: expect.stringContaining('refused'),
    })
    const shop = await registerShop(service, { scopes: ['transaction.read'] })
    const credentials = ['--client-id', shop.clientId, '--client-secret', shop.clientSecret]
    expect((await run([...url, ...credentials], 1)).get('scopes')).toMatchObject({
      outcome: 'fail',
      fix: 'Have the operator grant transaction.write.',
    })
    const server = await answerAlways(200)
    const { port } = server.address() as AddressInfo
    const elsewhere = ['--url', `http://127.0.0.1:${port}`, ...credentials]
    expect((await run(elsewhere, 1)).get('reachable')?.detail).toContain('is not Guichê')
    server.close()
    await line.expectFailure(['doctor', '--client-id', 'nobody'], /GUICHE_URL, GUICHE_CLIENT_SECRET are missing/)
  })
})

async function answerAlways(status: number): Promise<Server> {
  const server = createServer((_, response) => response.writeHead(status, { location: '/' }).end())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return server
}
