/**
 * Every error that a caller can act on: its stable code, its HTTP status and its title (RFC 9457).
 * http/problem.ts is the one place that turns it into an answer.
 */
export const errors = {
  validation_failed: { status: 422, title: 'The request is not valid' },
  malformed_json: { status: 422, title: 'The body is not valid JSON' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key was used for another request' },
  acquirer_refused: { status: 422, title: 'The acquirer refused the request' },
  payment_refused: { status: 422, title: 'The simulated bank refused the payment' },
  insufficient_balance: { status: 422, title: 'The balance does not cover it' },
  refund_not_possible: { status: 422, title: 'The transaction cannot be refunded' },
  infraction_not_possible: { status: 422, title: 'The payment cannot be contested, or not decided on, like this' },
  suspense_not_possible: { status: 422, title: 'The payment in suspense cannot be handled like this' },
  difference_not_possible: { status: 422, title: 'The difference cannot be decided on like this' },
  entry_not_possible: { status: 422, title: 'The entry cannot be booked like this' },
  withdrawal_not_possible: { status: 422, title: 'The withdrawal is not possible' },
  proposal_not_possible: { status: 422, title: 'The proposal cannot be made or decided on like this' },
  erasure_not_possible: { status: 422, title: 'The personal data cannot be erased yet' },
  user_not_possible: { status: 422, title: 'The user cannot be changed like this' },
  payouts_stopped: { status: 503, title: 'Money does not leave at the moment' },
  missing_token: { status: 401, title: 'An access token is needed' },
  invalid_token: { status: 401, title: 'The access token is not valid' },
  token_expired: { status: 401, title: 'The access token has expired' },
  token_revoked: { status: 401, title: 'The access token was revoked' },
  not_signed_in: { status: 401, title: 'Nobody is signed in' },
  sign_in_failed: { status: 401, title: 'The sign-in failed' },
  second_factor_needed: { status: 401, title: 'A code of the second factor is needed' },
  second_factor_locked: { status: 401, title: 'The second factor is locked' },
  second_factor_required: { status: 403, title: 'Your role needs a second factor' },
  csrf_token_missing: { status: 403, title: 'The request does not come from the dashboard' },
  permission_missing: { status: 403, title: 'Your role does not allow it' },
  client_not_registered: { status: 403, title: 'The client is not registered here' },
  certificate_refused: { status: 403, title: 'The caller has not shown the certificate that is asked for' },
  insufficient_scope: { status: 403, title: 'The access token lacks a scope' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  rate_limited: { status: 429, title: 'Too many requests' },
  bad_request: { status: 400, title: 'The request cannot be read' },
  internal_error: { status: 500, title: 'Internal error' },
  acquirer_unavailable: { status: 500, title: 'The outcome at the acquirer is not known yet' },
  overloaded: { status: 503, title: 'The service is overloaded' },
  database_unavailable: { status: 503, title: 'The database is not available' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof errors

/** One fault of a request. `field` is a path such as `items[0].unitPrice`; the submitted value is never in it. */
export type FieldError = { field: string; code: string; message: string }

type Details = {
  /** A sentence for the reader of this one error: what happened, what to do next. */
  detail?: string
  fields?: FieldError[]
  /** Further members of the problem document, such as `transactionId`. */
  members?: Record<string, string | number>
  headers?: Record<string, string>
  /** For the security log alone, never in the answer: who it was, and which factor was wrong. */
  about?: { clientId?: string; email?: string; factor?: string }
  cause?: unknown
}

/** An error that the caller can act on. Anything else that is thrown is answered as `internal_error`. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: Details

  constructor(code: ErrorCode, details: Details = {}) {
    super(details.detail ?? errors[code].title, { cause: details.cause })
    this.name = 'AppError'
    this.code = code
    this.details = details
  }
}
