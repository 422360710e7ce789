import type { FastifyRequest } from 'fastify'
import { assert } from '../lib/assert.ts'

/** Who makes a request, once the guard has let it in. */
export type Caller = { merchantId: string; clientId: string }

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
  }
}

/** The caller of a route that declares a scope. */
export function callerOf(request: FastifyRequest): Caller {
  assert(request.caller, 'the guard let nobody in without a caller')
  return request.caller
}
