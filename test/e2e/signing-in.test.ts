import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { startTestService, type TestService } from '../support/service.ts'
import {
  acceptInvitation,
  type Browser,
  findSandboxMerchant,
  inviteUser,
  openBrowser,
  password,
} from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'

type Person = Browser & { email: string; id: string }
type Session = { id: string; device: string | null; network: string | null; isCurrent: boolean }

let service: TestService
const logged: Record<string, unknown>[] = []
beforeAll(async () => {
  // Lets a request say which address it comes from.
  const environment = { TRUST_PROXY: '127.0.0.1', REQUIRE_SECOND_FACTOR: 'read_only', RATE_LIMIT_READ: '1000' }
  service = await startTestService({ environment, onLog: (line) => logged.push(line) })
})
afterAll(async () => await service.stop())
// Keeps the attempts of one test from counting in the next.
beforeEach(() => service.clock.advance(60 * 60_000))

async function newPerson(role = 'support', merchantId: string | null = null): Promise<Person> {
  const email = await inviteUser(service, { role, merchantId })
  const browser = await openBrowser(service, { email, password })
  const session = await browser.call<{ user: { id: string } }>('/dashboard/api/session')
  return { ...browser, email, id: session.body.user.id }
}

type Given = { email: string; password?: string; code?: string }
async function tryToSignIn(given: Given, headers: Record<string, string> = {}) {
  const { email, code } = given
  const body = { email, password: given.password ?? password, ...(code && { code }) }
  const answer = await service.call('/dashboard/api/session', { token: null, body, headers })
  return { status: answer.status, code: answer.body.code, cookies: answer.headers.getSetCookie() }
}
const from = (address: string) => ({ 'x-forwarded-for': address })

async function addFactor(person: Browser): Promise<() => string> {
  const offer = await person.call<{ secret: string }>('/dashboard/api/second-factor', {
    method: 'POST',
    body: { password },
  })
  const totp = new TOTP({ secret: Secret.fromBase32(offer.body.secret) })
  const codeNow = () => totp.generate({ timestamp: service.clock.now().getTime() })
  const confirmed = await person.call('/dashboard/api/second-factor', { method: 'PUT', body: { code: codeNow() } })
  expect(confirmed.status, confirmed.text).toBe(204)
  service.clock.advance(30_000)
  return codeNow
}

async function resetLink(admin: Browser, { id }: Person, body: object = {}): Promise<string> {
  const reset = await admin.call<{ url: string }>(`/dashboard/api/user/${id}/reset`, { method: 'POST', body })
  expect(reset.status, reset.text).toBe(201)
  return reset.body.url.split('/').at(-1) ?? ''
}

const actionsOf = async (recordId: string) =>
  (
    await service.db.query<{ action: string }>(
      sql`select action from audit_log where record_id = ${recordId} order by id`,
    )
  ).map(({ action }) => action)

describe('wrong passwords', () => {
  it('are refused after ten from one address for one person, and correct ones are not counted', async () => {
    const { email } = await newPerson()
    const statuses = []
    for (let tries = 0; tries < 12; tries++)
      statuses.push((await tryToSignIn({ email, password: 'wrong' }, from('203.0.113.1'))).status)
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    service.clock.advance(11_000)
    for (let times = 0; times < 12; times++)
      expect((await tryToSignIn({ email }, from('203.0.113.2'))).status).toBe(200)
  })

  it('lock nobody out who signs in from another address, or with a known browser', async () => {
    const { email } = await newPerson()
    const known = await tryToSignIn({ email }, from('198.51.100.1'))
    const cookie = known.cookies.find((one) => one.startsWith('guiche-device='))?.split(';')[0] ?? ''
    // Concurrently, because tries after the tenth are answered late.
    const guess = async (address: string) => {
      for (let tries = 0; tries < 22; tries++) await tryToSignIn({ email, password: 'wrong' }, from(address))
      expect((await tryToSignIn({ email, password: 'wrong' }, from(address))).status).toBe(429)
    }
    await Promise.all(['203.0.113.10', '203.0.113.11', '203.0.113.12'].map(guess))
    expect((await tryToSignIn({ email }, from('198.51.100.1'))).status).toBe(200)
    expect((await tryToSignIn({ email }, from('198.51.100.99'))).status).toBe(200)
    // From the address of the guesses, only the known browser signs in.
    expect((await tryToSignIn({ email }, from('203.0.113.10'))).status).toBe(429)
    expect((await tryToSignIn({ email }, { ...from('203.0.113.10'), cookie })).status).toBe(200)
  })

  it('count the same from a browser with a forged cookie', async () => {
    const { email } = await newPerson()
    const statuses = []
    for (let tries = 0; tries < 12; tries++) {
      const cookie = `guiche-device=${String(tries).padStart(43, 'x')}`
      statuses.push((await tryToSignIn({ email, password: 'wrong' }, { ...from('203.0.113.20'), cookie })).status)
    }
    expect(statuses.slice(10)).toEqual([429, 429])
  })

  it('count separately for a known device: it is stored for 90 days, and then deleted at the next sign-in of anyone', async () => {
    const [gone, other] = [await newPerson(), await newPerson()]
    const countOf = async (userId: string) =>
      (await service.db.query(sql`select from known_devices where user_id = ${userId}`)).length
    await tryToSignIn({ email: gone.email }, from('198.51.100.7'))
    service.clock.advance(90 * 24 * 60 * 60_000 - 1)
    await tryToSignIn({ email: other.email }, from('198.51.100.8'))
    expect(await countOf(gone.id)).toBeGreaterThanOrEqual(2)
    service.clock.advance(1)
    await tryToSignIn({ email: other.email }, from('198.51.100.8'))
    expect(await countOf(gone.id)).toBe(0)
    expect(await countOf(other.id)).toBeGreaterThanOrEqual(2)
  })
})

describe('a second factor', () => {
  it('is required once it was confirmed; a code is single-use and valid for thirty seconds', async () => {
    const user = await newPerson('finance')
    const elsewhere = await openBrowser(service, { email: user.email, password })
    const without = await user.call('/dashboard/api/second-factor', { method: 'POST', body: { password: 'wrong' } })
    expect([without.status, without.body.errors]).toMatchObject([422, [{ field: 'password' }]])
    const offer = await user.call<{ secret: string }>('/dashboard/api/second-factor', {
      method: 'POST',
      body: { password },
    })
    // Not required yet: the app may not have it.
    expect((await tryToSignIn(user)).status).toBe(200)
    const wrong = await user.call('/dashboard/api/second-factor', { method: 'PUT', body: { code: '000000' } })
    expect(wrong.status).toBe(422)
    const totp = new TOTP({ secret: Secret.fromBase32(offer.body.secret) })
    const codeNow = () => totp.generate({ timestamp: service.clock.now().getTime() })
    const confirmed = codeNow()
    const confirming = { method: 'PUT', body: { code: confirmed } }
    expect((await user.call('/dashboard/api/second-factor', confirming)).status).toBe(204)
    // Sessions that began without it end; this one continues.
    expect((await elsewhere.call('/dashboard/api/session')).status).toBe(401)
    expect((await user.call('/dashboard/api/session')).status).toBe(200)
    expect(await tryToSignIn(user)).toMatchObject({ status: 401, code: 'second_factor_needed' })
    expect(await tryToSignIn({ email: user.email, code: confirmed })).toMatchObject({
      status: 401,
      code: 'sign_in_failed',
    })
    service.clock.advance(30_000)
    const next = codeNow()
    expect((await tryToSignIn({ email: user.email, code: next })).status).toBe(200)
    expect(await tryToSignIn({ email: user.email, code: next })).toMatchObject({ code: 'sign_in_failed' })
    service.clock.advance(30_000)
    const late = codeNow()
    service.clock.advance(30_000)
    expect(await tryToSignIn({ email: user.email, code: late })).toMatchObject({ code: 'sign_in_failed' })
    const [row] = await service.db.query<{ sealed_totp: Buffer }>(sql`
      select sealed_totp from users where email = ${user.email}`)
    expect(row?.sealed_totp.toString('latin1')).not.toContain(offer.body.secret)
  })

  it('is removed by password and code, and other sessions end', async () => {
    const user = await newPerson()
    const codeNow = await addFactor(user)
    const elsewhere = await openBrowser(service, { email: user.email, password, code: codeNow() })
    service.clock.advance(30_000)
    const remove = async (body: object) => await user.call('/dashboard/api/second-factor', { method: 'DELETE', body })
    expect((await remove({ password })).status).toBe(422)
    expect((await remove({ password: 'wrong', code: codeNow() })).status).toBe(422)
    expect((await remove({ password, code: '000000' })).status).toBe(422)
    expect((await remove({ password, code: codeNow() })).status).toBe(204)
    expect((await elsewhere.call('/dashboard/api/session')).status).toBe(401)
    expect((await tryToSignIn(user)).status).toBe(200)
  })

  it('is not skipped by a reset, unless the admin removed it', async () => {
    const [admin, user] = [await newPerson('admin'), await newPerson('finance')]
    const codeNow = await addFactor(user)
    const token = await resetLink(admin, user)
    const path = `/dashboard/api/invitation/${token}`
    expect((await service.call(path, { token: null })).body).toMatchObject({ isReset: true, needsCode: true })
    const accept = async (body: object) => (await service.call(path, { token: null, body })).body
    expect(await accept({ password })).toMatchObject({ code: 'second_factor_needed' })
    expect(await accept({ password, code: '000000' })).toMatchObject({
      code: 'validation_failed',
      errors: [{ field: 'code' }],
    })
    await acceptInvitation(service, token, { password, code: codeNow() })
    expect(await tryToSignIn(user)).toMatchObject({ code: 'second_factor_needed' })
    const withoutFactor = await resetLink(admin, user, { secondFactor: true })
    // Otherwise the former password alone would open the account until the link is used.
    expect(await tryToSignIn(user)).toMatchObject({ code: 'sign_in_failed' })
    await service.db.query(sql`update users set name = 'Quitéria Zangarelhas' where id = ${user.id}`)
    const named = { password: 'Zangarelhas 2026' }
    const guessed = await service.call(`/dashboard/api/invitation/${withoutFactor}`, { token: null, body: named })
    expect(guessed.body).toMatchObject({ errors: [{ code: 'too_easy' }] })
    await acceptInvitation(service, withoutFactor, { password })
    expect((await tryToSignIn(user)).status).toBe(200)
  })

  it('locks after ten wrong codes in a row, which the admins see, until a reset', async () => {
    const [admin, user] = [await newPerson('admin'), await newPerson('finance')]
    const codeNow = await addFactor(user)
    const guess = async (tries: number) => {
      const answers = []
      for (let done = 0; done < tries; done++) {
        service.clock.advance(60_000)
        answers.push((await tryToSignIn({ email: user.email, code: '000000' })).code)
      }
      return answers
    }
    expect(await guess(9)).toEqual(Array(9).fill('sign_in_failed'))
    expect((await tryToSignIn({ email: user.email, code: codeNow() })).status).toBe(200)
    // A correct one in between restarts the count.
    expect(await guess(10)).toEqual([...Array(9).fill('sign_in_failed'), 'second_factor_locked'])
    expect(await tryToSignIn({ email: user.email, code: codeNow() })).toMatchObject({ code: 'second_factor_locked' })
    const people = await admin.call<{ data: { email: string; isFactorLocked: boolean }[] }>('/dashboard/api/user')
    expect(people.body.data.filter(({ isFactorLocked }) => isFactorLocked).map(({ email }) => email)).toEqual([
      user.email,
    ])
    expect((await actionsOf(user.id)).filter((action) => action === 'user.lock_second_factor')).toHaveLength(1)
    await acceptInvitation(service, await resetLink(admin, user), { password, code: codeNow() })
    service.clock.advance(30_000)
    expect((await tryToSignIn({ email: user.email, code: codeNow() })).status).toBe(200)
  })

  it('comes before anything else if the role requires one', async () => {
    const user = await newPerson('read_only')
    const session = await user.call('/dashboard/api/session')
    expect(session.body).toMatchObject({ user: { needsSecondFactor: true } })
    for (const path of ['/dashboard/api/overview', '/dashboard/api/client', '/transaction']) {
      const answer = await user.call(path, { headers: { 'x-guiche-merchant': service.sandbox.clientId } })
      expect([answer.status, answer.body.code]).toEqual([403, 'second_factor_required'])
    }
    await addFactor(user)
    expect((await user.call('/dashboard/api/overview')).status).toBe(200)
  })
})

describe('one’s own sessions', () => {
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

  it('are listed with browser and network, and ended one by one or all others at once', async () => {
    const user = await newPerson()
    const body = { email: user.email, password }
    for (const address of ['203.0.113.77', '2001:db8:1:2::3'])
      await service.call('/dashboard/api/session', {
        token: null,
        body,
        headers: { ...from(address), 'user-agent': agent },
      })
    const list = async () => (await user.call<{ data: Session[] }>('/dashboard/api/own-session')).body.data
    const before = await list()
    expect(before.map(({ network }) => network).sort()).toEqual(
      expect.arrayContaining(['2001:db8:1::/48', '203.0.113.0/24']),
    )
    expect(before.find(({ network }) => network === '203.0.113.0/24')).toMatchObject({ device: 'Firefox · Linux' })
    expect(before.filter(({ isCurrent }) => isCurrent)).toHaveLength(1)
    const other = before.find(({ isCurrent }) => !isCurrent)
    const end = async (path: string) =>
      (await user.call(`/dashboard/api/own-session${path}`, { method: 'DELETE' })).status
    expect([await end(`/${other?.id}`), await end(`/${other?.id}`)]).toEqual([204, 404])
    expect(await list()).toHaveLength(before.length - 1)
    const outsider = await newPerson()
    const foreign = await outsider.call(`/dashboard/api/own-session/${before[0]?.id}`, { method: 'DELETE' })
    expect(foreign.status).toBe(404)
    expect(await end('')).toBe(204)
    expect(await list()).toMatchObject([{ isCurrent: true }])
  })

  it('are ten at most: the least recently used one ends', async () => {
    const used = await newPerson()
    service.clock.advance(1_000)
    const unused = await openBrowser(service, { email: used.email, password })
    // The time of the last use is precise to a minute.
    service.clock.advance(60_000)
    await used.call('/dashboard/api/session')
    for (let count = 0; count < 9; count++) await tryToSignIn(used)
    expect((await unused.call('/dashboard/api/session')).status).toBe(401)
    expect((await used.call<{ data: Session[] }>('/dashboard/api/own-session')).body.data).toHaveLength(10)
  })

  it('leave nothing in the browser’s cache when they end', async () => {
    const user = await newPerson()
    const left = await user.call('/dashboard/api/session', { method: 'DELETE' })
    expect(left.headers.get('clear-site-data')).toBe('"cache"')
  })
})

it('logs what people and programs request, and no line for each file of the dashboard or the reference', async () => {
  const get = async (path: string) => await service.call(path, { token: null })
  const page = await get('/dashboard/')
  const [asset = ''] = page.text.match(/assets\/[\w.-]+\.js/) ?? []
  logged.length = 0
  for (const path of ['/dashboard', `/dashboard/${asset}`, '/docs', '/dashboard/icon.svg'])
    expect([path, (await get(path)).status]).toEqual([path, 200])
  expect((await get('/dashboard/assets/nothing.js')).status).toBe(404)
  expect((await get('/dashboard/api/session')).status).toBe(401)
  const answered = () => logged.filter(({ msg }) => msg === 'answered').map(({ route }) => route)
  await eventually(() => answered().length >= 2)
  expect(answered().toSorted()).toEqual(['/dashboard/api/session', 'unknown'])
})

describe('a merchant’s people', () => {
  it('may make a limited number of changes, at once and over time, since all are recorded; others are not affected', async () => {
    const merchantId = await findSandboxMerchant(service)
    const [owner, other] = [await newPerson('owner', merchantId), await newPerson('owner', merchantId)]
    const invitePerson = async (by: Browser & { email: string }, role = 'developer') =>
      await by.call('/dashboard/api/user', { method: 'POST', body: { email: `new-${by.email}`, role } })
    const entries = async () =>
      (await service.db.query(sql`select from audit_log where actor = ${`user:${owner.email}`}`)).length
    const before = await entries()
    // Lists and previews change nothing, though their filters are in the body.
    const preview = { amount: 1_000, key: 'maria@example.com' }
    for (const [path, body] of [
      ...['transaction', 'transaction/summary', 'withdrawal', 'withdrawal/summary'].map((of) => [`list/${of}`, {}]),
      ...['delivery', 'delivery/summary', 'dispute'].map((of) => [`list/${of}`, {}]),
      ['withdrawal/preview', preview],
    ] as const) {
      const read = await owner.call(`/dashboard/api/${path}`, { body })
      expect([path, read.status, read.headers.get('ratelimit')], read.text).toEqual([
        path,
        200,
        expect.stringMatching(/^"read";[^,]*$/),
      ])
    }
    const statuses = []
    for (let times = 0; times < 103; times += 1) statuses.push((await invitePerson(owner)).status)
    // Of a hundred, signing in used one.
    expect(statuses).toEqual([...Array(99).fill(201), 429, 429, 429, 429])
    expect(await entries()).toBe(before + 99)
    const refused = await invitePerson(owner)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(refused.body).toMatchObject({ code: 'rate_limited', detail: expect.stringContaining('Wait 5 s') })
    expect(logged).toContainEqual(
      expect.objectContaining({
        security: 'rate_limit.exceeded',
        route: '/dashboard/api/user',
        person: expect.any(String),
      }),
    )
    // Reading and signing out need no audit entry; other people of the merchant, and of the operator, have their own
    // limits.
    expect((await owner.call('/dashboard/api/user')).status).toBe(200)
    expect((await invitePerson(other)).status).toBe(201)
    expect((await invitePerson(await newPerson('admin'), 'support')).status).toBe(201)
    service.clock.advance(5_000)
    expect([(await invitePerson(owner)).status, (await invitePerson(owner)).status]).toEqual([201, 429])
    expect((await owner.call('/dashboard/api/session', { method: 'DELETE' })).status).toBe(200)
    const signInAgain = async () =>
      await service.call('/dashboard/api/session', { token: null, body: { email: owner.email, password } })
    const [first, second] = [await signInAgain(), await signInAgain()]
    expect([first.status, second.status]).toEqual([429, 429])
    // It does not count as a wrong password.
    expect(second.headers.get('ratelimit')).toBe(first.headers.get('ratelimit'))
    service.clock.advance(5_000)
    expect((await openBrowser(service, { email: owner.email, password })).status).toBe(200)
  })
})
