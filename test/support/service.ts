import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import type { Db } from '../../src/db/sql.ts'
import type { SandboxFile } from '../../src/sandbox-client.ts'
import { startService } from '../../src/service.ts'
import { type ManualClock, manualClock } from './clock.ts'
import './check-response-schemas.ts'
import { createTestDatabase } from './database.ts'
import { makeDatabaseFolder } from './database-folder.ts'
import { createTestLog } from './logged-errors.ts'
import { runJobToEnd } from './webhooks.ts'

export type Answer<Body = Record<string, unknown>> = { status: number; headers: Headers; text: string; body: Body }

type Call = {
  method?: string
  headers?: Record<string, string>
  body?: unknown
  rawBody?: string | Uint8Array<ArrayBuffer>
  token?: string | null
}

export type TestService = {
  baseUrl: string
  db: Db
  connectionString: string
  dataDir: string
  clock: ManualClock
  sandbox: SandboxFile
  firstAdminUrl: string | null
  /** An access token of the sandbox client. */
  token: string
  /**
   * Sends a request with the sandbox client's token, another one, or none. A `body` is sent as JSON, a `rawBody`
   * unchanged.
   */
  call<Body = Record<string, unknown>>(path: string, call?: Call): Promise<Answer<Body>>
  /** Runs a job of the worker now, as its schedule would, and waits until it has ended. */
  runJob(name: string, timeoutMs?: number): Promise<void>
  stop(): Promise<void>
}

type Options = {
  environment?: Record<string, string>
  clock?: ManualClock
  /** A database that the caller has made, so that two services can share it. It is not dropped at the end. */
  database?: { db: Db; connectionString: string }
  /** Called with each line of the log from level `info` on. */
  onLog?: ((line: Record<string, unknown>) => void) | undefined
}

/**
 * The whole service on a separate database, with a clock that the test moves. Everything is real: HTTP, PostgreSQL,
 * jobs, deliveries.
 */
export async function startTestService(options: Options = {}): Promise<TestService> {
  const clock = options.clock ?? manualClock()
  const own = options.database ? null : await createTestDatabase()
  const { db, connectionString } = options.database ?? own ?? (await createTestDatabase())
  const dataDir = await makeDatabaseFolder('guiche-data-')
  const config = readConfig({
    PORT: '0',
    DATA_DIR: dataDir,
    DATABASE_URL: connectionString,
    // Many services share one PostgreSQL in a test run, and each connection is a process: 40 ms of CPU to start.
    DATABASE_CONNECTIONS_MAX: '4',
    // A busy machine is no outage.
    DATABASE_WAIT_SECONDS: '60',
    STOP_DELAY_SECONDS: '0',
    RATE_LIMIT_CREATE: '0',
    RATE_LIMIT_TOKEN: '0',
    RATE_LIMIT_READ: '0',
    ...options.environment,
  })
  const log = createTestLog(options.onLog)
  const remove = async () => {
    await own?.drop()
    await rm(dataDir, { recursive: true, force: true })
  }
  const service = await startService({ config, clock, log }).catch(async (error: unknown) => {
    await remove()
    throw error
  })
  const sandbox: SandboxFile =
    service.newSandbox ?? JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8').catch(() => '{}'))
  const token = sandbox.clientId ? await fetchToken(service.baseUrl, sandbox) : ''
  return {
    baseUrl: service.baseUrl,
    db,
    connectionString,
    dataDir,
    clock,
    sandbox,
    firstAdminUrl: service.firstAdminUrl,
    token,
    call: async (path, call) => await request(service.baseUrl + path, { token, ...call }),
    runJob: async (name, timeoutMs) => await runJobToEnd(db, name, timeoutMs),
    async stop() {
      await service.stop()
      await remove()
    },
  }
}

export async function fetchToken(baseUrl: string, client: { clientId: string; clientSecret: string }): Promise<string> {
  const answer = await fetch(`${baseUrl}/auth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      client_id: client.clientId,
      client_secret: client.clientSecret,
      grant_type: 'client_credentials',
    }),
  })
  const body = (await answer.json()) as { access_token?: string }
  if (!body.access_token) throw new Error(`No token: ${answer.status} ${JSON.stringify(body)}`)
  return body.access_token
}

async function request<Body>(url: string, { method, headers, body, rawBody, token }: Call): Promise<Answer<Body>> {
  const sent = rawBody ?? (body === undefined ? undefined : JSON.stringify(body))
  const answer = await fetch(url, {
    method: method ?? (sent === undefined ? 'GET' : 'POST'),
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(sent !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(sent !== undefined && { body: sent }),
  })
  const text = await answer.text()
  const isJson = /json/.test(answer.headers.get('content-type') ?? '')
  return { status: answer.status, headers: answer.headers, text, body: isJson && text !== '' ? JSON.parse(text) : text }
}

/** A valid body with only the required fields. */
export function smallestTransaction(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { amount: 1000, paymentMethod: 'PIX', pix: {}, ...more }
}
