import { AuthenticationError, unexpectedAnswer } from './errors.ts'
import { type Call, type RequestOptions, readJson, type Settings, send } from './http.ts'

/** The source of access tokens. */
export type Tokens = {
  /** A token that is valid as far as is known, within these limits. Null if none is sent. */
  get(limits: Limits): Promise<string | null>
  /** Called after the service refused the token: the next `get` returns another, if there is one. */
  drop(token: string | null): void
}

// No caller's signal: other calls may wait for the same token.
type Limits = Pick<RequestOptions, 'timeoutMs' | 'maxRetries'>

type Grant = { access_token?: unknown; expires_in_sec?: unknown }

/**
 * A token is renewed this long before it expires, or a tenth of its lifetime before, whichever is shorter: a request
 * takes time to arrive.
 */
const renewBeforeMs = 30_000

/** Tokens for a client's credentials. All calls with the same limits that wait for a token share one request. */
export function createTokens(settings: Settings, client: { clientId: string; clientSecret: string }): Tokens {
  let current: { token: string; renewAt: number } | undefined
  const pending = new Map<string, Promise<string>>()

  async function renew(limits: Limits): Promise<string> {
    const requestedAt = performance.now()
    const { token, lifetimeMs } = await fetchToken(settings, client, limits)
    current = { token, renewAt: requestedAt + lifetimeMs - Math.min(renewBeforeMs, lifetimeMs / 10) }
    return token
  }

  return {
    async get({ timeoutMs, maxRetries }) {
      if (current && performance.now() < current.renewAt) return current.token
      const key = `${timeoutMs} ${maxRetries}`
      const shared = pending.get(key) ?? renew({ timeoutMs, maxRetries }).finally(() => pending.delete(key))
      pending.set(key, shared)
      return await shared
    },
    drop(token) {
      // Another call may have fetched a newer token in the meantime. Keep that one.
      if (current?.token === token) current = undefined
    },
  }
}

/** Tokens that the caller gets elsewhere, from an external provider for instance. */
export function tokensFrom(getToken: () => string | null | Promise<string | null>): Tokens {
  return {
    async get() {
      const token = await getToken()
      // Checked here, because the platform's own error for an invalid header contains the header.
      if (token !== null && !(typeof token === 'string' && /^[\w.~+/-]+=*$/.test(token)))
        throw new TypeError('accessToken must return the token without "Bearer".')
      return token
    },
    drop() {},
  }
}

async function fetchToken(
  settings: Settings,
  { clientId, clientSecret }: { clientId: string; clientSecret: string },
  limits: Limits,
): Promise<{ token: string; lifetimeMs: number }> {
  const call: Call = {
    method: 'POST',
    path: '/auth/token',
    body: new URLSearchParams({
      client_id: clientId,
      client_secret: clientSecret,
      grant_type: 'client_credentials',
    }),
    // An extra token has no effect.
    isRepeatable: true,
  }
  const grant = await send<Grant>(settings, call, { token: null, read: readJson(call), options: limits })
  const { access_token: token, expires_in_sec: lifetimeSeconds } = grant
  // Not `expires_in`: in this API it is a point in time, not a lifetime.
  if (typeof token !== 'string' || typeof lifetimeSeconds !== 'number') throw unexpectedAnswer(200)
  return { token, lifetimeMs: lifetimeSeconds * 1000 }
}

/** True if a new token may help. */
export function isTokenRefused(error: unknown): boolean {
  return error instanceof AuthenticationError && /^(?:token_|invalid_token)/.test(error.code)
}
