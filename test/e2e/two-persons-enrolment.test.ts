import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { defaultLimits, mergeLimits } from '../../src/withdrawals/limits.ts'
import type { Problem } from '../support/requests.ts'
import { fetchToken, startTestService, type TestService } from '../support/service.ts'
import {
  acceptInvitation,
  type Browser,
  findSandboxMerchant,
  inviteUser,
  openBrowser,
  password,
} from '../support/users.ts'
import {
  expectLedgerConsistent,
  fund,
  refusal,
  requestWithdrawal,
  untilWithdrawal,
  withdrawalBody,
  withRenewedToken,
} from '../support/withdrawals.ts'

// One person of the operator must not move money alone, through accounts and client secrets that they created.

const day = 24 * 60 * 60_000

type Person = Browser & { email: string; id: string }
type Requested = { id: string; hold?: string }

let service: TestService
let admin: Person
let finance: Person

beforeAll(async () => {
  service = withRenewedToken(await startTestService())
  const merchantId = await findSandboxMerchant(service)
  await service.db.transaction(
    async (tx) => await mergeLimits(tx, { merchantId, ...defaultLimits, approvalAbove: 500_000 }),
  )
  await fund(service, 50_000_000)
  admin = await signedIn(await inviteUser(service, { role: 'admin' }))
  finance = await signedIn(await inviteUser(service, { role: 'finance' }))
})
beforeEach(async () => await passDays(2))
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

async function passDays(days: number): Promise<void> {
  service.clock.advance(days * day)
  ;[admin, finance] = [await signedIn(admin.email), await signedIn(finance.email)]
}

async function signedIn(email: string): Promise<Person> {
  const browser = await openBrowser(service, { email, password })
  const session = await browser.call<{ user: { id: string } }>('/dashboard/api/session')
  return { ...browser, email, id: session.body.user.id }
}

async function post(person: Browser, path: string, body: object = {}) {
  const call = { method: 'POST', body }
  return await person.call<Problem & { url: string; secret: string }>(`/dashboard/api${path}`, call)
}

async function acceptLink(url: string, name?: string): Promise<void> {
  await acceptInvitation(service, url.split('/').at(-1) ?? '', { password, ...(name && { name }) })
}

async function invitedBy(inviter: Person, email: string, role: string): Promise<Person> {
  const ofMerchant = role === 'owner' && { clientId: service.sandbox.clientId }
  const invited = await post(inviter, '/user', { email, role, ...ofMerchant })
  expect(invited.status, invited.text).toBe(201)
  await acceptLink(invited.body.url, 'Puppet')
  return await signedIn(email)
}

async function requestAs(person: Person, amount: number): Promise<Requested> {
  const headers = { 'x-guiche-merchant': service.sandbox.clientId }
  const body = withdrawalBody({ amount })
  const requested = await person.call<Requested>('/withdrawal', { method: 'POST', body, headers })
  expect(requested.status, requested.text).toBe(201)
  return requested.body
}

async function rotateAs(person: Person): Promise<string> {
  const made = await post(person, `/client/${service.sandbox.clientId}/secret`, { of: 'client', overlapHours: 0 })
  expect(made.status, made.text).toBe(201)
  service.sandbox.clientSecret = made.body.secret
  return made.body.secret
}

async function requestWith(clientSecret: string, amount: number): Promise<Requested> {
  const token = await fetchToken(service.baseUrl, { clientId: service.sandbox.clientId, clientSecret })
  return (await requestWithdrawal(service, { amount }, { token })).body as unknown as Requested
}

const approve = async (person: Person, { id }: Requested) => await post(person, `/withdrawal/${id}/approval`)

async function approveByFinance(requested: Requested): Promise<void> {
  const approved = await approve(finance, requested)
  expect(approved.status, approved.text).toBe(200)
  await untilWithdrawal(service, requested.id, 'PROCESSED')
}

it('accounts that one person invited, directly or not, approve nothing for each other, also after they reset each other', async () => {
  const one = await invitedBy(admin, 'one@example.com', 'admin')
  const other = await invitedBy(admin, 'other@example.com', 'admin')
  for (const [resetting, reset] of [
    [one, other],
    [other, one],
  ] as const)
    await acceptLink((await post(await signedIn(resetting.email), `/user/${reset.id}/reset`)).body.url)
  await passDays(2)
  const [first, second] = [await signedIn(one.email), await signedIn(other.email)]
  const third = await invitedBy(first, 'third@example.com', 'finance')
  for (const [index, [requester, approver, code]] of (
    [
      [second, first, 'own_account'],
      [first, second, 'account_of_requester'],
      [admin, second, 'account_of_requester'],
      [third, admin, 'own_account'],
      [third, second, 'same_inviter'],
    ] as const
  ).entries()) {
    const requested = await requestAs(requester, 2_000 + index)
    expect(refusal(await approve(approver, requested))).toContain(`approval ${code}`)
    await approveByFinance(requested)
  }
})

it('the owner whom an operator invited needs a second person for a day, and never has the inviter’s approval', async () => {
  const owner = await invitedBy(admin, 'owner-of@example.com', 'owner')
  const own = await requestAs(owner, 7_000)
  const secret = await rotateAs(owner)
  const byToken = await requestWith(secret, 7_001)
  // Also through an account that this one invites.
  const clerk = await invitedBy(owner, 'clerk-of@example.com', 'finance')
  const byClerk = await requestAs(clerk, 7_004)
  expect([own.hold, byToken.hold, byClerk.hold]).toEqual(['approval', 'approval', 'approval'])
  for (const requested of [own, byToken, byClerk])
    expect(refusal(await approve(admin, requested))).toContain('approval own_account')
  const shown = await finance.call(`/dashboard/api/withdrawal/${byToken.id}`)
  expect(shown.body).toMatchObject({ approvalAbove: 0, isOperators: false, isThroughOperators: true, obstacle: null })
  for (const requested of [own, byToken, byClerk]) await approveByFinance(requested)
  await passDays(2)
  expect((await requestAs(await signedIn(clerk.email), 7_005)).hold).toBe(undefined)
  // A reset by the operator starts the day again, also for an account that depended on the operator before.
  await acceptLink((await post(admin, `/user/${clerk.id}/reset`)).body.url)
  expect((await requestAs(await signedIn(clerk.email), 7_006)).hold).toBe('approval')
  const later = await requestWith(secret, 7_002)
  expect([later.hold, (await requestAs(await signedIn(owner.email), 7_003)).hold]).toEqual([undefined, undefined])
  const large = await requestWith(secret, 600_001)
  expect(refusal(await approve(admin, large))).toContain('approval own_account')
  await approveByFinance(large)
  await untilWithdrawal(service, later.id, 'PROCESSED')
})

it('a secret that an operator created needs a second person for a day, and admins see it', async () => {
  const secret = await rotateAs(admin)
  const notices = await admin.call<{ data: object[] }>('/dashboard/api/notice')
  expect(notices.body.data[0]).toMatchObject({ action: 'client.rotate-secret', clientName: 'Sandbox' })
  const first = await requestWith(secret, 8_001)
  expect(first.hold).toBe('approval')
  expect(refusal(await approve(admin, first))).toContain('approval own_secret')
  await approveByFinance(first)
  await passDays(2)
  const later = await requestWith(secret, 8_002)
  expect(later.hold).toBe(undefined)
  await untilWithdrawal(service, later.id, 'PROCESSED')
})
