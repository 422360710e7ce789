import { type By, recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { listToResend, lockRecordDeliveries, updateToResend } from './read-store.ts'

type Input = {
  merchantId: string
  eventId: string
  /** Only to this endpoint. Without it: to every address that it was sent to. */
  endpointId?: string | undefined
  by: By | null
  now: Date
}

/**
 * Delivers an event again, whatever its state, with the whole schedule: due now, or after an unfinished earlier
 * delivery of its record. Returns its new state, `disabled` when all its endpoints are disabled or deleted, or null
 * when the merchant has no such delivery. The caller wakes the worker afterwards.
 */
export function resendDelivery(
  db: Db,
  { merchantId, eventId, endpointId, by, now }: Input,
): Promise<'pending' | 'waiting' | 'disabled' | null> {
  return db.transaction(async (tx) => {
    const found = await listToResend(tx, { merchantId, eventId, endpointId })
    const sendable = found.filter(({ isSendable }) => isSendable)
    const [first] = sendable
    if (!first) return found.length > 0 ? 'disabled' : null
    await lockRecordDeliveries(tx, { merchantId, recordId: first.recordId })
    const details = endpointId === undefined ? undefined : { endpointId }
    await recordAction(tx, {
      by,
      action: 'webhook.resend',
      merchantId,
      recordId: eventId,
      ...(details && { details }),
      now,
    })
    return await updateToResend(tx, { merchantId, ids: sendable.map(({ id }) => id), now })
  })
}
