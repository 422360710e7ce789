import { randomInt } from 'node:crypto'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { isDatabaseUnavailable } from '../db/sql.ts'
import { AppError, type ErrorCode, errors } from '../lib/errors.ts'

/** Fastify's own errors, by code. `toAppError` handles the others. */
const fastifyErrors: Record<string, { code: ErrorCode; detail: string }> = {
  FST_ERR_CTP_INVALID_JSON_BODY: { code: 'malformed_json', detail: 'The body cannot be parsed as JSON.' },
  FST_ERR_CTP_EMPTY_JSON_BODY: { code: 'malformed_json', detail: 'The body is empty. Send a JSON object.' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'bad_request',
    detail: 'The body is not as long as Content-Length says.',
  },
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'body_too_large', detail: 'The body may have 64 KiB at most.' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    detail: 'Send the body as Content-Type: application/json.',
  },
  FST_ERR_BAD_URL: { code: 'not_found', detail: 'There is nothing at this address.' },
}

/**
 * A database that was restarted is back within seconds. The number is random, so that not all clients repeat their
 * requests at the same moment.
 */
const databaseRetrySeconds = { min: 1, max: 5 }

/** Turns a thrown value into an error that can be answered. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const known = fastifyErrors[(error as FastifyError)?.code]
  if (known) return new AppError(known.code, { detail: known.detail, cause: error })
  if (isDatabaseUnavailable(error))
    return new AppError('database_unavailable', {
      detail:
        'The database did not answer. Repeat the request in a few seconds, with the same idempotency key if it has one: nothing is done twice.',
      headers: { 'retry-after': String(randomInt(databaseRetrySeconds.min, databaseRetrySeconds.max + 1)) },
      cause: error,
    })
  const status = (error as FastifyError)?.statusCode ?? 500
  // The static file handler rejects an address that leaves its folder or cannot be decoded. To the caller it does not
  // exist.
  if (status === 403 || status === 404) return new AppError('not_found', { cause: error })
  if (status >= 400 && status < 500) return new AppError('bad_request', { cause: error })
  return new AppError('internal_error', {
    detail: 'Something went wrong on our side. Give the requestId to the operator, who finds the cause in the log.',
    cause: error,
  })
}

export const problemType = 'application/problem+json; charset=utf-8'

/** Where an error response comes from: the address of the guide's page of errors, and the request. */
type Source = { errorPage: string; requestId: string }

/** The body of an error response (RFC 9457). The only place that builds one. */
export function toProblem(error: AppError, { errorPage, requestId }: Source): string {
  const { status, title } = errors[error.code]
  const { detail, fields, members } = error.details
  return JSON.stringify({
    // Each code has an anchor on that page.
    type: `${errorPage}#${error.code}`,
    title,
    status,
    detail: detail ?? `${title}.`,
    code: error.code,
    requestId,
    ...(fields ? { errors: fields } : {}),
    ...members,
  })
}

/** The errors that were answered, for the log of a client's requests. Only failed requests cost anything. */
const problems = new WeakMap<FastifyRequest, AppError>()

export function findProblem(request: FastifyRequest): AppError | null {
  return problems.get(request) ?? null
}

export function sendProblem(
  error: AppError,
  { errorPage, request, reply }: { errorPage: string; request: FastifyRequest; reply: FastifyReply },
): FastifyReply {
  problems.set(request, error)
  // Also sets the id: requests that the router rejects run no hooks.
  void reply.headers({ ...error.details.headers, 'x-request-id': request.id })
  // Fastify sends a string as it is. An object would lose the fields that the schema does not name.
  return reply
    .code(errors[error.code].status)
    .type(problemType)
    .send(toProblem(error, { errorPage, requestId: request.id }))
}
