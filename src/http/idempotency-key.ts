import type { FastifyRequest } from 'fastify'
import { AppError } from '../lib/errors.ts'

/** The key of the body, or of the header, which means the same; both only when they are equal. */
export function readIdempotencyKey(header: string | string[] | undefined, body: string | undefined): string | null {
  if (header === undefined) return body ?? null
  if (typeof header !== 'string' || !/^[\x20-\x7e]*$/.test(header))
    throw refuse('invalid_text', 'must be one header of printable ASCII')
  if (header.length < 8) throw refuse('too_short', 'must have at least 8 characters')
  if (header.length > 255) throw refuse('too_long', 'must have at most 255 characters')
  if (body !== undefined && body !== header)
    throw refuse('differs', 'must be equal to idempotencyKey of the body when both are sent')
  return header
}

/**
 * For routes whose schema requires `idempotencyKey`: one that came as a header is put into a body that has none, before the body is
 * checked, so that a missing key is told together with all other faults. The handler then finds it in the body.
 */
export async function takeIdempotencyKeyFromHeader(request: FastifyRequest): Promise<void> {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  const own = 'idempotencyKey' in body ? body.idempotencyKey : undefined
  // A key of another type is left to the schema.
  if (own !== undefined && typeof own !== 'string') return
  const key = readIdempotencyKey(request.headers['idempotency-key'], own)
  if (own === undefined && key !== null) Object.assign(body, { idempotencyKey: key })
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
