import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { AppError, type FieldErrorCode, invalidField } from '../lib/errors.ts'
import { referenceLength } from './schemas.ts'

const { minLength, maxLength } = referenceLength

/**
 * The header equivalent of the body's `idempotencyKey`, for the API reference only: headers are not validated by their
 * schema, and the key is validated in the body. In quotes, each character of the key may have a backslash before it.
 */
export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength,
      maxLength: 2 + 2 * maxLength,
      pattern: '^[ -~]*$',
      description: `Equivalent to \`idempotencyKey\` in the body; if both are sent they must be equal. Printable ASCII. The key has ${minLength} to ${maxLength} characters. \`"order-2026-1"\` in quotes, as in the IETF draft, is the key \`order-2026-1\`; in quotes, \`\\"\` is a quote and \`\\\\\` a backslash.`,
    }),
  ),
})

/**
 * Copies the header's key into a body that has none. Runs before validation, so that a key of a wrong length is
 * reported together with all other errors, and the handler finds the key in the body.
 *
 * @throws {AppError} `validation_failed` if the header is sent twice, is not printable ASCII, or differs from the key in
 *   the body
 */
export function takeIdempotencyKeyFromHeader(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  copyKey(request)
  done()
}

function copyKey(request: FastifyRequest): void {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  const own = ('idempotencyKey' in body ? body.idempotencyKey : null) ?? undefined
  // The schema rejects a key of another type.
  if (own !== undefined && typeof own !== 'string') return
  const header = request.headers['idempotency-key']
  if (header === undefined) return
  if (isSentTwice(request)) throw refuse('duplicate', 'may be sent only once')
  if (typeof header !== 'string' || !/^[\x20-\x7e]*$/.test(header)) {
    throw refuse('invalid_text', 'must be printable ASCII')
  }
  const key = unquote(header)
  if (own === undefined) Object.assign(body, { idempotencyKey: key })
  else if (own !== key) throw refuse('differs', 'must be equal to idempotencyKey of the body when both are sent')
}

/**
 * Node joins repeated headers of this name with a comma: two keys would become a third one. A client or proxy that
 * sends the header twice in one attempt, and once in the next, would have two different keys.
 */
function isSentTwice({ raw }: FastifyRequest): boolean {
  const isKey = (text: string, index: number) => index % 2 === 0 && text.toLowerCase() === 'idempotency-key'
  return raw.rawHeaders.filter(isKey).length > 1
}

/** The IETF draft defines the header as a structured string: `"abc"`, with escaped quotes and backslashes. */
function unquote(header: string): string {
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header.trim())?.[1]
  return quoted === undefined ? header : quoted.replace(/\\(.)/g, '$1')
}

/**
 * The error for a key that was used before with different content. It names the fields that differ, never the stored
 * values.
 */
export function idempotencyKeyReused(fields: string[], record: string): AppError {
  return new AppError('idempotency_key_reused', {
    detail: `This idempotency key was used for a request with different content. Use a new key for a new ${record}.`,
    fields: fields.map((field) => ({
      field,
      code: 'differs',
      message: 'differs from the request that used the key first',
    })),
  })
}

function refuse(code: FieldErrorCode, message: string): AppError {
  return invalidField('Idempotency-Key', code, message)
}
