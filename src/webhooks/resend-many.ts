import { type By, recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { AppError } from '../lib/errors.ts'
import {
  countToResend,
  findResendProgress,
  findSelected,
  findToResend,
  lockDeliveriesOf,
  type Period,
  resendMax,
  resendStates,
  type Selection,
  updateToResendMany,
} from './resend-store.ts'
import { lockMerchant } from './store.ts'

/** `receiver`: scheme, host and port of the webhooks' URL. */
export type ResendPreview = { total: number; isTooMany: boolean; receivers: { receiver: string; count: number }[] }

/**
 * Counts, for each receiver, the deliveries that {@link resendMany} would send. Counting stops at one more than
 * {@link resendMax}.
 */
export async function previewResend(db: Db, period: Period): Promise<ResendPreview> {
  const receivers = await countToResend(db, period)
  const total = receivers.reduce((sum, { count }) => sum + count, 0)
  return { total: Math.min(total, resendMax), isTooMany: total > resendMax, receivers }
}

/**
 * Delivers the events of a period, or the selected deliveries, again. A repeated call with the same `resendId` sends
 * nothing again as long as at least one delivery still belongs to that resend: a later resend takes deliveries over.
 * The first event of each record and address is due now; the later ones wait for it. The caller then wakes the worker.
 *
 * @throws {AppError} `validation_failed` when there are more than {@link resendMax}
 */
export async function resendMany(
  db: Db,
  { resendId, by, now, ...which }: (Period | Selection) & { resendId: string; by: By; now: Date },
): Promise<{ count: number; receivers: number; isReplay: boolean }> {
  return await db.transaction(async (tx) => {
    const { merchantId } = which
    // Two calls with the same id run one after the other, and the second finds what the first did.
    await lockMerchant(tx, merchantId)
    const before = await findResendProgress(tx, { merchantId, resendId })
    // A replay does not count the receivers.
    if (before.requested > 0) return { count: before.requested, receivers: 0, isReplay: true }
    const isSelection = 'deliveries' in which
    const found = isSelection ? await findSelected(tx, which) : await findToResend(tx, which)
    if (found.length > resendMax) throw tooMany()
    const ids = found.map(({ id }) => id)
    const recordIds = [...new Set(found.map(({ recordId }) => recordId))]
    await lockDeliveriesOf(tx, { merchantId, recordIds })
    const states = isSelection ? [...resendStates] : which.states
    const done = await updateToResendMany(tx, { merchantId, ids, states, resendId, now })
    const details = { ...(!isSelection && { from: which.from, until: which.until, states }), count: done.count }
    const about = { action: 'webhook.resend-many', merchantId, recordId: resendId, details } as const
    if (done.count > 0) await recordAction(tx, { ...about, by, now })
    return { ...done, isReplay: false }
  })
}

function tooMany(): AppError {
  const message = `has more than ${resendMax} deliveries: choose a shorter one, and send the rest afterwards`
  return new AppError('validation_failed', {
    detail: `The period ${message}.`,
    fields: [{ field: 'until', code: 'too_many', message, limit: resendMax }],
  })
}
