import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { dispute, disputesOf, pollUntil } from '../support/disputes.ts'
import { payOne, requestRefund, setFixedFee, untilRefund } from '../support/refunds.ts'
import { addTestClient, type Problem } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import {
  countPayouts,
  expectLedgerConsistent,
  fund,
  refusal,
  requestWithdrawal,
  untilWithdrawal,
  withdraw,
  withdrawalBody,
} from '../support/withdrawals.ts'

type Person = Browser & { email: string }
type PendingReview = {
  id: string
  requestedBy: string | null
  isOwn: boolean
  hold: string
  earlier: { id: string } | null
}

let service: TestService
let merchantId: string
let cli: CommandLine
/** People of the operator and of a merchant, and a person of another merchant. */
let people: Record<'finance' | 'admin' | 'support' | 'owner' | 'outsider', Person>

beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  merchantId = await findSandboxMerchant(service)
  cli = await openCommandLine({ connectionString: service.connectionString })
  await fund(service, 50_000_000)
  await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, approvalAbove: 10_000 })
  const another = await addTestClient(service)
  people = {
    finance: await signInAs('finance'),
    admin: await signInAs('admin'),
    support: await signInAs('support'),
    owner: await signInAs('owner', merchantId),
    outsider: await signInAs('owner', another.merchantId),
  }
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => {
  await cli.stop()
  await service.stop()
})

async function signInAs(role: string, ofMerchant: string | null = null): Promise<Person> {
  const email = await inviteUser(service, { role, merchantId: ofMerchant })
  return { ...(await openBrowser(service, { email, password })), email }
}

/** Calls the merchants' API as a person, for the sandbox client. */
async function request<Body = Record<string, unknown>>(person: Browser, path: string, body?: object) {
  const headers = { 'x-guiche-merchant': service.sandbox.clientId }
  return await person.call<Body & Problem>(path, { method: body ? 'POST' : 'GET', body, headers })
}

async function post(person: Browser, path: string, body: object = {}) {
  return await person.call<Problem & { id: string }>(`/dashboard/api${path}`, { method: 'POST', body })
}

async function requestAs(person: Browser, more: Record<string, unknown> = {}): Promise<string> {
  const requested = await request<{ id: string }>(person, '/withdrawal', withdrawalBody(more))
  expect(requested.status, requested.text).toBe(201)
  return requested.body.id
}

async function actionsOf(recordId: string) {
  return await service.db.query<{ actor: string; action: string; details: unknown }>(sql`
    select actor, action, details from audit_log where record_id = ${recordId} order by id`)
}

const listPending = async (person: Browser, query = '') =>
  (await person.call<{ total: number; data: PendingReview[] }>(`/dashboard/api/withdrawal/pending-review${query}`)).body

describe('a withdrawal above the approval threshold', () => {
  it('that a person requested is approved by another, and by the requester neither in the dashboard nor at the command line', async () => {
    const { finance, admin } = people
    const id = await requestAs(finance, { amount: 20_000 })
    const refused = await post(finance, `/withdrawal/${id}/approval`)
    expect([refused.status, ...refusal(refused)]).toEqual([422, 'withdrawal_not_possible', 'approval same_person'])
    const asThem = ['--as', finance.email.toUpperCase(), 'withdrawal', 'approve', id]
    await cli.expectFailure(asThem, /nobody can approve their own request/)
    const pending = (await listPending(finance)).data.find((one) => one.id === id)
    expect(pending).toMatchObject({ hold: 'approval', requestedBy: `user:${finance.email}`, isOwn: true })
    expect((await post(admin, `/withdrawal/${id}/approval`)).status).toBe(200)
    await untilWithdrawal(service, id, 'PROCESSED')
    expect(await countPayouts(service.db, id)).toBe(1)
    expect(await actionsOf(id)).toEqual([
      {
        actor: `user:${finance.email}`,
        action: 'withdrawal.create',
        details: { amount: 20_000, pixKeyType: 'EVP', hold: 'approval' },
      },
      { actor: `user:${admin.email}`, action: 'withdrawal.approve', details: null },
    ])
  })

  it('that an API client requested is approved by any person with the permission', async () => {
    const id = await withdraw(service, { amount: 20_000 })
    expect((await post(people.finance, `/withdrawal/${id}/approval`)).status).toBe(200)
    await untilWithdrawal(service, id, 'PROCESSED')
    const again = await post(people.admin, `/withdrawal/${id}/approval`)
    expect([again.status, again.body.code]).toEqual([422, 'withdrawal_not_possible'])
  })

  it('is sent once when several approve at once', async () => {
    const { finance, admin } = people
    for (let round = 0; round < 5; round++) {
      const id = await requestAs(people.owner, { amount: 30_000 + round })
      const answers = await Promise.all(
        [admin, finance, admin, finance].map((one) => post(one, `/withdrawal/${id}/approval`)),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422])
      await untilWithdrawal(service, id, 'PROCESSED')
      expect(await countPayouts(service.db, id)).toBe(1)
      const approvals = (await actionsOf(id)).filter(({ action }) => action === 'withdrawal.approve')
      expect(approvals).toHaveLength(1)
    }
  })

  it('still needs approval after its confirmation as not a duplicate', async () => {
    const { finance } = people
    const pixKey = { key: randomUUID(), type: 'EVP' }
    const first = await requestAs(finance, { amount: 40_000, pixKey })
    const id = await requestAs(finance, { amount: 40_000, pixKey })
    const pending = (await listPending(people.admin)).data.find((one) => one.id === id)
    expect(pending).toMatchObject({ hold: 'duplicate', isOwn: false, earlier: { id: first } })
    // The repeated request confirms nothing, so the audit log has it once.
    for (let count = 0; count < 2; count++)
      expect((await request(finance, `/withdrawal/${id}/confirm`, {})).body).toMatchObject({ hold: 'approval' })
    expect((await post(finance, `/withdrawal/${id}/approval`)).status).toBe(422)
    for (const one of [first, id]) {
      expect((await post(people.admin, `/withdrawal/${one}/rejection`, { reason: 'Not today' })).status).toBe(200)
      await untilWithdrawal(service, one, 'REJECTED')
    }
    expect((await actionsOf(id)).map(({ action, details }) => [action, details])).toEqual([
      ['withdrawal.create', { amount: 40_000, pixKeyType: 'EVP', hold: 'duplicate' }],
      ['withdrawal.confirm', null],
      ['withdrawal.reject', { reason: 'Not today' }],
    ])
  })

  it('is listed for all merchants, one, or the person’s own, the longest waiting first', async () => {
    const mine = [await withdraw(service, { amount: 50_000 })]
    service.clock.advance(1_000)
    mine.push(await withdraw(service, { amount: 50_001 }))
    const idsOf = async (person: Browser, query?: string) => (await listPending(person, query)).data.map(({ id }) => id)
    expect((await idsOf(people.admin)).filter((id) => mine.includes(id))).toEqual(mine)
    expect(await idsOf(people.admin, `?clientId=${service.sandbox.clientId}`)).toEqual(await idsOf(people.owner))
    expect(await listPending(people.outsider)).toEqual({ total: 0, totalPages: 0, data: [] })
    for (const id of mine) await post(people.admin, `/withdrawal/${id}/rejection`, { reason: 'Not today' })
  })
})

describe('a withdrawal', () => {
  it('that a person requested is approved at the command line by another', async () => {
    const id = await requestAs(people.finance, { amount: 20_000 })
    expect(await cli.read(['--as', 'maria', 'withdrawal', 'approve', id])).toContain('The service sends it')
    await untilWithdrawal(service, id, 'PROCESSED')
  })

  it('is created once for a key, and the audit log has it once', async () => {
    const body = withdrawalBody({ amount: 1_000 })
    const answers = await Promise.all(
      [1, 2, 3].map(async () => await request<{ id: string }>(people.owner, '/withdrawal', body)),
    )
    const ids = new Set(answers.map((answer) => answer.body.id))
    expect(ids.size).toBe(1)
    const [id = ''] = ids
    await untilWithdrawal(service, id, 'PROCESSED')
    expect((await actionsOf(id)).map(({ action }) => action)).toEqual(['withdrawal.create'])
  })

  it('of an API client is not logged as an action of a person', async () => {
    const id = await withdraw(service)
    await untilWithdrawal(service, id, 'PROCESSED')
    expect(await actionsOf(id)).toEqual([])
  })

  it('is canceled by a person, which the audit log shows', async () => {
    const id = await withdraw(service, { amount: 60_000 })
    // A repeated request cancels nothing, so the audit log does not show it.
    for (let times = 0; times < 2; times++)
      expect((await request(people.owner, `/withdrawal/${id}/cancel`, {})).body.status).toBe('CANCELED')
    expect(await actionsOf(id)).toEqual([
      { actor: `user:${people.owner.email}`, action: 'withdrawal.cancel', details: null },
    ])
  })

  it('has a preview with the key in its stored form, the fee and the hold, refused where a request would be', async () => {
    const key = randomUUID()
    const preview = async (more: object) =>
      await post(people.owner, '/withdrawal/preview', { amount: 1_000, key, ...more })
    await setFixedFee(service, 'withdrawal', 50)
    const shown = await preview({})
    expect(shown.body).toMatchObject({ pixKey: { key, type: 'EVP' }, amount: 1_000, fee: 50, hold: null })
    expect((await preview({ amount: 10_001 })).body).toMatchObject({ hold: 'approval' })
    expect((await preview({ key: '(11) 98765-4321' })).body).toMatchObject({
      pixKey: { key: '+5511987654321', type: 'PHONE' },
    })
    expect((await preview({ key: 'nobody' })).status).toBe(422)
    expect((await preview({ key: 'a@example.com', type: 'EVP' })).status).toBe(422)
    await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, perWithdrawal: 999 })
    expect(refusal(await preview({}))).toEqual(['withdrawal_not_possible', 'amount limit_per_withdrawal'])
    await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, perWithdrawal: null })
    expect((await post(people.admin, '/withdrawal/preview', { amount: 1_000, key })).status).toBe(422)
  })

  it('has limits that the operator changes, and that the merchant’s owner reads', async () => {
    const path = `/dashboard/api/withdrawal-limits?clientId=${service.sandbox.clientId}`
    const change = async (person: Browser, body: object) => await person.call(path, { method: 'PATCH', body })
    expect((await change(people.finance, { perDay: 90_000_00 })).body).toMatchObject({
      perDay: 90_000_00,
      approvalAbove: 10_000,
    })
    expect((await people.owner.call(path)).body).toMatchObject({ perDay: 90_000_00, perNight: null })
    expect((await change(people.finance, { perDay: 0 })).status).toBe(422)
    expect((await change(people.finance, {})).status).toBe(422)
    for (const person of [people.owner, people.support]) expect((await change(person, { perDay: 1 })).status).toBe(403)
    // A merchant's people see their own, whatever merchant they name.
    expect((await people.outsider.call(path)).body).toMatchObject({ approvalAbove: null })
    const actions = (await actionsOf(merchantId)).filter(({ actor }) => actor !== 'cli:test')
    expect(actions.map(({ action, details }) => [action, details])).toEqual([
      ['withdrawal.limits', { perDay: 90_000_00 }],
    ])
  })
})

describe('a transaction', () => {
  it('that a person creates is in the audit log once', async () => {
    const body = { amount: 1_500, paymentMethod: 'PIX', pix: {}, idempotencyKey: randomUUID() }
    const answers = await Promise.all(
      [1, 2, 3].map(async () => await request<{ id: string }>(people.owner, '/transaction', body)),
    )
    expect(new Set(answers.map((answer) => answer.body.id)).size, answers[0]?.text).toBe(1)
    expect(await actionsOf(answers[0]?.body.id ?? '')).toEqual([
      { actor: `user:${people.owner.email}`, action: 'transaction.create', details: { amount: 1_500 } },
    ])
  })
})

describe('a refund', () => {
  it('has a preview, is requested by a person, and is in the audit log once', async () => {
    const { id } = await payOne(service, 2_590)
    await setFixedFee(service, 'refund', 30)
    const path = `/dashboard/api/transaction/${id}/refund`
    const before = await people.owner.call(path)
    expect(before.body).toMatchObject({ amountLeft: 2_590, amount: 2_590, fee: 30 })
    expect(new Date(String(before.body.until)).getTime() - service.clock.now().getTime()).toBeGreaterThan(
      89 * 86_400_000,
    )
    expect((await people.owner.call(`${path}?amount=2591`)).status).toBe(422)
    const body = { amount: 590, reason: 'One item was missing', idempotencyKey: randomUUID() }
    const first = await request<{ id: string }>(people.owner, `/transaction/${id}/refund`, body)
    const again = await request<{ id: string }>(people.owner, `/transaction/${id}/refund`, body)
    expect([first.status, again.body.id]).toEqual([201, first.body.id])
    await untilRefund(service, id, first.body.id, 'REFUNDED')
    expect((await people.owner.call(path)).body).toMatchObject({ amountLeft: 2_000, amount: 2_000 })
    expect(await actionsOf(id)).toEqual([
      {
        actor: `user:${people.owner.email}`,
        action: 'transaction.refund',
        details: { refundId: first.body.id, amount: 590, reason: 'One item was missing' },
      },
    ])
  })

  it('is not in the audit log when it was refused, or requested with a token', async () => {
    const { id } = await payOne(service)
    const body = { amount: 1_001, idempotencyKey: randomUUID() }
    expect((await request(people.owner, `/transaction/${id}/refund`, body)).status).toBe(422)
    const requested = await requestRefund(service, id)
    await untilRefund(service, id, requested.body.id, 'REFUNDED')
    expect(await actionsOf(id)).toEqual([])
    const after = await people.owner.call(`/dashboard/api/transaction/${id}/refund`)
    expect([after.status, after.body.code]).toEqual([422, 'refund_not_possible'])
  })
})

describe('a dispute', () => {
  type Dispute = {
    id: string
    transactionId: string
    state: string
    amount: number
    blocked: number
    analysisEndsAt: string
    endsAt: string
    openedAt: string
  }
  const list = async (person: Browser, tab: string) =>
    (await person.call<{ data: Dispute[]; counts: object[] }>('/dashboard/api/list/dispute', { body: { tab } })).body

  it('is entered and rejected manually, with its deadlines, and is then listed as ended', async () => {
    const { finance } = people
    const { id: transactionId } = await payOne(service)
    const body = { id: randomUUID(), transactionId, amount: 700, reason: 'Fraud, the bank says' }
    const opened = await post(finance, '/infraction', body)
    expect(opened.status, opened.text).toBe(201)
    // A second click after a lost answer blocks nothing more.
    expect((await post(finance, '/infraction', body)).body).toEqual(opened.body)
    for (const other of [{ amount: 800 }, { amount: undefined }, { transactionId: (await payOne(service)).id }])
      expect((await post(finance, '/infraction', { ...body, ...other })).status).toBe(422)
    const [listed] = (await list(finance, 'to_answer')).data
    expect(listed).toEqual({ ...opened.body, defence: null, payerName: expect.any(String) })
    expect(listed).toMatchObject({ transactionId, state: 'open', amount: 700, blocked: 700 })
    const lasts = new Date(listed?.endsAt ?? 0).getTime() - new Date(listed?.openedAt ?? 0).getTime()
    expect(lasts).toBe(11 * 24 * 60 * 60_000)
    // The PSP's own deadline moves the end of the return with it.
    const move = (deadline: Date | null) =>
      service.db.query(sql`update disputes set deadline_at = ${deadline} where id = ${listed?.id ?? ''}`)
    await move(new Date(Date.parse(listed?.openedAt ?? '') + 12 * 24 * 60 * 60_000))
    const [moved] = (await list(finance, 'to_answer')).data
    expect(Date.parse(moved?.endsAt ?? '') - Date.parse(moved?.analysisEndsAt ?? '')).toBe(96 * 60 * 60_000)
    await move(null)
    const path = `/infraction/${opened.body.id}/decision`
    const elsewhere = `/infraction/${randomUUID()}/decision`
    expect((await post(finance, elsewhere, { transactionId, decision: 'reject' })).status).toBe(422)
    expect((await post(finance, path, { transactionId, decision: 'reject' })).status).toBe(200)
    expect((await post(finance, path, { transactionId, decision: 'reject' })).status).toBe(422)
    expect(await list(finance, 'to_answer')).toMatchObject({ data: [], counts: [{ status: 'won', count: 1 }] })
    expect((await list(people.owner, 'won')).data[0]).toMatchObject({
      id: opened.body.id,
      state: 'rejected',
      blocked: 0,
    })
    expect((await actionsOf(transactionId)).map(({ action, details }) => [action, details])).toEqual([
      ['infraction.open', { amount: 700, reason: 'Fraud, the bank says' }],
      ['infraction.reject', { disputeId: opened.body.id }],
    ])
  })

  it('that the acquirer reported is accepted once, however many people do so', async () => {
    const { id: transactionId, endToEnd } = await payOne(service)
    await dispute(service, endToEnd)
    await pollUntil(service, transactionId, 'BLOCKED')
    const found = (await list(people.owner, 'to_answer')).data.find((one) => one.transactionId === transactionId)
    const body = { transactionId, decision: 'accept' }
    const answers = await Promise.all(
      [people.finance, people.admin].map((one) => post(one, `/infraction/${found?.id}/decision`, body)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422])
    expect(await disputesOf(service, transactionId)).toEqual([{ state: 'accepted', amount: 1_000 }])
    expect((await actionsOf(transactionId)).map(({ action }) => action)).toEqual(['infraction.accept'])
  })
})

describe('a merchant’s record', () => {
  it('is not found by another merchant, on any of these routes', async () => {
    const { id: transactionId } = await payOne(service)
    const pending = await requestWithdrawal(service, { amount: 70_000 })
    const { outsider } = people
    const found = [
      await outsider.call(`/dashboard/api/withdrawal/${pending.body.id}`),
      await outsider.call(`/dashboard/api/transaction/${transactionId}/refund`),
      await request(outsider, `/transaction/${transactionId}/refund`, { idempotencyKey: randomUUID() }),
      await request(outsider, `/withdrawal/${pending.body.id}/cancel`, {}),
      await request(outsider, `/withdrawal/${pending.body.id}/confirm`, {}),
    ]
    expect(found.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
    expect((await people.owner.call(`/dashboard/api/withdrawal/${pending.body.id}`)).body).toMatchObject({
      hold: 'approval',
    })
    await post(people.admin, `/withdrawal/${pending.body.id}/rejection`, { reason: 'Not today' })
  })

  it('is decided only by the operator’s people with the permission', async () => {
    const pending = await requestWithdrawal(service, { amount: 80_000 })
    const { id: transactionId } = await payOne(service)
    for (const person of [people.owner, people.outsider, people.support]) {
      const refused = [
        await post(person, `/withdrawal/${pending.body.id}/approval`),
        await post(person, `/withdrawal/${pending.body.id}/rejection`, { reason: 'Not today' }),
        await post(person, '/infraction', { id: randomUUID(), transactionId }),
        await post(person, `/infraction/${randomUUID()}/decision`, { transactionId, decision: 'accept' }),
      ]
      expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403])
    }
    const nowhere = randomUUID()
    const { admin } = people
    expect((await post(admin, `/withdrawal/${nowhere}/approval`)).status).toBe(404)
    expect((await post(admin, '/infraction', { id: randomUUID(), transactionId: nowhere })).status).toBe(404)
    expect((await post(people.support, '/withdrawal/preview', { amount: 1_000, key: nowhere })).status).toBe(403)
    expect((await people.support.call(`/dashboard/api/transaction/${transactionId}/refund`)).status).toBe(403)
    await post(admin, `/withdrawal/${pending.body.id}/rejection`, { reason: 'Not today' })
  })
})
