import type { ErrorCode, FieldError } from './types.ts'

/** What has no answer of the service behind it, or none that it could have given. */
export type SdkErrorCode =
  /** No answer: the service could not be reached, or the connection broke. */
  | 'connection_failed'
  /** No answer within `timeoutMs`. */
  | 'timeout'
  /** An answer that is none of Guichê's, of a proxy for instance. */
  | 'unexpected_answer'
  /** The token endpoint refused the credentials. */
  | 'invalid_client'
  /** A webhook that is not to be trusted. */
  | 'webhook_not_verified'
  /** What `waitFor` waited for did not come in time. */
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
 * Everything that the SDK throws, but for a `TypeError` or `RangeError` when it is called wrongly and the reason of an `AbortSignal` that
 * you aborted. The message says what happened and what to do; it never holds a secret or a token.
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
  /** Stable, in snake case: what to compare with. */
  readonly code: ErrorCode | SdkErrorCode | (string & {})
  /** What happened and what to do next, in a sentence. */
  readonly detail: string
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined
  /** Give it to the operator, who finds the request in the log by it. */
  readonly requestId: string | undefined
  /** Seconds to wait before another try, where the service said so. */
  readonly retryAfterSeconds: number | undefined
  /** Every fault of the request at once, when that is what is wrong. */
  readonly errors: readonly FieldError[]
  /** The key that the request carried: repeat it with this one, and it is carried out once. */
  readonly idempotencyKey: string | undefined

  constructor({ code, detail, status, requestId, retryAfterSeconds, errors = [], idempotencyKey, cause }: Facts) {
    const notes = [code, status && `HTTP ${status}`, requestId && `request ${requestId}`].filter(Boolean)
    super(`${describe(detail, errors)} [${notes.join(', ')}]`, cause === undefined ? {} : { cause })
    this.code = code
    this.detail = detail
    this.status = status
    this.requestId = requestId
    this.retryAfterSeconds = retryAfterSeconds
    this.errors = errors
    this.idempotencyKey = idempotencyKey
  }
}

/** A log of a request with a hundred faults stays readable. */
const faultsShownMax = 5

/** The service's sentence names the first fault alone; who reads only the message is told of the others too. */
function describe(detail: string, errors: readonly FieldError[]): string {
  if (errors.length < 2) return detail
  const shown = errors.slice(0, faultsShownMax).map(({ field, message }) => `${field || 'The body'} ${message}.`)
  const more = errors.length - shown.length
  return [...shown, ...(more > 0 ? [`And ${more} more in "errors".`] : [])].join(' ')
}

/** 422: `errors` names every field that is missing or wrong. */
export class ValidationError extends GuicheError {
  override readonly name = 'ValidationError'
}

/** 422: the idempotency key was used for a request with another content. Take a new key for a new record. */
export class IdempotencyKeyReusedError extends GuicheError {
  override readonly name = 'IdempotencyKeyReusedError'
}

/** 422: the bank or PSP refused. Nothing was charged; `detail` has its reason. */
export class AcquirerRefusedError extends GuicheError {
  override readonly name = 'AcquirerRefusedError'
  /** The transaction that failed. */
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

/** 401: the credentials or the token are not good. The SDK has tried a new token already. */
export class AuthenticationError extends GuicheError {
  override readonly name = 'AuthenticationError'
}

/** 403: the client lacks a scope, which the operator can grant, or is not registered. */
export class PermissionError extends GuicheError {
  override readonly name = 'PermissionError'
}

/** 404: there is none with this id, or it is another client's. */
export class NotFoundError extends GuicheError {
  override readonly name = 'NotFoundError'
}

/** 429: more requests than the service takes, after the SDK has waited and tried again. */
export class RateLimitedError extends GuicheError {
  override readonly name = 'RateLimitedError'
}

/**
 * 500 `acquirer_unavailable`: the bank did not answer in time, so the outcome is not known yet. The transaction is kept and will be settled
 * either way: fetch it by `transactionId`, or repeat the request with `idempotencyKey`.
 */
export class AcquirerUnavailableError extends GuicheError {
  override readonly name = 'AcquirerUnavailableError'
  /** The transaction whose outcome is open. */
  readonly transactionId: string | undefined

  constructor(facts: Facts) {
    super(facts)
    this.transactionId = facts.transactionId
  }
}

/** 5xx: the service, or what stands before it, failed. */
export class ServerError extends GuicheError {
  override readonly name = 'ServerError'
}

/**
 * There was no answer: `code` is `connection_failed` or `timeout`, `cause` what the platform said. Whether the request was carried out is not
 * known; repeated with the same `idempotencyKey` it is carried out once.
 */
export class ConnectionError extends GuicheError {
  override readonly name = 'ConnectionError'
}

/** A webhook that is not to be trusted: answer it 400 or 401, and do nothing else. */
export class WebhookVerificationError extends GuicheError {
  override readonly name = 'WebhookVerificationError'
}

const classes: Record<string, typeof GuicheError> = {
  validation_failed: ValidationError,
  malformed_json: ValidationError,
  idempotency_key_reused: IdempotencyKeyReusedError,
  acquirer_refused: AcquirerRefusedError,
  insufficient_balance: InsufficientBalanceError,
  acquirer_unavailable: AcquirerUnavailableError,
}

const classesByStatus: Record<number, typeof GuicheError> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  429: RateLimitedError,
}

type Answered = { status: number; headers: Headers; body: string; idempotencyKey: string | undefined }

/** The error that an answer stands for, whoever gave it. */
export function toError({ status, headers, body, idempotencyKey }: Answered): GuicheError {
  const members = parseMembers(body)
  const { code, detail, errors, transactionId, error, error_description: description } = members
  const retryAfterSeconds = readRetryAfter(headers.get('retry-after'))
  const facts = {
    status,
    idempotencyKey,
    retryAfterSeconds,
    requestId: text(members.requestId) ?? headers.get('x-request-id') ?? undefined,
    transactionId: text(transactionId),
    errors: Array.isArray(errors) ? errors.filter(isFieldError) : [],
  }
  // The problems of all routes (RFC 9457); the token endpoint's (RFC 6749); else whatever stands before the service.
  const named = text(code) ?? text(error)
  const said = text(detail) ?? text(description)
  const Class = classes[named ?? ''] ?? classesByStatus[status] ?? (status >= 500 ? ServerError : GuicheError)
  if (named && said) return new Class({ ...facts, code: named, detail: said })
  return new Class({ ...facts, code: 'unexpected_answer', detail: unexpected(status) })
}

/** The error for an answer that has no error in it and is still none of Guichê's. */
export function unexpectedAnswer(status: number, idempotencyKey?: string): GuicheError {
  return new GuicheError({ code: 'unexpected_answer', detail: unexpected(status), status, idempotencyKey })
}

function unexpected(status: number): string {
  if (status === 0 || (status >= 300 && status < 400))
    return 'The service answered with a redirect, which is not followed with credentials. Give the final address as baseUrl.'
  return `The answer is not one of Guichê's. Does baseUrl name the service, and does what stands before it work?`
}

/** Seconds, or a date of HTTP; undefined when neither. */
function readRetryAfter(header: string | null): number | undefined {
  if (!header) return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}

function parseMembers(body: string): Record<string, unknown> {
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
