import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../src/lib/clock.ts'
import { type HttpRequest, type HttpResponse, json, parseJson } from './http.ts'
import type { Quirks } from './quirks.ts'
import { simulatorCredentials } from './receiver-account.ts'
import type { TokenLimit } from './token-limit.ts'
import { isRecord } from './validate.ts'

// A token encodes scopes by their position: append new ones at the end.
const scopes = [
  ...['cob.read', 'cob.write', 'pix.read', 'pix.write', 'webhook.read', 'webhook.write'],
  ...['gn.pix.send', 'gn.pix.send.read', 'gn.infractions.read', 'gn.balance.read'],
  ...['pagamento-pix.read', 'pagamento-pix.write', 'webhook-banking.read', 'webhook-banking.write', 'extrato.read'],
  ...['pixpagamentos_escrita', 'pixpagamentos_consulta', 'pixpagamentos_webhook', 'cco_consulta'],
  'gn.infractions.write',
]

type Deps = { clock: Clock; tokenKey: KeyObject; quirks: Quirks }

/**
 * `POST` to the token endpoint: client credentials in HTTP Basic or in the body, the grant as a form or as JSON, as the
 * quirks say.
 *
 * A token is its expiry, its scopes and a keyed hash of both. Every process on this database accepts the tokens of all
 * others, and the database does not store them.
 */
export function issueToken(deps: Deps & { tokenLimit: TokenLimit }, request: HttpRequest): HttpResponse {
  const { quirks } = deps
  if (!deps.tokenLimit.take(request.address ?? '')) {
    const answer = json(429, {
      error: 'too_many_requests',
      error_description: 'Too many tokens: keep one until it expires.',
    })
    return { ...answer, headers: { ...answer.headers, 'retry-after': '60' } }
  }
  const body = readBody(quirks, request)
  if (body?.grant_type !== 'client_credentials') return json(400, { error: 'unsupported_grant_type' })
  if (!isClient(quirks, request, body)) {
    return { ...json(401, { error: 'invalid_client' }), headers: { 'www-authenticate': 'Basic realm="simulator"' } }
  }
  const requested = typeof body.scope === 'string' ? body.scope.split(' ').filter(Boolean) : []
  if (quirks.isScopeRequired && requested.length === 0) return json(400, { error: 'invalid_scope' })
  const granted = scopes.filter(
    (scope) => isOffered(quirks, scope) && (requested.length === 0 || requested.includes(scope)),
  )
  const expiresAt = Math.floor(deps.clock.now().getTime() / 1000) + quirks.tokenLifetimeSeconds
  const answer = {
    access_token: sign(deps.tokenKey, expiresAt, toMask(granted)),
    token_type: 'Bearer',
    expires_in: quirks.tokenLifetimeSeconds,
    scope: granted.join(' '),
  }
  return { ...json(200, answer), headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } }
}

type Token = { expiresAt: number; scopes: string[] }

// More than are in use at the same time. A full cache is emptied.
const tokensMax = 1000

/**
 * Reads the scopes of a request's token. Null without a valid token. The signature of a token is verified once (3 µs),
 * its expiry each time.
 */
export function createScopeReader({ clock, tokenKey }: Pick<Deps, 'clock' | 'tokenKey'>) {
  const verified = new Map<string, Token>()
  return ({ headers: { authorization = '' } }: HttpRequest): string[] | null => {
    const token = verified.get(authorization) ?? verify(tokenKey, authorization)
    if (token === null || token.expiresAt <= clock.now().getTime() / 1000) return null
    if (!verified.has(authorization)) {
      if (verified.size >= tokensMax) verified.clear()
      verified.set(authorization, token)
    }
    return token.scopes
  }
}

function verify(tokenKey: KeyObject, authorization: string): Token | null {
  const match = /^Bearer ((\d{1,12})\.(\d{1,10})\.[A-Za-z0-9_-]+)$/i.exec(authorization)
  const [expiresAt, mask] = [Number(match?.[2]), Number(match?.[3])]
  if (!match || !sameText(match[1] ?? '', sign(tokenKey, expiresAt, mask))) return null
  return { expiresAt, scopes: scopes.filter((_, index) => (mask >> index) % 2 === 1) }
}

export function sameText(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The fields of the body, and of the query if it counts too. Null for a body of an unexpected type. */
function readBody(quirks: Quirks, { headers, query, body }: HttpRequest): Record<string, unknown> | null {
  const isJson = headers['content-type']?.includes('json') ?? false
  if (quirks.tokenBody !== 'any' && isJson !== (quirks.tokenBody === 'json')) return null
  if (!isJson) {
    const more = quirks.tokenGrant === 'query_too' ? query : {}
    return { ...more, ...Object.fromEntries(new URLSearchParams(body ?? '')) }
  }
  const parsed = parseJson(body)
  return isRecord(parsed) ? parsed : null
}

function isClient(quirks: Quirks, request: HttpRequest, body: Record<string, unknown>): boolean {
  const { clientId, clientSecret } = simulatorCredentials
  if (quirks.tokenClient === 'basic') {
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    return sameText(request.headers.authorization ?? '', `Basic ${basic}`)
  }
  const isId = sameText(String(body.client_id), clientId)
  return isId && (quirks.tokenClient === 'id_only' || sameText(String(body.client_secret), clientSecret))
}

function isOffered(quirks: Quirks, scope: string): boolean {
  const { payouts, hasPayouts, hasDisputes, balance, deniedScopes } = quirks
  if (scope.startsWith('gn.infractions.') && !hasDisputes) return false
  const payoutApi = payoutScopes.find(([start]) => scope.startsWith(start))?.[1]
  if (payoutApi && !(hasPayouts && payouts === payoutApi)) return false
  const balanceApi = balanceScopes.find(([name]) => scope === name)?.[1]
  if (balanceApi && balance !== balanceApi) return false
  return !deniedScopes.includes(scope)
}

const payoutScopes = [
  ['gn.pix.', 'efi'],
  ['pagamento-pix.', 'inter'],
  ['webhook-banking.', 'inter'],
  ['pixpagamentos_', 'sicoob'],
] as const
const balanceScopes = [
  ['gn.balance.read', 'efi'],
  ['extrato.read', 'inter'],
  ['cco_consulta', 'sicoob'],
] as const

function toMask(granted: string[]): number {
  return granted.reduce((mask, scope) => mask | (1 << scopes.indexOf(scope)), 0)
}

function sign(key: KeyObject, expiresAt: number, mask: number): string {
  const signed = `${expiresAt}.${mask}`
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}
