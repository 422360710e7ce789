import { createServer, type IncomingMessage } from 'node:http'
import { WebhookVerificationError } from '../errors.ts'
import type { WebhookEvent, WebhookEventOf, WebhookEventType } from '../event-types.ts'
import { verifyWebhook } from '../webhook.ts'

export type WaitOptions = {
  /** 30,000 by default. */
  timeoutMs?: number
}

/** A merchant's receiver. It answers 204 to webhooks that verify, and 401 to others. */
export type WebhookReceiver = {
  /** Give this as `webhookUrl`. */
  url: string
  /** Webhooks that verified, in the order of arrival. The same event can be there twice. */
  events: WebhookEvent[]
  /** Errors of the webhooks that did not verify. */
  refused: WebhookVerificationError[]
  /**
   * Resolves with the first event of this type for which `fits` returns true. Events that arrived before the call count
   * too. Rejects if there is none within the time limit, or with the error that `fits` throws.
   */
  waitFor<Type extends WebhookEventType>(
    type: Type,
    fits?: (event: WebhookEventOf<Type>) => boolean,
    options?: WaitOptions,
  ): Promise<WebhookEventOf<Type>>
  close(): Promise<void>
}

type Options = {
  /** The client's `whsec_…` secret, or both during a change of secrets. */
  secret: string | readonly string[]
  /** Any free port by default. */
  port?: number
  /**
   * How many seconds the signature's time may differ from now. 300 by default; use `Infinity` if the service has a test
   * clock.
   */
  toleranceSeconds?: number
}

const waitMsDefault = 30_000
const bodyMaxBytes = 1024 * 1024

/**
 * Starts a receiver on the loopback address. It verifies webhooks and keeps them for the test. It does not keep the
 * process alive.
 *
 * @example
 * ```ts
 * const receiver = await createWebhookReceiver({ secret })
 * const { id } = await guiche.transactions.create({ amount: 2590, webhookUrl: receiver.url })
 * const paid = await receiver.waitFor('transaction.paid', (event) => event.data.id === id)
 * await receiver.close()
 * ```
 */
export async function createWebhookReceiver(options: Options): Promise<WebhookReceiver> {
  const events: WebhookEvent[] = []
  const refused: WebhookVerificationError[] = []
  const checks = new Set<() => void>()

  const { url, close, unref } = await listenForWebhooks({
    ...options,
    onEvent: (event) => {
      events.push(event)
      for (const check of checks) check()
    },
    onRefused: (error) => refused.push(error),
  })
  // A test that forgets to close the receiver still ends.
  unref()

  return {
    url,
    events,
    refused,
    waitFor: (type, fits = () => true, { timeoutMs = waitMsDefault } = {}) =>
      new Promise((resolve, reject) => {
        const end = () => {
          clearTimeout(timer)
          checks.delete(check)
        }
        const check = () => {
          try {
            const found = events.find((event): event is WebhookEventOf<typeof type> => isOf(event, type) && fits(event))
            if (!found) return
            resolve(found)
          } catch (error) {
            reject(error)
          }
          end()
        }
        const timer = setTimeout(() => {
          end()
          const came = events.map((event) => event.type).join(', ') || 'nothing'
          const notVerified = refused[0] ? ` Refused: ${refused[0].detail}` : ''
          reject(new Error(`No matching ${type} arrived within ${timeoutMs} ms. Received: ${came}.${notVerified}`))
        }, timeoutMs)
        checks.add(check)
        check()
      }),
    close,
  }
}

type Listening = { url: string; close(): Promise<void>; unref(): void }

type Listeners = {
  onEvent: (event: WebhookEvent) => void
  onRefused: (error: WebhookVerificationError) => void
}

/** Answers 204 to webhooks that verify, and 401 to others, until it is closed. */
export async function listenForWebhooks({
  secret,
  port = 0,
  toleranceSeconds = 300,
  onEvent,
  onRefused,
}: Options & Listeners): Promise<Listening> {
  async function receive(request: IncomingMessage): Promise<number> {
    if (request.method !== 'POST') return 405
    // The raw bytes: parsing the body and writing it again would change the signature.
    const body = await readBody(request)
    if (body === null) return 413
    try {
      onEvent(await verifyWebhook(secret, request.headers, body, { toleranceSeconds }))
      return 204
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error
      onRefused(error)
      return 401
    }
  }

  const server = createServer((request, response) => {
    receive(request).then(
      (status) => response.writeHead(status).end(),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((done, failed) => {
    server.once('error', failed)
    server.listen(port, '127.0.0.1', done)
  })
  const address = server.address()
  const actualPort = typeof address === 'object' && address ? address.port : port
  return {
    url: `http://127.0.0.1:${actualPort}/`,
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
    unref: () => void server.unref(),
  }
}

function isOf<Type extends WebhookEventType>(event: WebhookEvent, type: Type): event is WebhookEventOf<Type> {
  return event.type === type
}

/** Null when it is too large. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    // Leaving the loop would destroy the request, and the sender would get a reset connection instead of the answer.
    if (length <= bodyMaxBytes) chunks.push(chunk)
  }
  return length > bodyMaxBytes ? null : Buffer.concat(chunks)
}
