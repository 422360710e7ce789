import type { Configuration, IDToken } from 'openid-client'
import { createRefreshingCache } from '../auth/refreshing-cache.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import type { OidcSettings } from '../lib/oidc-settings.ts'
import { newSecret, type SecretKey, seal, unseal } from '../lib/secrets.ts'

/** Loaded at the first sign-in. */
const library = async () => await import('openid-client')

const timeoutSeconds = 5
/** How long a person may take at the provider. */
const pendingMs = 10 * 60_000

/** Where the provider sends the browser back to. It is registered there. */
export const callbackPath = '/dashboard/api/sign-in/callback'

/** A person, as the provider's signed token names them. */
export type ProviderClaims = {
  issuer: string
  /** Never changes, and is never given to another person. */
  subject: string
  /** In lower case. Null unless the provider has verified it. */
  email: string | null
  name: string
  /** The values of the roles claim. */
  roleValues: string[]
  hasSecondFactor: boolean
}

/** Why a sign-in at the provider failed. The sign-in page has a sentence for each, in both languages. */
export type SignInFault =
  | 'expired'
  | 'cancelled'
  | 'provider_unavailable'
  | 'role_missing'
  | 'email_not_verified'
  | 'account_conflict'
  | 'account_disabled'
  | 'second_factor_missing'

/** @param email of the account, as far as known */
export function signInFailed(fault: SignInFault, { email, cause }: { email?: string; cause?: unknown } = {}): AppError {
  return new AppError('sign_in_failed', { about: { factor: fault, ...(email !== undefined && { email }) }, cause })
}

export type OidcClient = {
  settings: OidcSettings
  /**
   * Begins a sign-in. Returns the provider's page, and a cookie for this browser, which must come back with it.
   * @throws {AppError} `sign_in_failed`
   */
  begin(returnTo: string): Promise<{ url: string; cookie: string; maxAgeSeconds: number }>
  /** The page that the sign-in began at; the dashboard's first page if the cookie is not ours. */
  readReturnTo(cookie: string | null): string
  /**
   * Exchanges the code in the address that the browser came back with.
   * @throws {AppError} `sign_in_failed`
   */
  finish(query: string, cookie: string | null): Promise<ProviderClaims>
  /** The provider's page for signing out there as well; null if it has none or does not answer. */
  findSignOutUrl(): Promise<string | null>
}

/** What a browser keeps, encrypted, while the person is at the provider. */
type Pending = { state: string; nonce: string; codeVerifier: string; returnTo: string; expiresAt: number }

/** Our side of OpenID Connect: authorization code with PKCE, state and nonce. The library checks the ID token. */
export function createOidcClient(
  settings: OidcSettings,
  { baseUrl, key, clock }: { baseUrl: string; key: SecretKey; clock: Clock },
): OidcClient {
  const configuration = createRefreshingCache(async () => await discover(settings))
  const redirectUri = `${baseUrl}${callbackPath}`

  async function configured(): Promise<Configuration> {
    try {
      return await configuration.get()
    } catch (cause) {
      throw signInFailed('provider_unavailable', { cause })
    }
  }

  function open(cookie: string | null): Pending | null {
    try {
      return cookie === null ? null : JSON.parse(unseal(key, 'sign-in', Buffer.from(cookie, 'base64url')))
    } catch {
      return null
    }
  }

  return {
    settings,
    async begin(returnTo) {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await library()
      const pending: Pending = {
        state: newSecret(),
        nonce: newSecret(),
        codeVerifier: newSecret(),
        returnTo,
        expiresAt: clock.now().getTime() + pendingMs,
      }
      const url = buildAuthorizationUrl(await configured(), {
        redirect_uri: redirectUri,
        scope: settings.scopes,
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await calculatePKCECodeChallenge(pending.codeVerifier),
        code_challenge_method: 'S256',
        ...(settings.acrValues.length > 0 && { acr_values: settings.acrValues.join(' ') }),
      })
      const cookie = seal(key, 'sign-in', JSON.stringify(pending)).toString('base64url')
      return { url: url.href, cookie, maxAgeSeconds: pendingMs / 1000 }
    },
    readReturnTo: (cookie) => open(cookie)?.returnTo ?? '/dashboard',
    async finish(query, cookie) {
      const pending = open(cookie)
      if (pending === null || pending.expiresAt <= clock.now().getTime()) throw signInFailed('expired')
      const { authorizationCodeGrant } = await library()
      const config = await configured()
      const url = new URL(redirectUri)
      url.search = query
      const tokens = await authorizationCodeGrant(config, url, {
        expectedState: pending.state,
        expectedNonce: pending.nonce,
        pkceCodeVerifier: pending.codeVerifier,
        idTokenExpected: true,
      }).catch((error: unknown) => {
        // Another state belongs to another sign-in, which another tab or another site began.
        const isOwn = url.searchParams.get('state') === pending.state
        throw signInFailed(isOwn ? toFault(error) : 'expired', { cause: error })
      })
      const claims = tokens.claims()
      if (!claims) throw signInFailed('provider_unavailable')
      return readClaims(claims, settings)
    },
    async findSignOutUrl() {
      try {
        const { buildEndSessionUrl } = await library()
        return buildEndSessionUrl(await configured(), { post_logout_redirect_uri: `${baseUrl}/dashboard` }).href
      } catch {
        return null
      }
    },
  }
}

async function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
  const { allowInsecureRequests, ...oidc } = await library()
  const url = new URL(issuer)
  // The settings allow http only for a provider on this machine.
  const execute = url.protocol === 'http:' ? [allowInsecureRequests] : []
  const found = await oidc.discovery(url, clientId, undefined, undefined, { timeout: timeoutSeconds, execute })
  const metadata = found.serverMetadata()
  // The metadata of Entra's addresses for many tenants (`common`, `organizations`) has a placeholder as its issuer. Such
  // an address is refused: any tenant could issue tokens with our roles.
  if (withoutSlash(metadata.issuer) !== withoutSlash(issuer))
    throw new Error(`The provider calls itself ${metadata.issuer}, not ${issuer} as OIDC_ISSUER has it`)
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const authenticate = methods.includes('client_secret_basic') ? oidc.ClientSecretBasic : oidc.ClientSecretPost
  const config = new oidc.Configuration(metadata, clientId, undefined, authenticate(clientSecret))
  config.timeout = timeoutSeconds
  // The ID token's signature is verified, although OpenID Connect allows a client to rely on TLS alone here.
  for (const extension of [oidc.enableNonRepudiationChecks, ...execute]) extension(config)
  return config
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}

/** Why the provider's answer to this sign-in signs nobody in. */
function toFault(error: unknown): SignInFault {
  const { code, error: named } = error as { code?: unknown; error?: unknown }
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR')
    return named === 'access_denied' ? 'cancelled' : 'provider_unavailable'
  // The code was used already, or has expired. Anything else is the provider's fault, or that of our settings.
  return named === 'invalid_grant' ? 'expired' : 'provider_unavailable'
}

/** What counts as a second factor (RFC 8176), besides `mfa`: something known or inherent, and something possessed. */
const known = ['pwd', 'pin', 'kba', 'fpt', 'face', 'iris', 'retina', 'vbm']
const possessed = ['otp', 'hwk', 'swk', 'sc', 'sms', 'tel', 'pop']

function readClaims(claims: IDToken, settings: OidcSettings): ProviderClaims {
  const { email: given, name, preferred_username: username, acr } = claims
  // Entra has no email_verified. Its xms_edov is accepted instead: the owner of the address's domain was verified.
  const isVerified = claims.email_verified === true || [true, 1, '1'].includes(claims.xms_edov as never)
  const email = isVerified && isEmail(given) ? given.toLowerCase() : null
  const methods = readTexts(claims.amr)
  const hasBoth = [known, possessed].every((some) => methods.some((method) => some.includes(method)))
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email,
    name: toName(name) ?? toName(username) ?? email ?? claims.sub,
    roleValues: settings.rolesClaim === 'email' ? readTexts(email) : readTexts(findClaim(claims, settings.rolesClaim)),
    hasSecondFactor:
      settings.isSecondFactorTrusted ||
      readTexts(acr).some((value) => settings.acrValues.includes(value)) ||
      methods.includes('mfa') ||
      hasBoth,
  }
}

/** A claim by its name, which may contain dots, or else by its path. */
function findClaim(claims: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  return name.split('.').reduce<unknown>((value, part) => {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, part)
    return isObject ? (value as Record<string, unknown>)[part] : undefined
  }, claims)
}

/** A text, or a list of texts. */
function readTexts(value: unknown): string[] {
  return [value].flat().filter((one) => typeof one === 'string')
}

function isEmail(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 255 && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(value)
}

function toName(value: unknown): string | null {
  if (typeof value !== 'string') return null
  return (
    value
      .replace(/\p{Cc}/gu, '')
      .trim()
      .slice(0, 255) || null
  )
}
