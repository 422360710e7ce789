import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
// @ts-expect-error: the package has no types
import OidcProvider from 'oidc-provider'
import { scopes } from '../../src/auth/scopes.ts'
import { sql } from '../../src/db/sql.ts'
import { manualClock } from './clock.ts'
import { createTestDatabase } from './database.ts'
import { startTestService, type TestService } from './service.ts'

export type TestProvider = {
  issuer: string
  /** Signs with the provider's own key. */
  signJwt(claims: JWTPayload, header?: { typ?: string; kid?: string }): Promise<string>
  stop(): Promise<void>
}

export const providerAudience = 'urn:guiche'

/**
 * A certified provider, node-oidc-provider, on the loopback address: client credentials, access tokens as JWT (RFC
 * 9068).
 */
export async function startOidcProvider(
  clients: { clientId: string; clientSecret: string; scope?: string }[],
): Promise<TestProvider> {
  const { server, origin: issuer } = await listen()
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'the-providers' }
  const provider = new OidcProvider(issuer, {
    clients: clients.map(({ clientId, clientSecret, scope }) => ({
      client_id: clientId,
      client_secret: clientSecret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      ...(scope && { scope }),
    })),
    jwks: { keys: [jwk] },
    scopes: [...scopes],
    ttl: { ClientCredentials: 300 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => providerAudience,
        getResourceServerInfo: () => ({
          scope: scopes.join(' '),
          audience: providerAudience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 300,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  })
  server.on('request', provider.callback())
  return {
    issuer,
    signJwt: async (claims, header) =>
      await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'the-providers', ...header }).sign(privateKey),
    stop: async () => await close(server),
  }
}

/** What the provider knows of a person, as claims; `amr` is how the person signs in there. */
export type PersonAtProvider = { sub: string; amr?: string[] } & Record<string, unknown>

export type SignInProvider = {
  issuer: string
  /** The person who signs in next. Null: the sign-in is cancelled. A test changes it. */
  person: PersonAtProvider | null
  /** Creates the provider, once the service has an address. */
  open(redirectOrigin: string): void
  stop(): Promise<void>
}

/** The credentials with which Guichê signs people in at the provider. */
export const signInClient = { clientId: 'dashboard', clientSecret: 'the secret of + the dashboard : %' }

/**
 * The same provider, for people: authorization code with PKCE. Its sign-in page asks nothing: it signs in `person`, or
 * cancels if that is null.
 */
export async function startSignInProvider(): Promise<SignInProvider> {
  const { server, origin: issuer } = await listen()
  const running: SignInProvider = {
    issuer,
    person: null,
    open(redirectOrigin) {
      const provider = new OidcProvider(issuer, {
        clients: [
          {
            client_id: signInClient.clientId,
            client_secret: signInClient.clientSecret,
            redirect_uris: [`${redirectOrigin}/dashboard/api/sign-in/callback`],
            post_logout_redirect_uris: [`${redirectOrigin}/dashboard`],
          },
        ],
        claims: {
          openid: ['sub', 'groups', 'amr'],
          email: ['email', 'email_verified'],
          profile: ['name'],
        },
        // Most providers put these claims into the ID token.
        conformIdTokenClaims: false,
        features: { devInteractions: { enabled: false } },
        interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
        findAccount: (_ctx: unknown, sub: string) => ({ accountId: sub, claims: () => ({ ...running.person, sub }) }),
        async loadExistingGrant({ oidc }: { oidc: { provider: typeof provider; client: object; session: object } }) {
          const { clientId } = oidc.client as { clientId: string }
          const { accountId } = oidc.session as { accountId: string }
          const grant = new oidc.provider.Grant({ clientId, accountId })
          grant.addOIDCScope('openid email profile')
          await grant.save()
          return grant
        },
      })
      const handle = provider.callback()
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        if (!request.url?.startsWith('/interaction/')) return void handle(request, response)
        const { person } = running
        const result = person
          ? { login: { accountId: person.sub, amr: person.amr, remember: false } }
          : { error: 'access_denied' }
        void provider.interactionFinished(request, response, result)
      })
    },
    stop: async () => await close(server),
  }
  return running
}

/** An HTTP client that keeps the cookies of each origin, as a browser does. */
export function openRedirectBrowser() {
  const cookies = new Map<string, Map<string, string>>()
  async function visit(url: string, headers: Record<string, string> = {}): Promise<Response> {
    const { origin } = new URL(url)
    const own = cookies.get(origin) ?? new Map<string, string>()
    cookies.set(origin, own)
    const cookie = [...own].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, { redirect: 'manual', headers: { ...(cookie !== '' && { cookie }), ...headers } })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') own.delete(name)
      else own.set(name, value)
    }
    return answer
  }
  return {
    cookies,
    visit,
    /** Follows redirects until `isEnd`, and returns the address that it would go to next. */
    async follow(start: string, isEnd: (url: string) => boolean): Promise<string> {
      let url = start
      for (let steps = 0; steps < 15; steps++) {
        if (isEnd(url)) return url
        const answer = await visit(url)
        const to = answer.headers.get('location')
        if (to === null) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`)
        url = new URL(to, url).href
      }
      throw new Error('too many redirects')
    },
  }
}

export type FakeProvider = {
  issuer: string
  /** The handler of each path. A test replaces it. */
  answers: Map<string, (request: IncomingMessage, response: ServerResponse) => void>
  requests: string[]
  stop(): Promise<void>
}

/** An HTTP server whose answers a test sets, for answers that no correct provider gives. */
export async function startFakeProvider(): Promise<FakeProvider> {
  const { server, origin: issuer } = await listen()
  const answers: FakeProvider['answers'] = new Map()
  const requests: string[] = []
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    requests.push(`${request.method} ${request.url}`)
    response.on('error', () => {})
    const answer = answers.get(request.url ?? '')
    if (answer) answer(request, response)
    else response.writeHead(404).end('not here')
  })
  return { issuer, answers, requests, stop: async () => await close(server) }
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}) {
  return (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
}

/** A service that accepts a provider's tokens. Its clock begins at the real time, which is the provider's. */
export async function startServiceWithProvider(
  environment: Record<string, string>,
): Promise<TestService & { stop(): Promise<void> }> {
  const { db, connectionString, drop } = await createTestDatabase()
  // No sandbox client: the provider would not know it.
  await db.query(sql`insert into settings (name, value) values ('sandbox_client', 'yes')`)
  const clock = manualClock(new Date())
  const service = await startTestService({
    database: { db, connectionString },
    clock,
    environment: { AUTH_AUDIENCE: 'any', ...environment },
  })
  return {
    ...service,
    async stop() {
      await service.stop()
      await drop()
    },
  }
}

async function listen(): Promise<{ server: Server; origin: string }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  if (server.listening) await new Promise((done) => server.close(done))
}
