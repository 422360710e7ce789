import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findBrokenGuarantees } from '../crash/observation.ts'
import { fetchSandboxToken, observe, openShops } from '../crash/shops.ts'
import { openCommandLine } from '../support/command-line.ts'
import {
  findFreePort,
  type Line,
  makeMigratedDataDir,
  type ServiceProcess,
  startServiceProcess,
} from '../support/process.ts'
import { isLong } from '../support/random.ts'
import { fetchToken } from '../support/service.ts'
import { eventually, startTestReceiver } from '../support/webhooks.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

type Installation = { dataDir: string; running: ServiceProcess; token: string }

/** One service of two processes, on the bundled PostgreSQL. */
async function open(): Promise<Installation> {
  const { dataDir, remove } = await makeMigratedDataDir()
  cleanups.push(remove)
  const running = await start(dataDir)
  return { dataDir, running, token: await fetchSandboxToken(dataDir, running.baseUrl) }
}

async function start(dataDir: string, environment: Record<string, string> = {}): Promise<ServiceProcess> {
  const running = await startServiceProcess({
    dataDir,
    port: await findFreePort(),
    environment: { PROCESSES: '2', ...environment },
  })
  cleanups.push(async () => {
    running.signal('SIGTERM')
    await running.ended
  })
  return running
}

/** Each connection belongs to one process, and they are assigned in turn. */
function connect({ running, token }: Pick<Installation, 'running' | 'token'>, count: number) {
  return Array.from({ length: count }, () => {
    const client = new Client(running.baseUrl)
    let broken = 0
    client.on('disconnect', () => {
      broken += 1
    })
    cleanups.push(async () => await client.destroy())
    const request = async (method: 'GET' | 'POST', path: string, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
      const answer = await client.request({ method, path, headers, body: body ? JSON.stringify(body) : null })
      return { status: answer.statusCode, text: await answer.body.text() }
    }
    return {
      timesBroken: () => broken,
      metrics: async () => (await request('GET', '/metrics')).text,
      create: async () =>
        (await request('POST', '/transaction', { amount: 100, paymentMethod: 'PIX', pix: {} })).status,
    }
  })
}

const readyPids = (lines: Line[]) =>
  lines.filter(({ msg }) => msg === 'a process of the service is ready').map(({ pid }) => Number(pid))
const livePids = (lines: Line[]) => readyPids(lines).filter(isAlive)

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

// These tests share one service and run in this order, since starting one takes five seconds of CPU.
describe('a service of several processes', () => {
  let installation: Installation
  beforeAll(async () => {
    installation = await open()
  })

  // The next test kills a process as well, and test/crash compares what shops saw.
  it.runIf(isLong)(
    'continues when one of them is killed, and replaces it',
    async () => {
      const { running, token } = installation
      const receiver = await startTestReceiver()
      cleanups.push(receiver.stop)
      const shops = openShops({
        addresses: Array.from({ length: 8 }, () => () => running.baseUrl),
        token,
        webhookUrl: receiver.url,
        name: 'shared-port-kill',
        pauseMs: 60,
      })
      await eventually(() => shops.acknowledged.length > 8)
      const [killed = 0] = livePids(running.lines)
      process.kill(killed, 'SIGKILL')
      await expect.poll(() => readyPids(running.lines), { timeout: 90_000 }).toHaveLength(3)
      const before = shops.acknowledged.length
      await eventually(() => shops.acknowledged.length > before + 8)
      await shops.stop()
      expect(running.lines.find(({ msg }) => msg.includes('is replaced'))).toMatchObject({
        pid: killed,
        signal: 'SIGKILL',
      })
      expect(shops.surprises).toEqual([])
      const observation = await observe(shops, { baseUrl: running.baseUrl, token, receiver, quietMaxMs: 60_000 })
      expect(findBrokenGuarantees(observation)).toEqual([])
    },
    300_000,
  )

  it('gives a restarted process its share of the connections that clients keep', async () => {
    const { lines } = installation.running
    const shops = connect(installation, 24)
    const [killed = 0, left = 0] = livePids(lines)
    const started = readyPids(lines).length
    process.kill(killed, 'SIGKILL')
    await expect.poll(() => isAlive(killed)).toBe(false)
    // All connect to the only process that is left.
    for (const shop of shops) expect(await shop.create()).toBe(201)
    await expect.poll(() => readyPids(lines), { timeout: 90_000 }).toHaveLength(started + 1)
    // Concurrently: while closed connections have not been opened again, a process closes more.
    const broken = async () => {
      const statuses = await Promise.all(shops.map(async (shop) => await shop.create()))
      expect(new Set(statuses)).toEqual(new Set([201]))
      return shops.filter(({ timesBroken }) => timesBroken() > 0).length
    }
    // The process that was left closes its excess over the average, which is half of them.
    await expect.poll(broken, { timeout: 90_000, interval: 500 }).toBeGreaterThanOrEqual(12)
    // Until none has been closed for three seconds.
    const timesBroken = () => shops.reduce((sum, shop) => sum + shop.timesBroken(), 0)
    for (
      let last = { times: 0, at: 0 };
      last.times !== timesBroken() || Date.now() - last.at < 3_000;
      await sleep(200)
    ) {
      if (last.times !== timesBroken()) last = { times: timesBroken(), at: Date.now() }
      await broken()
    }
    const before = shops.map(({ timesBroken }) => timesBroken())
    process.kill(left, 'SIGKILL')
    await expect.poll(() => isAlive(left)).toBe(false)
    const lost = () => shops.filter(({ timesBroken }, index) => timesBroken() !== before[index]).length
    // Until the next process is ready, which gets its share of all connections.
    let lostAtFirst = 0
    const ready = () => {
      const now = lost()
      if (readyPids(lines).length === started + 1) lostAtFirst = now
      return readyPids(lines)
    }
    await expect.poll(ready, { timeout: 90_000, interval: 20 }).toHaveLength(started + 2)
    expect(lostAtFirst).toBeGreaterThanOrEqual(8)
    expect(lostAtFirst).toBeLessThanOrEqual(17)
  }, 300_000)

  it('starts all of them again when none is left', async () => {
    const { lines } = installation.running
    const started = readyPids(lines).length
    for (const pid of livePids(lines)) process.kill(pid, 'SIGKILL')
    await expect.poll(() => readyPids(lines), { timeout: 90_000 }).toHaveLength(started + 2)
    const [shop] = connect(installation, 1)
    expect(await shop?.create()).toBe(201)
  }, 300_000)

  it('answers open requests before it stops', async () => {
    const { running, token, dataDir } = installation
    const receiver = await startTestReceiver()
    cleanups.push(receiver.stop)
    let { baseUrl } = running
    const shops = openShops({
      addresses: Array.from({ length: 8 }, () => () => baseUrl),
      token,
      webhookUrl: receiver.url,
      name: 'shared-port-end',
      pauseMs: 60,
    })
    await eventually(() => shops.acknowledged.length > 8 && shops.underWay().length > 0)
    const underWay = shops.underWay()
    running.signal('SIGINT')
    expect(await Promise.all(underWay.map(({ answered }) => answered))).toEqual(
      underWay.map(() => expect.toBeOneOf([200, 201])),
    )
    expect(await running.ended).toEqual({ code: 0, signal: null })
    expect(livePids(running.lines)).toEqual([])
    // For the next test. Its rate limit refills almost nothing while the test runs.
    installation.running = await start(dataDir, { RATE_LIMIT_CREATE: '0.001', RATE_LIMIT_CREATE_BURST: '20' })
    baseUrl = installation.running.baseUrl
    await shops.stop()
    expect(shops.surprises).toEqual([])
    const observation = await observe(shops, { baseUrl, token, receiver, quietMaxMs: 45_000 })
    expect(findBrokenGuarantees(observation)).toEqual([])
  }, 300_000)

  it('counts limits over all processes, and reports metrics as one', async () => {
    const { dataDir, running } = installation
    expect(readyPids(running.lines)).toHaveLength(2)
    const line = await openCommandLine({ environment: { DATA_DIR: dataDir } })
    cleanups.push(line.stop)
    const client = await line.runJson<{ clientId: string; clientSecret: string }>([
      'client',
      'create',
      '--name',
      'Shop',
    ])
    const shops = connect({ running, token: await fetchToken(running.baseUrl, client) }, 4)
    const [shop] = shops
    const countedBy = (metrics: string | undefined) =>
      Number(
        /^guiche_http_request_duration_seconds_count\{method="POST",route="\/transaction",status="201"\} (\d+)$/m.exec(
          metrics ?? '',
        )?.[1] ?? 0,
      )
    // Processes that have created nothing since they started have no such line.
    const before = countedBy(await shop?.metrics())
    const statuses: number[] = []
    for (let round = 0; round < 12; round += 1) {
      for (const shop of shops) statuses.push(await shop.create())
      // Longer than the processes take to inform each other.
      await sleep(400)
    }
    const created = statuses.filter((status) => status === 201).length
    expect(statuses.filter((status) => status !== 201 && status !== 429)).toEqual([])
    expect(created).toBeGreaterThanOrEqual(20)
    // Some are created before one process knows of the other's. Each alone would have allowed 20.
    expect(created).toBeLessThan(40)

    for (const { metrics } of shops.slice(0, 2)) expect(countedBy(await metrics())).toBe(before + created)
    // The database's figures are not counted once per process.
    const verifiedAt = async () =>
      Number(
        /^guiche_ledger_verified_timestamp_seconds\{scope="all"\} (\S+)$/m.exec((await shop?.metrics()) ?? '')?.[1],
      )
    await expect.poll(verifiedAt, { timeout: 90_000, interval: 500 }).toBeGreaterThan(0)
    expect(await verifiedAt()).toBeLessThanOrEqual(Date.now() / 1000)
  }, 300_000)

  it('leaves no process behind when the primary is killed', async () => {
    const { running } = installation
    expect(livePids(running.lines)).toHaveLength(2)
    running.signal('SIGKILL')
    await running.ended
    await expect.poll(() => livePids(running.lines), { timeout: 90_000 }).toEqual([])
  }, 300_000)
})
