import type { Db, Tx } from '../db/sql.ts'
import { AppError } from '../lib/errors.ts'
import { newUuid } from '../lib/secrets.ts'
import { findEngagedBrake, insertBrake, releaseBrakes } from './store.ts'

/**
 * Asked before money leaves: when a withdrawal or a refund is asked for, and again before it is sent.
 *
 * @throws {AppError} `payouts_stopped` while the books are known not to agree and no operator has released the brake
 */
export async function assertPayoutsAllowed(db: Db | Tx): Promise<void> {
  if ((await findEngagedBrake(db)) === null) return
  throw new AppError('payouts_stopped', {
    detail:
      'Withdrawals and refunds are stopped until the operator has looked at the books. Nothing is lost; try again later.',
    headers: { 'retry-after': '300' },
  })
}

/** Stops withdrawals and refunds, never payments that come in. Engaged already, it stays as it is. */
export async function engageBrake(db: Db | Tx, { reason, now }: { reason: string; now: Date }): Promise<void> {
  await insertBrake(db, { id: newUuid(), reason, now })
}

/** Lets money leave again. False when nothing was stopped. */
export async function releaseBrake(tx: Tx, { by, now }: { by: string; now: Date }): Promise<boolean> {
  return await releaseBrakes(tx, { by, now })
}
