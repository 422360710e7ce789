/** The errors that a program with an access token can get: its stable code, HTTP status and title (RFC 9457). */
export const apiErrors = {
  validation_failed: { status: 422, title: 'The request is not valid' },
  malformed_json: { status: 422, title: 'The body is not valid JSON' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key was already used for a different request' },
  acquirer_refused: { status: 422, title: 'The acquirer refused the request' },
  payment_refused: { status: 422, title: 'The simulated bank refused the payment' },
  insufficient_balance: { status: 422, title: 'The balance does not cover this amount' },
  cancel_not_possible: { status: 409, title: 'The transaction cannot be canceled' },
  refund_not_possible: { status: 422, title: 'The transaction cannot be refunded' },
  withdrawal_not_possible: { status: 422, title: 'The withdrawal is not possible' },
  position_unknown: { status: 422, title: 'The feed has no event at this position' },
  payouts_stopped: { status: 503, title: 'Payouts and refunds are frozen' },
  missing_token: { status: 401, title: 'An access token is required' },
  invalid_token: { status: 401, title: 'The access token is not valid' },
  token_expired: { status: 401, title: 'The access token has expired' },
  token_revoked: { status: 401, title: 'The access token was revoked' },
  client_not_registered: { status: 403, title: 'The API client is not registered in this installation' },
  merchant_moved: { status: 403, title: 'The merchant has moved to another address' },
  insufficient_scope: { status: 403, title: 'The access token lacks a scope' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'The method is not allowed at this address' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  rate_limited: { status: 429, title: 'Too many requests' },
  bad_request: { status: 400, title: 'The request cannot be read' },
  internal_error: { status: 500, title: 'Internal error' },
  acquirer_unavailable: { status: 500, title: 'The outcome at the acquirer is not yet known' },
  database_unavailable: { status: 503, title: 'The database is not available' },
  overloaded: { status: 503, title: 'The service is overloaded' },
} as const satisfies ErrorTable

/** The errors of the dashboard, of actions of the operator, and of a PSP's callbacks. */
export const otherErrors = {
  infraction_not_possible: { status: 422, title: 'This action on the dispute is not possible' },
  defence_not_possible: { status: 409, title: 'This action on the defence is not possible' },
  suspense_not_possible: { status: 422, title: 'This action on the payment in suspense is not possible' },
  difference_not_possible: { status: 422, title: 'This decision on the discrepancy is not possible' },
  entry_not_possible: { status: 422, title: 'The ledger entry cannot be posted' },
  release_not_possible: { status: 422, title: 'Payouts cannot be released yet' },
  proposal_not_possible: { status: 422, title: 'This action on the proposal is not possible' },
  erasure_not_possible: { status: 422, title: 'The personal data cannot be erased yet' },
  change_not_possible: { status: 409, title: 'The record was changed meanwhile' },
  user_not_possible: { status: 422, title: 'This change of the user is not possible' },
  not_signed_in: { status: 401, title: 'You are not signed in' },
  sign_in_failed: { status: 401, title: 'The sign-in failed' },
  second_factor_needed: { status: 401, title: 'A second-factor code is required' },
  second_factor_locked: { status: 401, title: 'The second factor is locked' },
  second_factor_required: { status: 403, title: 'Your role requires a second factor' },
  csrf_token_missing: { status: 403, title: 'The request does not come from this dashboard session' },
  permission_missing: { status: 403, title: 'Your role does not allow this' },
  certificate_refused: { status: 403, title: 'The required client certificate was not presented' },
} as const satisfies ErrorTable

type ErrorTable = Record<string, { status: number; title: string }>

/**
 * Every error that a caller can act on. http/problem.ts turns it into a problem document, and pay/ into a page for
 * customers.
 */
export const errors = { ...apiErrors, ...otherErrors }

export type ErrorCode = keyof typeof errors

/** Every code of a field error. The dashboard has a sentence for each of them, in both of its languages. */
export const fieldErrorCodes = [
  // The shape of a request.
  ...(['required', 'unknown_field', 'unknown_parameter', 'duplicate', 'differs', 'out_of_order'] as const),
  ...(['invalid', 'invalid_type', 'invalid_value', 'invalid_number', 'invalid_text', 'invalid_format'] as const),
  ...([
    'invalid_cursor',
    'too_small',
    'too_large',
    'too_short',
    'too_long',
    'too_few',
    'too_many',
    'too_deep',
  ] as const),
  // Passwords and second factors.
  ...(['length', 'too_easy', 'wrong'] as const),
  // The status of a record, and approvals.
  ...(['not_offered', 'not_pending_review', 'not_pending', 'maybe_sent', 'not_processing', 'still_checked'] as const),
  'not_open',
  ...(['same_person', 'own_secret', 'own_account', 'account_of_requester', 'same_inviter', 'new_account'] as const),
  // Why the state of a record refuses a request.
  ...(['changed', 'not_configured', 'not_paid', 'too_old', 'disputed', 'has_open_dispute'] as const),
  ...(['refund_in_progress', 'refunds_failed', 'refunded', 'returned', 'only_returnable', 'only_refundable'] as const),
  ...(['attributed', 'not_attributed', 'other_merchant', 'returning', 'sent_back', 'no_code', 'code_unknown'] as const),
  ...(['already_accepted', 'resolves_itself', 'needs_investigation', 'not_confirmed', 'other_proposal'] as const),
  ...(['no_answer', 'still_open', 'last_admin', 'not_over', 'not_checked', 'already_sent'] as const),
  // Amounts.
  ...(['limit_per_withdrawal', 'limit_per_day', 'limit_per_night'] as const),
  ...(['more_than_fees', 'more_than_owed', 'more_than_balance', 'more_than_payout_account', 'same_account'] as const),
  // The simulator's refusals.
  ...(['br_code_invalid', 'static_not_supported', 'not_of_this_network', 'charge_unknown', 'charge_expired'] as const),
  ...(['charge_removed', 'has_failed'] as const),
  ...(['already_paid', 'amount_invalid', 'payer_invalid'] as const),
  ...(['nothing_left', 'too_late', 'already_open', 'payment_unknown', 'payout_unknown', 'infraction_unknown'] as const),
  'refused',
] as const

export type FieldErrorCode = (typeof fieldErrorCodes)[number]

/** One error in a request. `field` is a path such as `items[0].unitPrice`. The submitted value is never included. */
export type FieldError = {
  field: string
  code: FieldErrorCode
  message: string
  /** The smallest or largest value that is allowed. */
  limit?: number
  /** The unit of `limit`. Absent: a plain number, or a count of characters or items. */
  unit?: 'cents' | 'bytes'
  /** The record that the error is about, if it is not the one in the address. */
  recordId?: string
}

type Details = {
  /** What happened in this case and what to do next. */
  detail?: string
  fields?: FieldError[]
  /** Extra fields of the problem document, such as `transactionId`. */
  members?: Record<string, string | number>
  headers?: Record<string, string>
  /** For the security log and the client's own log, never in the response: who called, and which factor was wrong. */
  about?: { clientId?: string; email?: string; factor?: string }
  cause?: unknown
}

/** Errors that the state of a record causes. The dashboard words the reason from the field errors. */
export type RefusalCode = Extract<ErrorCode, `${string}_not_possible` | 'payment_refused'>

/** An error that the caller can act on. Any other thrown error gets its code in http/problem.ts. */
export class AppError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: ErrorCode
  readonly details: Details

  constructor(code: Code, ...given: Code extends RefusalCode ? [Details & { fields: FieldError[] }] : [Details?]) {
    const details: Details = given[0] ?? {}
    super(details.detail ?? errors[code].title, { cause: details.cause })
    this.name = 'AppError'
    this.code = code
    this.details = details
  }
}

/** Refuses a request because of the state of a record. `why` is for programs, `detail` for people. */
export function refusal(
  code: RefusalCode,
  why: FieldErrorCode,
  detail: string,
  at: Partial<Omit<FieldError, 'code'>> = {},
): AppError {
  return new AppError(code, { detail, fields: [{ field: 'status', code: why, message: detail, ...at }] })
}

/** Refuses a request because of one field. The message has no subject and no full stop, as in `must be a day`. */
export function invalidField(
  field: string,
  code: FieldErrorCode,
  message: string,
  more: Pick<FieldError, 'limit' | 'unit'> = {},
): AppError {
  return invalidFields([{ field, code, message, ...more }])
}

export function invalidFields(fields: FieldError[]): AppError {
  return new AppError('validation_failed', { fields, detail: describeFaults(fields) })
}

/** The first error as a sentence, and how many more there are. */
export function describeFaults(fields: FieldError[]): string {
  const first = fields[0]
  if (!first) return 'The request is not valid.'
  const rest =
    fields.length > 1 ? ` ${fields.length - 1} more error${fields.length === 2 ? '' : 's'} in \`errors\`.` : ''
  return `${first.field === '' ? 'The body' : first.field} ${first.message}.${rest}`
}
