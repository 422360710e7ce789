import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, expect, it, vi } from 'vitest'
import { callbackPath } from '../../src/callbacks/path.ts'
import { asAdministrator, attachEmbeddedPostgres } from '../../src/db/embedded.ts'
import { connect, raw } from '../../src/db/sql.ts'
import { parseSecretKey } from '../../src/lib/secrets.ts'
import { fetchSandboxToken } from '../crash/shops.ts'
import { freeze, postgresProcesses, postmasterOf } from '../support/postmaster.ts'
import { findFreePort, makeMigratedDataDir, type ServiceProcess, startServiceProcess } from '../support/process.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

type Opened = Awaited<ReturnType<typeof open>>

async function open(environment: Record<string, string>) {
  const { dataDir, remove } = await makeMigratedDataDir()
  cleanups.push(remove)
  const running = await startServiceProcess({
    dataDir,
    port: await findFreePort(),
    environment: { DATABASE_WAIT_SECONDS: '3', ...environment },
  })
  cleanups.push(async () => {
    running.signal('SIGTERM')
    expect(await running.ended).toEqual({ code: 0, signal: null })
  })
  const token = await fetchSandboxToken(dataDir, running.baseUrl)
  const request = async (path: string, body?: object) =>
    await fetch(`${running.baseUrl}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  const create = async (key: string) =>
    await request('/transaction', { amount: 1_000, paymentMethod: 'PIX', pix: {}, idempotencyKey: key })
  return { dataDir, running, request, create }
}

it('several processes answer 503 while their own PostgreSQL is away, and it is started again', async () => {
  await expectRestart(await open({ PROCESSES: '2' }))
}, 180_000)

async function requestToken({ baseUrl }: ServiceProcess): Promise<Response> {
  const body = new URLSearchParams({ client_id: 'a-client', client_secret: 'a-secret' })
  return await fetch(`${baseUrl}/auth/token`, { method: 'POST', body })
}

/** Kills the PostgreSQL of a service, which cannot start it again for a while. */
async function expectRestart({ dataDir, running, request, create }: Opened): Promise<void> {
  const before = await create('order-before-kill')
  expect(before.status).toBe(201)
  const { id } = (await before.json()) as { id: string }

  // While this file names another version, no server starts on this folder.
  const versionFile = `${dataDir}/postgres/PG_VERSION`
  const version = readFileSync(versionFile, 'utf8')
  writeFileSync(versionFile, '17\n')
  const postmaster = postmasterOf(`${dataDir}/postgres`)
  // A signal to the process id 0 would end the tests themselves.
  if (postmaster === null) throw new Error('PostgreSQL is not running')
  process.kill(postmaster, 'SIGKILL')
  await vi.waitFor(async () => {
    const away = await create('order-while-away')
    expect(away.status).toBe(503)
    expect(away.headers.get('retry-after')).toMatch(/^[1-5]$/)
    expect(await away.json()).toMatchObject({ code: 'database_unavailable' })
    const token = await requestToken(running)
    expect(token.status).toBe(503)
    expect(token.headers.get('retry-after')).toMatch(/^[1-5]$/)
    expect(await token.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect(running.lines.map(({ msg }) => msg)).toContain('PostgreSQL could not be restarted')
  }, 90_000)
  expect((await request('/health/live')).status).toBe(200)
  const unready = await request('/health/ready')
  expect([unready.status, unready.headers.get('retry-after')]).toEqual([503, '5'])
  writeFileSync(versionFile, version)

  await vi.waitFor(async () => expect((await create('order-while-away')).status).toBe(201), {
    timeout: 90_000,
    interval: 500,
  })
  expect(await (await request(`/transaction/${id}`)).json()).toMatchObject({ id, amount: 1_000 })
  await expect.poll(() => running.lines.map(({ msg }) => msg)).toContain('PostgreSQL was restarted')
  // Background work runs again as well.
  const { pixResponse } = (await (await request(`/transaction/${id}`)).json()) as { pixResponse: { uri: string } }
  await expectPaid({ request }, id, pixResponse.uri)
  expect(stacksOf(running).filter((msg) => msg !== 'PostgreSQL could not be restarted')).toEqual([])
}

/** Pays. The database may be slow for a while. */
async function expectPaid({ request }: Pick<Opened, 'request'>, id: string, uri: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const paid = await request('/sandbox/payment', { uri })
      expect([200, 201, 422]).toContain(paid.status)
      expect(await (await request(`/transaction/${id}`)).json()).toMatchObject({ status: 'PAID' })
    },
    { timeout: 90_000, interval: 500 },
  )
}

/** The lines with an error's stack: an outage must not log one for each item. */
function stacksOf({ lines }: ServiceProcess): string[] {
  expect(lines.map(({ msg }) => msg)).toContain('work failed and will be repeated: the database is not available')
  return lines.filter(({ err }) => err !== undefined).map(({ msg }) => msg)
}

const secretKey = 'A'.repeat(43)

it('answers 503 while its PostgreSQL is frozen or away, and goes on when it answers again', async () => {
  const service = await open({ SECRET_KEY: secretKey })
  const { dataDir, running, request, create } = service
  const created = await create('order-before')
  expect(created.status).toBe(201)
  const { id, pixResponse } = (await created.json()) as { id: string; pixResponse: { uri: string } }
  const { url } = (await (await request(`/transaction/${id}/payment-link`)).json()) as { url: string }
  const key = parseSecretKey(secretKey)
  if (!key) throw new Error('the secret key is not valid')

  const resume = freeze(postgresProcesses(`${dataDir}/postgres`))
  cleanups.push(async () => resume())
  // All at once: statements in progress, new connections, and requests that wait for one.
  const answers = await Promise.all([
    ...Array.from({ length: 40 }, (_, index) => create(`order-during-${index}`)),
    request(`/transaction/${id}`),
    request('/transaction'),
    request('/balance'),
    request(callbackPath(key, 'simulator'), {
      pix: [{ endToEndId: 'E0000000020260101000000000000001', valor: '1.00' }],
    }),
    request('/dashboard/api/session', { email: 'nobody@example.com', password: 'not a password' }),
    requestToken(running),
    request(new URL(url).pathname),
  ])
  for (const answer of answers) {
    expect(answer.status, answer.url).toBe(503)
    expect(answer.headers.get('retry-after'), answer.url).toMatch(/^[1-5]$/)
  }
  expect((await request('/health/ready')).status).toBe(503)
  expect((await request('/health/live')).status).toBe(200)
  const outage = () =>
    running.lines.filter(({ msg }) => msg === 'requests were answered 503: the database is not available')
  await vi.waitFor(() => {
    // All but the payment page, which reports no outage; and few lines count them all.
    const counts = outage().map(({ count }) => Number(count))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(answers.length - 1)
    expect(counts.length).toBeLessThan(answers.length / 4)
  }, 90_000)

  resume()
  await vi.waitFor(async () => expect((await create('order-during-0')).status).toBe(201), {
    timeout: 60_000,
    interval: 200,
  })
  expect((await request('/health/ready')).status).toBe(200)
  await expectPaid({ request }, id, pixResponse.uri)

  // A server that answers, but whose commits wait for a synchronous standby that is gone.
  const server = await attachEmbeddedPostgres({ dataDir })
  if (!server) throw new Error('PostgreSQL is not running')
  const options = {
    connectionString: asAdministrator(server.connectionString),
    connectionsMax: 1,
    waitMs: 60_000,
    onError: () => {},
  }
  const admin = connect(options)
  await admin.query(raw("alter system set synchronous_standby_names = 'nobody'"))
  await admin.query(raw('select pg_reload_conf()'))
  const waiting = await Promise.all(Array.from({ length: 30 }, (_, index) => create(`order-alone-${index}`)))
  for (const answer of waiting) {
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ code: 'database_unavailable' })
  }
  expect((await request('/health/ready')).status).toBe(503)
  await admin.query(raw('alter system reset synchronous_standby_names'))
  await admin.query(raw('select pg_reload_conf()'))
  await vi.waitFor(async () => expect((await create('order-alone-0')).status).toBe(201), {
    timeout: 60_000,
    interval: 200,
  })
  expect(stacksOf(running)).toEqual([])
  await admin.pool.end()
  await expectRestart(service)
}, 180_000)
