import { decodeProtectedHeader, type JWTPayload, errors as joseErrors, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { setNewest } from '../lib/newest.ts'
import { newUuid } from '../lib/secrets.ts'
import { algorithm, type KeyRing } from './keys.ts'
import { isScope, type Scope } from './scopes.ts'

/** The content of an access token whose signature was verified. */
export type TokenClaims = {
  clientId: string
  /** Null if the token names no scopes: then it has those of its client. */
  scopes: Scope[] | null
  issuedAt: number
  expiresAt: number
}

/**
 * Checks a token's signature, form and expiry. `refuseToken` (guard.ts) handles the errors that it throws. The guard
 * checks expiry and revocation at each use. The result is immediate for a cached token.
 */
export type TokenVerifier = (token: string) => TokenClaims | Promise<TokenClaims>

const audience = 'guiche'
const type = 'at+jwt'
/** Our tokens are much shorter. A longer one is refused unread. */
const tokenLengthMax = 8192
/** Maximum number of cached verified tokens, about 1 kB each. */
const rememberedMax = 10_000
/**
 * After this time the key is looked up again: a token signed with a withdrawn key must not stay valid until it
 * expires.
 */
const rememberedMs = 10 * 60_000

export async function issueToken(
  deps: { keys: KeyRing },
  input: { issuer: string; clientId: string; scopes: Scope[]; issuedAt: number; lifetimeSeconds: number },
): Promise<{ token: string; expiresAt: number }> {
  const expiresAt = input.issuedAt + input.lifetimeSeconds
  const key = await deps.keys.signingKey()
  const token = await new SignJWT({ client_id: input.clientId, scope: input.scopes.join(' ') })
    // `kid` is first, so that a proxy can see the cell in the first characters of a token (lib/cell.ts).
    .setProtectedHeader({ kid: key.kid, alg: algorithm, typ: type })
    .setIssuer(input.issuer)
    .setSubject(input.clientId)
    .setAudience(audience)
    .setIssuedAt(input.issuedAt)
    .setExpirationTime(expiresAt)
    .setJti(newUuid())
    .sign(key.privateKey)
  return { token, expiresAt }
}

/** Verifies our own tokens. The issuer is not compared: instances of one service may have several addresses. */
export function createTokenVerifier(deps: { keys: KeyRing; clock: Clock }): TokenVerifier {
  return async (token) => {
    const { kid } = decodeProtectedHeader(token)
    const key = kid ? await deps.keys.findKey(kid) : null
    if (!key) throw new joseErrors.JWKSNoMatchingKey()
    const { payload } = await jwtVerify(token, key.publicKey, {
      algorithms: [algorithm],
      typ: type,
      audience,
      currentDate: deps.clock.now(),
    })
    const claims = readClaims(payload)
    return { ...claims, scopes: claims.scopes ?? [] }
  }
}

/** The claims of a token whose signature was verified. */
export function readClaims(payload: JWTPayload): TokenClaims {
  const clientId = readClientId(payload)
  if (clientId === undefined || payload.iat === undefined || payload.exp === undefined) {
    throw new joseErrors.JWTClaimValidationFailed('the token lacks a claim', payload)
  }
  // Some providers name the claim `scp`, and some send an array instead of a text.
  const scope = payload.scope ?? payload.scp
  const named = typeof scope === 'string' ? scope.split(/[\s,]+/).filter(Boolean) : Array.isArray(scope) ? scope : []
  const scopes = named.length > 0 ? named.filter(isScope) : null
  return { clientId, scopes, issuedAt: payload.iat, expiresAt: payload.exp }
}

/** The client that a token names. */
export function readClientId(payload: JWTPayload): string | undefined {
  // Keycloak writes the client as azp, RFC 9068 as client_id. The subject alone may be a person.
  const clientId = payload.client_id ?? payload.azp
  // No client id has a control character, and PostgreSQL cannot store a text with a NUL.
  return typeof clientId === 'string' && !/\p{Cc}/u.test(clientId) ? clientId : undefined
}

/** Verifying a signature takes about 100 µs; a cache lookup takes half a microsecond. */
export function rememberVerified(verify: TokenVerifier): TokenVerifier {
  const remembered = new Map<string, { claims: TokenClaims; verifiedAt: number }>()
  return (token) => {
    const known = remembered.get(token)
    return known && performance.now() - known.verifiedAt < rememberedMs ? known.claims : verifyUncached(token)
  }

  async function verifyUncached(token: string): Promise<TokenClaims> {
    if (token.length > tokenLengthMax) throw new AppError('invalid_token')
    const claims = await verify(token)
    setNewest(remembered, token, { claims, verifiedAt: performance.now() }, rememberedMax)
    return claims
  }
}
