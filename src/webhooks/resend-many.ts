import type { Db } from '../db/sql.ts'
import { AppError } from '../lib/errors.ts'
import {
  countToResend,
  findResendProgress,
  findToResend,
  lockDeliveriesOf,
  type Period,
  resendMax,
  updateToResendMany,
} from './resend-store.ts'
import { lockClient } from './store.ts'

export type ResendPreview = { total: number; isTooMany: boolean; receivers: { receiver: string; count: number }[] }

/** What {@link resendMany} would send now, by receiver. */
export async function previewResend(db: Db, period: Period): Promise<ResendPreview> {
  const receivers = await countToResend(db, period)
  const total = receivers.reduce((sum, { count }) => sum + count, 0)
  return { total: Math.min(total, resendMax), isTooMany: total > resendMax, receivers }
}

/**
 * Delivers a period's events again, each once however often this is asked for with the same id: due now, each with a schedule of its own,
 * those of one record in order. The caller wakes the worker after it.
 *
 * @throws {AppError} `validation_failed` when they are more than {@link resendMax}
 */
export async function resendMany(
  db: Db,
  { resendId, now, ...period }: Period & { resendId: string; now: Date },
): Promise<{ count: number; receivers: number; isReplay: boolean }> {
  return await db.transaction(async (tx) => {
    const { merchantId, states } = period
    // Two of the same id come one after the other, and the second finds what the first did.
    await lockClient(tx, merchantId)
    const before = await findResendProgress(tx, { merchantId, resendId })
    if (before.asked > 0) return { count: before.asked, receivers: 0, isReplay: true }
    const found = await findToResend(tx, period)
    if (found.length > resendMax) throw tooMany()
    const eventIds = found.map(({ eventId }) => eventId)
    const recordIds = [...new Set(found.map(({ recordId }) => recordId))]
    await lockDeliveriesOf(tx, { merchantId, recordIds })
    const done = await updateToResendMany(tx, { merchantId, eventIds, states, resendId, now })
    return { ...done, isReplay: false }
  })
}

function tooMany(): AppError {
  const message = `must hold ${resendMax} deliveries at most: choose a shorter one, and send the rest afterwards`
  return new AppError('validation_failed', {
    detail: `The period ${message}.`,
    fields: [{ field: 'until', code: 'too_many', message }],
  })
}
