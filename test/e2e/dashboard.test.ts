import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import type { Explanation } from '../../src/explain/explain.ts'
import { writeMinuteTotals } from '../../src/transactions/list/minutes.ts'
import { decide, dispute, pollUntil } from '../support/disputes.ts'
import { charge, chargeMany, payAt, untilStatus } from '../support/payments.ts'
import { payOne, refund, setFixedFee, untilRefund } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually, suspendJob } from '../support/webhooks.ts'
import { balancesOf, fund, untilWithdrawal, withdraw } from '../support/withdrawals.ts'

let service: TestService
let merchantId: string
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  merchantId = await findSandboxMerchant(service)
})
afterAll(async () => {
  await service.stop()
})

async function browserOf(role: string, ofMerchant: string | null = null): Promise<Browser> {
  service.clock.advance(10 * 60_000)
  const email = await inviteUser(service, { role, merchantId: ofMerchant })
  return await openBrowser(service, { email, password })
}

type Found = { customers: { id: string }[]; records: { id: string; clientId: string }[]; leavesOutOlderNames: boolean }

async function find(browser: Browser, text: string, clientId?: string) {
  const { status, body } = await browser.call<Found>('/dashboard/api/search', {
    body: { text, ...(clientId && { clientId }) },
  })
  expect(status).toBe(200)
  return body
}

describe('the overview', () => {
  it('counts today, for all merchants or one, and does not find an unknown one', async () => {
    const admin = await browserOf('admin')
    const paid = await chargeMany(service, 3)
    for (const { uri } of paid.slice(1)) await payAt(service, uri)
    for (const { id } of paid.slice(1)) await untilStatus(service, id, 'PAID')
    // The cached figures expire.
    service.clock.advance(6_000)
    const all = await admin.call('/dashboard/api/overview?days=7')
    expect(all.status).toBe(200)
    expect(all.body.today).toMatchObject({
      created: 3,
      createdAmount: 3000,
      paid: 2,
      paidAmount: 2000,
      failed: 0,
      conversion: 2 / 3,
    })
    expect(all.body.balances).toMatchObject({ available: 2000, acquirer: -2000 })
    expect(all.body.days).toHaveLength(7)
    expect((all.body.hours as { paid: number }[]).reduce((sum, { paid }) => sum + paid, 0)).toBe(2)
    const one = await admin.call(`/dashboard/api/overview?days=7&clientId=${service.sandbox.clientId}`)
    // Only the operator's view of all merchants has the ranking.
    expect(all.body.merchants).toMatchObject([{ clientId: service.sandbox.clientId, paid: 2, paidAmount: 2000 }])
    expect(one.body).toEqual({ ...all.body, merchants: null })
    expect((await admin.call('/dashboard/api/overview?clientId=nobody')).status).toBe(404)
  })
})

describe('a record', () => {
  it('is found by any identifier that people know', async () => {
    const support = await browserOf('support')
    const { id, uri } = await charge(service, { externalCode: 'order-2026-77' })
    const paid = await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    const texts = [id, id.replaceAll('-', ''), id.toUpperCase(), 'order-2026-77', 'order-2026', paid.body.endToEndId]
    for (const text of texts) {
      const body = await find(support, text)
      expect(
        body.records.map(({ id: one, clientId }) => [one, clientId]),
        text,
      ).toEqual([[id, service.sandbox.clientId]])
    }
    expect(await find(support, 'order-of-nobody')).toEqual({ customers: [], records: [], leavesOutOlderNames: false })
    expect((await find(support, '%%%')).records).toEqual([])
  })

  it('is found by the customer, the amount or the PIX key, only by people of its merchant and with their permission', async () => {
    const support = await browserOf('support')
    const customer = { name: 'João Araújo Peçanha', document: '390.533.447-05', email: 'Joao.P@example.com' }
    const { id } = await charge(service, { amount: 123_456, customer, externalCode: 'peca-2026' })
    await fund(service, 10_000)
    const withdrawal = await withdraw(service, { amount: 1_317, pixKey: { key: '39053344705', type: 'CPF' } })
    for (const text of ['peca', 'PEÇANHA joão', '390.533.447-05', '39053344705', 'joao.p@example.com', 'JOAO.P@'])
      expect(await find(support, text), text).toMatchObject({
        customers: [{ id, name: customer.name, document: '***.533.447-**' }],
        records: expect.arrayContaining([expect.objectContaining({ id, type: 'transaction' })]),
      })
    for (const text of ['1.234,56', 'R$ 1.234,56', '1,234.56', '1234,56', '1234.56']) {
      const body = await find(support, text)
      expect([body.customers, body.records.map((one) => one.id)], text).toEqual([[], [id]])
    }
    for (const text of ['13,17', '390.533.447-05'])
      expect((await find(support, text)).records, text).toContainEqual(
        expect.objectContaining({ id: withdrawal, type: 'withdrawal' }),
      )
    const developer = await browserOf('developer', merchantId)
    expect((await find(developer, '13,17')).records).toEqual([])
    const admin = await browserOf('admin')
    const { body: other } = await admin.call<{ merchantId: string; clientId: string }>('/dashboard/api/client', {
      body: { name: 'Outra Loja', scopes: ['transaction.read'] },
    })
    const outsider = await browserOf('owner', other.merchantId)
    const texts = [id, withdrawal, 'joao peca', '39053344705', 'joao.p@example.com', '1.234,56', '13,17', 'order-2026']
    for (const text of texts)
      expect(await find(outsider, text), text).toEqual({ customers: [], records: [], leavesOutOlderNames: false })
    for (const text of texts) {
      const body = await find(support, text, other.clientId)
      expect([body.records, body.customers], text).toEqual([[], []])
    }
    expect((await outsider.call(`/dashboard/api/customer/${id}`)).status).toBe(404)
  })

  it('leads to all transactions of its customer', async () => {
    const support = await browserOf('support')
    const customer = { name: 'Rita Lobo', document: '746.971.314-01', email: 'rita@example.com' }
    const { id, uri } = await charge(service, { amount: 5_000, customer })
    service.clock.advance(1_000)
    const second = await charge(service, { amount: 700, customer: { ...customer, email: 'rita.lobo@example.com' } })
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    const refund = await service.call(`/transaction/${id}/refund`, {
      body: { amount: 2_000, idempotencyKey: 'refund-of-rita-1' },
    })
    expect(refund.status, refund.text).toBeLessThan(300)
    const read = async (query = '') =>
      (await support.call<{ totals: { amountRefunded: number } }>(`/dashboard/api/customer/${id}${query}`)).body
    await eventually(async () => (await read()).totals?.amountRefunded === 2_000)
    expect(await read()).toMatchObject({
      ...{ name: 'Rita Lobo', document: '74697131401', email: 'rita@example.com', isErased: false, total: 2 },
      totals: { paid: 1, amountPaid: 5_000, amountRefunded: 2_000, amountReturned: 0, coversOnlyNewest: false },
      data: [{ id: second.id }, { id }],
    })
    expect(await read('?by=email')).toMatchObject({ total: 1, data: [{ id }] })
    expect(await read('?page=2')).toMatchObject({ total: 2, data: [] })
  })

  it('is explained', async () => {
    const support = await browserOf('support')
    const { id } = await charge(service)
    const record = await support.call(`/dashboard/api/record/${id}`)
    expect(record.body).toMatchObject({ id, type: 'transaction', status: 'PIX_QRCODE_GENERATED' })
    expect(record.body).toMatchObject({ statement: null, link: null })
    expect(record.body.summary).toContain('not paid yet')
  })

  it('has a statement that adds up to what the merchant’s balance changed, at every step', async () => {
    const support = await browserOf('support')
    for (const [operation, fixed] of [
      ['transaction', 42],
      ['refund', 30],
      ['withdrawal', 150],
    ] as const)
      await setFixedFee(service, operation, fixed)
    service.clock.advance(1_000)
    const own = async () => {
      const { available, debt } = await balancesOf(service)
      return available + debt
    }
    let before = await own()
    const linesOf = async (id: string) => {
      const { body } = await support.call<Pick<Explanation, 'statement'>>(`/dashboard/api/record/${id}`)
      const { lines = [], net = 0 } = body.statement ?? {}
      expect(net).toBe((await own()) - before)
      expect(lines.reduce((sum, { amount }) => sum + amount, 0)).toBe(net)
      return Object.fromEntries(lines.map(({ line, amount }) => [line, amount]))
    }
    const { id, endToEnd } = await payOne(service, 5_000)
    const paid = { paid: 5_000, fee: -42 }
    expect(await linesOf(id)).toEqual(paid)
    await untilRefund(service, id, await refund(service, id, { amount: 1_000 }), 'REFUNDED')
    const refunded = { ...paid, refunded: -1_000, refundFee: -30 }
    expect(await linesOf(id)).toEqual(refunded)
    const reference = await dispute(service, endToEnd, 700)
    await pollUntil(service, id, 'BLOCKED')
    expect(await linesOf(id)).toEqual({ ...refunded, blocked: -700 })
    await decide(service, reference, 'accept')
    service.clock.advance(2_000)
    await pollUntil(service, id, 'INFRACTION')
    expect(await linesOf(id)).toEqual({ ...refunded, returned: -700 })
    before = await own()
    const withdrawal = await withdraw(service, { amount: 1_000 })
    await untilWithdrawal(service, withdrawal, 'PROCESSED')
    expect(await linesOf(withdrawal)).toEqual({ sent: -1_000, fee: -150 })
  })
})

describe('a client', () => {
  it('is created, gets another secret and other scopes, and is revoked, each in the audit log', async () => {
    const admin = await browserOf('admin')
    const made = await admin.call('/dashboard/api/client', {
      method: 'POST',
      body: { name: 'Padaria', scopes: ['transaction.read'] },
    })
    expect(made.status).toBe(201)
    const { clientId, clientSecret } = made.body as { clientId: string; clientSecret: string }
    expect(await tokenOf({ clientId, clientSecret })).toBe(200)
    const path = `/dashboard/api/client/${clientId}`
    const rotated = await admin.call(`${path}/secret`, { method: 'POST', body: { of: 'client', overlapHours: 0 } })
    expect(rotated.status).toBe(201)
    service.clock.advance(1_000)
    expect(await tokenOf({ clientId, clientSecret })).toBe(401)
    expect(await tokenOf({ clientId, clientSecret: String(rotated.body.secret) })).toBe(200)
    const webhook = await admin.call(`${path}/secret`, { method: 'POST', body: { of: 'webhook', overlapHours: 1 } })
    expect(webhook.body.secret).toMatch(/^whsec_/)
    const scopes = ['transaction.read', 'balance.read']
    const change = { method: 'PATCH', body: { scopes, before: ['transaction.read'] } }
    expect((await admin.call(path, change)).body.scopes).toEqual(scopes)
    // Based on the scopes before that change, it would undo another person's change.
    expect(await admin.call(path, change)).toMatchObject({ status: 409, body: { code: 'change_not_possible' } })
    // Neither another client nor a text of unlimited length gets into the audit log with it.
    const forged = { ...change.body, clientId: service.sandbox.clientId, note: 'x'.repeat(60_000) }
    const refused = await admin.call(path, { method: 'PATCH', body: forged })
    expect([refused.status, refused.body.errors]).toMatchObject([422, [{ field: 'clientId' }, { field: 'note' }]])
    const revoked = await admin.call(`${path}/revocation`, { method: 'POST', body: { tokensOnly: false } })
    expect(revoked.body).toMatchObject({ isActive: false, tokensRefusedBefore: expect.any(String) })
    expect(await tokenOf({ clientId, clientSecret: String(rotated.body.secret) })).toBe(401)
    const rows = await service.db.query<{ action: string }>(sql`
      select action from audit_log where details->>'clientId' = ${clientId} and actor like 'user:admin%' order by id`)
    expect(rows.map(({ action }) => action)).toEqual([
      'client.create',
      'client.rotate-secret',
      'client.rotate-webhook-secret',
      'client.scopes',
      'client.revoke',
    ])
  })

  it('is created and granted scopes by the operator only', async () => {
    const owner = await browserOf('owner', merchantId)
    const body = { name: 'Another', scopes: ['transaction.read'] }
    expect((await owner.call('/dashboard/api/client', { method: 'POST', body })).status).toBe(403)
    const path = `/dashboard/api/client/${service.sandbox.clientId}`
    const granted = { method: 'PATCH', body: { scopes: ['balance.read'], before: [] } }
    expect((await owner.call(path, granted)).status).toBe(403)
  })
})

async function tokenOf({ clientId, clientSecret }: { clientId: string; clientSecret: string }): Promise<number> {
  const answer = await fetch(`${service.baseUrl}/auth/token`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials' }),
  })
  await answer.text()
  return answer.status
}

describe('the system', () => {
  it('shows its state, and freezes and unfreezes payouts', async () => {
    const finance = await browserOf('finance')
    const system = await finance.call('/dashboard/api/system')
    expect(system.body).toMatchObject({
      payoutFreeze: null,
      jobs: { givenUp: 0 },
      acquirers: [{ name: 'simulator', isAvailable: true, hasPayouts: true }],
    })
    const reason = 'a drill'
    const freeze = async (because: string) =>
      (await finance.call('/dashboard/api/payout-freeze', { method: 'POST', body: { reason: because } })).body
    const frozen = await freeze(reason)
    expect(frozen).toMatchObject({ payoutFreeze: { reason }, isNew: true })
    expect(await freeze('another reason')).toEqual({ ...frozen, isNew: false })
    expect((await finance.call('/dashboard/api/system')).body.payoutFreeze).toMatchObject({ reason })
    const release = async () =>
      await finance.call('/dashboard/api/payout-freeze/release', { method: 'POST', body: { reason } })
    const released = await release()
    expect(released.body).toEqual({ released: frozen.payoutFreeze })
    expect((await release()).body).toEqual({ released: null })
    // The audit log has only what changed something.
    const rows = await service.db.query<{ action: string }>(
      sql`select action from audit_log where action like 'payouts.%' order by id`,
    )
    expect(rows.map(({ action }) => action)).toEqual(['payouts.freeze', 'payouts.release'])
    const support = await browserOf('support')
    expect((await support.call('/dashboard/api/payout-freeze', { method: 'POST', body: { reason } })).status).toBe(403)
  })

  it('shows who did what, in pages', async () => {
    const reader = await browserOf('read_only')
    const first = await reader.call<{ data: { id: number; action: string }[] }>('/dashboard/api/audit')
    expect(first.body.data.length).toBeGreaterThan(5)
    const ids = first.body.data.map(({ id }) => id)
    expect(ids).toEqual(ids.toSorted((a, b) => b - a))
    const next = await reader.call<{ data: { id: number }[] }>(`/dashboard/api/audit?before=${ids[2]}`)
    expect(next.body.data[0]?.id).toBe(ids[3])
  })

  it('finds who did what by person, subject and time', async () => {
    const reader = await browserOf('read_only')
    type Found = { data: { id: number; actor: string; action: string; at: string }[]; next: number | null }
    const find = async (query: Record<string, string>) =>
      (await reader.call<Found>(`/dashboard/api/audit?${new URLSearchParams(query)}`)).body
    const { data: all } = await find({})
    const invited = await find({ area: 'user', person: all[0]?.actor.slice(5).toUpperCase() ?? '' })
    expect(invited.data.map(({ id }) => id)).toContain(all[0]?.id)
    expect(new Set(invited.data.map(({ actor }) => actor))).toEqual(new Set([all[0]?.actor]))
    const frozen = await find({ area: 'payouts' })
    expect(frozen.data.map(({ action }) => action)).toEqual(['payouts.release', 'payouts.freeze'])
    const at = frozen.data[0]?.at ?? ''
    const period = await find({ from: at, until: at })
    expect(period.data).toEqual(all.filter((row) => row.at === at))
    expect(period.next).toBeNull()
    expect((await find({ until: '2020-01-01T00:00:00Z' })).data).toEqual([])
    expect((await find({ person: 'nobody has this name' })).data).toEqual([])
    expect((await reader.call('/dashboard/api/audit?area=unknown')).status).toBe(422)
  })
})

describe('the first steps', () => {
  it('are what the installation or the merchant has done, until the person dismisses them', async () => {
    const read = async (browser: Browser) => {
      const { body } = await browser.call<Steps>('/dashboard/api/first-steps')
      return { ...body, steps: Object.fromEntries(body.steps.map(({ name, isDone }) => [name, isDone])) }
    }
    type Steps = { isDismissed: boolean; steps: { name: string; isDone: boolean }[] }
    const admin = await browserOf('admin')
    const { body: made } = await admin.call<{ merchantId: string }>('/dashboard/api/client', {
      body: { name: 'Loja Nova', scopes: ['transaction.read'] },
    })
    const owner = await browserOf('owner', made.merchantId)
    const nothing = { charge: false, payment: false, receiver: false, delivery: false, withdrawal: false }
    expect(await read(owner)).toEqual({
      isDismissed: false,
      steps: { ...nothing, colleague: false, secondFactor: false },
    })
    await browserOf('finance', made.merchantId)
    expect(await read(owner)).toMatchObject({ steps: { ...nothing, colleague: true } })
    const { id, uri } = await charge(service)
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    const all = await read(admin)
    expect(all).toMatchObject({ steps: { merchant: true, charge: true, payment: true, psp: false } })
    expect(Object.keys(all.steps).at(-1)).toBe('psp')
    expect((await read(owner)).steps).toMatchObject({ charge: false, payment: false })
    const dismiss = async (isDismissed: boolean) =>
      await owner.call('/dashboard/api/first-steps', { method: 'PUT', body: { isDismissed } })
    expect((await dismiss(true)).body).toEqual({ isDismissed: true, steps: [] })
    expect([(await read(owner)).isDismissed, (await read(admin)).isDismissed]).toEqual([true, false])
    await dismiss(false)
    expect((await read(owner)).isDismissed).toBe(false)
  })
})

// Last: it moves the clock beyond the life of the access token.
describe('the overview of a later day', () => {
  it('compares with the seven days before at the same time of day, without what was paid later', async () => {
    const email = await inviteUser(service, { role: 'developer', merchantId })
    const dayMs = 24 * 3_600_000
    // Only the test writes totals: the schedule might do so at any moment after the day has changed.
    await suspendJob(service.db, 'transactions.count-minutes')
    // Both charges on one day of Brasília.
    const untilMidnight = dayMs - ((service.clock.now().getTime() - 3 * 3_600_000) % dayMs)
    if (untilMidnight < 10 * 60_000) service.clock.advance(untilMidnight)
    const [first, second] = await chargeMany(service, 2)
    await payAt(service, first?.uri ?? '')
    await untilStatus(service, first?.id ?? '', 'PAID')
    const before = service.clock.now().getTime()
    service.clock.advance(2 * 60_000)
    await payAt(service, second?.uri ?? '')
    await untilStatus(service, second?.id ?? '', 'PAID')
    type Compared = { paid: number; paidAmount: number }
    type Seen = {
      sameTime: Compared[] | null
      days: { paid: number }[]
      until: string
      merchants: ({ clientId: string; yesterday: Compared | null } & Compared)[] | null
    }
    const readAt = async (at: number, by = email) => {
      service.clock.advance(at + dayMs - service.clock.now().getTime())
      const viewer = await openBrowser(service, { email: by, password })
      return (await viewer.call('/dashboard/api/overview?days=7')).body as Seen
    }
    expect((await readAt(before + 50_000)).sameTime, 'the totals of yesterday are not written yet').toBeNull()
    for (let times = 0; times < 2; times += 1) await writeMinuteTotals(service)
    const early = await readAt(before + 60_000)
    const late = await readAt(before + 5 * 60_000)
    const paid = early.days.at(-2)?.paid ?? 0
    expect([early.sameTime?.at(-1)?.paid, late.sameTime?.at(-1)?.paid]).toEqual([paid - 1, paid])
    expect((late.sameTime?.at(-1)?.paidAmount ?? 0) - (early.sameTime?.at(-1)?.paidAmount ?? 0)).toBe(1000)
    expect(late.sameTime).toHaveLength(7)
    expect(late.sameTime?.[0]?.paid).toBe(0)
    expect(late.merchants).toBeNull()
    expect(Date.parse(late.until)).toBe(Math.floor((before + dayMs) / 60_000 + 5) * 60_000)

    // The operator has a ranking. It is empty: no charge was created today.
    const { merchants } = await readAt(before + 6 * 60_000, await inviteUser(service, { role: 'support' }))
    expect(merchants).toEqual([])
  })
})
