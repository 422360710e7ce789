import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { raw, sql } from '../../src/db/sql.ts'
import { merchantRoles, operatorRoles, permissionsOf, type Role } from '../../src/users/roles.ts'
import { setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { collectRoutes, type Expected, expectations, type Route } from '../support/access.ts'
import { dispute, fetchDisputed, pollUntil } from '../support/disputes.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { payOne, refund, untilRefund } from '../support/refunds.ts'
import { type Answer, fetchToken, startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually, startTestReceiver, suspendJob, type TestReceiver } from '../support/webhooks.ts'
import { fund, untilWithdrawal, withdraw } from '../support/withdrawals.ts'

type Person = { role: Role; isOperator: boolean; permissions: readonly string[]; browser: Browser }

let service: TestService
let receiver: TestReceiver
let routes: Route[]
/** The people of the merchant that has the records, in every role. */
let insiders: Person[]
/** Another merchant's people, who try to reach the records. */
let outsiders: Person[]
/** The operator's people. */
let operators: Person[]
let outsidersToken: string
/** The parameters that name the first merchant's records. */
let names: Record<NonNullable<Expected['record']>, string>
/** Texts that no answer to another merchant may contain. */
let marks: string[]

beforeAll(async () => {
  const collected = await collectRoutes(
    async () =>
      await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400', WEBHOOK_ALLOW_PRIVATE: 'true' } }),
  )
  service = collected.started
  routes = collected.routes
  receiver = await startTestReceiver()
  const merchantId = await findSandboxMerchant(service)
  await service.db.query(sql`update clients set name = 'Loja Alfa' where merchant_id = ${merchantId}`)
  await fillMerchant(merchantId)
  operators = await peopleOf([...operatorRoles], null)
  insiders = await peopleOf([...merchantRoles], merchantId)
  names.link = randomUUID()
  const link = { title: 'link-of-alfa', amount: 100, needsCustomer: false, isEnabled: true, hasStaticCode: true }
  await insiders[0]?.browser.call('/dashboard/api/link', { body: { ...link, id: names.link } })
  marks.push(names.link, 'link-of-alfa')
  // The file gets its dispute's id: pathOf() puts the same id into every parameter of a path.
  const file = `/dashboard/api/infraction/${names.dispute}/file/${names.dispute}`
  await insiders[0]?.browser.call(`${file}?name=proof-of-alfa.txt`, {
    method: 'PUT',
    rawBody: 'sent-by-alfa',
    headers: { 'content-type': 'application/octet-stream' },
  })
  marks.push(names.dispute, 'proof-of-alfa', 'sent-by-alfa')
  const admin = operators[0]?.browser
  const made = await admin?.call<{ merchantId: string; clientId: string; clientSecret: string }>(
    '/dashboard/api/client',
    {
      body: { name: 'Loja Beta', scopes: [...allScopes()] },
    },
  )
  if (!made) throw new Error('no admin')
  outsidersToken = await fetchToken(service.baseUrl, made.body)
  outsiders = await peopleOf([...merchantRoles], made.body.merchantId)
  // So that the outsiders' `PUT /dashboard/api/branding`, with `changedAt: null` (test/support/access.ts), is refused
  // with 409.
  await service.db.query(
    sql`insert into brandings (merchant_id, changed_at) values (${made.body.merchantId}, ${service.clock.now()})`,
  )
  const users = await service.db.query<{ id: string; email: string }>(
    sql`select id, email from users where merchant_id = ${merchantId}`,
  )
  names.user = users[0]?.id ?? ''
  marks.push(merchantId, service.sandbox.clientId, 'Loja Alfa', ...users.flatMap(({ id, email }) => [id, email]))
}, 300_000)
afterAll(async () => {
  await receiver.stop()
  await service.stop()
})

/**
 * The merchant's records, in stable states that no job changes. `beforeAll` adds the link and the user. No resend
 * exists: its id is random.
 */
async function fillMerchant(merchantId: string): Promise<void> {
  await fund(service, 500_000)
  await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, perDay: 1_000_000, approvalAbove: 100 })
  const { id, uri } = await charge(service, { webhookUrl: receiver.url, externalCode: 'order-of-alfa' })
  await payAt(service, uri)
  await untilStatus(service, id, 'PAID')
  const withdrawal = await withdraw(service, { amount: 5_000, externalCode: 'payout-of-alfa' })
  const payout = await withdraw(service, { amount: 100 })
  await untilWithdrawal(service, payout, 'PROCESSED')
  await service.db.query(sql`update withdrawals set check_at = null where id = ${payout}`)
  const refunded = await refundPaid()
  await eventually(async () => {
    const { body } = await service.call<{ data: { state: string }[] }>('/webhook/delivery')
    return body.data.length > 0 && body.data.every(({ state }) => state === 'delivered')
  })
  const { body } = await service.call<{ data: { eventId: string }[] }>('/webhook/delivery')
  const delivery = body.data[0]?.eventId ?? ''
  const resend = randomUUID()
  const url = `${receiver.url}/of-alfa`
  const { body: made } = await service.call<{ id: string }>('/webhook-endpoint', { body: { url } })
  names = {
    transaction: id,
    withdrawal,
    payout,
    refund: refunded,
    delivery,
    endpoint: made.id,
    resend,
    client: service.sandbox.clientId,
    user: '',
    link: '',
    dispute: await openDispute(),
  }
  marks = [id, withdrawal, delivery, made.id, url, 'order-of-alfa', 'payout-of-alfa']
}

async function refundPaid(): Promise<string> {
  const { id } = await payOne(service)
  const refunded = await refund(service, id, { amount: 100 })
  await untilRefund(service, id, refunded, 'REFUNDED')
  return refunded
}

async function openDispute(): Promise<string> {
  const { id, endToEnd } = await payOne(service)
  await dispute(service, endToEnd)
  await pollUntil(service, id, 'BLOCKED')
  return (await fetchDisputed(service, id)).disputes[0]?.id ?? ''
}

const allScopes = () =>
  new Set(
    permissionsOf({ role: 'owner', isOperator: false }).filter((name) =>
      routes.some((route) => scopeOf(route) === name),
    ),
  )

async function peopleOf(roles: Role[], merchantId: string | null): Promise<Person[]> {
  const people: Person[] = []
  for (const role of roles) {
    // So that the limit on sign-ins from one address does not refuse this one.
    service.clock.advance(30_000)
    const email = await inviteUser(service, { role, merchantId })
    const isOperator = merchantId === null
    const browser = await openBrowser(service, { email, password })
    people.push({ role, isOperator, permissions: permissionsOf({ role, isOperator }), browser })
  }
  return people
}

const keyOf = ({ method, url }: Route) => `${method} ${url}`
const scopeOf = ({ access }: Route) => (access && 'scope' in access ? access.scope : null)
const expectedOf = (route: Route): Expected => {
  const expected = expectations[keyOf(route)]
  if (!expected) throw new Error(`${keyOf(route)} needs an expectation in test/support/access.ts`)
  return expected
}
const isUnsafe = ({ method }: Route) => method !== 'GET'
const guarded = () => routes.filter((route) => expectedOf(route).may !== 'public')

/** True if the person's role has access. */
function hasAccess({ permissions }: Person, { may, orMay, ofPeople }: Expected): boolean {
  if (ofPeople !== undefined) return permissions.includes(ofPeople)
  return may === 'signed in' || permissions.includes(may) || (orMay !== undefined && permissions.includes(orMay))
}

/** The address of a route for an existing record, or for one that does not exist. */
function pathOf(route: Route, expected: Expected, exists: boolean): string {
  const name = exists && expected.record ? names[expected.record] : randomUUID()
  const path = route.url.replace(/:([a-zA-Z]+)/g, (_, parameter: string) => fixed[parameter] ?? name)
  const query = expected.query?.replace(':id', name)
  return query && exists ? `${path}?${query}` : path
}
const fixed: Record<string, string> = { decision: 'accept', acquirer: 'simulator', day: '2026-01-01' }

const bodyOf = ({ body }: Expected): object =>
  JSON.parse(JSON.stringify(body ?? {}).replace(/:(client|transaction|delivery)\b/g, (_, key: 'client') => names[key]))

type RouteCall = { body?: object; csrf?: string | null; query?: string }

/** Everybody sends the first merchant's client id in `x-guiche-merchant`. */
async function request(
  { browser }: Person,
  route: Route,
  { exists, ...call }: RouteCall & { exists: boolean },
): Promise<Answer> {
  const path = pathOf(route, expectedOf(route), exists) + (call.query ?? '')
  return await browser.call(path, {
    method: route.method,
    headers: { 'x-guiche-merchant': names.client },
    ...(call.csrf !== undefined && { csrf: call.csrf }),
    ...(isUnsafe(route) && call.body && { body: call.body }),
  })
}

describe('every route', () => {
  it('has an expectation, and requires the expected access', () => {
    expect(routes.map(keyOf).filter((key) => !(key in expectations))).toEqual([])
    expect(Object.keys(expectations).filter((key) => !routes.some((route) => keyOf(route) === key))).toEqual([])
    for (const route of routes) expect(accessOf(route), keyOf(route)).toEqual(expectedAccess(expectedOf(route)))
  })

  it('of the dashboard’s API has a schema for a 2xx answer', () => {
    const ofDashboard = routes.filter(({ url }) => url.startsWith('/dashboard/api/'))
    const without = ofDashboard.filter(({ statuses }) => !statuses.some((status) => status.startsWith('2')))
    expect(ofDashboard.length).toBeGreaterThan(50)
    expect(without.map(keyOf)).toEqual([])
  })

  it('marked `isGlobal` is closed to merchants’ people, except the controls of the sandbox', () => {
    for (const route of guarded()) {
      const expected = expectedOf(route)
      if (!expected.isGlobal || expected.orMay) continue
      const seen = insiders.filter((person) => hasAccess(person, expected)).map(({ role }) => role)
      expect(seen, keyOf(route)).toEqual([])
    }
  })

  it('is closed without a sign-in, and to an API client’s token if it is for people', async () => {
    for (const route of guarded()) {
      const path = pathOf(route, expectedOf(route), false)
      const answer = await service.call(path, { method: route.method, token: null })
      expect(answer.status, keyOf(route)).toBe(401)
      if (scopeOf(route) !== null) continue
      expect((await service.call(path, { method: route.method })).status, keyOf(route)).toBe(401)
    }
  })

  it('accepts exactly the roles that have access', async () => {
    for (const route of guarded()) {
      const expected = expectedOf(route)
      const enter = async (person: Person) => {
        const label = `${keyOf(route)} for ${person.role}${person.isOperator ? ' of the operator' : ''}`
        const mayEnter = hasAccess(person, expected)
        if (mayEnter && expected.changesSignIn) return
        const answer = await request(person, route, { exists: false, body: {} })
        const code = String(answer.body.code)
        if (mayEnter) {
          expect(answer.status, `${label}: ${answer.text}`).not.toBe(401)
          expect(answer.status, `${label}: ${answer.text}`).not.toBe(500)
          expect(['permission_missing', 'csrf_token_missing', 'insufficient_scope'], label).not.toContain(code)
        } else expect([answer.status, code], label).toEqual([403, 'permission_missing'])
      }
      await Promise.all([...operators, ...insiders].map(enter))
    }
  })

  it('changes nothing without the CSRF token', async () => {
    for (const route of guarded().filter(isUnsafe)) {
      const may = [...operators, ...insiders].filter((person) => hasAccess(person, expectedOf(route)))
      expect(may.length, keyOf(route)).toBeGreaterThan(0)
      const tries = may.flatMap((person) =>
        [null, 'A'.repeat(43), outsiders[0]?.browser.csrfToken ?? ''].map(async (csrf) => {
          const answer = await request(person, route, { exists: true, csrf, body: bodyOf(expectedOf(route)) })
          expect([answer.status, answer.body.code], keyOf(route)).toEqual([403, 'csrf_token_missing'])
        }),
      )
      await Promise.all(tries)
    }
  })
})

it('an accountant has only permissions to read', () => {
  const permissions = permissionsOf({ role: 'accountant', isOperator: false })
  expect(permissions).toContain('balance.read')
  expect(permissions.filter((name) => !name.endsWith('.read'))).toEqual([])
})

describe('another merchant', () => {
  it('sees and changes nothing of this one, through its people or its token', async () => {
    // A reconciliation run has rows of the merchant in `reconciliation_pairs` until it ends.
    for (const name of ['reconciliation.rolling', 'reconciliation.close']) await suspendJob(service.db, name)
    const countPairs = async () => (await service.db.query(sql`select from reconciliation_pairs`)).length
    await eventually(async () => (await countPairs()) === 0)
    const before = await digest()
    for (const route of guarded()) {
      const expected = expectedOf(route)
      if (expected.changesSignIn || expected.isGlobal) continue
      for (const person of outsiders) {
        const label = `${keyOf(route)} for ${person.role}`
        const answer = await request(person, route, { exists: true, body: bodyOf(expected) })
        expectNothing(answer, label, statusFor(person, expected))
        if (isUnsafe(route) || expected.record) continue
        const named = await request(person, route, {
          exists: true,
          query: `${expected.query ? '&' : '?'}clientId=${names.client}`,
        })
        expectNothing(named, `${label}, naming the merchant`, null)
      }
      if (scopeOf(route) === null) continue
      const answer = await service.call(pathOf(route, expected, true), {
        method: route.method,
        token: outsidersToken,
        headers: { 'x-guiche-merchant': names.client },
        ...(isUnsafe(route) && expected.body && { body: bodyOf(expected) }),
      })
      expectNothing(answer, `${keyOf(route)} by token`, expected.record ? (expected.outsiderStatus ?? 404) : null)
    }
    expect(await digest()).toEqual(before)
  })
})

it('a leak would be detected: the same GET requests by the merchant’s own people find all marked texts', async () => {
  const found = new Set<string>()
  for (const route of guarded().filter((one) => !isUnsafe(one))) {
    const expected = expectedOf(route)
    if (expected.isGlobal) continue
    for (const person of insiders.filter((one) => hasAccess(one, expected))) {
      const answer = await request(person, route, { exists: true })
      if (expected.record && expected.record !== 'resend') expect(answer.status, keyOf(route)).toBe(200)
      for (const mark of marks) if (answer.text.includes(mark)) found.add(mark)
    }
  }
  expect(marks.filter((mark) => !found.has(mark))).toEqual([])
})

function statusFor(person: Person, expected: Expected): number | null {
  if (!hasAccess(person, expected)) return 403
  if (expected.record) return expected.outsiderStatus ?? 404
  return expected.outsiderStatus ?? null
}

function expectNothing(answer: Answer, label: string, status: number | null): void {
  if (status !== null) expect(answer.status, `${label}: ${answer.text.slice(0, 300)}`).toBe(status)
  expect(answer.status, `${label}: ${answer.text.slice(0, 300)}`).not.toBe(500)
  expect(
    marks.filter((mark) => answer.text.includes(mark)),
    label,
  ).toEqual([])
}

/**
 * For each table with a `merchant_id`: the number and a hash of the merchant's rows. The tables that jobs derive from
 * others at any time are left out.
 */
async function digest(): Promise<Record<string, string>> {
  const tables = await service.db.query<{ name: string }>(sql`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'merchant_id' and table_name not like 'transaction_count%'
      and table_name not like 'customer_names%' and table_name <> 'transaction_minutes'
    order by table_name`)
  const merchantId = await findSandboxMerchant(service)
  const found: Record<string, string> = {}
  for (const { name } of tables) {
    const [row] = await service.db.query<{ hash: string; count: number }>(sql`
      select md5(string_agg(one::text, ' ' order by one::text)) as hash, count(*) as count
      from ${raw(name)} one where merchant_id = ${merchantId}`)
    found[name] = `${row?.count} ${row?.hash}`
  }
  return found
}

function accessOf({ access }: Route) {
  if (!access || 'public' in access) return { may: 'public' }
  if ('permission' in access) return { may: access.permission ?? 'signed in' }
  const { scope: may, orPermission: orMay, userPermission: ofPeople } = access
  return { may, ...(orMay && { orMay }), ...(ofPeople && { ofPeople }) }
}

function expectedAccess({ may, orMay, ofPeople }: Expected) {
  return { may, ...(orMay && { orMay }), ...(ofPeople && { ofPeople }) }
}
