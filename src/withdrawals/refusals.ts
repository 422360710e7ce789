import { AppError, type FieldError } from '../lib/errors.ts'
import type { WithdrawalStatus } from './status.ts'

/** The errors that several operations share. */

export function unknownWithdrawal(): AppError {
  return new AppError('not_found', { detail: 'There is no withdrawal with this id.' })
}

/** For a request to stop or change a withdrawal that is no longer PENDING. */
export function notPending(status: WithdrawalStatus): AppError {
  const message =
    status === 'PROCESSING'
      ? 'is PROCESSING: it may have been sent, so it can no longer be stopped or changed'
      : `is ${status}, and only a PENDING withdrawal can be stopped or changed`
  return notPossible({ field: 'status', code: 'not_pending', message })
}

/** For a merchant that wants to cancel a PENDING withdrawal: its money may have left. */
export function maybeSent(): AppError {
  const message =
    'is PENDING, but it may have been sent, because the database has lost commits: only the operator can decide on it'
  return notPossible({ field: 'status', code: 'maybe_sent', message })
}

export function notPendingReview(message: string): AppError {
  return notPossible({ field: 'hold', code: 'not_pending_review', message })
}

export function notPossible(fault: FieldError): AppError {
  return new AppError('withdrawal_not_possible', { detail: `${fault.field} ${fault.message}.`, fields: [fault] })
}
