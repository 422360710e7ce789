import { type By, recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { findDeliveryRecord, lockRecordDeliveries, updateToResend } from './read-store.ts'

/**
 * Delivers an event again, whatever its state: due now, with its own schedule. Returns its new state, or null when
 * the merchant has no such delivery. The caller then wakes the worker.
 */
export function resendDelivery(
  db: Db,
  { merchantId, eventId, by, now }: { merchantId: string; eventId: string; by: By | null; now: Date },
): Promise<'pending' | 'waiting' | null> {
  return db.transaction(async (tx) => {
    const recordId = await findDeliveryRecord(tx, { merchantId, eventId })
    if (recordId === null) return null
    await lockRecordDeliveries(tx, { merchantId, recordId })
    await recordAction(tx, { by, action: 'webhook.resend', merchantId, recordId: eventId, now })
    return await updateToResend(tx, { merchantId, eventId, now })
  })
}
