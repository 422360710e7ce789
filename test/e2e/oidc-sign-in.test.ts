import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { findObstacle } from '../../src/proposals/second-person.ts'
import { invite } from '../../src/users/invite.ts'
import { unlinkUser } from '../../src/users/manage.ts'
import { manualClock } from '../support/clock.ts'
import {
  openRedirectBrowser,
  type PersonAtProvider,
  type SignInProvider,
  signInClient,
  startSignInProvider,
} from '../support/oidc.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { acceptInvitation, inviteUser, openBrowser, password } from '../support/users.ts'

let provider: SignInProvider
let service: TestService
let sandboxMerchant: string
const logged: Record<string, unknown>[] = []

beforeAll(async () => {
  provider = await startSignInProvider()
  service = await startTestService({
    // The provider's clock is the machine's.
    clock: manualClock(new Date()),
    onLog: (line) => logged.push(line),
    environment: {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: signInClient.clientId,
      OIDC_CLIENT_SECRET: signInClient.clientSecret,
      OIDC_ROLES_CLAIM: 'groups',
      OIDC_ROLES: 'admins=admin,finance=finance,support=support,owners=owner@sandbox,lost=owner@nobody',
      OIDC_NAME: 'Acme',
      REQUIRE_SECOND_FACTOR: 'finance',
    },
  })
  await service.db.query(sql`update clients set client_id = 'sandbox' where client_id = ${service.sandbox.clientId}`)
  sandboxMerchant = (await service.db.query<{ id: string }>(sql`select merchant_id as id from clients`))[0]?.id ?? ''
  provider.open(service.baseUrl)
})
afterAll(async () => {
  await service.stop()
  await provider.stop()
})
// Keeps the attempts of one test from counting in the next.
beforeEach(() => service.clock.advance(5 * 60_000))

const isCallback = (url: string) => url.startsWith(`${service.baseUrl}/dashboard/api/sign-in/callback`)
const begin = (returnTo = '') => `${service.baseUrl}/dashboard/api/sign-in/provider${returnTo}`

let made = 0
function newPerson(more: Record<string, unknown> = {}): PersonAtProvider {
  made += 1
  const email = `person${made}@example.com`
  return { sub: `subject-${made}`, email, email_verified: true, name: 'Ana Souza', groups: ['support'], ...more }
}

type Session = { user: { id: string; email: string; role: string; hasPassword: boolean; merchant: object | null } }

/** Signs in as a person at the provider. Returns where the browser ended, and what its session may see. */
async function enter(person: PersonAtProvider | null, returnTo = '') {
  provider.person = person
  const browser = openRedirectBrowser()
  const callback = await browser.follow(begin(returnTo), isCallback)
  const answer = await browser.visit(callback)
  const session = async () => {
    const own = [...(browser.cookies.get(service.baseUrl) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ')
    return await service.call<Session>('/dashboard/api/session', { token: null, headers: { cookie: own } })
  }
  const location = answer.headers.get('location') ?? ''
  return { browser, callback, answer, location, session }
}

const faultOf = ({ location }: { location: string }) => new URL(location, service.baseUrl).searchParams.get('signIn')

const auditOf = async (email: unknown) =>
  await service.db.query<{ actor: string; action: string }>(sql`
    select actor, action from audit_log where record_id = (select id from users where email = ${email}) order by id`)

describe('a sign-in at the provider', () => {
  it('begins on our page with PKCE, state and nonce, and ends on the page that it began at', async () => {
    const options = await service.call('/dashboard/api/sign-in', { token: null })
    expect(options.body).toEqual({ password: true, provider: 'Acme' })
    const browser = openRedirectBrowser()
    const first = await browser.visit(begin())
    const to = new URL(first.headers.get('location') ?? '')
    expect(Object.fromEntries(to.searchParams)).toEqual({
      response_type: 'code',
      client_id: signInClient.clientId,
      redirect_uri: `${service.baseUrl}/dashboard/api/sign-in/callback`,
      scope: 'openid email profile',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    const [cookie = ''] = first.headers.getSetCookie()
    expect(cookie).toMatch(/^guiche-sign-in=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/)
    // Encrypted: whoever sees it learns neither the state nor the code's verifier.
    expect(Buffer.from(cookie.slice(15), 'base64url').toString('latin1')).not.toContain('state')

    const person = newPerson()
    const entered = await enter(person, '?returnTo=/dashboard/transactions?status=PAID')
    expect([entered.answer.status, entered.location]).toEqual([303, '/dashboard/transactions?status=PAID'])
    expect(entered.answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^guiche-sign-in=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/),
      expect.stringMatching(/^guiche=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/),
    ])
    const { body } = await entered.session()
    expect(body.user).toMatchObject({ email: person.email, role: 'support', hasPassword: false, merchant: null })
    expect(await auditOf(person.email)).toEqual([
      { actor: `user:${person.email}`, action: 'user.accept' },
      { actor: `user:${person.email}`, action: 'user.sign_in' },
    ])
  })

  it('sends the browser to no other place than our pages', async () => {
    const others = [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '/dashboard@evil.example',
      '/dashboard/api/user',
      '/pay/x',
    ]
    for (const other of others)
      expect((await enter(newPerson(), `?returnTo=${encodeURIComponent(other)}`)).location, other).toBe('/dashboard')
    const elsewhere = openRedirectBrowser()
    const begun = await elsewhere.visit(begin(), { 'sec-fetch-site': 'cross-site' })
    expect([begun.headers.get('location'), begun.headers.getSetCookie()]).toEqual(['/dashboard', []])
  })

  it('is refused with another state, in another browser, too late, and a second time', async () => {
    const person = newPerson()
    provider.person = person
    const browser = openRedirectBrowser()
    const callback = await browser.follow(begin(), isCallback)
    const forged = new URL(callback)
    forged.searchParams.set('state', 'x'.repeat(43))
    const faultAt = async (visitor: typeof browser, url: string) =>
      faultOf({ location: (await visitor.visit(url)).headers.get('location') ?? '' })
    // A link that somebody else made signs nobody in: not without the cookie, and not with that of another sign-in.
    expect(await faultAt(openRedirectBrowser(), callback)).toBe('expired')
    const victim = openRedirectBrowser()
    await victim.visit(begin())
    expect(await faultAt(victim, callback)).toBe('expired')
    expect(await faultAt(browser, forged.href)).toBe('expired')
    // The failure has ended the sign-in.
    expect(await faultAt(browser, callback)).toBe('expired')
    expect(await service.db.query(sql`select from users where email = ${person.email}`)).toEqual([])

    const slow = openRedirectBrowser()
    const late = await slow.follow(begin(), isCallback)
    service.clock.advance(10 * 60_000)
    expect(await faultAt(slow, late)).toBe('expired')

    const first = openRedirectBrowser()
    const once = await first.follow(begin(), isCallback)
    const kept = new Map(first.cookies.get(service.baseUrl))
    expect(await faultAt(first, once)).toBeNull()
    // With the cookie of before: the provider refuses a code that was used.
    first.cookies.set(service.baseUrl, kept)
    expect(await faultAt(first, once)).toBe('expired')
  })

  it('says when it was cancelled', async () => {
    expect(faultOf(await enter(null))).toBe('cancelled')
  })

  it('ends the session here and names the provider’s page for signing out there', async () => {
    const { browser, session } = await enter(newPerson())
    const { body } = await session()
    const cookie = `guiche=${browser.cookies.get(service.baseUrl)?.get('guiche')}`
    const { csrfToken } = body as unknown as { csrfToken: string }
    const headers = { cookie, 'x-csrf-token': csrfToken }
    const left = await service.call('/dashboard/api/session', { method: 'DELETE', token: null, headers })
    const url = new URL(String(left.body.providerSignOutUrl))
    expect([url.origin, url.searchParams.get('post_logout_redirect_uri')]).toEqual([
      provider.issuer,
      `${service.baseUrl}/dashboard`,
    ])
    expect((await browser.visit(url.href)).status).toBe(200)
    expect((await session()).status).toBe(401)
  })
})

describe('the role', () => {
  it('is the first that the setting has for the claim; without one there is no account', async () => {
    const both = await enter(newPerson({ groups: ['support', 'admins', 'other'] }))
    expect((await both.session()).body.user.role).toBe('admin')
    const owner = await enter(newPerson({ groups: 'owners' }))
    expect((await owner.session()).body.user).toMatchObject({ role: 'owner', merchant: { clientId: 'sandbox' } })
    for (const groups of [undefined, [], 'unknown', ['Admins'], { admins: true }, ['lost']]) {
      const person = newPerson({ groups })
      expect(faultOf(await enter(person)), JSON.stringify(groups)).toBe('role_missing')
      expect(await service.db.query(sql`select from users where email = ${person.email}`)).toEqual([])
    }
  })

  it('changes with the provider at the next sign-in, which ends the sessions of the former one', async () => {
    const person = newPerson({ groups: ['admins'] })
    const before = await enter(person)
    const after = await enter({ ...person, groups: ['support'] })
    expect((await after.session()).body.user.role).toBe('support')
    expect((await before.session()).status).toBe(401)
  })

  it('ends with the provider: the account is disabled with all its sessions, until there is a role again', async () => {
    const person = newPerson({ groups: ['admins'] })
    const before = await enter(person)
    expect(faultOf(await enter({ ...person, groups: [] }))).toBe('role_missing')
    expect((await before.session()).status).toBe(401)
    const [row] = await service.db.query(sql`
      select disabled_at is not null as disabled from users where email = ${person.email}`)
    expect(row).toEqual({ disabled: true })
    const again = await enter({ ...person, groups: ['support'] })
    expect((await again.session()).body.user.role).toBe('support')
    expect((await auditOf(person.email)).slice(2)).toEqual([
      { actor: 'service', action: 'user.disable' },
      { actor: 'anonymous', action: 'user.sign_in_failed' },
      { actor: 'service', action: 'user.change' },
      { actor: 'service', action: 'user.enable' },
      { actor: `user:${person.email}`, action: 'user.sign_in' },
    ])
  })

  it('of an admin ends the link for the first admin, however the person became one', async () => {
    const link = { email: null, role: 'admin', merchantId: null, invitedBy: null }
    const person = newPerson({ groups: ['support'] })
    const ways = [
      async () => await enter(newPerson({ groups: ['admins'] })),
      async () => await enter({ ...person, groups: ['admins'] }),
      async () => await enter({ ...person, groups: ['admins'] }),
    ]
    await enter(person)
    for (const becomesAdmin of ways) {
      const token = await service.db.transaction(async (tx) => await invite(tx, link, service.clock.now()))
      const path = `/dashboard/api/invitation/${token}`
      expect((await service.call(path, { token: null })).status).toBe(200)
      await becomesAdmin()
      expect((await service.call(path, { token: null })).status).toBe(404)
      // The account is disabled until the next way.
      await enter({ ...person, groups: [] })
    }
  })

  it('does not enable an account that an admin disabled in the dashboard, and cannot be changed there', async () => {
    const person = newPerson()
    const { session } = await enter(person)
    const { user } = (await session()).body
    const admin = await openBrowser(service, { email: await inviteUser(service, { role: 'admin' }), password })
    const change = async (body: object) => await admin.call(`/dashboard/api/user/${user.id}`, { method: 'PATCH', body })
    expect((await change({ role: 'admin' })).body.errors).toMatchObject([{ field: 'role', code: 'not_offered' }])
    expect((await change({ isDisabled: true })).status).toBe(200)
    expect(faultOf(await enter({ ...person, groups: [] }))).toBe('role_missing')
    expect(faultOf(await enter(person))).toBe('account_disabled')
    expect((await change({ isDisabled: false })).status).toBe(200)
    expect(faultOf(await enter(person))).toBeNull()
  })
})

describe('a person', () => {
  it('is the provider’s subject: a changed address there changes neither the account nor its address', async () => {
    const person = newPerson()
    const first = await (await enter(person)).session()
    const second = await (await enter({ ...person, email: 'renamed@example.com', email_verified: false })).session()
    expect(second.body.user).toMatchObject({ id: first.body.user.id, email: person.email })
    // Somebody else who has the address there now is not this person.
    expect(faultOf(await enter(newPerson({ email: person.email })))).toBe('account_conflict')
  })

  it('has one account: that of the same verified address, whose password and second factor end', async () => {
    const email = await inviteUser(service, { role: 'admin' })
    const withPassword = await openBrowser(service, { email, password })
    const person = newPerson({ email: email.toUpperCase() })
    for (const unverified of [false, undefined, 'true'])
      expect(faultOf(await enter({ ...person, email_verified: unverified }))).toBe('email_not_verified')
    expect((await withPassword.call('/dashboard/api/session')).status).toBe(200)

    const linked = await enter(person)
    expect((await linked.session()).body.user).toMatchObject({ email, role: 'support', hasPassword: false })
    expect((await withPassword.call('/dashboard/api/session')).status).toBe(401)
    expect((await openBrowser(service, { email, password })).status).toBe(401)
    expect(await service.db.query(sql`select from users where lower(email) = ${email}`)).toHaveLength(1)
    expect((await auditOf(email)).map(({ action }) => action)).toContain('user.link')
  })

  it('is shown to the other admins when it is new, linked or separated', async () => {
    const admin = await openBrowser(service, { email: await inviteUser(service, { role: 'admin' }), password })
    const latest = async () => (await admin.call<{ data: object[] }>('/dashboard/api/notice')).body.data[0]
    const { user } = (await (await enter(newPerson())).session()).body
    expect(await latest()).toMatchObject({ actor: `user:${user.email}`, action: 'user.accept' })
    await enter(newPerson({ email: await inviteUser(service, { role: 'admin' }), groups: ['admins'] }))
    expect(await latest()).toMatchObject({ action: 'user.link' })
    await unlinkUser(service, user, { by: { actor: 'cli:test' }, userId: null, merchantId: null })
    expect(await latest()).toMatchObject({ actor: 'cli:test', action: 'user.unlink' })
  })

  it('of a merchant does not become one of the operator by an address, or the reverse', async () => {
    const email = await inviteUser(service, { role: 'owner', merchantId: sandboxMerchant })
    expect(faultOf(await enter(newPerson({ email, groups: ['admins'] })))).toBe('account_conflict')
    const operator = await inviteUser(service, { role: 'support' })
    expect(faultOf(await enter(newPerson({ email: operator, groups: ['owners'] })))).toBe('account_conflict')
    expect((await openBrowser(service, { email, password })).status).toBe(200)
  })

  it('whose account is new or was linked cannot be the second person of a request for a day', async () => {
    const dayMs = 24 * 60 * 60_000
    const email = await inviteUser(service, { role: 'admin' })
    service.clock.advance(dayMs)
    for (const person of [newPerson({ groups: ['admins'] }), newPerson({ groups: ['admins'], email })]) {
      expect(faultOf(await enter(person))).toBeNull()
      const obstacle = async () =>
        await findObstacle(
          service.db,
          { requestedBy: 'user:somebody@example.com' },
          { by: `user:${person.email}`, now: service.clock.now(), command: 'withdrawal approve x' },
        )
      expect(await obstacle()).toMatchObject({ code: 'new_account' })
      service.clock.advance(dayMs)
      expect(await obstacle()).toBeNull()
    }
  })
})

it('refuses a role that requires a second factor if the provider’s token names none', async () => {
  const person = newPerson({ groups: ['finance'] })
  for (const amr of [undefined, ['pwd'], ['otp'], ['sms', 'hwk']])
    expect(faultOf(await enter({ ...person, amr })), String(amr)).toBe('second_factor_missing')
  expect(await service.db.query(sql`select from users where email = ${person.email}`)).toEqual([])
  for (const amr of [['pwd', 'otp'], ['mfa']]) expect(faultOf(await enter({ ...person, amr }))).toBeNull()
})

it('logs each failure without the email address and the authorization code', async () => {
  const person = newPerson({ groups: [] })
  const { callback } = await enter(person)
  const code = new URL(callback).searchParams.get('code') ?? expect.fail('the callback has no code')
  const failures = logged.filter((line) => line.security === 'sign_in.failed')
  expect(failures.at(-1)).toMatchObject({ outcome: 'role_missing', person: expect.any(String) })
  expect(JSON.stringify(logged)).not.toContain(person.email)
  expect(JSON.stringify(logged)).not.toContain(code)
})

it('failures of the provider do not lock out the people who sign in from the same IP address', async () => {
  for (let count = 0; count < 25; count += 1) {
    const browser = openRedirectBrowser()
    const { state = '' } = Object.fromEntries(
      new URL((await browser.visit(begin())).headers.get('location') ?? '').searchParams,
    )
    const back = await browser.visit(`${begin().replace(/provider$/, 'callback')}?error=server_error&state=${state}`)
    expect(back.headers.get('location')).toBe('/dashboard?signIn=provider_unavailable')
  }
  expect((await enter(newPerson())).location).toBe('/dashboard')
})

describe('without passwords', () => {
  let only: TestService
  beforeAll(async () => {
    only = await startTestService({
      clock: manualClock(new Date()),
      environment: {
        OIDC_ISSUER: 'http://127.0.0.1:9',
        OIDC_CLIENT_ID: 'a',
        OIDC_CLIENT_SECRET: 'a',
        OIDC_ROLES_CLAIM: 'groups',
        OIDC_ROLES: 'admins=admin',
        OIDC_ONLY: 'true',
      },
    })
  })
  afterAll(async () => await only.stop())

  it('only a link of the command line signs in while the provider is down', async () => {
    expect(only.firstAdminUrl).toBeNull()
    expect((await only.call('/dashboard/api/sign-in', { token: null })).body).toMatchObject({ password: false })
    const down = await openRedirectBrowser().visit(`${only.baseUrl}/dashboard/api/sign-in/provider`)
    expect(down.headers.get('location')).toBe('/dashboard?signIn=provider_unavailable')

    const { inviteUser: inviteByCommand } = await import('../../src/users/manage.ts')
    const deps = { db: only.db, clock: only.clock, baseUrl: only.baseUrl }
    const input = { email: 'admin@example.com', role: 'admin', merchantId: null }
    const byCommand = { by: { actor: 'cli:ana' }, userId: null, merchantId: null }
    const { url } = await inviteByCommand(deps, input, byCommand)
    const admin = await acceptInvitation(only, url.split('/').at(-1) ?? '', { name: 'Ana', password })
    expect((await openBrowser(only, { email: 'admin@example.com', password })).status).toBe(422)
    const { id } = (await admin.call<Session>('/dashboard/api/session')).body.user
    const other = { email: 'other@example.com', role: 'support' }
    expect((await admin.call('/dashboard/api/user', { body: other })).status).toBe(422)
    expect((await admin.call(`/dashboard/api/user/${id}/reset`, { body: {} })).status).toBe(422)
    // A link that an admin made before passwords were turned off.
    const before = await inviteByCommand(
      deps,
      { ...input, ...other },
      { by: { actor: 'user:admin@example.com' }, userId: id, merchantId: null },
    )
    const path = `/dashboard/api/invitation/${before.url.split('/').at(-1)}`
    expect((await only.call(path, { token: null })).status).toBe(404)
  })
})
