import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, open, readFile, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { scopes } from '../src/auth/scopes.ts'
import { loadSecretKey } from '../src/auth/secret-key.ts'
import { attachEmbeddedPostgres } from '../src/db/embedded.ts'
import { packageFolder } from '../src/db/migrate.ts'
import { connect, type Db } from '../src/db/sql.ts'
import { systemClock } from '../src/lib/clock.ts'
import { countCores, processesFor } from '../src/lib/cores.ts'
import { createMerchant } from '../src/merchant.ts'
import { findFreePort } from '../src/port.ts'
import { cpuOfProcessTree, endWithUs, usageOfProcessTrees } from './processes.ts'
import type { Seeded } from './seed/seed.ts'

/**
 * Guichê as in production: a separate process, its own PostgreSQL, all features on, and limits that are never reached.
 */
export type Service = {
  pid: number
  port: number
  dataDir: string
  connectionString: string
  /** The postmaster. */
  postgresPid: number
  db: Db
  child: ChildProcess
  /** From the start of the process until /health/ready answers. */
  startMs: number
  emptyLog(): Promise<void>
  /** `startService` with the same data folder starts it again. */
  stop(): Promise<void>
}

const readyMaxMs = 60_000

const dataDirs = new Set<string>()
// Tens of gigabytes may be left after a bench that ends early.
process.once('exit', () => {
  for (const dataDir of dataDirs) process.stderr.write(`${dataDir} is left behind\n`)
})

export async function makeDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'guiche-bench-'))
  dataDirs.add(dataDir)
  return dataDir
}

export async function removeDataDir(dataDir: string): Promise<void> {
  // PostgreSQL may still be writing.
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  dataDirs.delete(dataDir)
}

/** Fills the database of a new folder, in a process of its own. */
export async function seedFolder(
  dataDir: string,
  { transactions, say }: { transactions: number; say: (line: string) => void },
): Promise<Seeded> {
  say(`filling a database with ${transactions.toLocaleString('en')} transactions`)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'seed/main.js'), '--transactions', String(transactions)],
    { cwd: dataDir, env: { PATH: process.env.PATH, DATA_DIR: dataDir } },
  )
  const seeded: Seeded = JSON.parse(stdout)
  say(`filled in ${seeded.seconds} s`)
  return seeded
}

/** As many as a service with real acquirers starts on this machine. */
export const processesDefault = processesFor(countCores())

export async function startService(options: {
  dataDir: string
  /** One by default, as with `npm start`. */
  processes?: number
  environment?: Record<string, string>
  execArgv?: string[]
}): Promise<Service> {
  const { dataDir } = options
  const port = await findFreePort('127.0.0.1')
  const logFile = join(dataDir, 'guiche.log')
  const log = await open(logFile, 'a')
  const startedAt = performance.now()
  const args = [...startFlags(), ...(options.execArgv ?? []), join(import.meta.dirname, '../src/main.js')]
  const child = spawn(process.execPath, args, {
    // In a folder without a .env file.
    cwd: dataDir,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      DATA_DIR: dataDir,
      PORT: String(port),
      PROCESSES: String(options.processes ?? 1),
      LOG_LEVEL: 'info',
      LOG_FORMAT: 'json',
      // It counts every request and refuses none.
      RATE_LIMIT_CREATE: '1000000',
      RATE_LIMIT_TOKEN: '1000000',
      RATE_LIMIT_READ: '1000000',
      CONNECTIONS_PER_ADDRESS: '0',
      TOKEN_LIFETIME_SECONDS: '86400',
      ...options.environment,
    },
    stdio: ['ignore', log.fd, log.fd, 'ipc'],
  })
  endWithUs(child)
  await log.close()
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await untilReady(child, port, logFile).catch(async (error: unknown) => {
    // The caller removes its data folder.
    child.kill()
    await ended
    throw error
  })
  const startMs = performance.now() - startedAt
  const server = await attachEmbeddedPostgres({ dataDir })
  if (server === null) throw new Error('the PostgreSQL that the service started is not there')
  const db = connect({ connectionString: server.connectionString, connectionsMax: 4, onError: () => {} })
  return {
    pid: child.pid ?? 0,
    port,
    dataDir,
    connectionString: server.connectionString,
    postgresPid: Number((await readFile(`${dataDir}/postgres/postmaster.pid`, 'utf8')).split('\n')[0]),
    db,
    child,
    startMs,
    emptyLog: async () => await truncate(logFile, 0),
    stop: async () => {
      await db.pool.end()
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Guichê as `npm start` runs it: one fresh process with its own PostgreSQL. */
export async function startSingle(merchantsCount: number) {
  const dataDir = await makeDataDir()
  const service = await startService({ dataDir })
  return {
    service,
    merchants: await addMerchants(service, merchantsCount),
    async close() {
      await service.stop()
      await removeDataDir(dataDir)
    },
  }
}

const quietSeconds = 3
/** In cores. An idle service checks for work from time to time. */
const quietShare = 0.05
const quietMaxSeconds = 900

/** Resolves when PostgreSQL is idle: a freshly started service verifies its ledger, and autovacuum may run. */
export async function untilQuiet({ postgresPid }: Service): Promise<void> {
  const giveUpAt = performance.now() + quietMaxSeconds * 1000
  for (let quiet = 0; quiet < quietSeconds && performance.now() < giveUpAt; ) {
    const before = cpuOfProcessTree(postgresPid)
    await sleep(1000)
    quiet = cpuOfProcessTree(postgresPid) - before < quietShare * 1e6 ? quiet + 1 : 0
  }
}

/** The processor time of Guichê and its PostgreSQL, and Guichê's memory. Zeros if not available. */
export function usageOfService({ pid, postgresPid }: Service) {
  const nothing = { cpuMicros: 0, residentBytes: 0 }
  const [all = nothing, postgres = nothing] = usageOfProcessTrees(pid, postgresPid)
  return {
    // PostgreSQL is a child of it.
    guicheMicros: all.cpuMicros - postgres.cpuMicros,
    postgresMicros: postgres.cpuMicros,
    residentBytes: all.residentBytes - postgres.residentBytes,
  }
}

/** The options that `npm start` passes to Node.js. */
function startFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8'))
  return String(scripts.start)
    .split(' ')
    .filter((word) => word.startsWith('--'))
}

async function untilReady(child: ChildProcess, port: number, logFile: string): Promise<void> {
  const giveUpAt = performance.now() + readyMaxMs
  while (child.exitCode === null && performance.now() < giveUpAt) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null)
    await answer?.body?.cancel()
    if (answer?.ok) return
    await sleep(2)
  }
  throw new Error(`Guichê did not start:\n${(await readFile(logFile, 'utf8')).slice(-2000)}`)
}

export type Merchant = { merchantId: string; clientId: string; clientSecret: string; token: string }

/** Creates merchants, each with its own token. */
export async function addMerchants(service: Service, count: number): Promise<Merchant[]> {
  const { key } = await loadSecretKey(service.db, null)
  const merchants: Merchant[] = []
  for (let index = 0; index < count; index += 1) {
    const client = await service.db.transaction(
      async (tx) =>
        await createMerchant(tx, { clock: systemClock, key }, { name: `Shop ${index}`, scopes: [...scopes] }),
    )
    merchants.push({ ...client, token: await fetchToken(service.port, client) })
  }
  return merchants
}

export async function fetchToken(port: number, client: { clientId: string; clientSecret: string }): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/auth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    }),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  return token
}
