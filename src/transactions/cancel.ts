import { AcquirerUnavailable } from '../acquirers/acquirer.ts'
import { type By, recordAction } from '../audit/record.ts'
import { AppError } from '../lib/errors.ts'
import { checkOpen, type Outcome } from './check.ts'
import type { SettleDeps } from './settle.ts'
import { failureCodeOf, type TransactionStatus } from './status.ts'
import { findTransaction, lockTransaction, requestCancel, type TransactionRow } from './store.ts'

/** How soon the worker takes over, if the request ends before its outcome is known. */
const recheckMs = 5_000

/**
 * Cancels an open charge: the acquirer removes it, and the transaction is FAILED. The request is committed first, then
 * the acquirer is asked, so that the worker finds out what a lost answer or a crash leaves open. A payment that the
 * acquirer knows of wins, and one that arrives later is credited. A repeated request asks the acquirer again as long
 * as the charge is open, and gets the same response once it is canceled.
 *
 * @throws {AppError} `not_found`; `cancel_not_possible` once it is paid, or has failed for another reason;
 *   `acquirer_refused`; `acquirer_unavailable` when the outcome is not known yet, or the acquirer reports the charge
 *   as paid and does not show the payment yet
 */
export async function cancelTransaction(
  deps: SettleDeps,
  key: { merchantId: string; id: string; by: By | null },
): Promise<TransactionRow> {
  const row = await commitRequest(deps, key)
  if (row.status !== 'PIX_QRCODE_GENERATED') return canceledOrThrow(row)
  const { refused, isCompleted } = await checked(deps, row)
  const after = await findRow(deps, key)
  if (after.status !== 'PIX_QRCODE_GENERATED') return canceledOrThrow(after)
  if (isCompleted) throw paymentNotShown(row.id)
  if (refused === null) throw notKnownYet(row.id)
  throw new AppError('acquirer_refused', {
    detail: `The acquirer refused to cancel the charge, so it can still be paid: ${refused}`,
    members: { transactionId: row.id },
  })
}

/** Commits the request to cancel, unless the transaction is not open any more. */
async function commitRequest(
  deps: SettleDeps,
  key: { merchantId: string; id: string; by: By | null },
): Promise<TransactionRow> {
  const { merchantId, id, by } = key
  await deps.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, merchantId, id)
    if (!row || (row.status !== 'PENDING' && row.status !== 'PIX_QRCODE_GENERATED')) return
    const now = deps.clock.now()
    await recordAction(tx, { by, action: 'transaction.cancel', merchantId, recordId: id, now })
    await requestCancel(tx, row, { now, checkAt: new Date(now.getTime() + recheckMs) })
  })
  return await findRow(deps, key)
}

async function findRow({ db }: SettleDeps, { merchantId, id }: { merchantId: string; id: string }) {
  const row = await findTransaction(db, merchantId, id)
  if (!row) throw new AppError('not_found', { detail: 'There is no transaction with this id.' })
  return row
}

async function checked(deps: SettleDeps, row: TransactionRow): Promise<Outcome> {
  try {
    return await checkOpen(deps, row)
  } catch (error) {
    if (error instanceof AcquirerUnavailable) throw notKnownYet(row.id)
    throw error
  }
}

function canceledOrThrow(row: TransactionRow): TransactionRow {
  if (row.status === 'PENDING') throw notKnownYet(row.id)
  if (failureCodeOf(row) === 'canceled') return row
  throw notPossible(row.status)
}

function notKnownYet(transactionId: string): AppError {
  return new AppError('acquirer_unavailable', {
    detail:
      'The acquirer did not answer in time, so it is not known yet whether the charge can still be paid. The request is kept and will be resolved: fetch the transaction later, or repeat the request.',
    members: { transactionId },
  })
}

function paymentNotShown(transactionId: string): AppError {
  return new AppError('acquirer_unavailable', {
    detail:
      'The acquirer reports the charge as paid but does not show the payment yet, so the charge is neither canceled nor PAID. It is checked again: fetch the transaction later. If it does not become PAID, the operator has to look the payment up at the acquirer.',
    members: { transactionId },
  })
}

function notPossible(status: TransactionStatus): AppError {
  const isFailed = status === 'FAILED'
  const next = status === 'PAID' ? 'refund it instead' : 'it cannot be canceled'
  const message = isFailed ? 'is FAILED: there is no open charge to cancel' : `is ${status}: it was paid, so ${next}`
  return new AppError('cancel_not_possible', {
    detail: `status ${message}.`,
    fields: [{ field: 'status', code: isFailed ? 'has_failed' : 'already_paid', message }],
    members: { transactionStatus: status },
  })
}
