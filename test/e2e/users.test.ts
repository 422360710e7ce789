import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { invite } from '../../src/users/invite.ts'
import { addTestClient } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { acceptInvitation, type Browser, findSandboxMerchant, openBrowser, password } from '../support/users.ts'

let service: TestService
const logged: Record<string, unknown>[] = []
beforeAll(async () => {
  service = await startTestService({ onLog: (line) => logged.push(line) })
})
afterAll(async () => {
  await service.stop()
})
// Keeps the attempts of one test from counting in the next.
beforeEach(() => service.clock.advance(60 * 60_000))

async function inviteToken(given: { email: string | null; role: string; merchantId?: string }): Promise<string> {
  return await service.db.transaction(
    async (tx) => await invite(tx, { merchantId: null, invitedBy: null, ...given }, service.clock.now()),
  )
}

let made = 0
async function newUser(role: string, merchantId?: string): Promise<Browser & { email: string }> {
  made += 1
  const email = `user${made}@example.com`
  const token = await inviteToken({ email, role, ...(merchantId && { merchantId }) })
  const browser = await acceptInvitation(service, token, { name: 'Ana Souza', password })
  return { ...browser, email }
}

describe('an invitation', () => {
  it('shows its purpose, creates the user and signs in', async () => {
    const token = await inviteToken({ email: 'Maria@Example.com', role: 'finance' })
    const shown = await service.call(`/dashboard/api/invitation/${token}`, { token: null })
    expect(shown.body).toEqual({
      email: 'maria@example.com',
      role: 'finance',
      merchantName: null,
      isReset: false,
      needsCode: false,
    })
    const browser = await acceptInvitation(service, token, { name: 'Maria', password })
    const session = await browser.call('/dashboard/api/session')
    expect(session.body).toMatchObject({ user: { email: 'maria@example.com', role: 'finance', merchant: null } })
  })

  it('is single-use, and valid for three days', async () => {
    const token = await inviteToken({ email: 'once@example.com', role: 'support' })
    await acceptInvitation(service, token, { name: 'Once', password })
    const again = await service.call(`/dashboard/api/invitation/${token}`, {
      token: null,
      body: { name: 'Twice', password },
    })
    expect(again.status).toBe(404)
    // Another invitation replaces it, so that a wrong role can be corrected.
    const wrong = await inviteToken({ email: 'late@example.com', role: 'admin' })
    const late = await inviteToken({ email: 'Late@example.com', role: 'support' })
    expect((await service.call(`/dashboard/api/invitation/${wrong}`, { token: null })).status).toBe(404)
    expect((await service.call(`/dashboard/api/invitation/${late}`, { token: null })).status).toBe(200)
    service.clock.advance(3 * 24 * 60 * 60_000)
    expect((await service.call(`/dashboard/api/invitation/${late}`, { token: null })).status).toBe(404)
  })

  it('creates one user when it is accepted ten times concurrently', async () => {
    const token = await inviteToken({ email: 'race@example.com', role: 'support' })
    const answers = await Promise.all(
      Array.from({ length: 10 }, async () =>
        service.call(`/dashboard/api/invitation/${token}`, { token: null, body: { name: 'Race', password } }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(404)])
  })

  it('is refused with every error in one answer, and with a weak password', async () => {
    const token = await inviteToken({ email: null, role: 'admin' })
    const path = `/dashboard/api/invitation/${token}`
    const missing = await service.call(path, { token: null, body: { password: 'short' } })
    expect(missing.status).toBe(422)
    expect((missing.body.errors as { field: string }[]).map(({ field }) => field)).toEqual([
      'email',
      'name',
      'password',
    ])
    for (const easy of ['aaaaaaaaaaaaaaaa', 'pedro.alves-2026', 'a'.repeat(257)]) {
      const body = { email: 'pedro.alves@example.com', name: 'Pedro', password: easy }
      expect((await service.call(path, { token: null, body })).status).toBe(422)
    }
    const body = { email: 'pedro.alves@example.com', name: 'Pedro', password: 'twelve chars of mine' }
    expect((await service.call(path, { token: null, body })).status).toBe(200)
  })
})

describe('a sign-in', () => {
  it('gives the same answer for an unknown person, a wrong password and a disabled person', async () => {
    const { email } = await newUser('support')
    await service.db.query(sql`update users set disabled_at = now() where email = ${email}`)
    const answers = []
    for (const body of [
      { email: 'nobody@example.com', password },
      { email: 'maria@example.com', password: 'wrong password' },
      { email, password },
    ])
      answers.push(await service.call('/dashboard/api/session', { token: null, body }))
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(Array(3).fill([401, 'sign_in_failed']))
    expect(new Set(answers.map(({ body }) => body.detail)).size).toBe(1)
    expect(answers.every(({ headers }) => headers.get('set-cookie') === null)).toBe(true)
  })

  it('sets a cookie that scripts and other sites cannot use, and only its hash is stored', async () => {
    const { email } = await newUser('support')
    const answer = await service.call('/dashboard/api/session', { token: null, body: { email, password } })
    const cookie = answer.headers.get('set-cookie') ?? ''
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^guiche=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/),
      expect.stringMatching(/^guiche-device=[\w-]{43}; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Strict$/),
    ])
    const [row] = await service.db.query<{ found: boolean }>(
      sql`select exists (select from sessions where encode(token_hash, 'escape') like ${`%${cookie.slice(7, 50)}%`}) as found`,
    )
    expect(row?.found).toBe(false)
  })

  it('ends the browser’s earlier session, so that nobody can plant one', async () => {
    const victim = await newUser('support')
    const planted = await newUser('support')
    const again = await service.call('/dashboard/api/session', {
      token: null,
      headers: { cookie: planted.cookie },
      body: { email: victim.email, password },
    })
    expect(again.headers.get('set-cookie')).not.toContain(planted.cookie)
    expect((await planted.call('/dashboard/api/session')).status).toBe(401)
  })

  it('is refused from another site', async () => {
    const { email } = await newUser('support')
    const headers = { 'sec-fetch-site': 'cross-site' }
    const answer = await service.call('/dashboard/api/session', { token: null, headers, body: { email, password } })
    expect([answer.status, answer.body.code]).toEqual([403, 'csrf_token_missing'])
  })
})

describe('a session', () => {
  it('ends on sign-out, an hour after the last request, and after twelve hours in any case', async () => {
    const left = await newUser('support')
    expect((await left.call('/dashboard/api/session', { method: 'DELETE' })).status).toBe(200)
    expect((await left.call('/dashboard/api/session')).status).toBe(401)
    const idle = await newUser('support')
    service.clock.advance(61 * 60_000)
    expect((await idle.call('/dashboard/api/session')).status).toBe(401)
    const busy = await newUser('support')
    const statuses = []
    for (let minutes = 0; minutes <= 12 * 60; minutes += 45) {
      statuses.push((await busy.call('/dashboard/api/session')).status)
      service.clock.advance(45 * 60_000)
    }
    expect(statuses).toEqual([...Array(16).fill(200), 401])
  })

  it('changes nothing without its own CSRF token', async () => {
    const [first, second] = [await newUser('admin'), await newUser('admin')]
    for (const csrf of [null, 'made up', second.csrfToken]) {
      const answer = await first.call('/dashboard/api/session', { method: 'DELETE', csrf })
      expect([answer.status, answer.body.code]).toEqual([403, 'csrf_token_missing'])
    }
    expect((await first.call('/dashboard/api/session')).status).toBe(200)
  })

  it('of a person who was disabled ends immediately', async () => {
    const [admin, other] = [await newUser('admin'), await newUser('support')]
    const list = await admin.call<{ data: { id: string; email: string }[] }>('/dashboard/api/user')
    const id = list.body.data.find(({ email }) => email === other.email)?.id
    const change = { method: 'PATCH', body: { isDisabled: true } }
    expect(await admin.call(`/dashboard/api/user/${id}`, change)).toMatchObject({
      status: 200,
      body: { isDisabled: true },
    })
    expect((await other.call('/dashboard/api/session')).status).toBe(401)
    expect((await openBrowser(service, { email: other.email, password })).status).toBe(401)
  })

  it('elsewhere ends when the password is changed, and this one continues', async () => {
    const current = await newUser('support')
    const elsewhere = await openBrowser(service, { email: current.email, password })
    const body = { current: password, password: 'another good password' }
    const wrong = await current.call('/dashboard/api/password', { method: 'PUT', body: { ...body, current: 'wrong' } })
    expect([wrong.status, wrong.body.errors]).toMatchObject([422, [{ field: 'current' }]])
    expect((await current.call('/dashboard/api/password', { method: 'PUT', body })).status).toBe(204)
    expect((await current.call('/dashboard/api/session')).status).toBe(200)
    expect((await elsewhere.call('/dashboard/api/session')).status).toBe(401)
  })
})

describe('the users', () => {
  it('of a merchant are managed by its owner, and nobody else is seen', async () => {
    const merchantId = await findSandboxMerchant(service)
    const owner = await newUser('owner', merchantId)
    const operator = await newUser('admin')
    const outsider = await newUser('owner', (await addTestClient(service)).merchantId)
    const list = await owner.call<{ data: { merchant: { clientId: string } | null }[] }>('/dashboard/api/user')
    const clientIds = new Set(list.body.data.map(({ merchant }) => merchant?.clientId))
    expect(clientIds).toEqual(new Set([service.sandbox.clientId]))
    const all = await operator.call<{ data: { id: string; email: string }[] }>('/dashboard/api/user')
    const foreign = all.body.data.filter(({ email }) => [operator.email, outsider.email].includes(email))
    expect(foreign).toHaveLength(2)
    const change = { method: 'PATCH', body: { isDisabled: true } }
    for (const { id } of foreign) expect((await owner.call(`/dashboard/api/user/${id}`, change)).status).toBe(404)
    const invited = await owner.call('/dashboard/api/user', {
      method: 'POST',
      body: { email: 'dev@example.com', role: 'developer', clientId: 'somebody-else' },
    })
    expect(invited.status).toBe(201)
    const [row] = await service.db.query<{ merchant_id: string }>(
      sql`select merchant_id from invitations where email = 'dev@example.com'`,
    )
    expect(row?.merchant_id).toBe(merchantId)
    const asAdmin = await owner.call('/dashboard/api/user', {
      method: 'POST',
      body: { email: 'more@example.com', role: 'admin' },
    })
    expect([asAdmin.status, asAdmin.body.code]).toEqual([422, 'user_not_possible'])
    // An owner must not learn whether another merchant's people have an address.
    const probing = { method: 'POST', body: { email: operator.email, role: 'developer' } }
    expect((await owner.call('/dashboard/api/user', probing)).status).toBe(201)
    const own = { method: 'POST', body: { email: owner.email, role: 'developer' } }
    expect((await owner.call('/dashboard/api/user', own)).status).toBe(422)
  })

  it('always have an admin among them', async () => {
    const admin = await newUser('admin')
    await service.db.query(sql`update users set disabled_at = now() where role = 'admin' and email <> ${admin.email}`)
    const list = await admin.call<{ data: { id: string; email: string }[] }>('/dashboard/api/user')
    const id = list.body.data.find(({ email }) => email === admin.email)?.id
    for (const body of [{ isDisabled: true }, { role: 'support' }]) {
      const answer = await admin.call(`/dashboard/api/user/${id}`, { method: 'PATCH', body })
      expect([answer.status, answer.body.code]).toEqual([422, 'user_not_possible'])
    }
    expect((await admin.call('/dashboard/api/session')).status).toBe(200)
  })

  it('leave an audit entry for each change of a user, which names the merchant of that user', async () => {
    const admin = await newUser('admin')
    const merchantId = await findSandboxMerchant(service)
    const { body } = await (await newUser('owner', merchantId)).call<{ user: { id: string } }>('/dashboard/api/session')
    await admin.call('/dashboard/api/user', { method: 'POST', body: { email: 'trace@example.com', role: 'support' } })
    const path = `/dashboard/api/user/${body.user.id}`
    await admin.call(path, { method: 'PATCH', body: { isDisabled: true } })
    await admin.call(path, { method: 'PATCH', body: { isDisabled: false } })
    await admin.call(path, { method: 'PATCH', body: { role: 'finance' } })
    await admin.call(`${path}/reset`, { method: 'POST', body: {} })
    const rows = await service.db.query<{ action: string; merchant_id: string | null; details: object | null }>(
      sql`select action, merchant_id, details from audit_log where actor = ${`user:${admin.email}`} order by id`,
    )
    expect(rows.map((row) => [row.action, row.merchant_id, row.details])).toEqual([
      ['user.accept', null, { role: 'admin' }],
      ['user.invite', null, { role: 'support' }],
      ['user.disable', merchantId, null],
      ['user.enable', merchantId, null],
      ['user.change', merchantId, { role: 'finance' }],
      ['user.reset', merchantId, { secondFactor: false }],
    ])
  })
})

describe('on the API of the shops, a session', () => {
  it('acts for its merchant, within its role', async () => {
    const developer = await newUser('developer', await findSandboxMerchant(service))
    expect((await developer.call('/transaction')).status).toBe(200)
    const balance = await developer.call('/balance')
    expect([balance.status, balance.body.code]).toEqual([403, 'permission_missing'])
    expect((await developer.call('/dashboard/api/overview')).body.balances).toBeNull()
    const body = { amount: 1000, paymentMethod: 'PIX', pix: {} }
    expect((await developer.call('/transaction', { method: 'POST', body, csrf: null })).status).toBe(403)
    expect((await developer.call('/transaction', { method: 'POST', body })).status).toBe(201)
  })

  it('of the operator names the merchant that it acts for', async () => {
    const support = await newUser('support')
    expect((await support.call('/transaction')).status).toBe(404)
    const headers = { 'x-guiche-merchant': service.sandbox.clientId }
    const list = await support.call<{ total: number }>('/transaction', { headers })
    expect(list.status).toBe(200)
    expect(list.body.total).toBeGreaterThan(0)
    expect((await support.call('/transaction', { headers: { 'x-guiche-merchant': 'nobody' } })).status).toBe(404)
  })

  it('is ignored when there is a token', async () => {
    const developer = await newUser('developer', await findSandboxMerchant(service))
    const answer = await developer.call('/transaction', { headers: { authorization: 'Bearer made-up' } })
    expect([answer.status, answer.body.code]).toEqual([401, 'invalid_token'])
  })
})

it('gives a link for the first admin at the first start', async () => {
  const fresh = await startTestService()
  expect(fresh.firstAdminUrl).toMatch(new RegExp(`^${fresh.baseUrl}/dashboard/welcome/[\\w-]{43}$`))
  const token = fresh.firstAdminUrl?.split('/').at(-1) ?? ''
  const admin = await acceptInvitation(fresh, token, { email: 'first@example.com', name: 'First', password })
  expect((await admin.call('/dashboard/api/session')).body).toMatchObject({ user: { role: 'admin' } })
  await fresh.stop()
})

describe('a security event', () => {
  // Repeated events are logged again every ten seconds, whatever test is running then.
  const securityLines = (from: number) =>
    logged.slice(from).filter(({ security, repeats }) => security !== undefined && repeats === undefined)

  it('is in the log with who and from where, without e-mail addresses', async () => {
    const { email } = await newUser('support')
    const from = logged.length
    const signIn = async (body: object) => await service.call('/dashboard/api/session', { token: null, body })
    await signIn({ email, password: 'wrong' })
    await signIn({ email, password: 'wrong' })
    await signIn({ email: 'somebody@example.com', password })
    await signIn({ email, password })
    const failures = securityLines(from).filter(({ security }) => security === 'sign_in.failed')
    const [failed] = failures
    const succeeded = securityLines(from).find(({ security }) => security === 'sign_in.succeeded')
    const where = {
      address: '127.0.0.1',
      method: 'POST',
      route: '/dashboard/api/session',
      requestId: expect.any(String),
    }
    expect(failed).toMatchObject({
      level: 40,
      security: 'sign_in.failed',
      outcome: 'sign_in_failed',
      factor: 'password',
      ...where,
    })
    expect(succeeded).toMatchObject({ level: 30, security: 'sign_in.succeeded', outcome: 'ok', ...where })
    expect(failed?.person).toMatch(/^[0-9a-f]{16}$/)
    expect(succeeded?.person).toBe(failed?.person)
    // The same person's second failure has a line only if ten seconds have passed.
    expect(new Set(failures.map(({ person }) => person)).size).toBe(2)
    expect(JSON.stringify(logged)).not.toMatch(/@example\.com/)
  })

  it('is in the log for tokens: granted, refused, forged, and without the scope', async () => {
    const from = logged.length
    const { clientId, clientSecret } = service.sandbox
    const request = async (form: Record<string, string>) =>
      await service.call<{ access_token: string }>('/auth/token', {
        method: 'POST',
        token: null,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        rawBody: new URLSearchParams({ grant_type: 'client_credentials', ...form }).toString(),
      })
    const granted = await request({ client_id: clientId, client_secret: clientSecret, scope: 'balance.read' })
    await request({ client_id: clientId, client_secret: 'wrong' })
    const documents = ['52998224725', '529.982.247-25', '12ABC34501DE35']
    for (const document of documents) await request({ client_id: document, client_secret: 'wrong' })
    await service.call('/balance', { token: 'no.token.atall' })
    await service.call('/transaction', { token: granted.body.access_token })
    // A client's tokens of ten seconds have one line, which may be from the start.
    const given = { level: 30, security: 'token.granted', clientId, address: '127.0.0.1' }
    expect(logged).toContainEqual(expect.objectContaining(given))
    expect(securityLines(from).filter(({ security }) => security !== given.security)).toMatchObject([
      { level: 40, security: 'token.refused', outcome: 'invalid_client', clientId },
      ...documents.map(() => ({ level: 40, security: 'token.refused', clientId: expect.stringMatching(/^hash:/) })),
      { level: 40, security: 'token.invalid', outcome: 'invalid_token', route: '/balance' },
      { level: 40, security: 'access.denied', outcome: 'insufficient_scope', clientId, route: '/transaction' },
    ])
    expect(JSON.stringify(logged)).not.toContain(clientSecret)
  })

  it('is in the log for a person whose role does not allow it', async () => {
    const support = await newUser('support')
    const from = logged.length
    expect((await support.call('/dashboard/api/user')).status).toBe(403)
    expect(securityLines(from)).toMatchObject([
      { security: 'access.denied', outcome: 'permission_missing', person: expect.any(String) },
    ])
  })

  it('is in the audit log for failed sign-ins: at the first attempt and at the tenth, not at each', async () => {
    const { email } = await newUser('support')
    const entries = async () =>
      await service.db.query<{ details: object }>(sql`
        select details from audit_log join users on users.id = record_id
        where action = 'user.sign_in_failed' and email = ${email} order by audit_log.id`)
    for (let tries = 0; tries < 9; tries += 1) {
      await service.call('/dashboard/api/session', { token: null, body: { email, password: 'wrong' } })
      service.clock.advance(10_000)
    }
    expect((await entries()).map(({ details }) => details)).toEqual([{ attempts: 1, factor: 'password' }])
    await service.call('/dashboard/api/session', { token: null, body: { email, password: 'wrong' } })
    expect((await entries()).map(({ details }) => details)).toEqual([
      { attempts: 1, factor: 'password' },
      { attempts: 10, factor: 'password' },
    ])
  })
})
