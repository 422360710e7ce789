import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { newUuid } from '../lib/secrets.ts'
import { findPayoutFreeze, insertPayoutFreeze, releasePayoutFreezes } from './store.ts'

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

/** Freezes withdrawals and refunds, never incoming payments. An active freeze stays as it is. */
export async function freezePayouts(db: Db | Tx, { reason, now }: { reason: string; now: Date }): Promise<void> {
  await insertPayoutFreeze(db, { id: newUuid(), reason, now })
}

type Deps = { db: Db; clock: Clock }

/** An operator freezes payouts. */
export async function stopPayouts({ db, clock }: Deps, { reason, by }: { reason: string; by: By }): Promise<void> {
  await db.transaction(async (tx) => {
    const now = clock.now()
    await freezePayouts(tx, { reason, now })
    await recordAction(tx, { by, action: 'payouts.freeze', details: { reason }, now })
  })
}

/** An operator releases the payout freeze. Returns false when there was none. */
export async function releasePayouts(
  { db, clock }: Deps,
  { by, ...details }: { by: By; reason: string; breaches?: number },
): Promise<boolean> {
  return await db.transaction(async (tx) => {
    const now = clock.now()
    await recordAction(tx, { by, action: 'payouts.release', details, now })
    return await releasePayoutFreezes(tx, { by: by.actor, now })
  })
}
