import type { By } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { listExchanges } from '../exchanges/store.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { isEndToEndId, timeOfEndToEndId } from '../pix/ids.ts'
import type { ProposalKind } from '../proposals/decide.ts'
import { propose } from '../proposals/propose.ts'
import type { ProposalRow } from '../proposals/store.ts'
import { changeStatus } from './change.ts'
import { notPossible, unknownWithdrawal } from './refusals.ts'
import { findOwner, findWithdrawal, isEndToEndKnown, lockWithdrawal, type WithdrawalRow } from './store.ts'

/** What a person read in the PSP's account statement: the endToEndId of the payout, or null when it is not there. */
export type Seen = { endToEndId: string | null; reason: string }

const hourMs = 60 * 60_000
/**
 * No acquirer repeats a payout request for longer than an hour. After that, an outcome that only a person can
 * determine stays so.
 */
const repeatedMs = hourMs
/** By then the last repeated request is in the PSP's statement, if the PSP accepted it. */
const openMsMin = 2 * hourMs
/** How far the PSP's clock may be behind ours. */
const clockSkewMs = 5 * 60_000

/** The outcome of a payout that the acquirer cannot be asked about any more, which another person has to approve. */
export const settlementProposal: ProposalKind = {
  name: 'withdrawal.settle',
  permission: 'withdrawal.approve',
  carryOut: async (tx, { record_id: id, merchant_id: merchantId, content }, now) => {
    assert(merchantId, 'a withdrawal is of a merchant')
    const row = await lockWithdrawal(tx, merchantId, id)
    if (!row) throw unknownWithdrawal()
    const seen = content as Seen
    await assertSettleable(tx, row, { seen, now })
    return await settleAs(tx, row, { seen, now })
  },
}

/**
 * Proposes the outcome of a payout whose response was lost at a PSP that cannot be queried (Banco Inter), or whose id at
 * the PSP the database has lost (Sicoob). Nothing changes until another person has approved it.
 *
 * @throws {AppError} `not_found`, or `withdrawal_not_possible` while the service may still determine the outcome
 *   automatically, or when the endToEndId cannot be that of this withdrawal
 */
export async function proposeSettlement(
  { db, clock }: { db: Db; clock: Clock },
  { id, seen, by }: { id: string; seen: Seen; by: By },
): Promise<ProposalRow> {
  return await db.transaction(async (tx) => {
    const owner = await findOwner(tx, id)
    const row = owner && (await findWithdrawal(tx, owner.merchant_id, id))
    if (!row) throw unknownWithdrawal()
    const now = clock.now()
    await assertSettleable(tx, row, { seen, now })
    const { merchant_id: merchantId } = row
    return await propose(tx, { kind: settlementProposal.name, merchantId, recordId: id, content: seen, by, now })
  })
}

async function assertSettleable(tx: Tx, row: WithdrawalRow, { seen, now }: { seen: Seen; now: Date }): Promise<void> {
  if (row.status !== 'PROCESSING') {
    throw notPossible({
      field: 'status',
      code: 'not_processing',
      message: `is ${row.status}, and only the outcome of a PROCESSING withdrawal can be entered`,
    })
  }
  if (!(await isSettleable(tx, row, now))) {
    throw notPossible({
      field: 'status',
      code: 'still_checked',
      message:
        'is PROCESSING and the service still queries the acquirer. A person can enter the outcome only two hours after it was sent, and only if the acquirer cannot be queried any more',
    })
  }
  const { endToEndId } = seen
  if (endToEndId === null) return
  const at = isEndToEndId(endToEndId) ? timeOfEndToEndId(endToEndId) : null
  const isPossible = at !== null && at.getTime() >= row.created_at.getTime() - clockSkewMs && at <= now
  if (!isPossible) {
    throw notPossible({
      field: 'endToEndId',
      code: 'invalid',
      message: 'must be an E followed by 31 characters, of a payment made after the withdrawal was created',
    })
  }
  if (await isEndToEndKnown(tx, endToEndId)) {
    throw notPossible({ field: 'endToEndId', code: 'duplicate', message: 'belongs to another withdrawal' })
  }
}

/** True while only a person can determine the outcome: the service does not query the acquirer any more. */
export async function isSettleable(db: Db | Tx, row: WithdrawalRow, now: Date): Promise<boolean> {
  // It may have been requested until the database lost commits.
  const since = row.commits_lost_at ?? row.status_dates.at(-1)
  if (row.status !== 'PROCESSING' || row.acquirer_reference !== null || !since) return false
  const exchanges = await listExchanges(db, { recordIds: [row.id], endToEnd: null, limit: 50 })
  const last = exchanges.findLast(
    ({ operation, error }) => operation === 'sendPayout' || (operation === 'findPayout' && error === 'NeedsPerson'),
  )
  const isLost = last?.error === 'NeedsPerson' && last.at.getTime() - since.getTime() > repeatedMs
  return isLost && now.getTime() - since.getTime() >= openMsMin
}

async function settleAs(
  tx: Tx,
  row: WithdrawalRow,
  { seen: { endToEndId, reason }, now }: { seen: Seen; now: Date },
): Promise<WithdrawalRow> {
  if (endToEndId === null)
    return await changeStatus(tx, row, { to: 'FAILED', now, checkAt: null, set: { error_message: reason } })
  const at = timeOfEndToEndId(endToEndId)
  const set = { amount_withdrawn: row.amount, processed_date: at, end_to_end: endToEndId }
  // Without a reference the acquirer cannot be queried for a return either.
  return await changeStatus(tx, row, { to: 'PROCESSED', now, checkAt: null, set })
}
