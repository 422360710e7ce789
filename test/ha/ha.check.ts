import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { connect, type Db } from '../../src/db/sql.ts'
import { showPayoutFreeze } from '../../src/ledger/payout-freeze.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { fetchSandboxToken } from '../crash/shops.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { commandOf, freeze, signalAll } from '../support/postmaster.ts'
import { findFreePort, makeDataDir, type ServiceProcess, startServiceProcess } from '../support/process.ts'
import { apiHost, isInstalled, makeCertificates, startProxy } from '../support/proxies.ts'
import { type Cluster, type Node, startCluster } from './cluster.ts'
import { type Comparison, compareUntilQuiet } from './compare.ts'
import { type Answer, findWrongAnswers, type Load, measureOutage, type Outage, openLoad } from './load.ts'
import { findPrograms } from './programs.ts'

const { programs, missing } = findPrograms()
if (missing.length > 0)
  process.stdout.write(`Skipped, because this machine lacks:\n${missing.map((one) => `- ${one}\n`).join('')}`)

/**
 * How long to wait until nothing is open: a payout in flight during the fault is checked again only when its lease of
 * two minutes ends.
 */
const quietMaxMs = 240_000
const metricsToken = 'a-token-for-the-metrics'
const freezeMs = 40_000
const standbysFrozenMs = 15_000
/** How many create requests each service must answer with 201 before the fault, and again after it. */
const creates = 20

describe.skipIf(missing.length > 0)('three PostgreSQL servers under Patroni', () => {
  const cleanups: (() => Promise<unknown>)[] = []
  const table: string[] = []
  let cluster: Cluster
  let bankDatabase: TestDatabase
  let bank: Simulator
  /** To look at the records, wherever the primary is. */
  let db: Db
  let environment: Record<string, string>
  let token: string
  const places: { dataDir: string; port: number }[] = []
  const services: ServiceProcess[] = []
  let round = 0

  const start = async (index: number, databaseUrl = cluster.databaseUrl) => {
    const place = places[index]
    if (!place) throw new Error(`There is no service ${index}`)
    services[index] = await startServiceProcess({ ...place, databaseUrl, environment })
  }
  const end = async (index: number, signal: NodeJS.Signals) => {
    services[index]?.signal(signal)
    await services[index]?.ended
  }

  beforeAll(async () => {
    cluster = await startCluster(programs)
    cleanups.push(cluster.stop)
    bankDatabase = await createEmptyDatabase()
    cleanups.push(bankDatabase.drop)
    bank = await createSimulator({
      pool: bankDatabase.db.pool,
      clock: systemClock,
      publicBaseUrl: 'http://127.0.0.1:3999',
      // A PSP knows only the load balancer's address: here, callbacks go to the services in turn.
      sendCallback: async (url, body) => {
        const { baseUrl } = services[round++ % services.length] ?? {}
        const headers = { 'content-type': 'application/json' }
        const to = `${baseUrl}${new URL(url).pathname}`
        return await fetch(to, { method: 'POST', headers, body: JSON.stringify(body) }).then(
          ({ status }) => status,
          () => 503,
        )
      },
      log: { warn: () => {} },
    })
    cleanups.push(bank.close)
    const server = await startSimulatorServer({ simulator: bank, host: '127.0.0.1', port: 0 })
    cleanups.push(server.close)
    environment = {
      SIMULATOR_URL: server.url,
      SECRET_KEY: 'A'.repeat(43),
      TOKEN_LIFETIME_SECONDS: '86400',
      TRUST_PROXY: '127.0.0.1',
      DATABASE_WAIT_SECONDS: '3',
      STOP_DELAY_SECONDS: '5',
      METRICS_TOKEN: metricsToken,
    }
    db = connect({ connectionString: cluster.databaseUrl, connectionsMax: 2, waitMs: 60_000, onError: () => {} })
    cleanups.push(async () => await db.pool.end())
    for (const index of [0, 1]) {
      const { dataDir, remove } = await makeDataDir()
      cleanups.push(remove)
      places.push({ dataDir, port: await findFreePort() })
      cleanups.push(async () => await end(index, 'SIGKILL'))
      await start(index)
    }
    token = await fetchSandboxToken(places[0]?.dataDir ?? '', services[0]?.baseUrl ?? '')
  })
  afterAll(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    if (table.length > 0) await report(table)
  })

  const open = (name: string, { pools, headers }: { pools?: Pool[]; headers?: Record<string, string> } = {}) => {
    const load = openLoad({
      services: pools ?? services.map(({ baseUrl }) => new Pool(baseUrl, { headersTimeout: 15_000 })),
      headers: { authorization: `Bearer ${token}`, ...headers },
      bank,
      name,
    })
    // A test that fails before it stops its load must not leave it running.
    onTestFinished(load.stop)
    return load
  }

  const note = (title: string, { acknowledged }: Load, { outage, found }: { outage: Outage; found: Comparison }) => {
    const { withoutSuccess, disturbed, slowest, failed, answers } = outage
    const { creates: created, payments, refunds, withdrawals } = acknowledged
    const counts = [created, payments, refunds, withdrawals].map(({ length }) => length).join(' / ')
    const times = [withoutSuccess, disturbed, slowest].map((seconds) => `${seconds} s`)
    const row = [title, ...times, `${failed} of ${answers}`, counts, found.lost.length, found.doubled.length]
    table.push(`| ${row.join(' | ')} |`)
    process.stdout.write(`${table.at(-1)}\n`)
  }

  type LoadOptions = {
    pools?: Pool[]
    headers?: Record<string, string>
    /**
     * Answers that are excused: the load calls the services directly, so requests to a killed one fail. A load
     * balancer would redirect them.
     */
    mayFail?: (answer: Answer) => boolean
  }

  /** Runs `fault` under load, until every service works again, and compares all records. */
  async function runUnderLoad(
    title: string,
    fault: () => Promise<unknown>,
    { mayFail = () => false, ...by }: LoadOptions = {},
  ): Promise<Outage> {
    const load = open(title.replaceAll(/\W+/g, '-'), by)
    await load.untilServed(creates)
    const fromMs = load.nowMs()
    await fault()
    await load.untilServed(creates)
    await load.stop()
    const outage = measureOutage(load.answers, fromMs)
    const found = await compareUntilQuiet({ db, bank: bankDatabase.db }, load.acknowledged, quietMaxMs)
    note(title, load, { outage, found })
    expect(found).toEqual({ lost: [], doubled: [], open: [], breaches: [] })
    expect(findWrongAnswers(load.answers.filter((answer) => !mayFail(answer)))).toEqual([])
    expect(await showPayoutFreeze(db)).toBeNull()
    for (const records of Object.values(load.acknowledged)) expect(records.length).toBeGreaterThan(2)
    return outage
  }

  /** Kills a node under load, and restarts it once the others have continued without it. */
  async function killNode(title: string, node: Node): Promise<void> {
    try {
      await runUnderLoad(title, async () => await kill(node))
    } finally {
      node.start()
      await cluster.untilHealthy()
    }
  }

  async function freezePrimary(): Promise<void> {
    await freezeFor((await cluster.primary()).pids(), freezeMs)
  }

  it('keeps everything when the machine of the primary dies', async () => {
    await killNode('the primary dies (kill -9)', await cluster.primary())
  })

  it('keeps everything when the primary is frozen and comes back', async () => {
    await runUnderLoad(`the primary is frozen for ${freezeMs / 1_000} s`, freezePrimary)
    await cluster.untilHealthy()
  })

  it('keeps everything when the synchronous standby dies', async () => {
    const [confirming] = await cluster.standbys()
    if (!confirming) throw new Error('The cluster has no standby')
    await killNode('the synchronous standby dies (kill -9)', confirming)
  })

  it('keeps everything while no standby confirms a commit', async () => {
    const frozen = (await cluster.standbys()).flatMap((node) => node.pids())
    await runUnderLoad(
      `both standbys are frozen for ${standbysFrozenMs / 1_000} s`,
      async () => await freezeFor(frozen, standbysFrozenMs),
    )
    await cluster.untilHealthy()
  })

  it('keeps everything in a planned switchover', async () => {
    await runUnderLoad('planned switchover', cluster.switchOver)
    await cluster.untilHealthy()
  })

  it('keeps everything when a service is killed', async () => {
    const killed = 0
    await runUnderLoad(
      'a service dies (kill -9)',
      async () => {
        await end(killed, 'SIGKILL')
        await sleep(3_000)
        await start(killed)
      },
      { mayFail: ({ service, status }) => service === killed && status === 0 },
    )
  })

  it.runIf(isInstalled('nginx'))('fails no request while both services are restarted behind nginx', async () => {
    const certificates = await makeCertificates()
    onTestFinished(certificates.remove)
    const [one, other] = places.map(({ port }) => port)
    const proxy = await startProxy('nginx', certificates, { gatewayPort: one ?? 0, otherGatewayPort: other ?? 0 })
    onTestFinished(proxy.stop)
    const pool = new Pool(`https://127.0.0.1:${proxy.port}`, {
      connect: { ca: certificates.authority, servername: apiHost },
      headersTimeout: 15_000,
    })
    const restart = async () => {
      for (const index of [0, 1]) {
        await end(index, 'SIGTERM')
        await start(index)
      }
    }
    const title = 'both services are restarted in turn, behind nginx'
    const { failed } = await runUnderLoad(title, restart, { pools: [pool], headers: { host: apiHost } })
    expect(failed).toBe(0)
  })

  it('keeps everything when the primary is frozen, without HAProxy in front of it', async () => {
    for (const index of [0, 1]) {
      await end(index, 'SIGTERM')
      await start(index, cluster.directUrl)
    }
    await runUnderLoad(`the primary is frozen for ${freezeMs / 1_000} s, without HAProxy`, freezePrimary)
    await cluster.untilHealthy()
  })

  it('loses commits with asynchronous replication, and notices it', async () => {
    await cluster.makeAsynchronous()
    const load = open('asynchronous')
    await load.untilServed(creates)
    const primary = await cluster.primary()
    // Nothing more reaches the standbys.
    const senders = primary.pids().filter((pid) => commandOf(pid).includes('walsender'))
    expect(senders.length).toBeGreaterThan(1)
    signalAll(senders, 'SIGSTOP')
    await load.untilServed(2)
    const fromMs = load.nowMs()
    await kill(primary)
    await load.untilServed(2)
    await load.stop()
    const found = await compareUntilQuiet({ db, bank: bankDatabase.db }, load.acknowledged, 5_000)
    note('control: asynchronous replication', load, { outage: measureOutage(load.answers, fromMs), found })
    expect(found.lost.length).toBeGreaterThan(0)
    expect(await showPayoutFreeze(db)).toMatchObject({
      reason: expect.stringContaining('The database went back in time'),
    })
    const headers = { authorization: `Bearer ${metricsToken}` }
    const metrics = await Promise.all(
      services.map(async ({ baseUrl }) => await (await fetch(`${baseUrl}/metrics`, { headers })).text()),
    )
    expect(metrics.join('\n')).toMatch(/^guiche_database_commits_lost_total [1-9]/m)
  })
})

async function freezeFor(pids: number[], ms: number): Promise<void> {
  const resume = freeze(pids)
  await sleep(ms)
  resume()
}

async function kill(node: Node): Promise<void> {
  signalAll(node.pids(), 'SIGKILL')
  await node.ended()
}

/** Prints the table, and writes it into the document that GUICHE_HA names. */
async function report(rows: string[]): Promise<void> {
  const head =
    '| case | without any success | disturbed | slowest answer | not 2xx | creates / payments / refunds / withdrawals | lost | doubled |'
  const text = [head, head.replaceAll(/[^|]+/g, '---'), ...rows].join('\n')
  process.stdout.write(`\n${text}\n`)
  const path = process.env.GUICHE_HA
  if (path === undefined) return
  const document = await readFile(path, 'utf8')
  await writeFile(path, document.replace(/(<!-- figures -->\n\n).*(\n\n<!-- end of figures -->)/s, `$1${text}$2`))
}
