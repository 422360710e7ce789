import type { Logger } from 'pino'
import type { PayoutFound } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import type { Db, Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountHolder } from '../pix/holder.ts'
import { addReturned, changeStatus } from './change.ts'
import type { WithdrawalStatus } from './status.ts'
import { lockWithdrawal, sumReturned, type WithdrawalRow } from './store.ts'

export type SettleWithdrawalDeps = {
  db: Db
  clock: Clock
  acquirers: Acquirers
  log: Logger
  wakeDeliveries: () => void
}

/** changed: something was recorded now. settled: the outcome is known and nothing is new. open: not known yet. */
export type Recorded = 'changed' | 'settled' | 'open'

const dayMs = 24 * 60 * 60_000
const returnPauseMs = { min: 60_000, max: 7 * dayMs }
/** How long the Pix rules let a receiver return a payment; after that the service stops checking. */
const returnableMs = 90 * dayMs

export const returnedMessage = 'The receiver sent the money back'
export const returnedInPartMessage = 'The receiver sent a part of the money back'

const sentStatuses: ReadonlySet<WithdrawalStatus> = new Set(['PROCESSED', 'REFUNDED'])

/**
 * Records the acquirer's answer about a payout: status, history, ledger and event in one commit. Safe to repeat and
 * to run concurrently: each outcome is recorded once.
 *
 * @param isOutdated whether the answer no longer applies to the withdrawal in its current state
 */
export async function recordOutcome(
  deps: SettleWithdrawalDeps,
  { id, merchant_id }: WithdrawalRow,
  found: PayoutFound,
  isOutdated: (row: WithdrawalRow) => boolean = () => false,
): Promise<Recorded> {
  const { before, after } = await deps.db.transaction(async (tx) => {
    const before = await lockWithdrawal(tx, merchant_id, id)
    assert(before, 'a withdrawal to settle exists')
    if (isOutdated(before)) return { before, after: before }
    return { before, after: await move(deps, tx, before, found) }
  })
  if (found.outcome === 'done' && !sentStatuses.has(after.status)) {
    deps.log.error(
      { withdrawalId: id, status: before.status },
      'the acquirer has sent a withdrawal that is not sent in this database: it was sent before if the database has lost commits, otherwise ask the acquirer',
    )
  }
  if (after !== before) {
    deps.wakeDeliveries()
    return 'changed'
  }
  return after.status === 'PENDING' || after.status === 'PROCESSING' ? 'open' : 'settled'
}

/** Applies every allowed transition. The payout and its return may be reported together. */
async function move(
  deps: SettleWithdrawalDeps,
  tx: Tx,
  locked: WithdrawalRow,
  found: PayoutFound,
): Promise<WithdrawalRow> {
  const now = deps.clock.now()
  const row = locked.status === 'PROCESSING' ? await moveFromProcessing(deps, tx, locked, found, now) : locked
  if (!found.returned || !sentStatuses.has(row.status)) return row
  return await recordReturned(tx, row, { ...found.returned, now })
}

/**
 * Records the total that was returned of a withdrawal so far. It is REFUNDED with the first part, because the
 * receiver did not want the money. Later parts are the merchant's too.
 */
async function recordReturned(
  tx: Tx,
  row: WithdrawalRow,
  { endToEndIds, amount, now }: { endToEndIds: string[]; amount: number; now: Date },
): Promise<WithdrawalRow> {
  assert(amount <= row.amount, 'a receiver sends back what it got, or a part of it')
  const isWhole = amount === row.amount
  const set = {
    end_to_end_refund: endToEndIds.at(-1) ?? null,
    earlier_end_to_end_refunds: endToEndIds.length > 1 ? endToEndIds.slice(0, -1) : null,
    error_message: isWhole ? returnedMessage : returnedInPartMessage,
  }
  const checkAt = isWhole ? null : nextReturnCheckAt(row.processed_date ?? row.created_at, now)
  if (row.status === 'PROCESSED')
    return await changeStatus(tx, row, { to: 'REFUNDED', now, checkAt, set, returnedAmount: amount })
  const later = amount - (await sumReturned(tx, row))
  return later > 0
    ? await addReturned(tx, row, { now, checkAt, set, returnedAmount: later, returnedInAll: amount })
    : row
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
        checkAt: reportsReturns(deps, row) ? nextReturnCheckAt(found.at, now) : null,
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

function reportsReturns(deps: SettleWithdrawalDeps, row: WithdrawalRow): boolean {
  return deps.acquirers.get(row.acquirer)?.payouts?.reportsReturns ?? false
}

/**
 * When to check whether the receiver has returned the money: callbacks announce most returns, and most come within
 * minutes, from a bank that could not credit the account. Each pause is as long as the time that has passed, a week
 * at most: about 25 queries in 90 days.
 */
export function nextReturnCheckAt(processedAt: Date, now: Date): Date | null {
  const age = now.getTime() - processedAt.getTime()
  if (age >= returnableMs) return null
  return new Date(now.getTime() + Math.max(returnPauseMs.min, Math.min(returnPauseMs.max, age)))
}

/** The account that is debited: the operator's own at this acquirer. */
function payerOf(deps: SettleWithdrawalDeps, row: WithdrawalRow): AccountHolder | null {
  return deps.acquirers.get(row.acquirer)?.receiver ?? null
}
