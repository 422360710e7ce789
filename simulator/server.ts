import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type HttpRequest, type HttpResponse, problem } from './http.ts'
import type { Simulator } from './simulator.ts'

// The largest body that means anything here is a charge with all its texts.
const bodyBytesMax = 64 * 1024

/** Serves a simulator over HTTP: for a gateway that shall reach it as it reaches a real PSP. */
export async function startSimulatorServer(options: {
  simulator: Pick<Simulator, 'handle'>
  host: string
  port: number
}): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer({ requestTimeout: 15_000, headersTimeout: 10_000 }, (incoming, outgoing) => {
    void serve(options.simulator, incoming, outgoing)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, () => resolve())
  })
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : options.port
  return {
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function serve(simulator: Pick<Simulator, 'handle'>, incoming: IncomingMessage, outgoing: ServerResponse) {
  const body = await readBody(incoming).catch(() => null)
  const answer =
    body === null
      ? { ...problem('RequisicaoInvalida', 'O corpo é grande demais ou incompleto.'), status: 413 }
      : await simulator.handle(toRequest(incoming, body))
  send(outgoing, answer)
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming) {
    length += chunk.length
    if (length > bodyBytesMax) throw new Error('The body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function toRequest(incoming: IncomingMessage, body: string): HttpRequest {
  const [path = '/', search = ''] = (incoming.url ?? '/').split('?', 2)
  const headers = Object.entries(incoming.headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ])
  return {
    method: incoming.method ?? 'GET',
    path,
    query: Object.fromEntries(new URLSearchParams(search)),
    headers: Object.fromEntries(headers),
    body: body === '' ? undefined : body,
  }
}

function send(outgoing: ServerResponse, answer: HttpResponse) {
  if (outgoing.destroyed) return
  outgoing.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) })
  outgoing.end(answer.body)
}
