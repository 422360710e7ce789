import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { AppError } from '../lib/errors.ts'

/** The header that means the same as `idempotencyKey` of the body, for the API reference; its limits are those of the body's. */
export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description:
        'The same as `idempotencyKey` of the body; both only when they are equal. `"abc"` in quotes, as the IETF draft has it, is the key `abc`.',
    }),
  ),
})

/**
 * A key that came as a header is put into a body that has none, before the body is checked, so that what is wrong with it is told
 * together with all other faults. The handler then finds it in the body.
 */
export function takeIdempotencyKeyFromHeader(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  moveKey(request)
  done()
}

function moveKey(request: FastifyRequest): void {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  const own = ('idempotencyKey' in body ? body.idempotencyKey : null) ?? undefined
  // A key of another type is left to the schema.
  if (own !== undefined && typeof own !== 'string') return
  const header = request.headers['idempotency-key']
  if (header === undefined) return
  if (typeof header !== 'string' || !/^[\x20-\x7e]*$/.test(header)) {
    throw refuse('invalid_text', 'must be one header of printable ASCII')
  }
  const key = unquote(header)
  if (own === undefined) Object.assign(body, { idempotencyKey: key })
  else if (own !== key) throw refuse('differs', 'must be equal to idempotencyKey of the body when both are sent')
}

/** The draft of the IETF has the header as a structured string: `"abc"`, quotes and backslashes escaped. */
function unquote(header: string): string {
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header.trim())?.[1]
  return quoted === undefined ? header : quoted.replace(/\\(.)/g, '$1')
}

/** The refusal of a key that came with another content before. It names the fields that differ, never what was stored. */
export function idempotencyKeyReused(fields: string[], record: string): AppError {
  return new AppError('idempotency_key_reused', {
    detail: `This idempotency key was used for a request with another content. Use a new key for a new ${record}.`,
    fields: fields.map((field) => ({
      field,
      code: 'differs',
      message: 'differs from the request that used the key first',
    })),
  })
}

function refuse(code: string, message: string): AppError {
  return new AppError('validation_failed', {
    detail: `Idempotency-Key ${message}.`,
    fields: [{ field: 'Idempotency-Key', code, message }],
  })
}
