import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SignJWT } from 'jose'
import { asAdministrator } from '../src/db/embedded.ts'
import { packageFolder } from '../src/db/migrate.ts'
import { connect, raw } from '../src/db/sql.ts'
import { findFreePort } from '../src/port.ts'
import { endWithUs } from './processes.ts'
import type { Service } from './service.ts'

/** A server for comparison, in a separate process. */
export type Server = { name: string; pid: number; port: number; token: string; stop(): Promise<void> }

const readyMaxMs = 60_000

export function startHello(): Promise<Server> {
  return startServer('Fastify alone', [join(import.meta.dirname, 'hello.js')], '', {})
}

/** Competitors are not part of this package: they are installed at the first use, from their own lockfiles. */
export async function startPeer(
  service: Service,
  peer: 'express' | 'nest',
  say: (text: string) => void,
): Promise<Server> {
  const folder = join(packageFolder(), 'bench/peers', peer)
  const npm = (...args: string[]) => execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  if (!existsSync(join(folder, 'node_modules'))) {
    say(`installing the peer ${peer}`)
    npm('ci', '--no-audit', '--no-fund')
  }
  if (peer === 'nest') npm('run', '--silent', 'build')

  const database = `bench_${peer}`
  const host = await createDatabase(service, database, readFileSync(join(folder, '../schema.sql'), 'utf8'))
  const secret = 'a secret of at least thirty-two bytes, for both'
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject('7d0c5a4e-3d3c-4f7e-9c36-0d7c5a0a2f11')
    .setExpirationTime('1d')
    .sign(Buffer.from(secret))
  const name = peer === 'express' ? 'Express + zod + knex + qrcode' : 'NestJS + class-validator + TypeORM + qrcode'
  return await startServer(name, [join(folder, peer === 'nest' ? 'dist/main.js' : 'server.js')], token, {
    PGHOST: host,
    PGUSER: 'guiche',
    PGDATABASE: database,
    JWT_SECRET: secret,
  })
}

/** A database with that name on the service's PostgreSQL. Returns the folder of its socket. */
export async function createDatabase(service: Service, name: string, schema: string): Promise<string> {
  const server = connect({
    connectionString: asAdministrator(service.connectionString),
    connectionsMax: 1,
    onError: () => {},
  })
  await server.query(raw(`create database ${name} owner guiche`))
  await server.pool.end()
  const url = new URL(service.connectionString)
  url.pathname = name
  const db = connect({ connectionString: url.href, connectionsMax: 1, onError: () => {} })
  // `db.query` is for one statement, and the schema has several.
  await db.pool.query(schema)
  await db.pool.end()
  return url.searchParams.get('host') ?? ''
}

async function startServer(
  name: string,
  args: string[],
  token: string,
  environment: Record<string, string>,
): Promise<Server> {
  const port = await findFreePort('127.0.0.1')
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', PORT: String(port), ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  endWithUs(child)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await untilAnswering(name, child, port)
  return {
    name,
    pid: child.pid ?? 0,
    port,
    token,
    stop: async () => {
      child.kill()
      await ended
    },
  }
}

async function untilAnswering(name: string, child: ChildProcess, port: number): Promise<void> {
  const giveUpAt = performance.now() + readyMaxMs
  while (child.exitCode === null && performance.now() < giveUpAt) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => null)
    await answer?.body?.cancel()
    if (answer) return
    await sleep(20)
  }
  throw new Error(`${name} did not start`)
}
