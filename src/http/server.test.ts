import { once } from 'node:events'
import { get } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { sendCsv } from './csv.ts'
import { registerHealthRoutes } from './health.ts'
import { ProblemView } from './schemas.ts'
import { createServer } from './server.ts'

async function testServer({ connectionsPerHostMax = 0 } = {}) {
  return await createServer({
    log: pino({ level: 'silent' }),
    registry: new Registry(),
    trustedProxies: [],
    connectionsPerHostMax,
    checkWebhookUrl: () => null,
    errorPage: 'https://pix.example.com/guide/errors.html',
    hashPerson: () => 'hash',
  })
}

it('starts when all routes declare who may call them', async () => {
  const app = await testServer()
  app.get('/open', { config: { access: { public: true } } }, async () => 'yes')
  app.get('/scoped', { config: { access: { scope: 'a' } } }, async () => 'yes')
  await app.ready()
  expect((await app.inject('/open')).statusCode).toBe(200)
  await app.close()
})

it('does not start when a route does not declare who may call it, wherever it was registered', async () => {
  const open = await testServer()
  open.get('/forgotten', async () => 'no')
  await expect(open.ready()).rejects.toThrow('route GET /forgotten declares who may call it')

  const nested = await testServer()
  await nested.register(async (scoped) => {
    scoped.post('/deep', { config: {} }, async () => 'no')
  })
  await expect(nested.ready()).rejects.toThrow('route POST /deep declares who may call it')
})

it('stops although the client of an export has paused, and that client sees that the end is missing', async () => {
  const app = await testServer()
  let ended = false
  app.get('/export', { config: { access: { public: true } } }, async (_, reply) => sendCsv(reply, 'endless', endless()))
  async function* endless(): AsyncGenerator<string> {
    try {
      for (;;) yield 'x'.repeat(100_000)
    } finally {
      ended = true
    }
  }
  await app.listen({ port: 0, host: '127.0.0.1' })
  const [answer] = await once(get(`${app.listeningOrigin}/export`), 'response')
  answer.pause()

  await app.close()
  expect(ended).toBe(true)
  await expect(answer.resume().toArray()).rejects.toThrow('aborted')
})

it('stops although an idle connection is open, and answers requests that came before', async () => {
  const app = await testServer()
  let arrive = () => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  let idleConnectionClosed: Promise<unknown> = Promise.resolve()
  app.get('/slow', { config: { access: { public: true } } }, async () => {
    arrive()
    await idleConnectionClosed
    return 'answered'
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const silent = connect((app.server.address() as AddressInfo).port, '127.0.0.1').resume()
  await once(silent, 'connect')
  idleConnectionClosed = once(silent, 'close')

  const response = once(get(`${app.listeningOrigin}/slow`), 'response')
  await arrived
  const closed = app.close()
  const [answer] = await response
  expect(String(await answer.toArray())).toBe('answered')
  await closed
})

it('answers bytes that are not HTTP with a problem, but never in the middle of a response', async () => {
  const app = await testServer()
  app.get('/export', { config: { access: { public: true } } }, async (_, reply) => sendCsv(reply, 'begun', begun()))
  async function* begun(): AsyncGenerator<string> {
    yield 'first,row'
    await new Promise(() => {})
  }
  await app.listen({ port: 0, host: '127.0.0.1' })
  const open = () => connect((app.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
  const idle = open()
  idle.write('not HTTP\r\n\r\n')
  expect(String(await once(idle, 'data'))).toMatch(/^HTTP\/1.1 400.*"code":"bad_request"/s)

  const reading = open()
  let received = ''
  reading.on('data', (text) => {
    received += text
  })
  reading.write('GET /export HTTP/1.1\r\nhost: localhost\r\n\r\n')
  while (!received.includes('first,row')) await once(reading, 'data')
  reading.write('not HTTP\r\n\r\n')
  await once(reading, 'close')
  expect(received.match(/HTTP\/1.1/g)).toEqual(['HTTP/1.1'])
  await app.close()
})

it('answers a request that arrives on an idle connection just after the stop began, and then closes it', async () => {
  const app = await testServer()
  app.get('/now', { config: { access: { public: true } } }, () => 'answered')
  await app.listen({ port: 0, host: '127.0.0.1' })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
  const send = () => socket.write('GET /now HTTP/1.1\r\nhost: localhost\r\n\r\n')
  send()
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1.1 200.*connection: keep-alive.*answered$/is)
  const closed = app.close()
  setImmediate(() => setImmediate(send))
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1.1 200.*connection: close.*answered$/is)
  await closed
})

it.each([
  { metricsToken: null, isPublic: false, sent: undefined, status: 200 },
  { metricsToken: null, isPublic: true, sent: undefined, status: 401 },
  { metricsToken: null, isPublic: true, sent: 'Bearer null', status: 401 },
  { metricsToken: 'a-metrics-token', isPublic: true, sent: 'Bearer a-metrics-token', status: 200 },
  { metricsToken: 'a-metrics-token', isPublic: false, sent: undefined, status: 401 },
])('serves /metrics without a token only on a private service that has none: %o', async (given) => {
  const app = await testServer()
  app.addSchema({ $id: 'Problem', ...ProblemView })
  let collections = 0
  const readMetrics = async () => {
    collections += 1
    return `collections ${collections}`
  }
  const { metricsToken, isPublic, sent, status } = given
  registerHealthRoutes(app, {
    contentType: 'text/plain',
    readMetrics,
    metricsToken,
    isPublic,
    isStopping: () => false,
    checkReady: async () => {},
  })
  const send = async () => await app.inject({ url: '/metrics', headers: sent ? { authorization: sent } : {} })
  const answers = await Promise.all([send(), send(), send()])
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([status, status, status])
  // On a public service, concurrent requests share one collection of the metrics.
  expect(collections).toBe(status === 401 ? 0 : isPublic ? 1 : 3)
  await app.close()
})

it('runs at most two exports of one caller, until one of them is closed', async () => {
  const app = await testServer()
  app.get('/export', { config: { access: { public: true } } }, async (_, reply) => sendCsv(reply, 'endless', endless()))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const send = async () => {
    const request = get(`${app.listeningOrigin}/export`)
    const [answer] = await once(request, 'response')
    answer.on('error', () => {})
    return { request, answer: answer.pause() }
  }
  const [first, second] = [await send(), await send()]
  const refused = await send()
  expect([refused.answer.statusCode, refused.answer.headers['retry-after']]).toEqual([429, '5'])
  expect(JSON.parse(String(await refused.answer.toArray())).code).toBe('rate_limited')
  // A HEAD request does not count.
  expect((await fetch(`${app.listeningOrigin}/export`, { method: 'HEAD' })).status).toBe(200)
  first.request.destroy()
  await expect.poll(async () => (await send()).answer.statusCode).toBe(200)
  second.request.destroy()
  await app.close()
})

it('aborts an export whose client reads nothing', async () => {
  const app = await testServer()
  let ended = false
  async function* lines(): AsyncGenerator<string> {
    try {
      yield* endless()
    } finally {
      ended = true
    }
  }
  app.get('/export', { config: { access: { public: true } } }, async (_, reply) =>
    sendCsv(reply, 'endless', lines(), { idleMs: 50 }),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const [answer] = await once(get(`${app.listeningOrigin}/export`), 'response')
  answer.pause()
  await expect.poll(() => ended).toBe(true)
  await expect(answer.resume().toArray()).rejects.toThrow('aborted')
  await app.close()
})

async function* endless(): AsyncGenerator<string> {
  for (;;) yield 'x'.repeat(100_000)
}

it('limits the connections of one host, and accepts those of other hosts', async () => {
  const app = await testServer({ connectionsPerHostMax: 3 })
  app.get('/open', { config: { access: { public: true } } }, async () => 'yes')
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const open = async (localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {})
    await once(socket, 'connect')
    socket.write('GET /open HTTP/1.1\r\nHost: x\r\n\r\n')
    const [answer] = await once(socket, 'data')
    return { socket, status: String(answer).slice(9, 12) }
  }
  const opened = [await open('127.0.0.2'), await open('127.0.0.2'), await open('127.0.0.2')]
  expect(opened.map(({ status }) => status)).toEqual(['200', '200', '200'])
  expect((await open('127.0.0.2')).status).toBe('429')
  expect((await open('127.0.0.3')).status).toBe('200')
  opened[0]?.socket.destroy()
  await expect.poll(async () => (await open('127.0.0.2')).status).toBe('200')
  await app.close()
})
