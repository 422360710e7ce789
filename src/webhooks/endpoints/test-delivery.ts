import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import { type Action, recordAction } from '../../audit/record.ts'
import type { Db } from '../../db/sql.ts'
import type { RateLimiter } from '../../http/rate-limit.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SecretKey } from '../../lib/secrets.ts'
import { createSender } from '../attempt.ts'
import { toAttemptErrorCode } from '../attempt-errors.ts'
import { deliveryDeadlineMs } from '../deliver-options.ts'
import { createDialler } from '../dial.ts'
import { findSigningSecrets } from '../secrets.ts'
import { signDelivery } from '../sign.ts'
import type { TestDeliveryView } from './schema.ts'

/** The type of a test. It is no event: nothing has happened, no list shows it, and no shop may ship goods for it. */
const testType = 'webhook.test'

type Test = {
  merchantId: string
  url: string
  /** Whose secrets sign it; null: those of the API client, as for the URLs of records. */
  endpointId: string | null
  data: object
  /** What the audit log has, if a person sends it. */
  audit: Pick<Action, 'by' | 'action' | 'recordId' | 'details'>
}

export type WebhookTests = {
  /** By merchant: each test holds a connection of the receiver until it answers. */
  limit: RateLimiter
  /** Sends a test and returns the receiver's answer. It is signed like a delivery, and is not repeated. */
  send(test: Test): Promise<Static<typeof TestDeliveryView>>
  close(): Promise<void>
}

type Deps = { db: Db; clock: Clock; key: SecretKey; config: { webhookAllowPrivate: boolean }; limit: RateLimiter }

export function createWebhookTests({ db, clock, key, config, limit }: Deps): WebhookTests {
  const dialler = createDialler({ allowPrivate: config.webhookAllowPrivate })
  const sender = createSender({ dialler, deadlineMs: deliveryDeadlineMs, now: () => clock.now() })
  return {
    limit,
    async send({ merchantId, url, endpointId, data, audit }) {
      const now = clock.now()
      const secretsOf = await findSigningSecrets(db, { key, merchantIds: [merchantId], now })
      if (audit.by !== null) await db.transaction(async (tx) => await recordAction(tx, { ...audit, merchantId, now }))
      const eventId = randomUUID()
      const body = Buffer.from(JSON.stringify({ id: eventId, type: testType, timestamp: now.toISOString(), data }))
      const secrets = secretsOf.get(endpointId ?? merchantId) ?? []
      const headers = signDelivery({ secrets, id: eventId, timestamp: now, body })
      const answer = await sender.send({ url, headers, body })
      return {
        eventId,
        delivered: answer.outcome === 'success',
        ...{ status: answer.status, error: answer.error, errorCode: toAttemptErrorCode(answer.error) },
        ...{ durationInMilliseconds: answer.durationMs, response: answer.response },
      }
    },
    async close() {
      sender.stop()
      await dialler.destroy()
    },
  }
}
