import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { raw, sql } from '../../src/db/sql.ts'
import { freezePayouts, releasePayouts } from '../../src/ledger/payout-freeze.ts'
import { defaultLimits, mergeLimits } from '../../src/withdrawals/limits.ts'
import { dispute, pollUntil } from '../support/disputes.ts'
import { fetchRefundable, payOne, requestRefund, untilRefund } from '../support/refunds.ts'
import { addTestClient } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { payUnattributed } from '../support/suspense.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import {
  expectLedgerConsistent,
  fund,
  untilWithdrawal,
  withdraw,
  withdrawalBody,
  withRenewedToken,
} from '../support/withdrawals.ts'

type Result = { id: string; outcome: string; code: string | null; status: string | null }
type Item = { kind: string; count: number; isMore: boolean; amount: number | null }
type History = { name: string | null; count: number; sum: number; others: object | null }

let service: TestService
let merchantId: string
/** The outsider owns another merchant. */
let people: Record<'admin' | 'finance' | 'support' | 'owner' | 'outsider', Browser>

beforeAll(async () => {
  service = withRenewedToken(await startTestService())
  merchantId = await findSandboxMerchant(service)
  await service.db.transaction(
    async (tx) =>
      await mergeLimits(tx, { merchantId, ...defaultLimits, perDay: null, perNight: null, approvalAbove: 10_000 }),
  )
  await fund(service, 50_000_000)
  const signIn = async (role: string, of: string | null = null) =>
    await openBrowser(service, { email: await inviteUser(service, { role, merchantId: of }), password })
  people = {
    admin: await signIn('admin'),
    finance: await signIn('finance'),
    support: await signIn('support'),
    owner: await signIn('owner', merchantId),
    outsider: await signIn('owner', (await addTestClient(service)).merchantId),
  }
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

const decide = async (person: Browser, way: 'approval' | 'rejection', body: object) =>
  await person.call<{ data: Result[] }>(`/dashboard/api/withdrawal/${way}`, { method: 'POST', body })
const outcomesOf = (answer: { body: { data: Result[] } }) => answer.body.data.map(({ outcome }) => outcome)
const attention = async (person: Browser) => (await person.call<{ data: Item[] }>('/dashboard/api/attention')).body.data
const kindsSeenBy = async (person: Browser) => (await attention(person)).map(({ kind }) => kind)

async function requestAs(person: Browser, amount: number): Promise<string> {
  const headers = { 'x-guiche-merchant': service.sandbox.clientId }
  const { body } = await person.call<{ id: string }>('/withdrawal', {
    method: 'POST',
    body: withdrawalBody({ amount }),
    headers,
  })
  return body.id
}

async function countActions(id: string, action: string): Promise<number> {
  const [row] = await service.db.query<{ count: number }>(sql`
    select count(*) as count from audit_log where record_id = ${id} and action = ${action}`)
  return row?.count ?? 0
}

describe('several withdrawals', () => {
  it('are approved together, each by the rules for one', async () => {
    const [one, two] = [await withdraw(service, { amount: 20_000 }), await withdraw(service, { amount: 30_000 })]
    const own = await requestAs(people.finance, 40_000)
    const gone = await withdraw(service, { amount: 50_000 })
    await decide(people.admin, 'rejection', { ids: [gone], reason: 'Not this one' })
    const ids = [one, own, gone, randomUUID(), two]
    const first = await decide(people.finance, 'approval', { ids })
    expect(outcomesOf(first), first.text).toEqual(['done', 'needs_other_person', 'changed', 'not_found', 'done'])
    expect(first.body.data[1]).toMatchObject({ code: 'same_person', status: 'PENDING' })
    expect(first.body.data[2]).toMatchObject({ code: 'not_pending', status: 'REJECTED' })
    // A repeated request, as after a lost answer, approves nothing twice.
    const again = await decide(people.finance, 'approval', { ids })
    expect(outcomesOf(again)).toEqual(outcomesOf(first))
    for (const id of [one, two]) {
      await untilWithdrawal(service, id, 'PROCESSED')
      expect(await countActions(id, 'withdrawal.approve')).toBe(1)
    }
    expect(outcomesOf(await decide(people.admin, 'approval', { ids: [own] }))).toEqual(['done'])
    await untilWithdrawal(service, own, 'PROCESSED')
  })

  it('are approved once each when two people approve them at once', async () => {
    const ids = await Promise.all([21_000, 22_000, 23_000].map(async (amount) => await withdraw(service, { amount })))
    const answers = await Promise.all([
      decide(people.admin, 'approval', { ids }),
      decide(people.finance, 'approval', { ids: ids.toReversed() }),
    ])
    for (const id of ids) {
      const outcomes = answers.map(({ body }) => body.data.find((one) => one.id === id)?.outcome).sort()
      expect(outcomes).toEqual(['changed', 'done'])
      await untilWithdrawal(service, id, 'PROCESSED')
      expect(await countActions(id, 'withdrawal.approve')).toBe(1)
    }
  })

  it('are rejected together with one reason', async () => {
    const ids = [await withdraw(service, { amount: 24_000 }), await withdraw(service, { amount: 25_000 })]
    expect((await decide(people.admin, 'rejection', { ids })).status).toBe(422)
    const body = { ids, reason: 'Ask the shop first' }
    expect(outcomesOf(await decide(people.admin, 'rejection', body))).toEqual(['done', 'done'])
    expect(outcomesOf(await decide(people.admin, 'rejection', body))).toEqual(['done', 'done'])
    for (const id of ids) expect(await countActions(id, 'withdrawal.reject')).toBe(1)
  })

  it('are not decided by people who may not decide one, and at most twenty are decided together', async () => {
    const id = await withdraw(service, { amount: 26_000 })
    for (const person of [people.support, people.owner])
      expect((await decide(person, 'approval', { ids: [id] })).status).toBe(403)
    const many = Array.from({ length: 21 }, () => randomUUID())
    expect((await decide(people.admin, 'approval', { ids: many })).status).toBe(422)
    await decide(people.admin, 'rejection', { ids: [id], reason: 'A test' })
  })
})

describe('several refunds', () => {
  type Refused = { code: string; fields: { field: string; code: string; limit?: number }[] }
  type Refunds = { batchId?: string; reason?: string; refunds: { id: string; amount: number }[] }
  const refundTogether = async (person: Browser, { batchId = randomUUID(), ...more }: Refunds) =>
    await person.call<{ data: { status: number; error: Refused | null }[] }>('/dashboard/api/transaction/refund', {
      method: 'POST',
      body: { batchId, ...more },
    })
  const statusesOf = (answer: { text: string; body: { data?: { status: number }[] } }) =>
    answer.body.data?.map(({ status }) => status) ?? answer.text

  it('give one refund each when the same request arrives twice at once, and again later', async () => {
    const ids = [(await payOne(service, 3_000)).id, (await payOne(service, 4_590)).id]
    const body = {
      batchId: randomUUID(),
      reason: 'The event was canceled',
      refunds: ids.map((id, index) => ({ id, amount: index === 0 ? 3_000 : 4_590 })),
    }
    const answers = await Promise.all([refundTogether(people.owner, body), refundTogether(people.owner, body)])
    answers.push(await refundTogether(people.owner, body))
    for (const answer of answers) expect(statusesOf(answer), answer.text).toEqual([201, 201])
    for (const id of ids) {
      const { refunds } = await fetchRefundable(service, id)
      expect(refunds.map(({ reason }) => reason)).toEqual(['The event was canceled'])
      await untilRefund(service, id, refunds[0]?.id ?? '', 'REFUNDED')
      expect(await countActions(id, 'transaction.refund')).toBe(1)
    }
  })

  it('name the reason of each one that is refused, and refund the others', async () => {
    const refunded = (await payOne(service, 1_000)).id
    const { body: first } = await requestRefund(service, refunded)
    await untilRefund(service, refunded, first.id, 'REFUNDED')
    const part = (await payOne(service, 2_000)).id
    const { body: second } = await requestRefund(service, part, { amount: 500 })
    await untilRefund(service, part, second.id, 'REFUNDED')
    const paid = (await payOne(service, 3_000)).id
    const refunds = [
      { id: refunded, amount: 1_000 },
      // The person saw the amount before the partial refund.
      { id: part, amount: 2_000 },
      { id: randomUUID(), amount: 100 },
      { id: paid, amount: 3_000 },
    ]
    const answer = await refundTogether(people.finance, { refunds })
    expect(statusesOf(answer), answer.text).toEqual([422, 422, 404, 201])
    expect(answer.body.data.map(({ error }) => error)).toEqual([
      { code: 'refund_not_possible', fields: [{ field: 'status', code: 'refunded' }] },
      { code: 'refund_not_possible', fields: [{ field: 'amount', code: 'too_large', limit: 1_500, unit: 'cents' }] },
      { code: 'not_found', fields: [] },
      null,
    ])
    expect((await fetchRefundable(service, paid)).refunds).toHaveLength(1)
    expect((await fetchRefundable(service, part)).refunds).toHaveLength(1)
  })

  it('do not find another merchant’s transaction, and are refused to those who may not refund one', async () => {
    const { id } = await payOne(service, 1_000)
    const refunds = [{ id, amount: 1_000 }]
    const foreign = await refundTogether(people.outsider, { refunds })
    expect(foreign.body.data).toEqual([{ status: 404, error: { code: 'not_found', fields: [] } }])
    expect((await refundTogether(people.support, { refunds })).status).toBe(403)
    expect((await fetchRefundable(service, id)).refunds).toEqual([])
  })

  it('are at most fifty, each transaction once', async () => {
    const { id } = await payOne(service, 1_000)
    const others = Array.from({ length: 50 }, () => ({ id: randomUUID(), amount: 100 }))
    const most = await refundTogether(people.owner, { refunds: others })
    expect([most.status, most.body.data?.length]).toEqual([200, 50])
    const paid = { id, amount: 1_000 }
    expect((await refundTogether(people.owner, { refunds: [paid, ...others] })).status).toBe(422)
    const twice = await refundTogether(people.owner, { refunds: [paid, { id: id.toUpperCase(), amount: 500 }] })
    expect([twice.status, twice.text]).toEqual([422, expect.stringContaining('refunds[1].id')])
    expect((await fetchRefundable(service, id)).refunds).toEqual([])
  })
})

describe('the history of a Pix key', () => {
  const historyOf = async (person: Browser, id: string) =>
    (await person.call<{ receiver: History }>(`/dashboard/api/withdrawal/${id}`)).body.receiver

  it('counts what was sent to it before, and shows other merchants to operators only', async () => {
    const pixKey = { key: 'first-time@example.com', type: 'EMAIL' }
    const first = await withdraw(service, { amount: 5_000, pixKey })
    expect(await historyOf(people.admin, first)).toMatchObject({ name: null, count: 0, sum: 0 })
    await untilWithdrawal(service, first, 'PROCESSED')
    const second = await withdraw(service, { amount: 60_000, pixKey })
    expect(await historyOf(people.admin, second)).toMatchObject({
      name: expect.any(String),
      count: 1,
      sum: 5_000,
      others: { count: 0, merchants: 0 },
    })
    expect(await historyOf(people.owner, second)).toMatchObject({ count: 1, others: null })
    // The same key at another merchant.
    const other = randomUUID()
    const columns = raw(
      'acquirer, amount, pix_key, pix_key_type, created_at, statuses, status_dates, fee_amount, amount_withdrawn',
    )
    const copyTo = async (copied: string, count: number) =>
      await service.db.query(sql`
        insert into withdrawals (id, merchant_id, ${columns})
        select gen_random_uuid(), ${copied}, ${columns} from withdrawals, generate_series(1, ${count}::int) where id = ${first}`)
    await copyTo(other, 1)
    expect(await historyOf(people.admin, second)).toMatchObject({
      count: 1,
      others: { count: 1, sum: 5_000, merchants: 1 },
    })
    expect(await historyOf(people.owner, second)).toMatchObject({ count: 1, sum: 5_000, others: null })
    for (const copied of [other, merchantId]) await copyTo(copied, 999)
    const thousand = { count: 1_000, isMore: false }
    expect(await historyOf(people.admin, second)).toMatchObject({ ...thousand, others: thousand })
    for (const copied of [other, merchantId]) await copyTo(copied, 1)
    const more = { count: 1_000, sum: 5_000_000, isMore: true }
    expect(await historyOf(people.admin, second)).toMatchObject({ ...more, others: { ...more, merchants: 1 } })
    await service.db.query(sql`
      delete from withdrawals where pix_key = ${pixKey.key} and id <> all(${[first, second]}::uuid[])`)
    await decide(people.admin, 'rejection', { ids: [second], reason: 'A test' })
  })
})

describe('what needs attention', () => {
  it('is nothing while all is in order', async () => {
    for (const person of Object.values(people)) expect(await attention(person)).toEqual([])
  })

  const pendingColumns = raw(
    'acquirer, amount, pix_key, pix_key_type, created_at, statuses, status_dates, fee_amount, review_reason, requested_by',
  )

  it('is what this person can decide, and no more', async () => {
    const own = await requestAs(people.finance, 70_000)
    const waiting = await withdraw(service, { amount: 80_000 })
    expect(await attention(people.admin)).toMatchObject([{ kind: 'withdrawals_to_approve', count: 2, amount: 150_000 }])
    expect(await attention(people.finance)).toMatchObject([
      { kind: 'withdrawals_to_approve', count: 1, amount: 80_000 },
    ])
    // They are read in pages of a hundred: the first page with one that this person may approve is counted.
    const copies = await service.db.query<{ id: string }>(sql`
      insert into withdrawals (id, merchant_id, ${pendingColumns})
      select gen_random_uuid(), merchant_id, ${pendingColumns} from withdrawals, generate_series(1, 99)
      where id = ${own} returning id`)
    const move = async (by: string) =>
      await service.db.query(sql`
        update withdrawals set created_at = created_at + ${by}::interval where id = ${waiting}`)
    const approvable = async () => (await attention(people.finance))[0]
    await move('-1 minute')
    expect(await approvable()).toMatchObject({ count: 1, isMore: true, amount: null })
    // The hundred oldest are this person's own.
    await move('2 minutes')
    expect(await approvable()).toMatchObject({ count: 1, isMore: false, amount: 80_000 })
    await move('-1 minute')
    const ids = copies.map(({ id }) => id)
    await service.db.query(sql`delete from withdrawals where id = ${ids[0]}`)
    expect(await approvable()).toMatchObject({ count: 1, isMore: false, amount: 80_000 })
    await service.db.query(sql`delete from withdrawals where id = any(${ids}::uuid[])`)
    expect(await kindsSeenBy(people.support)).toEqual([])
    const pixKey = { key: 'twice@example.com', type: 'EMAIL' }
    await untilWithdrawal(service, await withdraw(service, { amount: 3_000, pixKey }), 'PROCESSED')
    const duplicate = await withdraw(service, { amount: 3_000, pixKey })
    expect(await attention(people.owner)).toMatchObject([{ kind: 'withdrawals_to_confirm', count: 1, amount: 3_000 }])
    await decide(people.admin, 'rejection', { ids: [own, waiting, duplicate], reason: 'A test' })
    expect(await attention(people.admin)).toEqual([])
  })

  it('includes proposals, money in suspense, disputes near or past their deadline, and a payout freeze', async () => {
    await people.finance.call(`/dashboard/api/withdrawal-limits?clientId=${service.sandbox.clientId}`, {
      method: 'PATCH',
      body: { approvalAbove: 90_000 },
    })
    expect(await kindsSeenBy(people.admin)).toEqual(['proposals_to_approve'])
    expect(await kindsSeenBy(people.finance)).toEqual([])
    await payUnattributed(service, { amount: 4_000 })
    const paid = await payOne(service, 6_000)
    await dispute(service, paid.endToEnd)
    await pollUntil(service, paid.id, 'BLOCKED')
    expect(await kindsSeenBy(people.owner)).toEqual([])
    service.clock.advance(5 * 24 * 60 * 60_000)
    await freezePayouts(service.db, { reason: 'A test', now: service.clock.now() })
    const signIn = async (role: string, of: string | null = null) =>
      await openBrowser(service, { email: await inviteUser(service, { role, merchantId: of }), password })
    const [admin, owner, support] = [await signIn('admin'), await signIn('owner', merchantId), await signIn('support')]
    const expected = ['payouts_frozen', 'disputes_due', 'proposals_to_approve', 'suspense_waits']
    expect((await kindsSeenBy(admin)).filter((kind) => kind !== 'alerts_open')).toEqual(expected)
    expect(await kindsSeenBy(owner)).toEqual(['disputes_due'])
    expect(await kindsSeenBy(support)).toEqual(['disputes_due'])
    // It was answered, and still blocks money: only the operator ends it.
    await service.db.query(sql`
      update disputes set answered_at = ${service.clock.now()}, deadline_at = null, opened_at = opened_at - interval '14 days'
      where transaction_id = ${paid.id}`)
    expect(await attention(admin)).toContainEqual(
      expect.objectContaining({ kind: 'disputes_overdue', count: 1, amount: 6_000 }),
    )
    expect(await kindsSeenBy(owner)).toEqual([])
    await releasePayouts(service, { by: { actor: 'cli:test' } })
  })
})
