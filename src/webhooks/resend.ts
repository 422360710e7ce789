import type { Db } from '../db/sql.ts'
import { findDeliveryRecord, lockRecordDeliveries, updateToResend } from './read-store.ts'

/**
 * Delivers an event again, whatever became of it before: due now, with a schedule of its own. Gives false when the
 * merchant has no such delivery. The caller nudges the worker after it.
 */
export function resendDelivery(
  db: Db,
  { merchantId, eventId, now }: { merchantId: string; eventId: string; now: Date },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const recordId = await findDeliveryRecord(tx, { merchantId, eventId })
    if (recordId === null) return false
    await lockRecordDeliveries(tx, { merchantId, recordId })
    await updateToResend(tx, { merchantId, eventId, now })
    return true
  })
}
