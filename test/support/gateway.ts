import { Registry } from 'prom-client'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import type { Acquirer } from '../../src/acquirers/acquirer.ts'
import { createBacenAcquirer } from '../../src/acquirers/bacen/adapter.ts'
import type { HttpRequest, HttpResponse } from '../../src/acquirers/bacen/http.ts'
import { createBreaker } from '../../src/acquirers/breaker.ts'
import { dialects } from '../../src/acquirers/dialects.ts'
import { type Acquirers, createRegistry } from '../../src/acquirers/registry.ts'
import type { RouteSettings } from '../../src/acquirers/routes.ts'
import { createApp } from '../../src/app.ts'
import { scopes } from '../../src/auth/scopes.ts'
import { callbackPath } from '../../src/callbacks/path.ts'
import { readConfig } from '../../src/config.ts'
import { type Db, sql } from '../../src/db/sql.ts'
import { createInstance } from '../../src/jobs/instances.ts'
import { parseSecretKey, type SecretKey } from '../../src/lib/secrets.ts'
import { createMerchant } from '../../src/merchant.ts'
import { toTxid } from '../../src/pix/ids.ts'
import { startWorker } from '../../src/worker.ts'
import type { ManualClock } from './clock.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { createTestLog } from './logged-errors.ts'
import type { Transaction } from './payments.ts'
import { type TestSimulator, testSimulator } from './simulator.ts'
import { eventually, runJobToEnd } from './webhooks.ts'

/**
 * How a PSP answers. well: as it should; lost: it carries out the request, but answers 503; down: it does nothing and
 * answers 503; silent: it does nothing and never answers; refuses: it does nothing and answers 422.
 */
export type Behaviour = 'well' | 'lost' | 'down' | 'silent' | 'refuses'

/** A separate PSP, on a separate database. */
export type Psp = {
  name: string
  bank: TestSimulator
  acquirer: Acquirer
  /** Decides for each request. */
  behaviour: (request: HttpRequest) => Behaviour
  /** Every request except those for tokens, such as `PUT /cob/…`. */
  requests: string[]
  /** Pays the PSP's charge of a transaction, and returns the content of its callback. */
  pay(transactionId: string): Promise<{ endToEndId: string; txid: string }>
  /** How many payouts it has made. */
  countPayouts(): Promise<number>
  close(): Promise<void>
}

const unavailable: HttpResponse = { status: 503, headers: {}, body: '' }

/** The circuit breaker is off by default, so that the outcome of one request does not affect the next. */
export async function openPsp(
  name: string,
  clock: ManualClock,
  {
    hasBreaker = false,
    hasPayouts = true,
    payoutApi = 'efi',
  }: { hasBreaker?: boolean; hasPayouts?: boolean; payoutApi?: 'efi' | 'inter' | 'sicoob' } = {},
): Promise<Psp> {
  const database = await createTestDatabase()
  const { payout, payoutWebhook } = dialects[payoutApi].profile.paths
  const bank = await testSimulator(database.db.pool, { clock, dialect: { payouts: payoutApi } })
  const psp: Psp = {
    name,
    bank,
    behaviour: () => 'well',
    requests: [],
    acquirer: createBacenAcquirer({
      name,
      send: async (request) => await send(request),
      credentials: simulatorCredentials,
      chave: receiverKey,
      receiver: { ...receiverAccount, name },
      isRemote: true,
      // Longer than the gateway’s own limits, so that only these end a wait.
      timeoutMs: 120_000,
      clock,
      profile: {
        offers: { payouts: hasPayouts, disputes: true, defences: true },
        payoutApi,
        paths: { payout, payoutWebhook },
      },
      ...(hasBreaker && { breaker: createBreaker({ name, log: { info() {}, warn() {} } }) }),
    }),
    async pay(transactionId) {
      const found = await bank.request('GET', `/cob/${toTxid(transactionId)}`)
      const outcome = await bank.pay({ uri: String(found.body.pixCopiaECola) })
      if (!outcome.ok) throw new Error(`Not paid: ${outcome.code}`)
      const { body } = await bank.request('GET', `/pix/${outcome.endToEndId}`)
      return body as { endToEndId: string; txid: string }
    },
    countPayouts: async () => (await database.db.query(sql`select from simulator.payouts`)).length,
    async close() {
      await bank.close()
      await database.drop()
    },
  }
  async function send(request: HttpRequest): Promise<HttpResponse> {
    if (request.path === '/oauth/token') return await bank.handle(request)
    psp.requests.push(`${request.method} ${request.path}`)
    const behaviour = psp.behaviour(request)
    if (behaviour === 'silent') return await new Promise<never>(() => {})
    if (behaviour === 'refuses') return { status: 422, headers: {}, body: JSON.stringify({ title: 'Não.' }) }
    const answer = behaviour === 'down' ? unavailable : await bank.handle(request)
    return behaviour === 'lost' ? unavailable : answer
  }
  return psp
}

/** Sets how the PSP answers requests like `PUT /cob`. All others are answered normally. */
export function setBehaviour(psp: Psp, behaviour: Behaviour, what = ''): void {
  psp.behaviour = ({ method, path }) => (`${method} ${path}`.startsWith(what) ? behaviour : 'well')
}

export type Created = { id: string; code?: string; transactionId?: string; pixResponse?: { uri: string } }

export type Gateway = {
  db: Db
  clock: ManualClock
  acquirers: Acquirers
  client: { clientId: string; clientSecret: string }
  database: TestDatabase
  call<Body = Record<string, unknown>>(path: string, body?: object): Promise<{ status: number; body: Body }>
  /** Creates a transaction of 10 reais by default. */
  create(more?: object): Promise<{ status: number; body: Created }>
  get(id: string): Promise<Transaction & { acquirer: string }>
  until(id: string, status: string): Promise<void>
  /** The acquirers that were asked for its charge, starting with the one whose code it has or that holds the money. */
  acquirersOf(id: string): Promise<string[]>
  available(): Promise<number>
  /** Posts a callback of this PSP. */
  sendCallback(psp: Psp, ...payments: object[]): Promise<number>
  /** Posts any body to the callback URL of this PSP, with a suffix. */
  post(psp: Psp, suffix: string, body: object): Promise<number>
  /** Runs a job of the worker now, and waits for its end. */
  runJob(name: string): Promise<void>
  /** Stops, but keeps the database, for a gateway that is opened with this one as `successorOf`. */
  end(): Promise<void>
  stop(): Promise<void>
}

type Options = {
  clock: ManualClock
  routes?: RouteSettings[]
  /** Continues with its database and its merchant. */
  successorOf?: Gateway
  /** Another service on its database, with another merchant. */
  beside?: Gateway
}

/** The whole gateway, with these PSPs as its acquirers: its API without a socket, its worker, a real PostgreSQL. */
export async function openGateway(psps: Psp[], { clock, routes = [], successorOf, beside }: Options): Promise<Gateway> {
  const database = (successorOf ?? beside)?.database ?? (await createTestDatabase())
  const { db } = database
  // The same key each time, like the client's ids, so that values derived from them are the same too.
  const key = parseSecretKey('A'.repeat(43))
  if (!key) throw new Error('this is a key')
  const acquirers = createRegistry(
    psps.map(({ acquirer }) => acquirer),
    routes,
  )
  const log = createTestLog()
  const config = readConfig({
    RATE_LIMIT_CREATE: '0',
    RATE_LIMIT_TOKEN: '0',
    RATE_LIMIT_READ: '0',
    TOKEN_LIFETIME_SECONDS: '86400',
  })
  const baseUrl = 'http://127.0.0.1:3000'
  const deps = {
    config,
    db,
    reads: db,
    instance: await createInstance(db),
    clock,
    key,
    log,
    acquirers,
    registry: new Registry(),
    baseUrl,
    version: '0',
    shared: null,
    sandbox: null,
  }
  const worker = await startWorker({
    ...deps,
    webhookAllowPrivate: false,
    retention: config.retention,
    attributionThreshold: config.attributionThreshold,
    alerts: config.alerts,
    eventSink: null,
  })
  const app = await createApp({
    ...deps,
    deliveries: worker.deliveries,
    workOn: worker.workOn,
    timedJobs: () => worker.timedJobs,
  })
  const client = successorOf?.client ?? (await addClient(database, { clock, key }, beside ? 'another-shop' : 'a-shop'))
  const token = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({
      client_id: client.clientId,
      client_secret: client.clientSecret,
      grant_type: 'client_credentials',
    }).toString(),
  })
  const headers = { authorization: `Bearer ${token.json<{ access_token: string }>().access_token}` }
  async function call<Body>(path: string, body?: object) {
    const method = body ? 'POST' : 'GET'
    const answer = await app.inject({ method, url: path, headers, ...(body && { payload: body }) })
    return { status: answer.statusCode, body: answer.json<Body>() }
  }
  const get = async (id: string) => (await call<Transaction & { acquirer: string }>(`/transaction/${id}`)).body
  return {
    db,
    clock,
    acquirers,
    client,
    call,
    create: async (more) =>
      await call<Created>('/transaction', { amount: 1000, paymentMethod: 'PIX', pix: {}, ...more }),
    get,
    async until(id, status) {
      await eventually(
        async () => (await get(id)).status === status,
        () => `${id} is not ${status}`,
      )
    },
    async acquirersOf(id) {
      const [row] = await db.query<{ acquirer: string; other_acquirers: string[] }>(sql`
        select acquirer, other_acquirers from transactions where id = ${id}`)
      return row ? [row.acquirer, ...row.other_acquirers] : []
    },
    available: async () => (await call<{ available: number }>('/balance')).body.available,
    async sendCallback(psp, ...payments) {
      const url = callbackPath(key, psp.name)
      return (await app.inject({ method: 'POST', url, payload: { pix: payments } })).statusCode
    },
    post: async (psp, suffix, payload) =>
      (await app.inject({ method: 'POST', url: callbackPath(key, psp.name) + suffix, payload })).statusCode,
    database,
    runJob: async (name) => await runJobToEnd(db, name),
    end,
    async stop() {
      await end()
      await database.drop()
    },
  }

  async function end(): Promise<void> {
    await worker.stop()
    await app.close()
  }
}

const merchantIds = {
  'a-shop': '0b6a3a52-8d0c-4a55-9d0b-6f3f3f0f7a11',
  'another-shop': '1c7b4b63-9e1d-4b66-8e1c-7a4a4a1a8b22',
}

async function addClient(
  { db }: TestDatabase,
  deps: { clock: ManualClock; key: SecretKey },
  clientId: keyof typeof merchantIds,
) {
  const input = { name: 'A shop', scopes: [...scopes], clientId, merchantId: merchantIds[clientId] }
  return await db.transaction(async (tx) => await createMerchant(tx, deps, input))
}
