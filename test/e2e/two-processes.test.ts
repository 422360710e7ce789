import { copyFile, cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { afterAll, expect, inject, it } from 'vitest'
import { raw, sql } from '../../src/db/sql.ts'
import { enqueueJob } from '../../src/jobs/jobs.ts'
import { type Found, findBrokenGuarantees } from '../crash/observation.ts'
import { fetchAll, fetchSandboxToken, observe, openShops } from '../crash/shops.ts'
import { startBalancer } from '../support/balancer.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { findFreePort, makeDataDir, type ServiceProcess, startServiceProcess } from '../support/process.ts'
import { isLong } from '../support/random.ts'
import { eventually, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'

const quietMaxMs = 120_000
/** STOP_DELAY_SECONDS of the second process, which one test stops behind a load balancer. */
const secondDelaySeconds = 2

const cleanups: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

type Installation = {
  database: TestDatabase
  receiver: TestReceiver
  token: string
  processes: [ServiceProcess, ServiceProcess]
  /** Starts one of the two again from another build, at its address, after it has ended. */
  restart(index: 0 | 1, options: { build: string; delaySeconds: number }): Promise<void>
}

type Place = { dataDir: string; port: number }

/** The processes of the test before. The next test uses those that still run: a start takes two seconds of CPU. */
let last: { database: TestDatabase; places: [Place, Place]; token: string; running: Map<Place, Running> } | undefined
type Running = { process: ServiceProcess; delaySeconds: number; hasEnded: boolean }

/**
 * Two processes on one database, as behind a load balancer, and a separate receiver. `delaySeconds` is the first one's
 * STOP_DELAY_SECONDS.
 */
async function open(delaySeconds = 0): Promise<Installation> {
  const receiver = await startTestReceiver()
  cleanups.push(receiver.stop)
  last ??= await install()
  const { database, token, places, running } = last
  const replace = async (place: Place, delaySeconds: number, build?: string) => {
    const known = running.get(place)
    if (known && !known.hasEnded && known.delaySeconds === delaySeconds && !build) return known.process
    known?.process.signal('SIGKILL')
    await known?.process.ended
    return await start(place, { database, delaySeconds, running, ...(build !== undefined && { build }) })
  }
  const processes: Installation['processes'] = await Promise.all([
    replace(places[0], delaySeconds),
    replace(places[1], secondDelaySeconds),
  ])
  const restart: Installation['restart'] = async (index, { build, delaySeconds }) => {
    processes[index] = await replace(places[index], delaySeconds, build)
  }
  return { database, receiver, token, processes, restart }
}

/** Both start at the same time on an empty database: one of them creates the client and has its credentials. */
async function install(): Promise<NonNullable<typeof last>> {
  const database = await createEmptyDatabase()
  cleanups.push(database.drop)
  const places: [Place, Place] = await Promise.all([prepare(), prepare()])
  const running = new Map<Place, Running>()
  const [one, other] = await Promise.all([
    start(places[0], { database, delaySeconds: 0, running }),
    start(places[1], { database, delaySeconds: secondDelaySeconds, running }),
  ])
  const token = await fetchSandboxToken(places[0].dataDir, one.baseUrl).catch(
    async () => await fetchSandboxToken(places[1].dataDir, other.baseUrl),
  )
  return { database, places, token, running }
}

async function prepare(): Promise<Place> {
  const { dataDir, remove } = await makeDataDir()
  cleanups.push(remove)
  return { dataDir, port: await findFreePort() }
}

async function start(
  place: Place,
  {
    database,
    delaySeconds,
    running,
    build,
  }: { database: TestDatabase; delaySeconds: number; running: Map<Place, Running>; build?: string },
): Promise<ServiceProcess> {
  const process = await startServiceProcess({
    ...place,
    databaseUrl: database.connectionString,
    environment: { TOKEN_LIFETIME_SECONDS: '86400', STOP_DELAY_SECONDS: String(delaySeconds) },
    ...(build !== undefined && { build }),
  })
  const started = { process, delaySeconds, hasEnded: false }
  running.set(place, started)
  void process.ended.then(() => Object.assign(started, { hasEnded: true }))
  cleanups.push(async () => {
    process.signal('SIGKILL')
    await process.ended
  })
  return process
}

async function post(
  installation: Installation,
  url: string,
  body: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await request(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${installation.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> }
}

async function get(installation: Installation, url: string): Promise<Found> {
  const answer = await request(url, { headers: { authorization: `Bearer ${installation.token}` } })
  expect(answer.statusCode).toBe(200)
  return (await answer.body.json()) as Found
}

it('serves at each process what the other created, does everything once, and sends each change once and in order', async () => {
  const installation = await open()
  const { receiver, database } = installation
  const acknowledged = await Promise.all(
    Array.from({ length: 24 }, async (_, index) => {
      const [one, other] = installation.processes
      const [first, second] = index % 2 === 0 ? [one, other] : [other, one]
      const key = `two-processes-${index}`
      const body = { amount: 100 + index, paymentMethod: 'PIX', pix: {}, idempotencyKey: key, externalCode: key }
      const create = async (at: ServiceProcess) =>
        await post(installation, `${at.baseUrl}/transaction`, { ...body, webhookUrl: receiver.url })
      const [created, twin] = await Promise.all([create(first), create(second)])
      expect([created.status, twin.status]).toEqual([201, 201])
      // Without BASE_URL, each process links to its own payment page.
      const pathOf = (paymentUrl: unknown) => new URL(String(paymentUrl)).pathname
      expect({ ...twin.body, paymentUrl: pathOf(twin.body.paymentUrl) }).toEqual({
        ...created.body,
        paymentUrl: pathOf(created.body.paymentUrl),
      })
      const { id, pixResponse } = created.body as { id: string; pixResponse: { uri: string } }
      const paid = await post(installation, `${second.baseUrl}/sandbox/payment`, { uri: pixResponse.uri })
      expect(paid.status).toBe(200)
      return { key, id, amount: 100 + index, uri: pixResponse.uri, endToEndId: String(paid.body.endToEndId) }
    }),
  )
  const [{ baseUrl }] = installation.processes
  const shops = { ...emptyShops, acknowledged, paid: acknowledged }
  const observation = await observe(shops, { baseUrl, token: installation.token, receiver, quietMaxMs })
  expect(findBrokenGuarantees(observation)).toEqual([])
  for (const { id } of acknowledged) {
    const [one, other] = await Promise.all(
      installation.processes.map(async (at) => await get(installation, `${at.baseUrl}/transaction/${id}`)),
    )
    expect(one).toMatchObject({ status: 'PAID' })
    expect(other).toEqual(one)
  }
  // No process crashed, so no event was sent twice.
  expect(observation.deliveries).toHaveLength(48)
  // Attempts and settled callbacks are stored a moment after they are observed.
  const countDone = async () =>
    await database.db.query(sql`
      select
        (select count(*) from webhook_attempts) as attempts,
        (select count(*) from callback_inbox where state = 'settled') as callbacks,
        (select count(*) from callback_inbox where state = 'received') as open`)
  await expect.poll(countDone).toEqual([{ attempts: 48, callbacks: 24, open: 0 }])
  const lines = installation.processes.flatMap((one) => one.lines)
  expect(lines.filter(({ level }) => level >= 40 && level < 100).filter(isNotStartup)).toEqual([])
}, 300_000)

it('takes over immediately what a killed process had leased, and nothing that a running one has', async () => {
  const { database, receiver, token, processes } = await open()
  const { db } = database
  const listInstances = async () => await db.query<{ id: number }>(sql`select id from instances order by id`)
  await eventually(async () => (await listInstances()).length === 2)
  const [one, other] = (await listInstances()).map(({ id }) => id)
  const [killed, staying] = processes
  for (const [index, instance] of [one, other].entries()) {
    const created = await request(`${staying.baseUrl}/transaction`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ amount: 100 + index, paymentMethod: 'PIX', pix: {}, webhookUrl: receiver.url }),
    })
    expect(created.statusCode).toBe(201)
    const { id } = (await created.body.json()) as { id: string }
    const isDelivered = async () =>
      (await db.query(sql`select from webhook_deliveries where record_id = ${id} and state = 'delivered'`)).length > 0
    await eventually(isDelivered)
    // Leases that end long after this test.
    await db.query(sql`
      update webhook_deliveries
      set state = 'pending', finished_at = null, leased_by = ${instance}, leased_until = now() + interval '1 day',
        next_attempt_at = now() + interval '1 day'
      where record_id = ${id}`)
    await db.query(sql`
      insert into callback_inbox (acquirer, event_key, end_to_end, received_at, state, check_at, leased_by)
      values ('simulator', ${instance}::text, ${instance}::text, now(), 'received', now() + interval '1 day', ${instance})`)
    await db.query(sql`
      insert into jobs (name, payload, run_at, attempts, attempts_max, locked_by, locked_at)
      values ('transactions.check', '{}', now(), 1, 10, ${instance}, now())`)
  }
  killed.signal('SIGKILL')
  await eventually(async () => (await db.query(sql`select from instances`)).length === 1)
  const [living] = await db.query<{ id: number }>(sql`select id from instances`)
  const dead = living?.id === one ? other : one
  const leases = async (table: 'webhook_deliveries' | 'callback_inbox' | 'jobs') => {
    const leasedBy = raw(table === 'jobs' ? 'locked_by' : 'leased_by')
    const isOpen = raw(table === 'jobs' ? "name = 'transactions.check'" : `state in ('pending', 'received')`)
    const rows = await db.query<{ id: number | null }>(sql`
      select ${leasedBy} as id from ${raw(table)} where ${isOpen} and ${leasedBy} in (${one}, ${other})`)
    return rows.map(({ id }) => id)
  }
  for (const table of ['webhook_deliveries', 'callback_inbox'] as const)
    await eventually(async () => (await leases(table)).join() === String(living?.id))
  await eventually(async () => !(await leases('jobs')).includes(dead ?? null))
  expect(await leases('jobs')).toContain(living?.id)
  const webhookIds = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(webhookIds).toHaveLength(new Set(webhookIds).size + 1)
  const tookOver = 'took over the work of processes that ended or lost their connection'
  await expect.poll(() => staying.lines.findLast(({ msg }) => msg === tookOver)).toMatchObject({ instances: [dead] })
}, 300_000)

// A short run sends SIGTERM only: test/system/shared-port.test.ts sends SIGINT.
it.each(isLong ? (['SIGTERM', 'SIGINT'] as const) : (['SIGTERM'] as const))(
  'loses nothing when one of them is ended with %s under load',
  async (signal) => {
    const installation = await open()
    const { receiver, token } = installation
    const [leaving, staying] = installation.processes
    let isBalanced = true
    const shops = openShops({
      // Each process serves half of the shops, until the load balancer sees that one is stopping.
      addresses: Array.from(
        { length: 8 },
        (_, index) => () => (index % 2 === 0 && isBalanced ? leaving.baseUrl : staying.baseUrl),
      ),
      token,
      webhookUrl: receiver.url,
      name: `leaving-${signal}`,
      pauseMs: 60,
    })
    await eventually(() => shops.acknowledged.length > 8)
    const atLeaving = () => shops.underWay().filter(({ baseUrl }) => baseUrl === leaving.baseUrl)
    await eventually(() => atLeaving().length > 0)
    const underWay = atLeaving()
    leaving.signal(signal)
    expect(await Promise.all(underWay.map(({ answered }) => answered))).toEqual(
      underWay.map(() => expect.toBeOneOf([200, 201])),
    )
    isBalanced = false
    expect(await leaving.ended).toEqual({ code: 0, signal: null })
    await sleep(500)
    await shops.stop()
    // The poller finds a payment whose callback was being processed by the stopped process: now, instead of seconds
    // later.
    await enqueueJob(installation.database.db, { name: 'transactions.poll', payload: {}, key: 'transactions.poll' })
    expect(shops.surprises).toEqual([])
    const observation = await observe(shops, { baseUrl: staying.baseUrl, token, receiver, quietMaxMs })
    expect(findBrokenGuarantees(observation)).toEqual([])
    expect(observation.deliveries).toHaveLength(new Set(observation.deliveries.map(({ eventId }) => eventId)).size)
    // More than the eight that were in flight at the same time: the other process continued. The number depends on the
    // machine.
    expect((await fetchAll(staying.baseUrl, token)).length).toBeGreaterThan(8)
  },
  300_000,
)

// A short run omits it: the test above also waits for open requests, and the last test sends a second signal.
it.runIf(isLong)(
  'waits for open requests on the first signal, and stops on the second',
  async () => {
    const installation = await open()
    const [leaving] = installation.processes
    // The simulator creates this charge and answers later than anybody waits.
    const waiting = post(installation, `${leaving.baseUrl}/transaction`, {
      amount: 5_040_504,
      paymentMethod: 'PIX',
      pix: {},
    })
    const outcome = waiting.then(
      () => 'answered',
      () => 'cut',
    )
    await eventually(
      async () =>
        (await installation.database.db.query(sql`select from simulator.charges where amount = 5040504`)).length > 0,
    )
    leaving.signal('SIGTERM')
    const first = await Promise.race([leaving.ended.then(() => 'ended'), sleep(1_000, 'waits')])
    expect(first).toBe('waits')
    leaving.signal('SIGTERM')
    expect(await leaving.ended).toEqual({ code: 1, signal: null })
    expect(await outcome).toBe('cut')
  },
  300_000,
)

it('fails no request while each is replaced by the next version in turn behind a load balancer', async () => {
  const next = await buildNextVersion()
  const installation = await open(secondDelaySeconds)
  const { processes, receiver, token } = installation
  const balancer = await startBalancer(processes.map(({ baseUrl }) => baseUrl))
  cleanups.push(balancer.stop)
  await eventually(() => processes.every(({ baseUrl }) => balancer.isReady(baseUrl)))
  const addresses = Array.from({ length: 8 }, () => () => balancer.baseUrl)
  const shops = openShops({ addresses, token, webhookUrl: receiver.url, name: 'rolling', pauseMs: 500 })
  for (const index of [0, 1] as const) {
    const leaving = processes[index]
    const before = shops.acknowledged.length
    await eventually(() => shops.acknowledged.length > before + 16)
    leaving.signal('SIGTERM')
    await eventually(() => !balancer.isReady(leaving.baseUrl))
    expect(await leaving.ended).toEqual({ code: 0, signal: null })
    // The next test uses the first process with its delay.
    await installation.restart(index, { build: next, delaySeconds: [stopDelaySeconds, secondDelaySeconds][index] ?? 0 })
    await eventually(() => balancer.isReady(leaving.baseUrl))
    const columns = await installation.database.db.query(sql`
      select from information_schema.columns where column_name = 'of_next_version'`)
    expect(columns).toHaveLength(expandedTables.length)
  }
  await shops.stop()
  expect(balancer.failures).toEqual([])
  expect(shops.surprises).toEqual([])
  const observation = await observe(shops, { baseUrl: balancer.baseUrl, token, receiver, quietMaxMs })
  expect(findBrokenGuarantees(observation)).toEqual([])
}, 300_000)

const expandedTables = ['transactions', 'events', 'webhook_deliveries', 'callback_inbox', 'jobs', 'ledger_accounts']

/** The same program with one more migration, which expands the schema while services of this version run on it. */
async function buildNextVersion(): Promise<string> {
  const folder = await mkdtemp(resolve('dist/next-'))
  cleanups.push(async () => await rm(folder, { recursive: true, force: true }))
  await cp('migrations', join(folder, 'migrations'), { recursive: true })
  await cp(inject('build'), join(folder, 'dist'), { recursive: true })
  await copyFile('package.json', join(folder, 'package.json'))
  for (const name of ['src', 'dashboard']) await symlink(resolve(name), join(folder, name))
  const last = (await readdir('migrations')).sort().at(-1)?.slice(0, 4)
  const expansions = expandedTables.map((table) => `alter table ${table} add of_next_version text;`)
  const text = [`-- Compatible with code from migration ${last} on.`, ...expansions].join('\n')
  await writeFile(join(folder, 'migrations/9999_next_version.sql'), text)
  return join(folder, 'dist')
}

/** Longer than the test. */
const stopDelaySeconds = 300

it('continues to serve while load balancers notice that it stops, and ends immediately on a second signal', async () => {
  const installation = await open(stopDelaySeconds)
  const [leaving] = installation.processes
  const send = async (path: string) => {
    const { statusCode, headers, body } = await request(leaving.baseUrl + path, {
      headers: { authorization: `Bearer ${installation.token}` },
    })
    return { status: statusCode, connection: headers.connection, text: await body.text() }
  }
  expect(await send('/health/ready')).toMatchObject({ status: 200, connection: 'keep-alive' })
  leaving.signal('SIGTERM')
  await eventually(async () => (await send('/health/ready')).status === 503)
  expect(await send('/health/ready')).toMatchObject({ connection: 'close', text: '{"status":"stopping"}' })
  // Both on a connection that is open and on a new one.
  for (let number = 0; number < 3; number += 1)
    expect(await send('/transaction')).toMatchObject({ status: 200, connection: 'close' })
  expect(await send('/health/live')).toMatchObject({ status: 200 })
  leaving.signal('SIGTERM')
  expect(await leaving.ended).toEqual({ code: 1, signal: null })
}, 300_000)

const emptyShops = {
  name: 'two-processes',
  underWay: () => [],
  leave: () => {},
  stop: async () => {},
  surprises: [],
  acknowledged: [],
  paid: [],
}

function isNotStartup({ msg }: { msg: string }): boolean {
  return !/SECRET_KEY/.test(msg)
}
