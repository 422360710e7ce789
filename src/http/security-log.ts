import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { parseDocument } from '../lib/document.ts'
import type { AppError, ErrorCode } from '../lib/errors.ts'
import { describeHost } from './rate-limit.ts'

/** The values of the log's field `security`. docs/security.md lists them: programs that watch the log compare them. */
export type SecurityEvent =
  | 'sign_in.succeeded'
  | 'sign_in.failed'
  | 'token.granted'
  | 'token.refused'
  | 'token.invalid'
  | 'access.denied'
  | 'rate_limit.exceeded'

/** Who it was, as far as known. An e-mail address is never logged, only a keyed hash that is always the same for it. */
export type Subject = { clientId?: string | undefined; email?: string | undefined }

export type SecurityLog = (
  request: FastifyRequest,
  event: SecurityEvent,
  about: Subject & { outcome: string; factor?: string | undefined },
) => void

/** The errors that are logged as security events. */
const refusals: Partial<Record<ErrorCode, SecurityEvent>> = {
  sign_in_failed: 'sign_in.failed',
  second_factor_locked: 'sign_in.failed',
  second_factor_required: 'access.denied',
  invalid_token: 'token.invalid',
  token_revoked: 'token.invalid',
  token_expired: 'token.invalid',
  client_not_registered: 'access.denied',
  insufficient_scope: 'access.denied',
  permission_missing: 'access.denied',
  csrf_token_missing: 'access.denied',
  certificate_refused: 'access.denied',
  rate_limited: 'rate_limit.exceeded',
}

/**
 * Equal events within this time give one line, and a second one at the end with the number of repeats: a flood must not
 * fill the disk.
 */
const windowMs = 10_000
/**
 * The number of different events counted at once. Further ones get no line of their own in this window, only a common
 * count.
 */
const countedMax = 10_000

type Counted = { level: 'info' | 'warn'; line: Record<string, unknown>; repeats: number }

/**
 * Writes security log lines, each with who and from where. `hash` is keyed, so that someone who has only the log cannot
 * test addresses against it.
 */
export function createSecurityLog({ log, hash }: { log: FastifyBaseLogger; hash: (text: string) => string }): {
  write: SecurityLog
  close: () => void
} {
  // Without redaction, as in observe.ts: the lines have nothing to redact.
  const lines = log.child({}, { redact: [] })
  let counted = new Map<string, Counted>()
  let uncounted = 0

  const flush = () => {
    const ended = counted
    counted = new Map()
    for (const { level, line, repeats } of ended.values())
      if (repeats > 0) lines[level]({ ...line, repeats }, 'a security event was repeated')
    if (uncounted > 0)
      lines.warn({ repeats: uncounted }, 'more different security events than can be counted separately')
    uncounted = 0
  }
  const timer = setInterval(flush, windowMs).unref()

  return {
    write(request, security, { outcome, factor, ...subject }) {
      const who = {
        ...(subject.clientId !== undefined && { clientId: toShownId(subject.clientId, hash) }),
        ...(subject.email !== undefined && { person: hash(subject.email.toLowerCase()) }),
      }
      const address = describeHost(request.ip)
      const { method } = request
      const route = request.routeOptions.url
      const line = { security, outcome, ...(factor && { factor }), address, ...who, method, route }
      const key = JSON.stringify(line)
      const known = counted.get(key)
      if (known) {
        known.repeats += 1
        return
      }
      if (counted.size >= countedMax) {
        uncounted += 1
        return
      }
      const isExpected = outcome === 'ok' || outcome === 'token_expired'
      const level = isExpected ? 'info' : 'warn'
      counted.set(key, { level, line, repeats: 0 })
      lines[level]({ ...line, requestId: request.id }, 'a security event')
    },
    close() {
      clearInterval(timer)
      flush()
    },
  }
}

/** Writes the line for an error response, if it is about security. */
export function logRefusal(write: SecurityLog, error: AppError, request: FastifyRequest): void {
  const event = refusals[error.code]
  if (!event) return
  const { about } = error.details
  write(request, event, {
    outcome: error.code,
    factor: about?.factor,
    clientId: about?.clientId ?? request.caller?.clientId,
    email: about?.email ?? request.user?.email,
  })
}

/**
 * The id, if it looks like a client id. Anything else sent as an id may be a password, a document or a phone number, so
 * it is hashed.
 */
function toShownId(clientId: string, hash: (text: string) => string): string {
  const isNumber = /^[\d.:-]{11,}$/.test(clientId) || parseDocument(clientId) !== null
  return /^[\w.:-]{1,64}$/.test(clientId) && !isNumber ? clientId : `hash:${hash(clientId)}`
}
