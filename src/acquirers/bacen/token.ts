import type { Clock } from '../../lib/clock.ts'
import { readRetryAfter } from '../../lib/retry-after.ts'
import { AcquirerUnavailable } from '../acquirer.ts'
import type { HttpRequest, HttpResponse } from './http.ts'
import { type ProtocolProfile, scopesOf } from './profile.ts'
import { count, isRecord, text } from './read.ts'
import { toPlainText, toReason } from './reason.ts'

/** The secret is null where a certificate takes its place. */
export type Credentials = { clientId: string; clientSecret: string | null }

export type TokenAnswer = { value: string; lifetimeSeconds: number; scopes: string[] | null }

type Options = {
  credentials: Credentials
  profile: ProtocolProfile
  clock: Clock
  /** Sends the request, within its own time-out. */
  send: (request: HttpRequest) => Promise<HttpResponse>
  /** Called once, with the scopes that were requested and not granted. */
  onFewerScopes: (missing: string[]) => void
}

// Renewed this long before it expires, so that it does not expire on the way.
const renewBeforeMs = 60_000
// Where the PSP does not say how long a token lives.
const lifetimeSecondsDefault = 300
// The pause after a refusal, doubled after each further one: some PSPs block a client that requests too many tokens.
const pauseMs = { first: 5_000, max: 5 * 60_000 }
// If the PSP refuses the replacement token too, another one will not help. For this long, no refused token is replaced.
const uselessMs = 30_000

export type Tokens = {
  get(): Promise<string>
  /** Another token than the refused one; null when a new one did not help a moment ago. */
  replace(refused: string): Promise<string | null>
  /** Reports that the replacement was refused as well. */
  wasUseless(): void
}

/** It also has a start: if the clock is set back to before it, the period is over. So it cannot get longer. */
type Span = { from: number; until: number }

/** Keeps one token. All calls that need a new one at the same time share one request. */
export function createTokens(options: Options): Tokens {
  const { clock } = options
  const now = () => clock.now().getTime()
  const forMs = (ms: number): Span => ({ from: now(), until: now() + ms })
  const isDuring = ({ from, until }: Span) => now() >= from && now() < until
  let token: ({ value: string } & Span) | undefined
  let pending: Promise<string> | undefined
  let refusal: ({ pauseMs: number; error: AcquirerUnavailable } & Span) | undefined
  let useless: Span | undefined
  let hasWarned = false

  async function get(): Promise<string> {
    if (token && isDuring(token)) return token.value
    if (refusal && isDuring(refusal)) throw refusal.error
    pending ??= renew().finally(() => {
      pending = undefined
    })
    return await pending
  }

  async function renew(): Promise<string> {
    try {
      const { value, lifetimeSeconds, scopes } = await requestToken(options)
      const lifetimeMs = lifetimeSeconds * 1000
      // A token that lives less than twice the margin is used for half its life.
      token = { value, ...forMs(Math.max(lifetimeMs - renewBeforeMs, lifetimeMs / 2)) }
      refusal = undefined
      warnOnce(scopes)
      return value
    } catch (error) {
      if (error instanceof TokenRefused) pauseAfter(error)
      throw error
    }
  }

  function pauseAfter(error: TokenRefused) {
    const doubled = refusal ? Math.min(refusal.pauseMs * 2, pauseMs.max) : pauseMs.first
    refusal = { ...forMs(Math.max(doubled, error.retryAfterMs ?? 0)), pauseMs: doubled, error }
  }

  function warnOnce(scopes: string[] | null) {
    const missing = scopes ? scopesOf(options.profile).filter((scope) => !scopes.includes(scope)) : []
    if (missing.length > 0 && !hasWarned) options.onFewerScopes(missing)
    hasWarned ||= missing.length > 0
  }

  async function replace(refused: string): Promise<string | null> {
    if (useless && isDuring(useless)) return null
    // Another call may have replaced it already.
    if (token?.value === refused) token = undefined
    return await get()
  }

  return { get, replace, wasUseless: () => (useless = forMs(uselessMs)) }
}

/** The PSP refuses to issue a token. The request that needed the token was not sent, so it changed nothing. */
class TokenRefused extends AcquirerUnavailable {
  readonly retryAfterMs: number | null
  constructor(message: string, retryAfterMs: number | null) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** Requests a token. Throws {@link AcquirerUnavailable}. */
export async function requestToken({
  send,
  credentials,
  profile,
}: Omit<Options, 'clock' | 'onFewerScopes'>): Promise<TokenAnswer> {
  const answer = await send(toTokenRequest(credentials, profile))
  const body = parse(answer.body)
  if (answer.status < 200 || answer.status > 299) {
    const reason = body ? toReason(answer.status, body) : toPlainText(answer.body)
    const suffix = reason === '' || reason.startsWith('The acquirer answered') ? '' : `: ${reason}`
    const message = `The acquirer answered ${answer.status} to the request for a token${suffix}`
    if (answer.status >= 400 && answer.status < 500)
      throw new TokenRefused(message, readRetryAfter(answer.headers['retry-after'], new Date()))
    throw new AcquirerUnavailable(message)
  }
  const value = body && text(body, 'access_token')
  if (!body || !value) throw new AcquirerUnavailable('The acquirer answered without a token')
  const scope = text(body, 'scope')
  return {
    value,
    lifetimeSeconds: count(body, 'expires_in') || lifetimeSecondsDefault,
    scopes: scope === null ? null : scope.split(/[\s,]+/),
  }
}

export function toTokenRequest({ clientId, clientSecret }: Credentials, profile: ProtocolProfile): HttpRequest {
  const { token, headers, query } = profile
  const secret = clientSecret ?? ''
  const scopes = scopesOf(profile)
  const fields = {
    grant_type: 'client_credentials',
    ...(token.credentials !== 'basic' && { client_id: clientId }),
    ...(token.credentials === 'body' && { client_secret: secret }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  }
  const isJson = token.format === 'json'
  return {
    method: 'POST',
    path: token.path,
    query: { ...query, ...token.query },
    isToken: true,
    headers: {
      ...headers,
      ...(token.credentials === 'basic' && { authorization: toBasic(clientId, secret) }),
      'content-type': isJson ? 'application/json' : 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: isJson ? JSON.stringify(fields) : new URLSearchParams(fields).toString(),
  }
}

function toBasic(clientId: string, secret: string): string {
  return `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`
}

function parse(body: string) {
  try {
    const parsed: unknown = JSON.parse(body)
    return isRecord(parsed) ? parsed : null
  } catch {
    return null
  }
}
