import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { invite } from '../../src/users/invite.ts'
import type { Answer, TestService } from './service.ts'

type Call = {
  method?: string
  headers?: Record<string, string>
  body?: unknown
  rawBody?: string | Uint8Array<ArrayBuffer>
  csrf?: string | null
}

/**
 * A signed-in user's browser: sends the cookie and the CSRF token with each request. A call can replace or omit the
 * token.
 */
export type Browser = {
  cookie: string
  csrfToken: string
  call<Body = Record<string, unknown>>(path: string, call?: Call): Promise<Answer<Body>>
}

type Credentials = { email: string; password: string; code?: string }

/** Signs in. Returns the answer, and a browser, which has no session if the sign-in was refused. */
export async function openBrowser(service: TestService, credentials: Credentials) {
  const answer = await service.call('/dashboard/api/session', { token: null, body: credentials })
  return { ...toBrowser(service, answer), status: answer.status, body: answer.body }
}

/** Accepts an invitation. */
export async function acceptInvitation(
  service: TestService,
  token: string,
  body: { email?: string; name?: string; password: string; code?: string },
): Promise<Browser> {
  const answer = await service.call(`/dashboard/api/invitation/${token}`, { token: null, body })
  expect(answer.status, answer.text).toBe(200)
  return toBrowser(service, answer)
}

function toBrowser(service: TestService, answer: Answer): Browser {
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  const csrfToken = String(answer.body.csrfToken)
  return {
    cookie,
    csrfToken,
    call: async (path, { csrf = csrfToken, headers, ...call } = {}) =>
      await service.call(path, {
        ...call,
        token: null,
        headers: { cookie, ...(csrf !== null && { 'x-csrf-token': csrf }), ...headers },
      }),
  }
}

/** The password of users that tests create. */
export const password = 'correct horse battery staple'

let made = 0

/** Creates a user by an invitation, and returns the e-mail address. */
export async function inviteUser(
  service: TestService,
  { role, merchantId = null }: { role: string; merchantId?: string | null },
): Promise<string> {
  made += 1
  const email = `${role}${made}@example.com`
  const token = await service.db.transaction(
    async (tx) => await invite(tx, { email, merchantId, role, invitedBy: null }, service.clock.now()),
  )
  await acceptInvitation(service, token, { name: 'Ana Souza', password })
  return email
}

/** Signs in through the API, and opens a path of the dashboard. */
export async function signIn(page: Page, service: TestService, email: string, path = ''): Promise<void> {
  const { cookie } = await openBrowser(service, { email, password })
  const [name = '', value = ''] = cookie.split('=')
  await page.context().addCookies([{ name, value, url: service.baseUrl, httpOnly: true, sameSite: 'Strict' }])
  await page.goto(`${service.baseUrl}/dashboard${path}`)
  await page.getByRole('navigation', { name: 'Menu' }).waitFor()
}

/** Signs in on the dashboard's sign-in page. */
export async function signInOnPage(page: Page, service: TestService, email: string): Promise<void> {
  await page.goto(`${service.baseUrl}/dashboard`)
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('textbox', { name: /^(Password|Senha)$/ }).fill(password)
  await page.getByRole('button', { name: /^(Sign in|Entrar)$/ }).click()
  await page.getByRole('navigation', { name: 'Menu' }).waitFor()
}

/** The merchant of the sandbox client. */
export async function findSandboxMerchant(service: TestService): Promise<string> {
  const [row] = await service.db.query<{ merchant_id: string }>(
    sql`select merchant_id from clients where client_id = ${service.sandbox.clientId}`,
  )
  return row?.merchant_id ?? ''
}
