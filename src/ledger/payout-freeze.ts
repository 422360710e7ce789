import type { Db, Tx } from '../db/sql.ts'
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

/** Releases the payout freeze. Returns false when there was none. */
export async function releasePayouts(tx: Tx, { by, now }: { by: string; now: Date }): Promise<boolean> {
  return await releasePayoutFreezes(tx, { by, now })
}
