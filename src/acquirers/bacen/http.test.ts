import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, it } from 'vitest'
import { createHttpSend, type HttpRequest, type Send } from './http.ts'

let server: Server | undefined
let close: (() => Promise<void>) | undefined
afterEach(async () => {
  await close?.()
  server?.closeAllConnections()
  server?.close()
})

type Listener = (incoming: IncomingMessage, answer: ServerResponse) => void | Promise<void>

async function open(listener: Listener, timeoutMs: number): Promise<Send> {
  const listening = createServer((incoming, answer) => void listener(incoming, answer))
  server = listening
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  const address = listening.address()
  const http = createHttpSend({
    baseUrl: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/base/`,
    timeoutMs,
  })
  close = http.close
  return http.send
}

const request: HttpRequest = { method: 'PUT', path: '/cob/a%20b', query: { 'a b': 'ç&' }, headers: {}, body: '{"a":1}' }

it('sends the whole request and returns the whole answer, also after an interim one and in parts', async () => {
  const bytes = Buffer.from('\ufeff{"said":"é"}')
  const cut = bytes.indexOf(0xc3) + 1
  const send = await open(async (incoming, answer) => {
    const body: Buffer[] = await incoming.toArray()
    answer.writeProcessing()
    answer.writeHead(201, { 'set-cookie': ['a', 'b'], 'X-Asked': `${incoming.method} ${incoming.url} ${body}` })
    answer.write(bytes.subarray(0, cut), () => setImmediate(() => answer.end(bytes.subarray(cut))))
  }, 5000)
  const { status, headers, body } = await send(request)
  expect(status).toBe(201)
  expect(headers).toMatchObject({ 'set-cookie': 'a, b', 'x-asked': 'PUT /base/cob/a%20b?a+b=%C3%A7%26 {"a":1}' })
  // The byte order mark is not part of the text.
  expect(body).toBe('{"said":"é"}')
})

it('requests an answer that is not compressed', async () => {
  const send = await open((incoming, answer) => {
    // Without Accept-Encoding a server may choose any encoding.
    if (incoming.headers['accept-encoding'] === 'identity') answer.end('{}')
    else answer.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{}'))
  }, 5000)
  expect(await send(request)).toMatchObject({ status: 200, body: '{}' })
})

it.each([
  ['its own', 1000, null],
  ['the request’s', 60_000, 1000],
])('breaks the connection when %s time is up', async (_, timeoutMs, leftMs) => {
  let broken = () => {}
  const isBroken = new Promise<void>((resolve) => {
    broken = resolve
  })
  const send = await open((incoming, answer) => {
    incoming.socket.on('close', broken)
    answer.write('{')
  }, timeoutMs)
  const endsAt = leftMs === null ? {} : { endsAt: performance.now() + leftMs }
  await expect(send({ ...request, ...endsAt })).rejects.toMatchObject({ name: 'TimeoutError' })
  await isBroken
})
