import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Db, sql } from '../../src/db/sql.ts'
import { enqueueJob } from '../../src/jobs/jobs.ts'
import { newSecretKey, parseSecretKey, type SecretKey } from '../../src/lib/secrets.ts'
import { enqueueEvents, type NewEvent } from '../../src/webhooks/outbox.ts'
import { createWebhookSecret } from '../../src/webhooks/secrets.ts'

export type Received = { path: string; headers: IncomingHttpHeaders; body: string; event: ReceivedEvent; at: number }
type ReceivedEvent = { id: string; type: string; timestamp: string; data: { id: string; sequence: number } }

export type TestReceiver = {
  url: string
  received: Received[]
  /** The number of requests, including those that were not read to the end. */
  requests(): number
  /** Resolves when this many have been received. Fails after the time limit of {@link eventually}. */
  until(count: number): Promise<void>
  stop(): Promise<void>
}

type Answer = (response: ServerResponse, received: Received) => void

const accept: Answer = (response) => response.writeHead(204).end()

/** A merchant's receiver on the loopback address. The test sets its answers. */
export async function startTestReceiver(answer: Answer = accept): Promise<TestReceiver> {
  const received: Received[] = []
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    response.on('error', () => {})
    // Some tests abort the sender's connection.
    read(request, response).catch(() => response.destroy())
  })
  const read = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString('utf8')
    const one = { path: request.url ?? '', headers: request.headers, body, event: JSON.parse(body), at: Date.now() }
    received.push(one)
    answer(response, one)
  }
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    requests: () => requests,
    until: (count) =>
      eventually(
        () => received.length >= count,
        () => `${received.length} of ${count} were received`,
      ),
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

/** Longer than anything takes on a busy machine: a test that fails here fails for another reason. */
const timeoutDefaultMs = 90_000

/**
 * Waits until a condition is true. A synchronous one is checked every 5 ms, an asynchronous one less and less often.
 */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  describe: () => string = () => 'the condition was never met',
  timeoutMs = timeoutDefaultMs,
): Promise<void> {
  const end = Date.now() + timeoutMs
  for (let pauseMs = 5; ; ) {
    const answer = condition()
    if (await answer) return
    if (Date.now() > end) throw new Error(`Waited ${timeoutMs / 1000} seconds: ${describe()}`)
    await new Promise((done) => setTimeout(done, pauseMs))
    // An asynchronous condition calls the service, which needs the processor for its own work.
    if (answer instanceof Promise) pauseMs = Math.min(pauseMs * 1.4, 250)
  }
}

/** Runs a job of the worker now, as its schedule would, and waits until it has ended. */
export async function runJobToEnd(db: Db, name: string, timeoutMs = timeoutDefaultMs): Promise<void> {
  await enqueueJob(db, { name, payload: {}, key: name })
  await eventually(
    async () => (await db.query(sql`select from jobs where name = ${name}`)).length === 0,
    () => `${name} does not end`,
    timeoutMs,
  )
}

/**
 * Prevents the schedule from running a job until the returned function is called: the schedule finds a queued one, due
 * tomorrow, and adds none.
 */
export async function suspendJob(db: Db, name: string): Promise<() => Promise<void>> {
  const runAt = new Date(Date.now() + 86_400_000)
  const isSuspended = sql`key = ${name} and run_at = ${runAt}`
  await eventually(async () => {
    await enqueueJob(db, { name, payload: {}, key: name, ifQueued: 'keep', runAt })
    return (await db.query(sql`select from jobs where ${isSuspended}`)).length === 1
  })
  return async () => {
    await db.query(sql`delete from jobs where ${isSuspended}`)
  }
}

export function testSecretKey(): SecretKey {
  const key = parseSecretKey(newSecretKey())
  if (!key) throw new Error('a new secret key cannot be parsed')
  return key
}

export type TestMerchant = { merchantId: string; secret: string }

/** Inserts a client with a webhook secret. */
export async function createTestMerchant(db: Db, { key, now }: { key: SecretKey; now: Date }): Promise<TestMerchant> {
  const merchantId = randomUUID()
  await db.query(sql`
    insert into clients (merchant_id, client_id, name, scopes, created_at)
    values (${merchantId}, ${randomBytes(8).toString('hex')}, 'A shop', '{}', ${now})`)
  return { merchantId, secret: await createWebhookSecret(db, { key, merchantId, now }) }
}

/** An event to enqueue: by default the first of a new transaction, without a webhook URL. */
export function testEvent(event: Pick<NewEvent, 'merchantId' | 'occurredAt'> & Partial<NewEvent>): NewEvent {
  return {
    recordType: 'transaction',
    recordId: randomUUID(),
    sequence: 1,
    status: 'PENDING',
    snapshot: null,
    webhookUrl: null,
    ...event,
  }
}

export function commitEvents(db: Db, ...events: NewEvent[]): Promise<void> {
  return db.transaction(async (tx) => enqueueEvents(tx, events))
}
