import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { newUuid } from '../lib/secrets.ts'
import {
  addFreezeReason,
  findPayoutFreeze,
  insertPayoutFreeze,
  type PayoutFreezeRow,
  releasePayoutFreeze,
} from './store.ts'

/**
 * Called before money is sent: when a withdrawal or a refund is requested, and again before it is sent.
 *
 * @throws {AppError} `payouts_stopped` while a payout freeze is active: the ledger is known to be inconsistent and
 *   no operator has released the freeze
 */
export async function assertPayoutsAllowed(db: Db | Tx): Promise<void> {
  if ((await findPayoutFreeze(db)) === null) return
  throw new AppError('payouts_stopped', {
    detail:
      'Payouts are frozen: withdrawals and refunds wait until the operator has checked the ledger. Nothing is lost; try again later.',
    headers: { 'retry-after': '300' },
  })
}

/** Freezes withdrawals and refunds, never incoming payments. Returns false when a freeze is active: it stays as it is. */
export async function freezePayouts(db: Db | Tx, { reason, now }: { reason: string; now: Date }): Promise<boolean> {
  return await insertPayoutFreeze(db, { id: newUuid(), reason, now })
}

/** The same, but this reason is added to that of an active freeze: whoever releases it must know of both. */
export async function freezePayoutsAlso(tx: Tx, freeze: { reason: string; now: Date }): Promise<void> {
  if (!(await freezePayouts(tx, freeze))) await addFreezeReason(tx, freeze.reason)
}

type Deps = { db: Db; clock: Clock }

/** An operator freezes payouts. Returns the active freeze, and whether it is a new one. */
export async function stopPayouts(
  { db, clock }: Deps,
  { reason, by }: { reason: string; by: By },
): Promise<{ payoutFreeze: PayoutFreezeView | null; isNew: boolean }> {
  return await db.transaction(async (tx) => {
    const now = clock.now()
    const isNew = await freezePayouts(tx, { reason, now })
    if (isNew) await recordAction(tx, { by, action: 'payouts.freeze', details: { reason }, now })
    return { payoutFreeze: await showPayoutFreeze(tx), isNew }
  })
}

/**
 * An operator releases the payout freeze. Returns the freeze that was active, or null.
 *
 * @param reason by default the reason of the freeze
 */
export async function releasePayouts(
  { db, clock }: Deps,
  { by, reason, breaches }: { by: By; reason?: string; breaches?: number },
): Promise<PayoutFreezeView | null> {
  return await db.transaction(async (tx) => {
    const now = clock.now()
    const released = await releasePayoutFreeze(tx, { by: by.actor, now })
    if (!released) return null
    const details = { reason: reason ?? released.reason, breaches }
    await recordAction(tx, { by, action: 'payouts.release', details, now })
    return toView(released)
  })
}

export type PayoutFreezeView = ReturnType<typeof toView>

/** The active payout freeze, or null. */
export async function showPayoutFreeze(db: Db | Tx): Promise<PayoutFreezeView | null> {
  const row = await findPayoutFreeze(db)
  return row && toView(row)
}

function toView({ reason, engaged_at: engagedAt }: PayoutFreezeRow) {
  return { reason, engagedAt: engagedAt.toISOString() }
}
