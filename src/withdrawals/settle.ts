import type { Logger } from 'pino'
import type { PayoutFound } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import type { Db, Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountHolder } from '../pix/holder.ts'
import { changeStatus } from './change.ts'
import { nextReturnLook } from './postpone.ts'
import type { WithdrawalStatus } from './status.ts'
import { lockWithdrawal, type WithdrawalRow } from './store.ts'

export type SettleWithdrawalDeps = {
  db: Db
  clock: Clock
  acquirers: Acquirers
  log: Logger
  nudgeDeliveries: () => void
}

/** changed: something was booked now; settled: its outcome is known and nothing is new; open: not known yet. */
export type Booked = 'changed' | 'settled' | 'open'

const canHaveLeft: ReadonlySet<WithdrawalStatus> = new Set(['PROCESSED', 'REFUNDED'])

/**
 * Books what the acquirer says of a payout: status, history, money and event in one commit. However often it is called, and by whomever at
 * once, each outcome is booked once.
 */
export async function book(
  deps: SettleWithdrawalDeps,
  { id, merchant_id }: WithdrawalRow,
  found: PayoutFound,
): Promise<Booked> {
  const { before, after } = await deps.db.transaction(async (tx) => {
    const before = await lockWithdrawal(tx, merchant_id, id)
    assert(before, 'a withdrawal to settle exists')
    return { before, after: await move(deps, tx, before, found) }
  })
  if (found.outcome === 'done' && !canHaveLeft.has(after.status)) {
    deps.log.error(
      { withdrawalId: id, status: before.status },
      'the acquirer sent a withdrawal out that was not to be sent',
    )
  }
  if (after.status !== before.status) {
    deps.nudgeDeliveries()
    return 'changed'
  }
  return after.status === 'PENDING' || after.status === 'PROCESSING' ? 'open' : 'settled'
}

/** As far as it leads from where the withdrawal is. Sent and sent back may be told of at once. */
async function move(
  deps: SettleWithdrawalDeps,
  tx: Tx,
  locked: WithdrawalRow,
  found: PayoutFound,
): Promise<WithdrawalRow> {
  const now = deps.clock.now()
  const row = locked.status === 'PROCESSING' ? await moveFromProcessing(deps, tx, locked, found, now) : locked
  if (row.status !== 'PROCESSED' || !found.returned) return row
  const { endToEndId, amount } = found.returned
  const message =
    amount < row.amount ? 'The receiver sent a part of the money back' : 'The receiver sent the money back'
  return await changeStatus(tx, row, {
    to: 'REFUNDED',
    now,
    checkAt: null,
    set: { end_to_end_refund: endToEndId, error_message: message },
    returnedAmount: amount,
  })
}

async function moveFromProcessing(
  deps: SettleWithdrawalDeps,
  tx: Tx,
  row: WithdrawalRow,
  found: PayoutFound,
  now: Date,
): Promise<WithdrawalRow> {
  switch (found.outcome) {
    case 'processing':
      return row
    case 'refused':
      return await changeStatus(tx, row, { to: 'FAILED', now, checkAt: null, set: { error_message: found.reason } })
    case 'done':
      return await changeStatus(tx, row, {
        to: 'PROCESSED',
        now,
        checkAt: nextReturnLook(found.at, now),
        set: {
          amount_withdrawn: row.amount,
          processed_date: found.at,
          end_to_end: found.endToEndId,
          payer: payerOf(deps, row),
          receiver: found.receiver,
        },
      })
  }
}

/** The account that is debited: the operator's own at this acquirer. */
function payerOf(deps: SettleWithdrawalDeps, row: WithdrawalRow): AccountHolder | null {
  return deps.acquirers.get(row.acquirer)?.receiver ?? null
}
