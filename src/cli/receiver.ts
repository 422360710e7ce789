import type { WebhookEvent } from '../../sdk/src/index.ts'
import { listenForWebhooks } from '../../sdk/src/testing/receiver.ts'
import { inReais } from '../lib/money.ts'
import { secretPrefix } from '../webhooks/sign.ts'
import { readSandboxFile, sandboxPath } from './developer/connect.ts'
import { write } from './print.ts'

export type Receiver = { url: string; close(): Promise<void> }

type Options = { port: number; secrets: string[]; print: (line: string) => void }

/**
 * A sample webhook receiver, for trying Guichê and as a model for your own. It verifies each delivery and prints its
 * content. It answers 204, or 401 if the signature does not match the secret or is older than five minutes. Use
 * `http://127.0.0.1:4000/` as webhookUrl.
 */
export async function startReceiver({ port, secrets, print }: Options): Promise<Receiver> {
  return await listenForWebhooks({
    port,
    secret: secrets,
    onEvent: (event) => {
      for (const line of describe(event)) print(line)
    },
    onRefused: ({ detail }) => print(`REFUSED  ${detail}`),
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE' ? inUse(port) : error
  })
}

/** Usually an earlier receiver that still runs in the background. */
function inUse(port: number): Error {
  return new Error(
    `Port ${port} is in use. If an earlier receiver still runs there, use that one; otherwise choose another --port.`,
  )
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

/** `guiche receiver` */
export async function runReceiver({ port, secret }: { port: number; secret?: string[] }): Promise<void> {
  const print = (line: string) => write(`${line}\n`)
  const receiver = await startReceiver({ port, secrets: secret ?? [await readSandboxSecret()], print })
  process.once('SIGINT', () => void receiver.close())
  process.once('SIGTERM', () => void receiver.close())
  print(`Listening at ${receiver.url} (use it as webhookUrl). Ctrl+C stops it.`)
}

async function readSandboxSecret(): Promise<string> {
  const secret: unknown = (await readSandboxFile())?.webhookSecret
  if (typeof secret === 'string' && secret.startsWith(secretPrefix)) return secret
  throw new Error(
    `There is no webhookSecret in ${sandboxPath()}: start the service once, or give a secret with --secret`,
  )
}
