import { AcquirerUnavailable } from '../acquirers/acquirer.ts'
import { type Action, type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { type Posting, post } from '../ledger/post.ts'
import { corrected, correctedOfOperator } from '../ledger/transfers.ts'
import { AppError, refusal } from '../lib/errors.ts'
import { canonicalJson } from '../lib/json.ts'
import { fromTxid } from '../pix/ids.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import { checkReturns } from '../transactions/dispute/poll.ts'
import { enterConfirmedReturn } from '../transactions/dispute/returns.ts'
import { checkRefundsOf } from '../transactions/refund/send.ts'
import { type ReportedPayment, type SettleDeps, settleTransaction } from '../transactions/settle.ts'
import { settleUnattributed } from '../transactions/settle-unattributed.ts'
import { settleWithdrawal } from '../withdrawals/check.ts'
import { areReturnsSettled, assertStillDiffers } from './recheck.ts'
import { type DiscrepancyRow, decideDiscrepancy, findDiscrepancy, lockDiscrepancy } from './store.ts'

type Decision = { id: string; by: By }
type Proposal = DiscrepancyRow['proposal']

/**
 * Carries out the proposal of a discrepancy. `settle` and `suspend` use the operations that the service also runs
 * automatically and that may be repeated; the decision is stored after them. A correction is posted in the commit of
 * the decision, so it is posted once.
 *
 * @param shown the proposal that the person has read; by default the current one
 * @throws {AppError} `not_found`; `difference_not_possible` when it is decided already, there is nothing to confirm,
 * the proposal or either side has changed, the acquirer cannot be queried, or it does not confirm what it listed
 */
export async function confirmDiscrepancy(
  deps: SettleDeps,
  { id, by, shown }: Decision & { shown?: Proposal },
): Promise<DiscrepancyRow> {
  const difference = await findOpen(deps.db, id)
  assertSame(id, difference.proposal, shown)
  await carryOut(deps, difference).catch(async (error: unknown) => {
    // If somebody else has decided meanwhile, report that: it is the reason for the failure.
    await findOpen(deps.db, id)
    throw error instanceof AcquirerUnavailable ? notQueried(difference, error) : error
  })
  await deps.db.transaction(async (tx) => {
    const locked = assertOpen(await lockDiscrepancy(tx, id), id)
    const { proposal } = locked
    assertSame(id, proposal, difference.proposal)
    const now = deps.clock.now()
    await decideDiscrepancy(tx, { id, state: 'confirmed', by: by.actor, reason: null, now })
    const { class: name, reference } = locked
    const details = { class: name, reference, ...proposal, proposal: proposal.action }
    await recordDecision(tx, locked, { by, action: 'reconcile.confirm', details, now })
    const correction = correctionOf(locked)
    if (!correction) return
    const settle = await enterReturn(tx, locked, now)
    const about = { eventKey: `correction:${id}`, recordType: 'correction', recordId: id } as const
    await post(tx, { ...correction, ...about, acquirer: locked.acquirer, now })
    await settle()
  })
  return difference
}

/**
 * When the PSP has returned a merchant's payment, the return is also entered on the transaction, where the merchant
 * sees it.
 */
async function enterReturn(tx: Tx, difference: DiscrepancyRow, now: Date): Promise<() => Promise<void>> {
  const { id: reference, subject, merchant_id: merchantId, record_id: id, proposal, at } = difference
  const isReturn = subject === 'return' && proposal.action === 'correct' && proposal.account !== 'house'
  if (!isReturn || merchantId === null || id === null) return async () => {}
  return await enterConfirmedReturn(tx, { merchantId, id, amount: 0 - proposal.cents, reference, at }, now)
}

/** The transfers of a proposed correction and the merchant whose accounts they change; null for other proposals. */
export function correctionOf({
  merchant_id: merchantId,
  proposal,
}: Pick<DiscrepancyRow, 'merchant_id' | 'proposal'>): Pick<Posting, 'merchantId' | 'transfers'> | null {
  if (proposal.action !== 'correct') return null
  return proposal.account === 'house' || merchantId === null
    ? { merchantId: operatorMerchantId, transfers: correctedOfOperator(proposal.cents) }
    : { merchantId, transfers: corrected(proposal.cents) }
}

/** Accepts a discrepancy as it is. It opens again only when either side has changed. */
export async function dismissDiscrepancy(
  { db, clock }: Pick<SettleDeps, 'db' | 'clock'>,
  { id, by, reason }: Decision & { reason: string },
): Promise<DiscrepancyRow> {
  const difference = await findOpen(db, id)
  await db.transaction(async (tx) => {
    const locked = assertOpen(await lockDiscrepancy(tx, id), id)
    const now = clock.now()
    await decideDiscrepancy(tx, { id, state: 'dismissed', by: by.actor, reason, now })
    await recordDecision(tx, locked, { by, action: 'reconcile.dismiss', details: { reason }, now })
  })
  return difference
}

async function recordDecision(
  tx: Tx,
  { id: recordId, merchant_id: merchantId }: DiscrepancyRow,
  about: Pick<Action, 'by' | 'action' | 'details' | 'now'>,
): Promise<void> {
  await recordAction(tx, { ...about, merchantId, recordId })
}

async function findOpen(db: Db, id: string): Promise<DiscrepancyRow> {
  return assertOpen(await findDiscrepancy(db, id), id)
}

function assertOpen(difference: DiscrepancyRow | null, id: string): DiscrepancyRow {
  if (!difference)
    throw new AppError('not_found', {
      detail: `There is no discrepancy ${id}. \`npx guiche reconcile list\` lists them.`,
    })
  if (difference.state === 'open') return difference
  const since = difference.decided_at?.toISOString() ?? ''
  throw refuse('not_open', `The discrepancy ${id} is ${difference.state} since ${since}: nothing is left to decide.`)
}

function assertSame(id: string, current: Proposal, shown: Proposal = current): void {
  if (canonicalJson(current) === canonicalJson(shown)) return
  throw refuse('changed', `The proposal of ${id} has just changed: check it again.`)
}

async function carryOut(deps: SettleDeps, difference: DiscrepancyRow): Promise<void> {
  switch (difference.proposal.action) {
    case 'none':
      throw refuse(
        'resolves_itself',
        'There is nothing to do: the next comparison, or the one that closes the day, resolves it automatically.',
      )
    case 'investigate':
      throw refuse(
        'needs_investigation',
        'No entry follows from what is known: investigate it at the acquirer, then `npx guiche reconcile dismiss` it with the reason.',
      )
    case 'suspend':
      return await suspend(deps, difference)
    case 'settle':
      return await settle(deps, difference)
    case 'correct':
      return await assertStillDiffers(deps, difference)
  }
}

async function suspend(deps: SettleDeps, difference: DiscrepancyRow): Promise<void> {
  const { acquirer, reference: endToEndId, merchant_id: merchantId, record_id: id } = difference
  // Settling recognizes a second payment and places it in suspense.
  if (merchantId !== null && id !== null) await settlePayment(deps, { acquirer, endToEndId, merchantId, id })
  else await settleWithoutOwner(deps, { acquirer, endToEndId })
}

/** Posts a payment or places it in suspense; for one already there, records what was returned of it. */
async function settleWithoutOwner(deps: SettleDeps, reported: ReportedPayment): Promise<void> {
  const found = await settleUnattributed(deps, reported)
  if (found === 'unconfirmed' || found === 'early')
    throw notAtAcquirer({ acquirer: reported.acquirer, reference: reported.endToEndId })
}

async function settle(deps: SettleDeps, difference: DiscrepancyRow): Promise<void> {
  const { acquirer, subject, reference, merchant_id: merchantId, record_id: id } = difference
  if (difference.class === 'unreadable' && subject === 'payment')
    return await settleWithoutOwner(deps, { acquirer, endToEndId: reference })
  if (merchantId === null || id === null) throw notAtAcquirer(difference)
  if (subject === 'payment') return await settlePayment(deps, { acquirer, endToEndId: reference, merchantId, id })
  if (subject === 'payout') {
    const outcome = await settleWithdrawal(deps, { merchantId, id: fromTxid(reference) ?? id })
    if (outcome === 'missing' || outcome === 'open') throw notAtAcquirer(difference)
    return
  }
  await settleReturn(deps, { acquirer, endToEndId: reference, merchantId, id })
  // A return whose outcome is still unknown only waits, without an error.
  if (!(await areReturnsSettled(deps, difference))) throw notAtAcquirer(difference)
}

type OfPayment = { acquirer: string; endToEndId: string; merchantId: string; id: string }

async function settlePayment(deps: SettleDeps, { acquirer, endToEndId, merchantId, id }: OfPayment): Promise<void> {
  const settled = await settleTransaction(deps, { merchantId, id, reported: { acquirer, endToEndId } })
  if (settled === 'unpaid') throw notAtAcquirer({ acquirer, reference: endToEndId })
}

/** Settles our refund in progress, a return under MED, or a return of a payment in suspense. */
async function settleReturn(deps: SettleDeps, { acquirer, endToEndId, merchantId, id }: OfPayment): Promise<void> {
  if ((await deps.settlement.findOwner(id)) === null) return await settleWithoutOwner(deps, { acquirer, endToEndId })
  await checkRefundsOf(deps, { merchant_id: merchantId, id })
  await checkReturns(deps, { merchantId, id })
}

function notAtAcquirer({ acquirer, reference }: Pick<DiscrepancyRow, 'acquirer' | 'reference'>): AppError {
  return refuse(
    'not_confirmed',
    `${acquirer} does not confirm all of this for ${reference} when it is queried individually, so the discrepancy stays open. Try again later; \`npx guiche reconcile\` compares again.`,
  )
}

function notQueried({ acquirer }: DiscrepancyRow, { message }: AcquirerUnavailable): AppError {
  return refuse(
    'no_answer',
    `${acquirer} could not be queried (${message}), so the proposal was not carried out. The discrepancy stays open: confirm it again when the PSP answers. Nothing is posted twice.`,
  )
}

const refuse = refusal.bind(null, 'difference_not_possible')
