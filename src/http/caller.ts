import type { FastifyRequest } from 'fastify'
import { assert } from '../lib/assert.ts'

/** The merchant for whom a request is made. The guard sets it on routes that declare a scope. */
export type Caller = {
  merchantId: string
  clientId: string
  merchantName: string
  /** The address of another cell (a separate installation, docs/scaling.md) to which the merchant has moved, if any. */
  movedToAddress: string | null
  /** Whether the token or the user also has this scope. */
  may: (scope: string) => boolean
}

/** A user who is signed in to the dashboard. */
export type SignedIn = {
  id: string
  email: string
  name: string
  role: string
  /** Null for the operator's users. */
  merchant: { merchantId: string; clientId: string; name: string } | null
  permissions: readonly string[]
  /** False: the user signs in at the identity provider, which has the second factor too. */
  hasPassword: boolean
  hasSecondFactor: boolean
  /** The role requires a second factor and the user has none yet: only their own account is open to them. */
  needsSecondFactor: boolean
  /** The token that requests of this session send, besides the cookie, when they change something. */
  csrfToken: string
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    user: SignedIn | null
  }
}

/** The caller, on a route that declares a scope. */
export function callerOf(request: FastifyRequest): Caller {
  assert(request.caller, 'a route that declares a scope has a caller')
  return request.caller
}

/** The signed-in user, on a route that declares a permission. */
export function userOf(request: FastifyRequest): SignedIn {
  assert(request.user, 'a route that declares a permission has a signed-in user')
  return request.user
}

/** The merchant whose records a user may see. Null for the operator's users, who see all. */
export function merchantSeenBy(user: SignedIn): string | null {
  return user.merchant?.merchantId ?? null
}
