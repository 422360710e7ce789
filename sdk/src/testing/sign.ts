import type { WebhookEvent } from '../event-types.ts'
import { concat, importSecret, toBytes } from '../signature.ts'

export type SignOptions = {
  /** `webhook-id`. The event's id by default. */
  id?: string
  /** The time of the signature. Now by default. */
  timestamp?: Date
}

/** A delivery as your receiver gets it. */
export type SignedWebhook = {
  headers: {
    'content-type': string
    'webhook-id': string
    'webhook-timestamp': string
    'webhook-signature': string
  }
  body: string
}

/**
 * Signs an event, or any text, as Guichê signs its webhooks. Two secrets give two signatures, as during a change of
 * secrets.
 *
 * @example
 * ```ts
 * const { headers, body } = await signWebhook(secret, createTestEvent('transaction.paid', { amount: 2590 }))
 * const answer = await POST(new Request('https://shop.example.com/webhooks/pix', { method: 'POST', headers, body }))
 * ```
 */
export async function signWebhook(
  secrets: string | readonly string[],
  event: WebhookEvent | string,
  { id = typeof event === 'string' ? crypto.randomUUID() : event.id, timestamp = new Date() }: SignOptions = {},
): Promise<SignedWebhook> {
  const body = typeof event === 'string' ? event : JSON.stringify(event)
  const seconds = String(Math.floor(timestamp.getTime() / 1000))
  const signed = concat(toBytes(`${id}.${seconds}.`), toBytes(body))
  const signatures = (typeof secrets === 'string' ? [secrets] : secrets).map(async (secret) => {
    const signature = await crypto.subtle.sign('HMAC', await importSecret(secret), signed)
    return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`
  })
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': seconds,
      'webhook-signature': (await Promise.all(signatures)).join(' '),
    },
    body,
  }
}
