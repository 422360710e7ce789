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
export type StatementFinding = { endToEndId: string | null; reason: string }

const hourMs = 60 * 60_000
/**
 * Where a payout cannot be queried without its reference, our adapter repeats the request for at most an hour
 * (`repeatableMs` in payout-inter.ts). If a person is still needed after that, the service can no longer find out the
 * outcome.
 */
const repeatedMs = hourMs
/** By then the last repeated request is in the PSP's statement, if the PSP accepted it. */
const openMsMin = 2 * hourMs
/** How far the PSP's clock may be behind ours. */
const clockSkewMs = 5 * 60_000

/** Enters the outcome of a payout that can no longer be queried at the acquirer. A second person has to approve it. */
export const settlementProposal: ProposalKind = {
  name: 'withdrawal.settle',
  permission: 'withdrawal.approve',
  carryOut: async (tx, { record_id: id, merchant_id: merchantId, content }, now) => {
    assert(merchantId, 'a withdrawal belongs to a merchant')
    const row = await lockWithdrawal(tx, merchantId, id)
    if (!row) throw unknownWithdrawal()
    const seen = content as StatementFinding
    await assertSettleable(tx, row, { seen, now })
    return await settleAs(tx, row, { seen, now })
  },
}

/**
 * Proposes the outcome of a payout whose response was lost at a PSP that cannot be queried (Banco Inter), or of a
 * payout whose id at the PSP was lost when the database lost commits (Sicoob). A PENDING withdrawal of which the
 * database may have lost the sending can only be proposed as sent: otherwise it is approved or rejected. Nothing changes
 * until another person has approved the proposal.
 *
 * @throws {AppError} `not_found`, or `withdrawal_not_possible` while the service may still determine the outcome
 *   automatically, or when the endToEndId cannot be that of this withdrawal
 */
export async function proposeSettlement(
  { db, clock }: { db: Db; clock: Clock },
  { id, seen, by }: { id: string; seen: StatementFinding; by: By },
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

async function assertSettleable(
  tx: Tx,
  row: WithdrawalRow,
  { seen, now }: { seen: StatementFinding; now: Date },
): Promise<void> {
  const { endToEndId } = seen
  if (row.status !== 'PROCESSING' && !mayBeSent(row)) {
    throw notPossible({
      field: 'status',
      code: 'not_processing',
      message: `is ${row.status}, and only the outcome of a withdrawal that was or may have been sent can be entered`,
    })
  }
  if (row.status === 'PENDING' && endToEndId === null) {
    throw notPossible({
      field: 'endToEndId',
      code: 'required',
      message: 'is required while the withdrawal is PENDING: if nothing was sent, approve or reject it',
    })
  }
  if (!(await isSettleable(tx, row, now))) {
    throw notPossible({
      field: 'status',
      code: 'still_checked',
      message:
        'is PROCESSING and the service still queries the acquirer. A person can enter the outcome only if the acquirer can no longer be queried, and not until two hours after the withdrawal was sent or the database lost commits',
    })
  }
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

/** True for a PENDING withdrawal that may have been sent before the database lost commits. */
function mayBeSent({ status, commits_lost_at }: WithdrawalRow): boolean {
  return status === 'PENDING' && commits_lost_at !== null
}

/**
 * True while only a person can determine the outcome: nothing is sent without an approval, or the adapter no longer
 * sends any request for this payout (`NeedsPerson`).
 */
export async function isSettleable(db: Db | Tx, row: WithdrawalRow, now: Date): Promise<boolean> {
  if (mayBeSent(row)) return true
  // If the database lost commits (a failover or an older backup), it may have been sent at any time up to the loss:
  // count from there.
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
  { seen: { endToEndId, reason }, now }: { seen: StatementFinding; now: Date },
): Promise<WithdrawalRow> {
  if (endToEndId === null)
    return await changeStatus(tx, row, { to: 'FAILED', now, checkAt: null, set: { error_message: reason } })
  const sent =
    row.status === 'PENDING' ? await changeStatus(tx, row, { to: 'PROCESSING', now, checkAt: null, set: {} }) : row
  const at = timeOfEndToEndId(endToEndId)
  const set = { amount_withdrawn: row.amount, processed_date: at, end_to_end: endToEndId }
  // Without a reference the acquirer cannot be queried for a return either.
  return await changeStatus(tx, sent, { to: 'PROCESSED', now, checkAt: null, set })
}
