import { AuthenticationError, unexpectedAnswer } from './errors.ts'
import { type Call, readJson, type Settings, send } from './http.ts'

/** Where access tokens come from. */
export type Tokens = {
  /** One that is good, as far as is known; null where none is sent. */
  get(): Promise<string | null>
  /** The service refused it: the next `get` gives another, where there is one. */
  drop(token: string | null): void
}

type Grant = { access_token?: unknown; expires_in_sec?: unknown }

/** A token is renewed so long before it ends, or a tenth of its life, whichever is shorter: a request takes a while to arrive. */
const renewBeforeMs = 30_000

/** Tokens for a client's credentials: one request at a time, however many calls wait for it. */
export function createTokens(settings: Settings, client: { clientId: string; clientSecret: string }): Tokens {
  let held: { token: string; renewAt: number } | undefined
  let pending: Promise<string> | undefined

  async function renew(): Promise<string> {
    const askedAt = performance.now()
    const { token, lifetimeMs } = await fetchToken(settings, client)
    held = { token, renewAt: askedAt + lifetimeMs - Math.min(renewBeforeMs, lifetimeMs / 10) }
    return token
  }

  return {
    async get() {
      if (held && performance.now() < held.renewAt) return held.token
      pending ??= renew().finally(() => {
        pending = undefined
      })
      return await pending
    },
    drop(token) {
      // Not the newer one that another call has fetched meanwhile.
      if (held?.token === token) held = undefined
    },
  }
}

/** Tokens that the caller gets elsewhere, from a provider of its own for instance. */
export function useTokens(getToken: () => string | null | Promise<string | null>): Tokens {
  return {
    async get() {
      const token = await getToken()
      // Here, since what the platform says of a header has the header in it.
      if (token !== null && !/^[\w.~+/-]+=*$/.test(token))
        throw new TypeError('accessToken gave what is no token. Give it alone, without "Bearer".')
      return token
    },
    drop() {},
  }
}

async function fetchToken(
  settings: Settings,
  { clientId, clientSecret }: { clientId: string; clientSecret: string },
): Promise<{ token: string; lifetimeMs: number }> {
  const call: Call = {
    method: 'POST',
    path: '/auth/token',
    body: new URLSearchParams({
      client_id: clientId,
      client_secret: clientSecret,
      grant_type: 'client_credentials',
    }),
    // One token more or less does nothing.
    isRepeatable: true,
  }
  // Without any caller's signal: others may be waiting for the same token.
  const grant = await send<Grant>(settings, call, { token: null, read: readJson(call), options: {} })
  const { access_token: token, expires_in_sec: lifetimeSeconds } = grant
  // Not `expires_in`, which is a moment here, not a lifetime.
  if (typeof token !== 'string' || typeof lifetimeSeconds !== 'number') throw unexpectedAnswer(200)
  return { token, lifetimeMs: lifetimeSeconds * 1000 }
}

/** Whether another token may help. */
export function isTokenRefused(error: unknown): boolean {
  return error instanceof AuthenticationError && /^(?:token_|invalid_token)/.test(error.code)
}
