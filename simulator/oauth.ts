import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../src/lib/clock.ts'
import { type HttpRequest, type HttpResponse, json, parseJson } from './http.ts'
import { simulatorCredentials } from './receiver-account.ts'
import { isRecord } from './validate.ts'

const lifetimeSeconds = 3600
const scope =
  'cob.read cob.write pix.read pix.write webhook.read webhook.write gn.pix.send gn.pix.send.read gn.infractions.read'

/**
 * `POST /oauth/token`: client credentials in HTTP Basic, the grant as a form or as JSON.
 *
 * A token is its expiry and a keyed hash of it, so that every process on this database accepts a token of any other and
 * none has to store it.
 */
export function issueToken(deps: { clock: Clock; tokenKey: Buffer }, request: HttpRequest): HttpResponse {
  if (readGrantType(request) !== 'client_credentials') return json(400, { error: 'unsupported_grant_type' })
  const { clientId, clientSecret } = simulatorCredentials
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  if (!sameText(request.headers.authorization ?? '', `Basic ${basic}`)) {
    return { ...json(401, { error: 'invalid_client' }), headers: { 'www-authenticate': 'Basic realm="simulator"' } }
  }
  const expiresAt = Math.floor(deps.clock.now().getTime() / 1000) + lifetimeSeconds
  const answer = {
    access_token: sign(deps.tokenKey, expiresAt),
    token_type: 'Bearer',
    expires_in: lifetimeSeconds,
    scope,
  }
  return { ...json(200, answer), headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } }
}

export function hasValidToken(deps: { clock: Clock; tokenKey: Buffer }, request: HttpRequest): boolean {
  const match = /^Bearer ((\d{1,12})\.[A-Za-z0-9_-]+)$/i.exec(request.headers.authorization ?? '')
  const expiresAt = Number(match?.[2])
  return expiresAt > deps.clock.now().getTime() / 1000 && sameText(match?.[1] ?? '', sign(deps.tokenKey, expiresAt))
}

function readGrantType(request: HttpRequest): unknown {
  const isJson = request.headers['content-type']?.includes('json') ?? false
  if (!isJson) return new URLSearchParams(request.body ?? '').get('grant_type')
  const body = parseJson(request.body)
  return isRecord(body) ? body.grant_type : undefined
}

function sign(key: Buffer, expiresAt: number): string {
  return `${expiresAt}.${createHmac('sha256', key).update(String(expiresAt)).digest('base64url')}`
}

function sameText(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}
