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

async function testServer() {
  return await createServer({
    log: pino({ level: 'silent' }),
    registry: new Registry(),
    trustedProxies: [],
    checkWebhookUrl: () => null,
    hashPerson: () => 'hash',
  })
}

it('starts with routes that declare who may call them', async () => {
  const app = await testServer()
  app.get('/open', { config: { access: { public: true } } }, async () => 'yes')
  app.get('/scoped', { config: { access: { scope: 'a' } } }, async () => 'yes')
  await app.ready()
  expect((await app.inject('/open')).statusCode).toBe(200)
  await app.close()
})

it('does not start with a route that says nothing of who may call it, wherever that was registered', async () => {
  const open = await testServer()
  open.get('/forgotten', async () => 'no')
  await expect(open.ready()).rejects.toThrow('route GET /forgotten declares who may call it')

  const nested = await testServer()
  await nested.register(async (scoped) => {
    scoped.post('/deep', { config: {} }, async () => 'no')
  })
  await expect(nested.ready()).rejects.toThrow('route POST /deep declares who may call it')
})

it('stops although a reader of an export has paused, who sees that the end is missing', async () => {
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

it('stops although a connection was opened that nothing is said on, and answers what was asked before', async () => {
  const app = await testServer()
  let arrive = () => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  let isCut: Promise<unknown> = Promise.resolve()
  app.get('/slow', { config: { access: { public: true } } }, async () => {
    arrive()
    await isCut
    return 'answered'
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const silent = connect((app.server.address() as AddressInfo).port, '127.0.0.1').resume()
  await once(silent, 'connect')
  isCut = once(silent, 'close')

  const response = once(get(`${app.listeningOrigin}/slow`), 'response')
  await arrived
  const closed = app.close()
  const [answer] = await response
  expect(String(await answer.toArray())).toBe('answered')
  await closed
})

it.each([
  { metricsToken: null, isPublic: false, sent: undefined, status: 200 },
  { metricsToken: null, isPublic: true, sent: undefined, status: 401 },
  { metricsToken: null, isPublic: true, sent: 'Bearer null', status: 401 },
  { metricsToken: 'a-metrics-token', isPublic: true, sent: 'Bearer a-metrics-token', status: 200 },
  { metricsToken: 'a-metrics-token', isPublic: false, sent: undefined, status: 401 },
])('opens /metrics to nobody without a token where others reach it: %o', async (given) => {
  const app = await testServer()
  app.addSchema({ $id: 'Problem', ...ProblemView })
  let readings = 0
  const readMetrics = async () => {
    readings += 1
    return `readings ${readings}`
  }
  const { metricsToken, isPublic, sent, status } = given
  registerHealthRoutes(app, {
    contentType: 'text/plain',
    readMetrics,
    metricsToken,
    isPublic,
    checkReady: async () => {},
  })
  const ask = async () => await app.inject({ url: '/metrics', headers: sent ? { authorization: sent } : {} })
  const answers = await Promise.all([ask(), ask(), ask()])
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([status, status, status])
  // Where others reach it, those who come at once share one reading.
  expect(readings).toBe(status === 401 ? 0 : isPublic ? 1 : 3)
  await app.close()
})
