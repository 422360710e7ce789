import { WebhookVerificationError } from './errors.ts'
import type { WebhookEvent } from './event-types.ts'
import { concat, fromBase64, importSecret, toBytes } from './signature.ts'

/** As they came: of a `Request`, or of Node's `request.headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifyOptions = {
  /** How far from now the delivery may have been signed; 300 by default, as Standard Webhooks has it. */
  toleranceSeconds?: number
  /** The moment to compare with; now by default. For tests. */
  now?: Date
}

const toleranceSecondsDefault = 300
/** A rotation has two. Each costs an HMAC of the body, and anybody may send us some. */
const signaturesMax = 8

/**
 * Verifies that a webhook is Guichê's and fresh (Standard Webhooks), and gives its event.
 *
 * @param secrets the `whsec_…` secret of your client; both while you change from one to another
 * @param headers as they came
 * @param rawBody the bytes as they came, or their text: a body that was parsed and written again has another signature
 * @throws {WebhookVerificationError} when it is not to be trusted: answer 400 or 401
 * @throws {TypeError} when a secret or the body is not what it must be, which no sender can cause
 * @example
 * ```ts
 * export async function POST(request: Request) {
 *   const event = await verifyWebhook(secret, request.headers, await request.text())
 *   if (event.type === 'transaction.paid') await ship(event.data.externalCode, event.data.amountPaid)
 *   return new Response(null, { status: 204 })
 * }
 * ```
 */
export async function verifyWebhook(
  secrets: string | readonly string[],
  headers: WebhookHeaders,
  rawBody: string | Uint8Array | ArrayBuffer,
  { toleranceSeconds = toleranceSecondsDefault, now = new Date() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const keys = await Promise.all((typeof secrets === 'string' ? [secrets] : secrets).map(importSecret))
  if (keys.length === 0) throw new TypeError('verifyWebhook needs a secret.')
  const body = toBytes(rawBody)

  const id = readHeader(headers, 'webhook-id')
  const seconds = readHeader(headers, 'webhook-timestamp')
  if (!/^\d{1,12}$/.test(seconds)) throw refuse('webhook-timestamp is not a number of seconds.')
  if (Math.abs(now.getTime() / 1000 - Number(seconds)) > toleranceSeconds)
    throw refuse(
      `It was signed more than ${toleranceSeconds} seconds away from now. Is the clock of this machine right?`,
    )

  const signed = concat(toBytes(`${id}.${seconds}.`), body)
  const signatures = readSignatures(readHeader(headers, 'webhook-signature'))
  // Each pair, and in constant time: how long it takes says nothing about which one nearly matched.
  const matches = await Promise.all(
    keys.flatMap((key) => signatures.map((signature) => crypto.subtle.verify('HMAC', key, signature, signed))),
  )
  if (!matches.includes(true))
    throw refuse(
      'No signature matches. Is it the secret of this client, and the body as it came, not parsed and written again?',
    )
  return parseEvent(body)
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const value = isHeaders(headers) ? headers.get(name) : findMember(headers, name)
  const text = typeof value === 'string' ? value : value?.[0]
  if (!text) throw refuse(`The header ${name} is missing. Did it come from Guichê, and are all headers passed on?`)
  return text
}

/** By what it can do: some platforms have more than one class of this name. */
function isHeaders(headers: WebhookHeaders): headers is Headers {
  return typeof headers.get === 'function'
}

function findMember(headers: Readonly<Record<string, string | readonly string[] | undefined>>, name: string) {
  return headers[name] ?? Object.entries(headers).find(([other]) => other.toLowerCase() === name)?.[1]
}

/** Those of version 1, as bytes; others are for others. */
function readSignatures(header: string): Uint8Array<ArrayBuffer>[] {
  const ours = header.split(' ').filter((signature) => signature.startsWith('v1,'))
  return ours.slice(0, signaturesMax).flatMap((signature) => fromBase64(signature.slice(3)) ?? [])
}

function parseEvent(body: Uint8Array): WebhookEvent {
  try {
    const event = JSON.parse(new TextDecoder().decode(body))
    if (typeof event.type === 'string' && typeof event.data === 'object' && event.data !== null) return event
  } catch {
    // Told below.
  }
  throw refuse('It is signed, but is no event.')
}

function refuse(detail: string): WebhookVerificationError {
  return new WebhookVerificationError({ code: 'webhook_not_verified', detail })
}
