import type { FastifyRequest } from 'fastify'
import { assert } from '../lib/assert.ts'

/** Who makes a request, once the guard has let it in. */
export type Caller = { merchantId: string; clientId: string }

/** A person who is signed in to the dashboard. */
export type SignedIn = {
  id: string
  email: string
  name: string
  role: string
  /** Null for one of the operator's people. */
  merchant: { merchantId: string; clientId: string; name: string } | null
  permissions: readonly string[]
  hasSecondFactor: boolean
  /** The role needs one, and there is none yet: nothing is open but one's own account. */
  needsSecondFactor: boolean
  /** What the session's requests that change something carry besides the cookie. */
  csrfToken: string
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    user: SignedIn | null
  }
}

/** The caller of a route that declares a scope. */
export function callerOf(request: FastifyRequest): Caller {
  assert(request.caller, 'the guard let nobody in without a caller')
  return request.caller
}

/** Who asks on a route that declares a permission. */
export function userOf(request: FastifyRequest): SignedIn {
  assert(request.user, 'the guard let nobody in who is not signed in')
  return request.user
}

/** Which merchant's records a person may see: null for all, as the operator's people do. */
export function merchantSeenBy(user: SignedIn): string | null {
  return user.merchant?.merchantId ?? null
}
