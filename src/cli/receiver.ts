import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '../../sdk/src/index.ts'
import { inReais } from '../lib/money.ts'
import { secretPrefix } from '../webhooks/sign.ts'

const defaultPort = 4000
const bodyMaxBytes = 1024 * 1024

export type Receiver = { url: string; stop(): Promise<void> }

type Options = { port: number; secrets: string[]; print: (line: string) => void }

/**
 * A sample webhook receiver, for trying Guichê and as a model for your own. It verifies each delivery and prints its
 * content. It answers 204, or 401 if the signature does not match the secret. Use `http://127.0.0.1:4000/` as
 * webhookUrl.
 */
export async function startReceiver({ port, secrets, print }: Options): Promise<Receiver> {
  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((done, failed) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      failed(error.code === 'EADDRINUSE' ? inUse(port) : error)
    })
    server.listen(port, '127.0.0.1', done)
  })
  const address = server.address()
  const actualPort = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://127.0.0.1:${actualPort}/`,
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return answer(response, 405)
    // The raw bytes: parsing the body and writing it again would change the signature.
    const body = await readBody(request)
    if (body === null) return answer(response, 413)
    try {
      const event = await verifyWebhook(secrets, request.headers, body)
      for (const line of describe(event)) print(line)
      answer(response, 204)
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error
      print(`REFUSED  ${error.detail}`)
      answer(response, 401)
    }
  }
}

/** Usually an earlier receiver that still runs in the background. */
function inUse(port: number): Error {
  return new Error(
    `Port ${port} is in use. If an earlier receiver still runs there, use that one; otherwise choose another --port.`,
  )
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    chunks.push(chunk)
    length += chunk.length
    if (length > bodyMaxBytes) return null
  }
  return Buffer.concat(chunks)
}

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status).end()
}

function describe({ type, id, timestamp, data }: WebhookEvent): string[] {
  return [
    `${text(type)}  ${text(data.status)}  ${money(data.amount)}  signature valid`,
    `  event ${text(id)}  record ${text(data.id)}  sequence ${text(data.sequence)}  at ${text(timestamp)}`,
  ]
}

/** The text came over the network: it must not control the terminal. */
function text(value: unknown): string {
  const isPlain = typeof value === 'string' || typeof value === 'number'
  return isPlain ? String(value).replace(/\p{C}/gu, '?') : '-'
}

function money(amount: unknown): string {
  return typeof amount === 'number' ? inReais(amount) : '-'
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { port: { type: 'string' }, secret: { type: 'string', multiple: true } } })
  const secrets = values.secret ?? [await readSandboxSecret()]
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const receiver = await startReceiver({ port: Number(values.port ?? defaultPort), secrets, print })
  print(`Listening at ${receiver.url} (use it as webhookUrl). Ctrl+C stops it.`)
  process.once('SIGINT', () => void receiver.stop())
  process.once('SIGTERM', () => void receiver.stop())
}

/** The secret of the sandbox client, which the service writes to its data folder at the first start. */
async function readSandboxSecret(): Promise<string> {
  const file = join(process.env.DATA_DIR ?? './data', 'sandbox.json')
  const sandbox = await readFile(file, 'utf8').then(JSON.parse, () => null)
  const secret: unknown = sandbox?.webhookSecret
  if (typeof secret === 'string' && secret.startsWith(secretPrefix)) return secret
  throw new Error(`There is no webhookSecret in ${file}: start the service once, or give a secret with --secret`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  main().catch((error: Error) => {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  })
}
