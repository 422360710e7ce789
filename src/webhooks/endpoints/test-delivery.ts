import { randomUUID } from 'node:crypto'
import type { Db } from '../../db/sql.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SecretKey } from '../../lib/secrets.ts'
import type { Answer, Sender } from '../attempt.ts'
import { findSigningSecrets } from '../secrets.ts'
import { signDelivery } from '../sign.ts'
import { unknownEndpoint } from './change.ts'
import { findEndpoint } from './store.ts'

/** The type of a test. It is no event: nothing has happened, and no list shows it. */
export const testType = 'webhook.test'

type Deps = { db: Db; clock: Clock; key: SecretKey; sender: Sender }

/**
 * Sends a test to an endpoint, disabled or not, and returns the receiver's answer. It is signed like a delivery, is not
 * repeated, and changes nothing.
 */
export async function sendTest(
  { db, clock, key, sender }: Deps,
  { merchantId, endpointId }: { merchantId: string; endpointId: string },
): Promise<{ eventId: string; answer: Answer }> {
  const now = clock.now()
  const [endpoint, secretsOf] = await Promise.all([
    findEndpoint(db, { merchantId, endpointId }),
    findSigningSecrets(db, { key, merchantIds: [merchantId], now }),
  ])
  if (!endpoint) throw unknownEndpoint()
  const eventId = randomUUID()
  const data = { endpointId: endpoint.id, description: endpoint.description }
  const body = Buffer.from(JSON.stringify({ id: eventId, type: testType, timestamp: now.toISOString(), data }))
  const headers = signDelivery({ secrets: secretsOf.get(endpoint.id) ?? [], id: eventId, timestamp: now, body })
  return { eventId, answer: await sender.send({ url: endpoint.url, headers, body }) }
}
