import type { ErrorCode, FieldError } from './types.ts'

/** Codes that are not among those of the API's problems. */
export type SdkErrorCode =
  /** No answer: the service could not be reached, or the connection broke. */
  | 'connection_failed'
  /** No answer within `timeoutMs`. */
  | 'timeout'
  /** An answer that is not from Guichê, but from a proxy for instance. */
  | 'unexpected_answer'
  /** The token endpoint refused the credentials. */
  | 'invalid_client'
  /** A webhook that cannot be trusted. */
  | 'webhook_not_verified'
  /** The condition that `waitFor` waited for was not met in time. */
  | 'wait_timed_out'

type Facts = {
  code: string
  detail: string
  status?: number | undefined
  requestId?: string | undefined
  errors?: readonly FieldError[] | undefined
  idempotencyKey?: string | undefined
  transactionId?: string | undefined
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

/**
 * Every error that the SDK throws because of the service or of a webhook. Others are a `TypeError` or `RangeError` for
 * wrong arguments, the `RangeError` of `List.all`, and the reason of an `AbortSignal` that you aborted. The message
 * says what happened and what to do; it never contains a secret or a token.
 *
 * @example
 * ```ts
 * try {
 *   await guiche.withdrawals.create(withdrawal)
 * } catch (error) {
 *   if (error instanceof GuicheError && error.code === 'insufficient_balance') return tryTomorrow()
 *   throw error
 * }
 * ```
 */
export class GuicheError extends Error {
  override readonly name: string = 'GuicheError'
  /** Stable, in snake case. Compare this, not the message. */
  readonly code: ErrorCode | SdkErrorCode | (string & {})
  /** What happened and what to do next. */
  readonly detail: string
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined
  /** Give this to the operator, who finds the request in the log with it. */
  readonly requestId: string | undefined
  /** Seconds to wait before the next try, if the service said so. */
  readonly retryAfterSeconds: number | undefined
  /**
   * All invalid fields of the request, not only the first; or the reasons why the current state of the record does not
   * allow the request. Empty for other errors.
   */
  readonly errors: readonly FieldError[]
  /** The idempotency key of the request. Repeat the request with this key, and it is carried out only once. */
  readonly idempotencyKey: string | undefined

  constructor({ code, detail, status, requestId, retryAfterSeconds, errors = [], idempotencyKey, cause }: Facts) {
    const notes = [code, status && `HTTP ${status}`, requestId && `request ${requestId}`].filter(Boolean)
    super(`${describe(code, detail, errors)} [${notes.join(', ')}]`, cause === undefined ? {} : { cause })
    this.code = code
    this.detail = detail
    this.status = status
    this.requestId = requestId
    this.retryAfterSeconds = retryAfterSeconds
    this.errors = errors
    this.idempotencyKey = idempotencyKey
  }
}

/** Keeps the log readable when a request has a hundred errors. */
const errorsShownMax = 5

/**
 * For an invalid request, `detail` names the first error only. The message lists the others too, for a reader who sees
 * nothing else.
 */
function describe(code: string, detail: string, errors: readonly FieldError[]): string {
  if (code !== 'validation_failed' || errors.length < 2) return detail
  const shown = errors.slice(0, errorsShownMax).map(({ field, message }) => `${field || 'The body'} ${message}.`)
  const more = errors.length - shown.length
  return [...shown, ...(more > 0 ? [`And ${more} more in "errors".`] : [])].join(' ')
}

/** 422: `errors` names every field that is missing or wrong. It is empty if the body is not valid JSON. */
export class ValidationError extends GuicheError {
  override readonly name = 'ValidationError'
}

/** 422: the idempotency key was already used for a request with different content. Use a new key for a new record. */
export class IdempotencyKeyReusedError extends GuicheError {
  override readonly name = 'IdempotencyKeyReusedError'
}

/**
 * 422: the PSP refused to create a charge, and the transaction has failed; or it refused to cancel one, which can still
 * be paid. `detail` has the reason, `transactionId` the transaction.
 */
export class AcquirerRefusedError extends GuicheError {
  override readonly name = 'AcquirerRefusedError'
  /** The transaction whose charge was not created or not canceled. */
  readonly transactionId: string | undefined

  constructor(facts: Facts) {
    super(facts)
    this.transactionId = facts.transactionId
  }
}

/** 422: the available balance does not cover amount and fee. */
export class InsufficientBalanceError extends GuicheError {
  override readonly name = 'InsufficientBalanceError'
}

/** 401: the credentials or the token are not valid. If a token was refused, the SDK has already tried once more. */
export class AuthenticationError extends GuicheError {
  override readonly name = 'AuthenticationError'
}

/**
 * 403: the client lacks a scope, which the operator can grant; or it is not registered; or new charges of its merchant
 * are created at another address (`merchant_moved`).
 */
export class PermissionError extends GuicheError {
  override readonly name = 'PermissionError'
}

/** 404: no record has this id, or it belongs to another merchant. */
export class NotFoundError extends GuicheError {
  override readonly name = 'NotFoundError'
}

/** 429: more requests than the service accepts. The SDK has retried, unless it would have to wait over a minute. */
export class RateLimitedError extends GuicheError {
  override readonly name = 'RateLimitedError'
}

/**
 * 500 `acquirer_unavailable`: the PSP did not answer in time, or reports a charge as paid without showing its code
 * or payment. The transaction is kept and its outcome will be found: fetch it later by `transactionId`. After no
 * answer you can also repeat the call: a creation with the same `idempotencyKey`, a cancellation as it was.
 */
export class AcquirerUnavailableError extends GuicheError {
  override readonly name = 'AcquirerUnavailableError'
  /** The transaction whose outcome is not known yet. */
  readonly transactionId: string | undefined

  constructor(facts: Facts) {
    super(facts)
    this.transactionId = facts.transactionId
  }
}

/** 5xx: the service, or a proxy in front of it, failed or is overloaded; or payouts are frozen (`payouts_stopped`). */
export class ServerError extends GuicheError {
  override readonly name = 'ServerError'
}

/**
 * No answer: `code` is `connection_failed` or `timeout`, and `cause` is the platform's error. It is not known whether
 * the request was carried out. Repeated with the same `idempotencyKey`, it is carried out only once.
 */
export class ConnectionError extends GuicheError {
  override readonly name = 'ConnectionError'
}

/** A webhook that cannot be trusted: answer 400 or 401, and do nothing else. */
export class WebhookVerificationError extends GuicheError {
  override readonly name = 'WebhookVerificationError'
}

// A map: a code that a proxy sent, such as `constructor`, must not find a member of every object.
const classes = new Map<string, typeof GuicheError>([
  ['validation_failed', ValidationError],
  ['malformed_json', ValidationError],
  ['idempotency_key_reused', IdempotencyKeyReusedError],
  ['acquirer_refused', AcquirerRefusedError],
  ['insufficient_balance', InsufficientBalanceError],
  ['acquirer_unavailable', AcquirerUnavailableError],
])

const classesByStatus: Record<number, typeof GuicheError> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  429: RateLimitedError,
}

type Answered = { status: number; headers: Headers; body: string; idempotencyKey: string | undefined }

/** The error for an error response, whoever sent it. */
export function toError({ status, headers, body, idempotencyKey }: Answered): GuicheError {
  const fields = parseFields(body)
  const { code, detail, errors, transactionId, error, error_description: description } = fields
  const retryAfterSeconds = readRetryAfter(headers.get('retry-after') ?? '')
  const facts = {
    status,
    idempotencyKey,
    retryAfterSeconds,
    requestId: text(fields.requestId) ?? headers.get('x-request-id') ?? undefined,
    transactionId: text(transactionId),
    errors: Array.isArray(errors) ? errors.filter(isFieldError) : [],
  }
  // Guichê's routes send problems (RFC 9457), the token endpoint OAuth errors (RFC 6749). Anything else is from a
  // proxy.
  const named = text(code) ?? text(error)
  const message = text(detail) ?? text(description)
  const Class = classes.get(named ?? '') ?? classesByStatus[status] ?? (status >= 500 ? ServerError : GuicheError)
  if (named && message) return new Class({ ...facts, code: named, detail: message })
  return new Class({ ...facts, code: 'unexpected_answer', detail: unexpected(status) })
}

/** The error for an answer that reports success, but whose body is not what Guichê sends. */
export function unexpectedAnswer(status: number, idempotencyKey?: string): GuicheError {
  return new GuicheError({ code: 'unexpected_answer', detail: unexpected(status), status, idempotencyKey })
}

function unexpected(status: number): string {
  if (status === 0 || (status >= 300 && status < 400))
    return 'The service answered with a redirect, and the SDK does not send credentials to another address. Set baseUrl to the final address.'
  return `The answer is not from Guichê. Check baseUrl, and any proxy in front of the service.`
}

/** Reads a number of seconds or an HTTP date. Undefined if it is neither. */
function readRetryAfter(header: string): number | undefined {
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}

function parseFields(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

function isFieldError(value: unknown): value is FieldError {
  return typeof value === 'object' && value !== null && 'field' in value && 'message' in value
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
