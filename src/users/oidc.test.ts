import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { type FakeProvider, json, startFakeProvider } from '../../test/support/oidc.ts'
import type { AppError } from '../lib/errors.ts'
import { newSecretKey, parseSecretKey } from '../lib/secrets.ts'
import { createOidcClient, type OidcClient } from './oidc.ts'

let provider: FakeProvider
let client: OidcClient
let privateKey: CryptoKey
beforeAll(async () => {
  provider = await startFakeProvider()
  const { issuer, answers } = provider
  const keys = await generateKeyPair('RS256')
  privateKey = keys.privateKey
  const endpoints = { authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` }
  const metadata = { issuer, ...endpoints, jwks_uri: `${issuer}/keys`, response_types_supported: ['code'] }
  answers.set('/.well-known/openid-configuration', json(200, metadata))
  answers.set('/keys', json(200, { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'own', alg: 'RS256' }] }))
  const key = parseSecretKey(newSecretKey())
  if (!key) throw new Error('a new key can be read')
  client = createOidcClient(
    {
      issuer,
      clientId: 'dashboard',
      clientSecret: 'secret',
      scopes: 'openid',
      rolesClaim: 'groups',
      rules: [],
      name: 'Acme',
      isOnly: false,
      isSecondFactorTrusted: false,
      acrValues: [],
    },
    // The library compares the token's times with the machine's clock.
    { baseUrl: 'https://pix.example.com', key, clock: manualClock(new Date()) },
  )
})
afterAll(async () => await provider.stop())

/** Signs in, and returns the subject of the token or the reason why the sign-in failed. */
async function signIn({
  token = async (idToken) => ({ access_token: 'a', token_type: 'Bearer', id_token: await idToken({}) }),
  status = 200,
  query = {},
}: {
  token?: (idToken: (claims: object) => Promise<string>) => Promise<object>
  status?: number
  query?: Record<string, string>
}): Promise<unknown> {
  const { url, cookie } = await client.begin('/dashboard')
  const { state = '', nonce } = Object.fromEntries(new URL(url).searchParams)
  const idToken = async (claims: object) =>
    await new SignJWT({ sub: 'ana', nonce, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'own' })
      .setIssuer(provider.issuer)
      .setAudience('dashboard')
      .setIssuedAt()
      .setExpirationTime('5 minutes')
      .sign(privateKey)
  provider.answers.set('/token', json(status, await token(idToken)))
  return await client.finish(new URLSearchParams({ code: 'c', state, ...query }).toString(), cookie).then(
    ({ subject }) => subject,
    (error: AppError) => error.details.about?.factor,
  )
}

it('a correct answer of the provider signs in', async () => {
  expect(await signIn({})).toBe('ana')
})

describe('the provider is named as the cause of a failed sign-in if', () => {
  it('its answer has no ID token', async () => {
    expect(await signIn({ token: async () => ({ access_token: 'a', token_type: 'Bearer' }) })).toBe(
      'provider_unavailable',
    )
  })

  it('its answer has no access token', async () => {
    expect(await signIn({ token: async (idToken) => ({ token_type: 'Bearer', id_token: await idToken({}) }) })).toBe(
      'provider_unavailable',
    )
  })

  it('the signature of the ID token is wrong', async () => {
    const forged = (token: string) => `${token.split('.').slice(0, 2).join('.')}.${'A'.repeat(342)}`
    const token = async (idToken: (claims: object) => Promise<string>) => ({
      ...{ access_token: 'a', token_type: 'Bearer' },
      id_token: forged(await idToken({})),
    })
    expect(await signIn({ token })).toBe('provider_unavailable')
  })

  it('it sends the browser back without a code', async () => {
    expect(await signIn({ query: { code: '' } })).toBe('provider_unavailable')
  })

  it('it refuses our credentials', async () => {
    expect(await signIn({ status: 401, token: async () => ({ error: 'invalid_client' }) })).toBe('provider_unavailable')
  })
})

it('a person is asked to begin again if the code has expired or the answer is not to this sign-in', async () => {
  expect(await signIn({ status: 400, token: async () => ({ error: 'invalid_grant' }) })).toBe('expired')
  expect(await signIn({ query: { state: 'x'.repeat(43) } })).toBe('expired')
})

it('a cancellation at the provider is reported as one, unless the answer is not to this sign-in', async () => {
  expect(await signIn({ query: { error: 'access_denied' } })).toBe('cancelled')
  expect(await signIn({ query: { error: 'access_denied', state: 'x' } })).toBe('expired')
})
