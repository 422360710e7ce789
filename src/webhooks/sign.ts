import { createHmac, timingSafeEqual } from 'node:crypto'

/** A verifier refuses what was signed longer ago, or later, than this: the tolerance of Standard Webhooks. */
export const toleranceSeconds = 5 * 60

export const secretPrefix = 'whsec_'

/**
 * The headers that prove a delivery is ours, as Standard Webhooks 1.0 has them. One signature per live secret, so that
 * a receiver may switch to a new secret at any moment of a rotation.
 */
export function signDelivery({ secrets, id, timestamp, body }: Signable): Record<SignatureHeader, string> {
  const seconds = String(Math.floor(timestamp.getTime() / 1000))
  return {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': secrets.map((secret) => `v1,${signature(secret, id, seconds, body)}`).join(' '),
  }
}

/** What a receiver does with a delivery: null when it is ours and fresh, else a sentence saying what is wrong. */
export function findSignatureFault({ secrets, headers, body, now }: Verifiable): string | null {
  const id = headers['webhook-id']
  const seconds = headers['webhook-timestamp']
  const signatures = headers['webhook-signature']
  if (!id || !seconds || !signatures) return 'a webhook-* header is missing'
  if (!/^\d{1,12}$/.test(seconds)) return 'webhook-timestamp is not a number of seconds'
  const age = Math.floor(now.getTime() / 1000) - Number(seconds)
  if (Math.abs(age) > toleranceSeconds) return 'webhook-timestamp is more than five minutes away'
  const expected = secrets.map((secret) => Buffer.from(`v1,${signature(secret, id, seconds, body)}`))
  const given = signatures.split(' ').map((text) => Buffer.from(text))
  // Each pair is compared, and in constant time: how long it takes says nothing about which one nearly matched.
  let matches = 0
  for (const one of given) for (const other of expected) if (isSame(one, other)) matches += 1
  return matches > 0 ? null : 'no signature matches the secret'
}

type SignatureHeader = 'webhook-id' | 'webhook-timestamp' | 'webhook-signature'

type Signable = { secrets: string[]; id: string; timestamp: Date; body: string | Buffer }

type Verifiable = {
  secrets: string[]
  headers: Partial<Record<SignatureHeader, string>>
  body: string | Buffer
  now: Date
}

function signature(secret: string, id: string, seconds: string, body: string | Buffer): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64')
}

function isSame(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
