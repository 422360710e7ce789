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
 * Delivers an event again, whatever its state: due now, with its own schedule. Returns its new state, or null when
 * the merchant has no such delivery. The caller then wakes the worker.
 */
export function resendDelivery(
  db: Db,
  { merchantId, eventId, endpointId, by, now }: Input,
): Promise<'pending' | 'waiting' | null> {
  return db.transaction(async (tx) => {
    const found = await listToResend(tx, { merchantId, eventId, endpointId })
    const [first] = found
    if (!first) return null
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
    return await updateToResend(tx, { merchantId, ids: found.map(({ id }) => id), now })
  })
}
