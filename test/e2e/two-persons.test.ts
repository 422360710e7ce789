import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { inviteToResetPassword } from '../../src/users/invite.ts'
import { lockManaged } from '../../src/users/manage.ts'
import { defaultLimits, mergeLimits } from '../../src/withdrawals/limits.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { charge, fetchTransaction } from '../support/payments.ts'
import type { Problem } from '../support/requests.ts'
import { fetchToken, startTestService, type TestService } from '../support/service.ts'
import { findSuspenseOf, payUnattributed } from '../support/suspense.ts'
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
  loseOutcome,
  refusal,
  requestWithdrawal,
  untilWithdrawal,
  withdrawalBody,
  withRenewedToken,
} from '../support/withdrawals.ts'

type Person = Browser & { email: string; id: string }
type Proposal = {
  id: string
  kind: string
  content: object
  proposedBy: string
  isOwn: boolean
  obstacle: string | null
}

let service: TestService
let merchantId: string
let cli: CommandLine
let admin: Person
let finance: Person

beforeAll(async () => {
  service = withRenewedToken(await startTestService())
  merchantId = await findSandboxMerchant(service)
  cli = await openCommandLine({ connectionString: service.connectionString })
  await service.db.transaction(async (tx) => await mergeLimits(tx, { merchantId, ...defaultLimits }))
  await fund(service, 50_000_000)
  admin = await signedIn(await inviteUser(service, { role: 'admin' }))
  finance = await signedIn(await inviteUser(service, { role: 'finance' }))
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => {
  await cli.stop()
  await service.stop()
})

async function signedIn(email: string): Promise<Person> {
  const browser = await openBrowser(service, { email, password })
  const session = await browser.call<{ user: { id: string } }>('/dashboard/api/session')
  return { ...browser, email, id: session.body.user.id }
}

/** Invites a person at the dashboard, and accepts the link. */
async function invitedBy(inviter: Person, email: string, role = 'finance'): Promise<Person> {
  const invited = await post(inviter, '/user', { email, role })
  expect(invited.status, invited.text).toBe(201)
  await acceptInvitation(service, String(invited.body.url).split('/').at(-1) ?? '', { name: 'Puppet', password })
  return await signedIn(email)
}

async function post(person: Browser, path: string, body: object = {}) {
  return await person.call<Problem & { id: string; url: string }>(`/dashboard/api${path}`, { method: 'POST', body })
}

const limitsPath = () => `/dashboard/api/withdrawal-limits?clientId=${service.sandbox.clientId}`
const changeLimits = async (person: Browser, body: object) =>
  await person.call<{ proposal: Proposal | null } & Problem>(limitsPath(), { method: 'PATCH', body })
const proposals = async (person: Browser) =>
  (await person.call<{ data: Proposal[] }>('/dashboard/api/proposal')).body.data

async function requestAs(person: Browser, amount: number): Promise<string> {
  const headers = { 'x-guiche-merchant': service.sandbox.clientId }
  const body = withdrawalBody({ amount })
  const requested = await person.call<{ id: string; hold: string }>('/withdrawal', { method: 'POST', body, headers })
  expect([requested.status, requested.body.hold], requested.text).toEqual([201, 'approval'])
  return requested.body.id
}

async function actionsOf(recordId: string): Promise<string[]> {
  const rows = await service.db.query<{ action: string }>(sql`
    select action from audit_log where record_id = ${recordId} order by id`)
  return rows.map(({ action }) => action)
}

describe('a limit', () => {
  it('is lowered by one person immediately, and raised only when another approves it', async () => {
    expect((await changeLimits(finance, { perDay: 9_000_000 })).body).toMatchObject({
      perDay: 9_000_000,
      proposal: null,
    })
    const raised = await changeLimits(finance, { perDay: 20_000_000, perNight: null, perWithdrawal: 8_000_000 })
    // A stricter limit does not wait for a looser one.
    expect(raised.body).toMatchObject({ perDay: 9_000_000, perNight: 1_000_000, perWithdrawal: 8_000_000 })
    expect(raised.body.proposal).toMatchObject({ content: { perDay: 20_000_000, perNight: null }, isOwn: true })
    const id = raised.body.proposal?.id ?? ''
    const own = await post(finance, `/proposal/${id}/approval`)
    expect([own.status, ...refusal(own)]).toEqual([422, 'proposal_not_possible', 'approval same_person'])
    expect(await proposals(admin)).toMatchObject([
      { id, proposedBy: `user:${finance.email}`, isOwn: false, obstacle: null },
    ])
    expect((await post(admin, `/proposal/${id}/approval`)).status).toBe(200)
    expect((await admin.call(limitsPath())).body).toMatchObject({ perDay: 20_000_000, perNight: null, proposal: null })
    expect((await post(admin, `/proposal/${id}/approval`)).status).toBe(422)
    expect(await actionsOf(merchantId)).toEqual([
      'withdrawal.limits',
      'withdrawal.limits',
      'withdrawal.limits.propose',
      'withdrawal.limits',
    ])
  })

  it('is shown to every admin when it changes, and to nobody of a merchant', async () => {
    const notices = await admin.call<{ data: object[] }>('/dashboard/api/notice')
    expect(notices.body.data.slice(0, 2)).toMatchObject([
      {
        action: 'withdrawal.limits',
        actor: `user:${admin.email}`,
        proposedBy: `user:${finance.email}`,
        clientName: 'Sandbox',
      },
      { action: 'withdrawal.limits.propose', actor: `user:${finance.email}` },
    ])
    expect((await finance.call('/dashboard/api/notice')).status).toBe(403)
    const owner = await signedIn(await inviteUser(service, { role: 'owner', merchantId }))
    expect((await owner.call('/dashboard/api/notice')).body).toEqual({ data: [] })
    // What a merchant's owner does about its people does not push them out of the list.
    const person = { email: 'of-the-owner@example.com', role: 'developer' }
    for (let times = 0; times < 20; times += 1) expect((await post(owner, '/user', person)).status).toBe(201)
    expect((await admin.call('/dashboard/api/notice')).body).toEqual(notices.body)
    const { id } = (await finance.call<{ user: { id: string } }>('/dashboard/api/session')).body.user
    await admin.call(`/dashboard/api/user/${id}`, { method: 'PATCH', body: { role: 'finance' } })
    const changed = await admin.call<{ data: object[] }>('/dashboard/api/notice')
    expect(changed.body.data[0]).toMatchObject({ action: 'user.change', actor: `user:${admin.email}` })
  })

  it('is not raised by a rejection, nor by a proposal that its author has replaced', async () => {
    const first = (await changeLimits(finance, { perDay: 30_000_000 })).body.proposal
    const second = (await changeLimits(finance, { perDay: 31_000_000 })).body.proposal
    expect((await post(admin, `/proposal/${first?.id}/approval`)).status).toBe(422)
    const another = await changeLimits(admin, { perDay: 32_000_000 })
    expect([another.status, another.body.code]).toEqual([422, 'proposal_not_possible'])
    expect((await post(admin, `/proposal/${second?.id}/rejection`)).status).toBe(200)
    expect((await admin.call(limitsPath())).body).toMatchObject({ perDay: 20_000_000, proposal: null })
  })

  it('is raised once when several approve concurrently', async () => {
    const { proposal } = (await changeLimits(finance, { perDay: 40_000_000 })).body
    const answers = await Promise.all(
      [1, 2, 3].map(async () => await post(admin, `/proposal/${proposal?.id}/approval`)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422])
  })

  it('also counts as raised when less needs approval or fewer duplicates are reviewed', async () => {
    for (const looser of [
      { operatorApprovalAbove: 100 },
      { operatorApprovalAbove: null },
      { duplicateWindowSeconds: 0 },
    ])
      expect((await changeLimits(admin, looser)).body.proposal).toMatchObject({ content: looser })
    const stricter = await changeLimits(admin, { approvalAbove: 500_000, duplicateWindowSeconds: 900 })
    expect(stricter.body).toMatchObject({
      approvalAbove: 500_000,
      duplicateWindowSeconds: 900,
      operatorApprovalAbove: 0,
    })
    const [waiting] = await proposals(finance)
    expect(await cli.runJson(['proposal', 'list'])).toMatchObject([{ id: waiting?.id, kind: 'withdrawal.limits' }])
    await cli.expectFailure(
      ['--as', admin.email, 'proposal', 'approve', waiting?.id ?? ''],
      /nobody can approve their own request/,
    )
    await cli.read(['proposal', 'reject', waiting?.id ?? ''])
    expect(await proposals(finance)).toEqual([])
  })
})

describe('a withdrawal', () => {
  it('that one of the operator’s people requests needs another one, whatever the amount', async () => {
    const id = await requestAs(finance, 1_000)
    expect(refusal(await post(finance, `/withdrawal/${id}/approval`))).toEqual([
      'withdrawal_not_possible',
      'approval same_person',
    ])
    expect((await post(admin, `/withdrawal/${id}/approval`)).status).toBe(200)
    await untilWithdrawal(service, id, 'PROCESSED')
  })

  it('that was requested with a client secret is not approved by the person who created the secret', async () => {
    const made = await post(admin, `/client/${service.sandbox.clientId}/secret`, { of: 'client', overlapHours: 2160 })
    const { secret } = made.body as unknown as { secret: string }
    const token = await fetchToken(service.baseUrl, { clientId: service.sandbox.clientId, clientSecret: secret })
    const { body } = await requestWithdrawal(service, { amount: 600_000 }, { token })
    const refused = await post(admin, `/withdrawal/${body.id}/approval`)
    expect([refused.status, ...refusal(refused)]).toEqual([422, 'withdrawal_not_possible', 'approval own_secret'])
    expect(refused.body.detail).toContain(`npx guiche withdrawal approve ${body.id}`)
    const shown = await admin.call<{ obstacle: string }>(`/dashboard/api/withdrawal/${body.id}`)
    expect(shown.body.obstacle).toBe('own_secret')
    expect((await post(finance, `/withdrawal/${body.id}/approval`)).status).toBe(200)
    await untilWithdrawal(service, body.id, 'PROCESSED')
  })

  it('is not approved by an account that the requester created, nor by the creator of the requester’s', async () => {
    const puppet = await invitedBy(admin, 'puppet@example.com')
    const byAdmin = await requestAs(admin, 2_000)
    expect(refusal(await post(puppet, `/withdrawal/${byAdmin}/approval`))).toContain('approval account_of_requester')
    const byPuppet = await requestAs(puppet, 2_001)
    expect(refusal(await post(admin, `/withdrawal/${byPuppet}/approval`))).toContain('approval own_account')
    expect((await post(finance, `/withdrawal/${byPuppet}/approval`)).status).toBe(200)
    await cli.read(['withdrawal', 'approve', byAdmin])
    for (const id of [byAdmin, byPuppet]) await untilWithdrawal(service, id, 'PROCESSED')
  })

  it('is not approved by an account that was invited less than a day ago', async () => {
    const fresh = await invitedBy(admin, 'fresh@example.com')
    const id = await requestAs(finance, 3_000)
    expect(refusal(await post(fresh, `/withdrawal/${id}/approval`))).toContain('approval new_account')
    service.clock.advance(24 * 60 * 60_000)
    const later = await signedIn(fresh.email)
    expect((await post(later, `/withdrawal/${id}/approval`)).status).toBe(200)
    await untilWithdrawal(service, id, 'PROCESSED')
  })

  it('is not approved by an account whose password the requester has reset, until the command line resets it', async () => {
    admin = await signedIn(admin.email)
    const other = await inviteUser(service, { role: 'finance' })
    const otherId = (await signedIn(other)).id
    const reset = await post(admin, `/user/${otherId}/reset`)
    await acceptInvitation(service, reset.body.url.split('/').at(-1) ?? '', { password })
    const id = await requestAs(admin, 4_000)
    expect(refusal(await post(await signedIn(other), `/withdrawal/${id}/approval`))).toContain(
      'approval account_of_requester',
    )
    const token = await service.db.transaction(async (tx) => {
      const user = await lockManaged(tx, { id: otherId, ofMerchant: null })
      return await inviteToResetPassword(tx, user, null, service.clock.now())
    })
    await acceptInvitation(service, token, { password })
    expect((await post(await signedIn(other), `/withdrawal/${id}/approval`)).status).toBe(200)
    await untilWithdrawal(service, id, 'PROCESSED')
  })

  it('whose outcome the PSP cannot report is settled by what one person enters and another approves', async () => {
    finance = await signedIn(finance.email)
    const id = await requestAs(finance, 6_000)
    const enter = async (endToEndId: string | null) =>
      await post(finance, `/withdrawal/${id}/settlement`, { endToEndId, reason: 'Not in the statement' })
    expect(refusal(await enter(null))).toEqual(['withdrawal_not_possible', 'status not_processing'])
    await loseOutcome(service, id)
    admin = await signedIn(admin.email)
    finance = await signedIn(finance.email)
    const owner = await signedIn(await inviteUser(service, { role: 'owner', merchantId }))
    const shownTo = async (person: Person) => (await person.call(`/dashboard/api/withdrawal/${id}`)).body
    expect(await shownTo(admin)).toMatchObject({ status: 'PROCESSING', needsOutcome: true, proposal: null })
    expect(refusal(await enter('E1'))).toEqual(['withdrawal_not_possible', 'endToEndId invalid'])
    // A double click.
    const [proposed, again] = await Promise.all([enter(null), enter(null)])
    expect(proposed.status, proposed.text).toBe(201)
    expect(again.body).toEqual(proposed.body)
    const content = { endToEndId: null, reason: 'Not in the statement' }
    expect(proposed.body).toEqual(await shownTo(finance))
    expect(proposed.body).toMatchObject({ proposal: { content, isOwn: true, obstacle: 'same_person' } })
    expect(await shownTo(owner)).toMatchObject({ needsOutcome: false, proposal: null })
    const [proposal] = await proposals(admin)
    expect(proposal).toMatchObject({ kind: 'withdrawal.settle', content, obstacle: null })
    expect((await post(finance, `/proposal/${proposal?.id}/approval`)).status).toBe(422)
    expect((await post(admin, `/proposal/${proposal?.id}/approval`)).status).toBe(200)
    await untilWithdrawal(service, id, 'FAILED')
    expect(await actionsOf(id)).toEqual(['withdrawal.create', 'withdrawal.settle.propose', 'withdrawal.settle'])
  })

  it('shows a merchant’s people that the operator requested it, but not who', async () => {
    finance = await signedIn(finance.email)
    const owner = await signedIn(await inviteUser(service, { role: 'owner', merchantId }))
    const id = await requestAs(finance, 5_000)
    const shown = await owner.call(`/dashboard/api/withdrawal/${id}`)
    expect(shown.body).toMatchObject({ requestedBy: 'operator', isOperators: true })
    expect(shown.text).not.toContain(finance.email)
    expect((await owner.call(limitsPath())).body).toMatchObject({ proposal: null })
    await cli.read(['withdrawal', 'reject', id, '--reason', 'A test'])
    const timeline = await owner.call<{ timeline: { kind: string; what: string }[] }>(`/dashboard/api/record/${id}`)
    expect(timeline.body.timeline.flatMap(({ kind, what }) => (kind === 'operator' ? what : []))).toEqual([
      'operator withdrawal.create',
      'operator withdrawal.reject: A test',
    ])
    expect(timeline.text).not.toContain(finance.email)
  })

  it('shows a merchant’s people that payouts are frozen, but not why', async () => {
    const owner = await signedIn(await inviteUser(service, { role: 'owner', merchantId }))
    const id = await requestAs(finance, 5_000)
    await cli.read(['ledger', 'stop', '--reason', 'withdrawal of another shop'])
    await service.db.query(sql`update withdrawals set review_reason = null where id = ${id}`)
    const read = async (reader: Person) => (await reader.call(`/dashboard/api/record/${id}`)).text
    expect(await read(admin)).toContain('(withdrawal of another shop)')
    expect(await read(owner)).toContain('Payouts and refunds are frozen since')
    expect(await read(owner)).not.toContain('another shop')
    await cli.read(['ledger', 'release'])
  })
})

describe('an attribution', () => {
  it('above the threshold needs a second person, and is carried out in the commit of the approval', async () => {
    const { suspended } = await payUnattributed(service, { amount: 70_000 })
    const target = await charge(service, { amount: 100 })
    const path = `/suspense/${suspended.id}/match`
    // A double click.
    const both = [1, 2].map(async () => await post(finance, path, { transactionId: target.id }))
    const [proposed = expect.unreachable(), again] = await Promise.all(both)
    expect(again?.body).toEqual(proposed.body)
    expect([proposed.status, proposed.body]).toMatchObject([
      200,
      {
        status: 'held',
        proposal: { kind: 'suspense.match', content: { transactionId: target.id, amount: 70_000 }, isOwn: true },
      },
    ])
    const [waiting] = await proposals(admin)
    expect(refusal(await post(finance, `/proposal/${waiting?.id}/approval`))).toContain('approval same_person')
    expect((await findSuspenseOf(service, suspended.end_to_end))?.status).toBe('held')
    expect((await post(admin, `/proposal/${waiting?.id}/approval`)).status).toBe(200)
    expect((await fetchTransaction(service, target.id)).status).toBe('PAID')
    expect((await findSuspenseOf(service, suspended.end_to_end))?.status).toBe('matched')
    expect(await actionsOf(suspended.id)).toEqual(['suspense.match.propose', 'suspense.match'])
  })

  it('that became impossible in the meantime stays open and changes nothing', async () => {
    const [one, other] = [
      await payUnattributed(service, { amount: 60_000 }),
      await payUnattributed(service, { amount: 60_100 }),
    ]
    const target = await charge(service, { amount: 100 })
    for (const { suspended } of [one, other])
      await post(finance, `/suspense/${suspended.id}/match`, { transactionId: target.id })
    const waiting = await proposals(admin)
    expect((await post(admin, `/proposal/${waiting[0]?.id}/approval`)).status).toBe(200)
    const refused = await post(admin, `/proposal/${waiting[1]?.id}/approval`)
    expect(refusal(refused)).toEqual(['suspense_not_possible', 'status already_paid'])
    expect(await proposals(admin)).toMatchObject([{ id: waiting[1]?.id }])
    expect((await post(finance, `/proposal/${waiting[1]?.id}/rejection`)).status).toBe(200)
  })

  it('up to the threshold needs one person', async () => {
    const { suspended } = await payUnattributed(service, { amount: 50_000 })
    const target = await charge(service, { amount: 50_000 })
    expect((await post(finance, `/suspense/${suspended.id}/match`, { transactionId: target.id })).body).toMatchObject({
      status: 'matched',
    })
  })
})
