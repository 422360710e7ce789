import { once } from 'node:events'
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { connect, type Db, sql } from '../../src/db/sql.ts'
import { openReads } from '../../src/standby.ts'
import { createTestLog } from '../support/logged-errors.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { type Pair, startPair } from '../support/standby.ts'
import { eventually } from '../support/webhooks.ts'

let pair: Pair
let db: Db
let service: TestService
const lines: Record<string, unknown>[] = []

const open = async (): Promise<TestService> =>
  await startTestService({
    database: { db, connectionString: pair.primary },
    environment: { DATABASE_READ_URL: pair.standby.connectionString },
    onLog: (line) => lines.push(line),
  })

/** What a service whose DATABASE_READ_URL is this address reads from. */
async function openOwnReads(address: string, registry = new Registry()) {
  const config = readConfig({ DATABASE_URL: pair.primary, DATABASE_READ_URL: address })
  const log = createTestLog((line) => lines.push(line))
  // A busy machine does not make a server seem away.
  return await openReads({ config, db, log, registry, connectMaxMs: 60_000 })
}

beforeAll(async () => {
  pair = await startPair()
  db = connect({ connectionString: pair.primary, connectionsMax: 4, waitMs: 60_000, onError: () => {} })
  service = await open()
})
afterAll(async () => {
  await service.stop()
  await db.pool.end()
  await pair.stop()
})

type Page = { total: number; data: { id: string }[]; nextCursor: string | null }

async function create(): Promise<string> {
  const { status, body } = await service.call<{ id: string }>('/transaction', { body: smallestTransaction() })
  expect(status).toBe(201)
  return body.id
}

async function list(query = 'perPage=100'): Promise<Page> {
  const { status, body } = await service.call<Page>(`/transaction?${query}`)
  expect(status).toBe(200)
  return body
}

/** How many reads had each outcome. */
async function outcomes(): Promise<Record<'standby' | 'lag' | 'away' | 'conflict', number>> {
  const { text } = await service.call<string>('/metrics')
  const countOf = (outcome: string) =>
    Number(new RegExp(`^guiche_standby_reads_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
  return { standby: countOf('standby'), lag: countOf('lag'), away: countOf('away'), conflict: countOf('conflict') }
}

/** Reads lists until one of them has this outcome. */
async function untilRead(outcome: 'standby' | 'lag' | 'away'): Promise<void> {
  const before = await outcomes()
  await eventually(async () => {
    await list()
    return (await outcomes())[outcome] > before[outcome]
  })
}

async function setReplay(isPaused: boolean): Promise<void> {
  await pair.standby.query(`select pg_wal_replay_${isPaused ? 'pause' : 'resume'}()`)
  await eventually(async () => {
    const [row] = await pair.standby.query<{ state: string }>('select pg_get_wal_replay_pause_state() as state')
    return row?.state === (isPaused ? 'paused' : 'not paused')
  })
}

/** Changes how long the standby lets a statement run that keeps it from replaying the log. */
async function setConflictDelay(change: string): Promise<void> {
  await pair.standby.query(`alter system ${change}`)
  await pair.standby.query('select pg_reload_conf()')
}

/** A balancer whose first connection leads to the first of these servers, and all others to the last. */
async function startSwitchingBalancer(targets: [string, string]) {
  const sockets: Socket[] = []
  const server = createServer((client) => {
    const target = new URL(targets[sockets.length === 0 ? 0 : 1])
    const upstream = connectTo(`${target.searchParams.get('host')}/.s.PGSQL.${target.port}`)
    sockets.push(client)
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.pipe(upstream).pipe(client)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    connectionString: `postgres://guiche@127.0.0.1:${(server.address() as AddressInfo).port}/guiche`,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

describe('reads on a standby', () => {
  it('are answered by the standby, and have what was written just before, also at another service', async () => {
    await untilRead('standby')
    const other = await open()
    for (let count = 0; count < 10; count += 1) {
      const id = await create()
      expect((await list()).data.map((one) => one.id)).toContain(id)
      const next = await create()
      const listed = await other.call<Page>('/transaction?perPage=100', { token: service.token })
      expect(listed.body.data.map((one) => one.id)).toContain(next)
    }
    await other.stop()
    const [{ count } = { count: 0 }] = await pair.standby.query<{ count: string }>('select count(*) from transactions')
    expect(Number(count)).toBeGreaterThan(0)
  })

  it('are answered by the primary while the standby is behind', async () => {
    await untilRead('standby')
    await setReplay(true)
    const before = await outcomes()
    const id = await create()
    const paths = ['/transaction?perPage=100', '/event?perPage=100', `/transaction/${id}/event`]
    for (const path of paths) expect(JSON.stringify((await service.call(path)).body), path).toContain(id)
    const csv = await service.call('/transaction', { headers: { accept: 'text/csv' } })
    expect(csv.text).toContain(id)
    expect(await pair.standby.query(`select from transactions where id = '${id}'`)).toEqual([])
    expect((await outcomes()).lag).toBeGreaterThanOrEqual(before.lag + paths.length + 1)
    expect((await outcomes()).standby).toBe(before.standby)
    expect(lines.map(({ msg }) => msg)).toContain('the primary answered reads instead of the standby')
    await setReplay(false)
    await untilRead('standby')
  })

  it('give each row once when pages come from either server', async () => {
    const ids = new Set((await list()).data.map(({ id }) => id))
    const seen: string[] = []
    let isPaused = false
    for (let query = 'perPage=5'; ; ) {
      const { data, nextCursor } = await list(query)
      seen.push(...data.map(({ id }) => id))
      if (nextCursor === null) break
      query = `perPage=5&cursor=${nextCursor}`
      isPaused = !isPaused
      await setReplay(isPaused)
      if (isPaused) await create()
      else await untilRead('standby')
    }
    if (isPaused) await setReplay(false)
    expect(seen).toEqual(expect.arrayContaining([...ids]))
    expect(seen.length).toBe(new Set(seen).size)
  })

  it('are counted as away, not as lag, when the standby does not answer', async () => {
    const registry = new Registry()
    const { reads, close } = await openOwnReads(pair.standby.connectionString, registry)
    const resume = pair.standby.freeze()
    await create()
    const until = performance.now() + 20_000
    let counted = ''
    // Sooner than the pool finds out that the server does not answer.
    while (!counted.includes('{outcome="away"}') && performance.now() < until) {
      await reads.query(sql`select 1`)
      counted = await registry.getSingleMetricAsString('guiche_standby_reads_total')
    }
    resume()
    await close()
    expect(counted).toContain('{outcome="away"}')
  })

  it('do not fail when the standby breaks their connections, dies or freezes, and return to it', async () => {
    await untilRead('standby')
    let isLoaded = true
    const statuses: number[] = []
    const load = Array.from({ length: 4 }, async (_, index) => {
      while (isLoaded) {
        const path = index % 2 === 0 ? '/transaction?perPage=20' : '/event'
        statuses.push((await service.call(path)).status)
      }
    })
    const before = await outcomes()
    await pair.standby.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'guiche'")
    await pair.standby.kill()
    await eventually(async () => (await outcomes()).away > before.away + 5)
    await pair.standby.start()
    const after = await outcomes()
    await eventually(async () => (await outcomes()).standby > after.standby + 5)
    const resume = pair.standby.freeze()
    const frozen = await outcomes()
    await eventually(async () => (await outcomes()).away > frozen.away + 5)
    resume()
    await eventually(async () => (await outcomes()).standby > frozen.standby + 5)
    isLoaded = false
    await Promise.all(load)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
  })

  it('are answered by the primary when the standby ends a statement that conflicts with the log', async () => {
    await setConflictDelay("set max_standby_streaming_delay = '0'")
    const registry = new Registry()
    const { reads, close } = await openOwnReads(pair.standby.connectionString, registry)
    const answers: { is_standby: boolean }[][] = []
    const running = new Set<Promise<void>>()
    await eventually(async () => {
      // On a busy machine the standby may not be ready in time, and the primary answers at once.
      if (running.size === 0) {
        const read = reads
          .query<{ is_standby: boolean }>(sql`
            select pg_is_in_recovery() as is_standby, case when pg_is_in_recovery() then pg_sleep(60) end
            from (select count(*) from transactions) counted`)
          .then((rows) => void answers.push(rows))
          .finally(() => running.delete(read))
        running.add(read)
      }
      const sleeping = "select from pg_stat_activity where wait_event = 'PgSleep' and state = 'active'"
      return (await pair.standby.query(sleeping)).length > 0
    })
    await db.transaction(async (tx) => {
      // Longer than work in the background may keep it waiting, shorter than the read on the standby.
      await tx.query(sql`set local lock_timeout = '50s'`)
      await tx.query(sql`lock table transactions in access exclusive mode`)
    })
    await Promise.all(running)
    expect(answers.at(-1)).toMatchObject([{ is_standby: false }])
    expect(await registry.getSingleMetricAsString('guiche_standby_reads_total')).toContain('{outcome="conflict"} 1')
    await close()
    await setConflictDelay('reset max_standby_streaming_delay')
  })

  it('are not answered by a server that is behind when a balancer leads the next connection to it', async () => {
    await untilRead('standby')
    await setReplay(true)
    const id = await create()
    const balancer = await startSwitchingBalancer([pair.primary, pair.standby.connectionString])
    const { reads, close } = await openOwnReads(balancer.connectionString)
    // It occupies the first connection, which leads to a server that has everything.
    const first = reads.query(sql`select pg_sleep(2)`)
    const running = sql`select from pg_stat_activity where wait_event = 'PgSleep' and state = 'active'`
    await eventually(async () => (await db.query(running)).length > 0)
    expect(await reads.query(sql`select from transactions where id = ${id}`)).toHaveLength(1)
    await first
    await close()
    await balancer.stop()
    await setReplay(false)
  })

  it('are never answered by a standby that was promoted', async () => {
    await untilRead('standby')
    await pair.standby.query('select pg_promote()')
    const before = await outcomes()
    const id = await create()
    expect((await list()).data.map((one) => one.id)).toContain(id)
    expect((await outcomes()).standby).toBe(before.standby)
    await expect(openOwnReads(pair.standby.connectionString)).rejects.toThrow(
      'DATABASE_READ_URL leads to a server that takes writes and is not the one of DATABASE_URL',
    )
  })
})

describe('DATABASE_READ_URL', () => {
  it('is refused if it leads to another PostgreSQL or another database', async () => {
    await expect(openOwnReads(inject('postgres'))).rejects.toThrow(
      'DATABASE_READ_URL leads to another PostgreSQL than DATABASE_URL',
    )
    const url = new URL(pair.primary)
    url.pathname = 'postgres'
    await expect(openOwnReads(url.href)).rejects.toThrow('DATABASE_READ_URL leads to another database')
  })

  it.each([
    ['the primary', () => pair.primary, 'DATABASE_READ_URL leads to the primary: it answers all reads'],
    [
      'a server that does not run yet',
      () => 'postgres://guiche@127.0.0.1:1/guiche',
      'the standby of DATABASE_READ_URL is away: the primary answers reads',
    ],
  ])('may lead to %s', async (_, address, warning) => {
    lines.length = 0
    const { reads, close } = await openOwnReads(address())
    expect(await reads.query(sql`select 1 as one`)).toEqual([{ one: 1 }])
    await close()
    expect(lines.map(({ msg }) => msg)).toContain(warning)
  })
})
