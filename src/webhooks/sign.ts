import { createHmac, createSecretKey } from 'node:crypto'

export const secretPrefix = 'whsec_'

/**
 * The headers that prove that Guichê sent a delivery, as in Standard Webhooks 1.0. One signature per active secret,
 * so that a receiver can switch to the new secret at any moment of a rotation.
 */
export function signDelivery({ secrets, id, timestamp, body }: Signable): Record<SignatureHeader, string> {
  const seconds = String(Math.floor(timestamp.getTime() / 1000))
  return {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': secrets.map((secret) => `v1,${signature(secret, id, seconds, body)}`).join(' '),
  }
}

type SignatureHeader = 'webhook-id' | 'webhook-timestamp' | 'webhook-signature'

type Signable = { secrets: string[]; id: string; timestamp: Date; body: string | Buffer }

function signature(secret: string, id: string, seconds: string, body: string | Buffer): string {
  // A key object for the reason given in lib/secrets.ts.
  const key = createSecretKey(secret.slice(secretPrefix.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64')
}
