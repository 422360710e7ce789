import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type FieldErrorCode, refusal } from '../lib/errors.ts'
import { cents } from '../lib/money.ts'
import type { ProposalKind } from '../proposals/decide.ts'
import { propose } from '../proposals/propose.ts'
import type { ProposalRow } from '../proposals/store.ts'
import { unknownSuspensePayment } from '../suspense/send-back.ts'
import type { SuspenseStatus } from '../suspense/status.ts'
import { findSuspense, type SuspenseRow } from '../suspense/store.ts'
import { findOwners } from '../transactions/owner-store.ts'
import { recordPayments } from '../transactions/settle.ts'
import type { TransactionStatus } from '../transactions/status.ts'
import { findTransaction, type TransactionRow } from '../transactions/store.ts'
import { recordingLock } from '../transactions/suspend.ts'

type Attribution = { payment: SuspenseRow; transaction: TransactionRow }

/**
 * Attributes a payment in suspense to a transaction: in one commit it leaves suspense and is recorded like any
 * payment, with its fee, history and event. A transaction whose code has expired accepts it as well.
 *
 * @param score how well the two fit (score.ts), if the service attributed it; for the audit log
 * @throws {AppError} `not_found`, or `suspense_not_possible` with the reason
 */
export async function recordAttribution(
  { db, clock, wakeDeliveries }: { db: Db; clock: Clock; wakeDeliveries: () => void },
  { id, transactionId, by, score }: { id: string; transactionId: string; by: By; score?: number },
): Promise<Attribution> {
  const attributed = await db.transaction(async (tx) => {
    const now = clock.now()
    const attributed = await attribute(tx, { id, transactionId }, now)
    const { merchant_id: merchantId } = attributed.transaction
    const details = { transactionId, ...(score !== undefined && { score }) }
    await recordAction(tx, { by, action: 'suspense.match', merchantId, recordId: id, details, now })
    return attributed
  }, recordingLock)
  wakeDeliveries()
  return attributed
}

async function attribute(
  tx: Tx,
  { id, transactionId }: { id: string; transactionId: string },
  now: Date,
): Promise<Attribution> {
  const { payment, transaction } = await findAttributable(tx, { id, transactionId })
  const confirmed = {
    merchantId: transaction.merchant_id,
    id: transactionId,
    acquirer: { name: payment.acquirer, receiver: payment.receiver },
    payment: {
      endToEndId: payment.end_to_end,
      txid: payment.txid,
      amount: cents(payment.amount),
      paidAt: payment.paid_at,
      payer: payment.payer,
      returns: [],
      fee: null,
    },
    charge: null,
  }
  const [recorded] = await recordPayments(tx, [confirmed], now)
  // Another commit was first.
  if (recorded !== 'settled')
    throw refuse('changed', 'The payment or the transaction has changed meanwhile. Check both, and try again.')
  return { payment, transaction }
}

/** The attribution of a payment above the amount from which another person has to approve. */
export const attributionProposal: ProposalKind = {
  name: 'suspense.match',
  permission: 'reconciliation.decide',
  lock: recordingLock,
  carryOut: async (tx, { record_id: id, content }, now) =>
    await attribute(tx, { id, transactionId: String(content.transactionId) }, now),
}

/**
 * Proposes an attribution for another person to approve, after checking that it is possible.
 *
 * @throws {AppError} `not_found`, `suspense_not_possible`, `proposal_not_possible`
 */
export async function proposeAttribution(
  { db, clock }: { db: Db; clock: Clock },
  { id, transactionId, by }: { id: string; transactionId: string; by: By },
): Promise<ProposalRow> {
  const { payment, transaction } = await findAttributable(db, { id, transactionId })
  const merchantId = transaction.merchant_id
  const content = { transactionId, amount: payment.amount }
  return await db.transaction(
    async (tx) =>
      await propose(tx, { kind: attributionProposal.name, merchantId, recordId: id, content, by, now: clock.now() }),
  )
}

/**
 * Reads a payment in suspense and a transaction that it may be attributed to, in their current state.
 *
 * @throws {AppError} `not_found`, or `suspense_not_possible` with the reason
 */
export async function findAttributable(
  db: Db | Tx,
  { id, transactionId }: { id: string; transactionId: string },
): Promise<Attribution> {
  const payment = await findSuspense(db, id)
  if (!payment) throw unknownSuspensePayment()
  const transaction = await findAnyTransaction(db, transactionId)
  if (!transaction) throw new AppError('not_found', { detail: 'There is no transaction with this id.' })
  checkPossible(payment, transaction)
  return { payment, transaction }
}

async function findAnyTransaction(db: Db | Tx, id: string): Promise<TransactionRow | null> {
  const [owner] = await findOwners(db, [id])
  return owner ? await findTransaction(db, owner.merchant_id, id) : null
}

function checkPossible(payment: SuspenseRow, transaction: TransactionRow): void {
  if (payment.status !== 'held') throw refuse(...whyNotAttributable[payment.status])
  if (payment.taken_amount > 0)
    throw refuse('only_returnable', 'A part of it was returned to the payer: what is left can only be sent back.')
  if (payment.kind === 'duplicate' && payment.merchant_id !== transaction.merchant_id)
    throw refuse('other_merchant', 'It was paid to another merchant, for a transaction that was already paid.')
  if (transaction.end_to_end !== null)
    throw refuse('already_paid', `The transaction is ${transaction.status}: it is already paid.`)
  if (transaction.pix_uri === null) throw refuse(...(whyNoCode[transaction.status] ?? noCode))
}

type Why = [code: FieldErrorCode, detail: string]

const whyNotAttributable: Record<Exclude<SuspenseStatus, 'held'>, Why> = {
  matched: ['attributed', 'It is already attributed. Run `npx guiche suspense undo <id>` to reverse that.'],
  returning: ['returning', 'It is being sent back to the payer.'],
  returned: ['sent_back', 'It was sent back to the payer.'],
}

const noCode: Why = ['no_code', 'The transaction has no code.']

const whyNoCode: Partial<Record<TransactionStatus, Why>> = {
  PENDING: [
    'code_unknown',
    'The code of the transaction is not known yet, and nobody can have paid it. Try again later.',
  ],
  FAILED: ['no_code', 'The transaction never had a code that could be paid.'],
}

const refuse = refusal.bind(null, 'suspense_not_possible')
