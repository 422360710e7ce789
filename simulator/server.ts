import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { TLSSocket } from 'node:tls'
import type { Identity } from './certificates.ts'
import { type HttpRequest, type HttpResponse, problem } from './http.ts'
import type { Simulator } from './simulator.ts'

// The largest useful body is a file of a defence: 5 MB in base64.
const bodyBytesMax = 7 * 1024 * 1024

const limits = { requestTimeout: 15_000, headersTimeout: 10_000 }

type Options = {
  simulator: Pick<Simulator, 'handle'>
  host: string
  port: number
  /**
   * Serves over TLS and requires a client certificate of the authority. The locations of charges stay open to anyone.
   */
  tls?: { server: Identity; authority: Pick<Identity, 'certificate'> }
}

/** Serves a simulator over HTTP, for a gateway that reaches it like a real PSP. */
export async function startSimulatorServer(options: Options): Promise<{ url: string; close(): Promise<void> }> {
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    void serve(options.simulator, incoming, outgoing)
  }
  const server = options.tls
    ? createSecureServer({ ...limits, ...toTlsOptions(options.tls) }, listener)
    : createServer(limits, listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, () => resolve())
  })
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : options.port
  return {
    url: `${options.tls ? 'https' : 'http'}://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * The TLS layer accepts a client with no certificate or a wrong one, so that the HTTP server can show everyone the
 * locations of charges.
 */
function toTlsOptions({ server, authority }: NonNullable<Options['tls']>) {
  return {
    cert: server.certificate,
    key: server.key,
    ca: authority.certificate,
    requestCert: true,
    rejectUnauthorized: false,
  }
}

async function serve(simulator: Pick<Simulator, 'handle'>, incoming: IncomingMessage, outgoing: ServerResponse) {
  const reason = whyRefused(incoming)
  if (reason) return refuse(outgoing, reason)
  const body = await readBody(incoming).catch(() => null)
  const answer =
    body === null
      ? { ...problem('RequisicaoInvalida', 'O corpo é grande demais ou incompleto.'), status: 413 }
      : await simulator.handle(toRequest(incoming, body))
  send(outgoing, answer)
}

/** The reason to refuse a request, or null. */
function whyRefused({ socket, url = '' }: IncomingMessage): string | null {
  if (!(socket instanceof TLSSocket) || url.startsWith('/qr/')) return null
  const { valid_to: validTo } = socket.getPeerCertificate()
  // The certificate itself is checked: Node reports a resumed TLS session as authorized even if its first handshake had
  // no client certificate.
  if (!validTo) return 'No required SSL certificate was sent'
  return socket.authorized && new Date(validTo) > new Date() ? null : 'The SSL certificate error'
}

/** Answers like nginx, which most PSPs use in front. */
function refuse(outgoing: ServerResponse, reason: string) {
  const title = `400 ${reason}`
  const body = `<html>\r\n<head><title>${title}</title></head>\r\n<body><center><h1>400 Bad Request</h1></center>\r\n<center>${reason}</center></body>\r\n</html>\r\n`
  send(outgoing, { status: 400, headers: { 'content-type': 'text/html', connection: 'close' }, body })
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
    address: incoming.socket.remoteAddress ?? '',
  }
}

function send(outgoing: ServerResponse, answer: HttpResponse) {
  if (outgoing.destroyed) return
  outgoing.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) })
  outgoing.end(answer.body)
}
