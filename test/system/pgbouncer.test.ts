import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connect as openPool, sql } from '../../src/db/sql.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabaseProxy } from '../support/database-proxy.ts'
import { charge, payAt } from '../support/payments.ts'
import { findFreePort } from '../support/process.ts'
import { fetchRefundable } from '../support/refunds.ts'
import { startTestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'

// Debian installs it outside of the PATH of users.
const program = ['pgbouncer', '/usr/sbin/pgbouncer'].find((name) => spawnSync(name, ['--version']).status === 0)

let database: TestDatabase
const cleanups: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})
afterAll(async () => await database.drop())

/** Returns the address of the database behind a PgBouncer with these settings. */
async function startPgBouncer(...settings: string[]): Promise<string> {
  // PgBouncer refuses to run as root, and `nobody` may not enter the private folder of PostgreSQL's socket: it connects
  // to a TCP port.
  const proxy = await openDatabaseProxy(database.connectionString)
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
  const server = new URL(proxy.connectionString)
  const folder = await mkdtemp(join(tmpdir(), 'guiche-pgbouncer-'))
  await chmod(folder, 0o755)
  const port = await findFreePort()
  const file = join(folder, 'pgbouncer.ini')
  const lines = [
    ...['[databases]', `* = host=127.0.0.1 port=${server.port} user=guiche`, '[pgbouncer]', 'auth_type = any'],
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', ...settings, ''],
  ]
  await writeFile(file, lines.join('\n'))
  const child = spawn(program ?? '', ['-q', file], { ...user, stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  cleanups.push(async () => {
    child.kill('SIGKILL')
    await ended
    await proxy.stop()
    await rm(folder, { recursive: true })
  })
  await untilListening(child, port)
  return `postgresql://guiche@127.0.0.1:${port}${server.pathname}`
}

const nobody = 65_534

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    const ended = child.exitCode ?? child.signalCode
    if (ended !== null) throw new Error(`PgBouncer ended with ${ended}`)
    const isListening = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.once('error', () => resolve(false)).once('connect', () => socket.destroy())
    })
    if (isListening) return
    await sleep(20)
  }
}

describe.skipIf(program === undefined)('behind PgBouncer', () => {
  it('works in session mode, and its connections have the time limit of the service', async () => {
    const connectionString = await startPgBouncer('pool_mode = session', 'default_pool_size = 20')
    const service = await startTestService({ database: { db: database.db, connectionString } })
    cleanups.push(service.stop)
    const db = openPool({ connectionString, connectionsMax: 1, onError: () => {} })
    cleanups.push(async () => await db.pool.end())
    expect(await db.query(sql`select current_setting('statement_timeout') as max`)).toEqual([{ max: '1min' }])
    const { id, uri } = await charge(service)
    await payAt(service, uri)
    await service.runJob('transactions.poll')
    await eventually(async () => (await fetchRefundable(service, id)).status === 'PAID')
  })

  it('refuses transaction mode', async () => {
    const connectionString = await startPgBouncer('pool_mode = transaction', 'default_pool_size = 20')
    const environment = { DATABASE_WAIT_SECONDS: '2' }
    await expect(startTestService({ database: { db: database.db, connectionString }, environment })).rejects.toThrow(
      /pool_mode = transaction.*Set pool_mode = session/,
    )
  })

  it('refuses fewer connections than it may need', async () => {
    const connectionString = await startPgBouncer('pool_mode = session', 'default_pool_size = 3')
    const environment = { DATABASE_WAIT_SECONDS: '2' }
    await expect(startTestService({ database: { db: database.db, connectionString }, environment })).rejects.toThrow(
      /fewer than 4 connections.*default_pool_size/,
    )
  })
})
