import { type AppError, type ErrorCode, errors, type FieldErrorCode } from '../lib/errors.ts'
import { type KnownNames, redactPath, redactText, toPlainWord } from './redact.ts'
import type { Problem, Success } from './store.ts'

/** As JSON. A document is longer only if a request has dozens of errors. */
const charactersMax = 2_000
const fieldsMax = 50

/** Errors whose `detail` is always a sentence of ours, without a name or value of the caller or of a PSP. */
const plainDetails = new Set<ErrorCode>([
  ...(['token_expired', 'token_revoked', 'insufficient_scope', 'rate_limited', 'not_found'] as const),
  ...(['insufficient_balance', 'payouts_stopped', 'merchant_moved', 'idempotency_key_reused'] as const),
  ...(['body_too_large', 'unsupported_media_type', 'internal_error', 'database_unavailable'] as const),
])
/** The same for the `message` of a field. */
const plainMessages = new Set<FieldErrorCode>([
  ...(['required', 'invalid_type', 'too_small', 'too_large', 'too_short', 'too_long'] as const),
  ...(['too_few', 'too_many', 'duplicate'] as const),
])

/** What is kept of the answer to a failed request: the problem document with its free texts redacted. */
export function redactProblem({ code, details }: AppError, known: KnownNames): Problem {
  const { status, title } = errors[code]
  const { detail = `${title}.`, fields = [], members = {} } = details
  const shown = fields.slice(0, fieldsMax).map(({ field, code: fieldCode, message, limit, unit, recordId }) => ({
    field: redactPath(field, known),
    code: fieldCode,
    message: plainMessages.has(fieldCode) ? message : redactText(message),
    ...(limit !== undefined && { limit }),
    ...(unit !== undefined && { unit }),
    ...(recordId !== undefined && toId(recordId) !== null && { recordId }),
  }))
  const problem: Problem = {
    title,
    status,
    detail: plainDetails.has(code) ? detail : redactText(detail),
    code,
    errors: shown,
    ...redactMembers(members),
  }
  if (JSON.stringify(problem).length <= charactersMax) return problem
  // The fields and codes are what a developer needs.
  const short = shown.map(({ field, code: fieldCode }) => ({ field, code: fieldCode }))
  while (short.length > 0 && JSON.stringify({ ...problem, errors: short }).length > charactersMax) short.pop()
  return { ...problem, errors: short }
}

function redactMembers({ transactionId, transactionStatus, amountLeft }: Record<string, string | number>) {
  const [id, status] = [toId(transactionId), toPlainWord(transactionStatus)]
  return {
    ...(id !== null && { transactionId: id }),
    ...(status !== null && { transactionStatus: status }),
    ...(typeof amountLeft === 'number' && { amountLeft }),
  }
}

/** What is kept of the answer to a successful request. The record itself is on its own screen. */
export function redactSuccess(body: object | undefined): Success | null {
  if (body === undefined) return null
  const id = 'id' in body ? toId(body.id) : null
  const status = 'status' in body ? toPlainWord(body.status) : null
  if (id === null && status === null) return null
  return { ...(id !== null && { id }), ...(status !== null && { status }) }
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const isUuid = new RegExp(`^${uuid}$`, 'i')
const lastUuid = new RegExp(`/(${uuid})$`, 'i')

export const toId = (value: unknown): string | null => (typeof value === 'string' && isUuid.test(value) ? value : null)

/** The record that a create answered with: its `Location` names it. */
export function toCreatedId(location: unknown): string | null {
  return typeof location === 'string' ? (lastUuid.exec(location)?.[1] ?? null) : null
}
