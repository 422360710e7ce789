import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { AppError, ErrorCode } from '../lib/errors.ts'
import { toHost } from './rate-limit.ts'

/**
 * What happened, as the log's field `security` has it. docs/security.md lists them: programs that watch the log compare them.
 */
export type SecurityEvent =
  | 'sign_in.succeeded'
  | 'sign_in.failed'
  | 'token.granted'
  | 'token.refused'
  | 'token.invalid'
  | 'access.denied'
  | 'rate_limit.exceeded'

/** Who it was, as far as is known. An e-mail address is never logged: a keyed hash stands for it, the same one each time. */
export type Subject = { clientId?: string | undefined; email?: string | undefined }

export type SecurityLog = (
  request: FastifyRequest,
  event: SecurityEvent,
  about: Subject & { outcome: string; factor?: string | undefined },
) => void

/** The errors that say something about whether somebody may do what they try. */
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

/** Equal events within this time are one line and, at its end, a second one with their number: a flood must not fill the disk. */
const windowMs = 10_000
/** Different events that are counted at once; what is beyond waits for the next window without a line, and is counted as a whole. */
const countedMax = 10_000

type Counted = { level: 'info' | 'warn'; line: Record<string, unknown>; repeats: number }

/** Lines about security, each with who and from where. `hash` is keyed: whoever has the log alone cannot try addresses. */
export function createSecurityLog({ log, hash }: { log: FastifyBaseLogger; hash: (text: string) => string }): {
  write: SecurityLog
  close: () => void
} {
  // Without the log's redaction, as in observe.ts: there is nothing in the lines to be redacted.
  const lines = log.child({}, { redact: [] })
  let counted = new Map<string, Counted>()
  let uncounted = 0

  const flush = () => {
    const ended = counted
    counted = new Map()
    for (const { level, line, repeats } of ended.values())
      if (repeats > 0) lines[level]({ ...line, repeats }, 'a security event was repeated')
    if (uncounted > 0) lines.warn({ repeats: uncounted }, 'more security events than are told apart')
    uncounted = 0
  }
  const timer = setInterval(flush, windowMs).unref()

  return {
    write(request, security, { outcome, factor, ...subject }) {
      const who = {
        ...(subject.clientId !== undefined && { clientId: toShownId(subject.clientId, hash) }),
        ...(subject.email !== undefined && { person: hash(subject.email.toLowerCase()) }),
      }
      const address = toHost(request.ip)
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

/** The line for an error that was answered, if it is about security. */
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

/** An id as clients of ours have them is shown; whatever else was sent as one may be a password or a document. */
function toShownId(clientId: string, hash: (text: string) => string): string {
  return /^[\w.:-]{1,64}$/.test(clientId) && !/^\d{11,}$/.test(clientId) ? clientId : `hash:${hash(clientId)}`
}
