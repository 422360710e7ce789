import { WebhookVerificationError } from './errors.ts'
import type { WebhookEvent } from './event-types.ts'
import { concat, fromBase64, importSecret, toBytes } from './signature.ts'

/** The headers as received: of a `Request`, or Node's `request.headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifyOptions = {
  /** How many seconds the signature's time may differ from now. 300 by default, as in Standard Webhooks. */
  toleranceSeconds?: number
  /** The time to compare with. Now by default. For tests. */
  now?: Date
}

const toleranceSecondsDefault = 300
/** A change of secrets has two signatures. Each costs an HMAC of the body, and anybody may send many. */
const signaturesMax = 8

/**
 * Verifies that a webhook is from Guichê and recent (Standard Webhooks), and returns its event.
 *
 * @param secrets the `whsec_…` secret of your client, or of the webhook endpoint; both secrets during a change
 * @param headers as received
 * @param rawBody the bytes as received, or their text: a body that was parsed and serialized again has another
 * signature
 * @throws {WebhookVerificationError} if it cannot be trusted: answer 400 or 401
 * @throws {TypeError} if a secret is invalid, or `rawBody` is neither text nor bytes: mistakes of the caller, which no
 *   request can cause
 * @example
 * ```ts
 * export async function POST(request: Request) {
 *   const event = await verifyWebhook(secret, request.headers, await request.text())
 *   // This event comes again, for example after a partial refund: ship each order only once.
 *   if (event.type === 'transaction.paid') await shipOnce(event.data.externalCode, event.data.amountPaid)
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
  // Also refuses if the tolerance is NaN, as Number() makes of a setting that is missing.
  if (!(Math.abs(now.getTime() / 1000 - Number(seconds)) <= toleranceSeconds))
    throw refuse(
      `The signature's time is more than ${toleranceSeconds} seconds from now. Is the clock of this machine right?`,
    )

  const signed = concat(toBytes(`${id}.${seconds}.`), body)
  const signatures = readSignatures(readHeader(headers, 'webhook-signature'))
  // Compares every pair in constant time: the duration reveals nothing about a near match.
  const matches = await Promise.all(
    keys.flatMap((key) => signatures.map((signature) => crypto.subtle.verify('HMAC', key, signature, signed))),
  )
  if (!matches.includes(true))
    throw refuse(
      'No signature matches. Is this the secret of the client or of the webhook endpoint with this address, and is the body raw, not parsed and serialized again?',
    )
  return parseEvent(body)
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const value = isHeaders(headers) ? headers.get(name) : findHeader(headers, name)
  const text = typeof value === 'string' ? value : value?.[0]
  if (!text) throw refuse(`The header ${name} is missing. Is the request from Guichê, and are all headers passed on?`)
  return text
}

/** Checks for a method, not the class: some platforms have more than one class named `Headers`. */
function isHeaders(headers: WebhookHeaders): headers is Headers {
  return typeof headers.get === 'function'
}

function findHeader(headers: Readonly<Record<string, string | readonly string[] | undefined>>, name: string) {
  return headers[name] ?? Object.entries(headers).find(([other]) => other.toLowerCase() === name)?.[1]
}

/** Signatures of version 1, as bytes. Other versions are ignored. */
function readSignatures(header: string): Uint8Array<ArrayBuffer>[] {
  const supported = header.split(' ').filter((signature) => signature.startsWith('v1,'))
  return supported.slice(0, signaturesMax).flatMap((signature) => fromBase64(signature.slice(3)) ?? [])
}

function parseEvent(body: Uint8Array): WebhookEvent {
  try {
    const event = JSON.parse(new TextDecoder().decode(body))
    if (typeof event.type === 'string' && typeof event.data === 'object' && event.data !== null) return event
  } catch {
    // The error is thrown below.
  }
  throw refuse('The body is signed, but it is not an event.')
}

function refuse(detail: string): WebhookVerificationError {
  return new WebhookVerificationError({ code: 'webhook_not_verified', detail })
}
