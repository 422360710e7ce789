import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type {
  AttributionPreview,
  LedgerView,
  ListedPaymentView,
  PaymentView,
} from '../../src/dashboard/operator-schema.ts'
import { sql } from '../../src/db/sql.ts'
import { operatorMerchantId } from '../../src/suspense/status.ts'
import { charge, fetchTransaction } from '../support/payments.ts'
import { payOne } from '../support/refunds.ts'
import type { Problem } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { payingCustomer, payUnattributed, untilReturned } from '../support/suspense.ts'
import { type Browser, inviteUser, openBrowser, password } from '../support/users.ts'
import { balancesOf, expectLedgerConsistent } from '../support/withdrawals.ts'

type Person = Browser & { email: string }

let service: TestService
/** All of them are the operator's people. */
let people: Record<'admin' | 'finance' | 'reader', Person>

beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  people = { admin: await signInAs('admin'), finance: await signInAs('finance'), reader: await signInAs('read_only') }
}, 300_000)
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

async function signInAs(role: string): Promise<Person> {
  const email = await inviteUser(service, { role })
  return { ...(await openBrowser(service, { email, password })), email }
}

async function get<Body>(person: Browser, path: string) {
  return await person.call<Body & Problem>(`/dashboard/api${path}`)
}

async function send<Body>(person: Browser, path: string, body: object = {}) {
  return await person.call<Body & Problem>(`/dashboard/api${path}`, { method: 'POST', body })
}

async function actionsOf(recordId: string) {
  return await service.db.query<{ actor: string; action: string; details: unknown }>(sql`
    select actor, action, details from audit_log where record_id = ${recordId} order by id`)
}

describe('an unattributed payment', () => {
  it('is attributed once, even when two people do it concurrently, and the attribution is reversed', async () => {
    const { id: transactionId, suspended } = await payUnattributed(service, { amount: 1_500, customer: payingCustomer })
    const listed = await get<{ total: number; data: ListedPaymentView[] }>(people.reader, '/suspense?isOpen=true')
    expect(listed.body.data).toMatchObject([
      { id: suspended.id, kind: 'unattributed', status: 'held', clientName: null },
    ])
    const detail = await get<PaymentView>(people.reader, `/suspense/${suspended.id}`)
    expect(detail.body.candidates[0]).toMatchObject({
      ...{ transactionId, score: 100, client: { clientId: service.sandbox.clientId } },
      evidence: expect.arrayContaining([{ what: 'document', points: 45 }]),
    })
    const preview = await get<AttributionPreview>(
      people.finance,
      `/suspense/${suspended.id}/match?transactionId=${transactionId}`,
    )
    expect(preview.body).toMatchObject({
      transaction: { id: transactionId, status: 'PIX_QRCODE_GENERATED', customerName: payingCustomer.name },
      amount: 1_500,
      fee: 0,
    })
    const [path, body] = [`/suspense/${suspended.id}/match`, { transactionId }]
    const answers = await Promise.all([send(people.finance, path, body), send(people.admin, path, body)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422])
    expect(await fetchTransaction(service, transactionId)).toMatchObject({ status: 'PAID', amountPaid: 1_500 })
    expect(await actionsOf(suspended.id)).toMatchObject([{ action: 'suspense.match', details: { transactionId } }])
    const taken = await get(people.finance, `/suspense/${suspended.id}/match?transactionId=${transactionId}`)
    expect([taken.status, taken.body.code]).toEqual([422, 'suspense_not_possible'])

    const undone = await send<PaymentView>(people.finance, `/suspense/${suspended.id}/undoing`)
    expect(undone.body).toMatchObject({ status: 'held', matched: null })
    expect(await fetchTransaction(service, transactionId)).toMatchObject({ status: 'REFUNDED' })
    expect((await send(people.finance, `/suspense/${suspended.id}/undoing`)).status).toBe(422)
    expect((await actionsOf(suspended.id)).map(({ action }) => action)).toEqual(['suspense.match', 'suspense.undo'])
  })

  it('is returned', async () => {
    const { endToEnd, suspended } = await payUnattributed(service)
    const operator = await get<LedgerView>(people.reader, '/ledger')
    expect(operator.body.operator?.suspense).toBeGreaterThanOrEqual(1000)
    const sent = await send<PaymentView>(people.finance, `/suspense/${suspended.id}/return`)
    expect(sent.body.status).toMatch(/^return/)
    await untilReturned(service, endToEnd)
    expect((await send(people.finance, `/suspense/${suspended.id}/return`)).status).toBe(422)
    expect(await actionsOf(suspended.id)).toMatchObject([
      { action: 'suspense.return', actor: `user:${people.finance.email}` },
    ])
    const closed = await get<{ total: number; data: ListedPaymentView[] }>(people.reader, '/suspense?isOpen=false')
    expect(closed.body.data.map(({ id }) => id)).toContain(suspended.id)
    const pastTheEnd = await get<{ total: number; data: unknown[] }>(people.reader, '/suspense?isOpen=false&page=2')
    expect(pastTheEnd.body).toMatchObject({ total: closed.body.total, data: [] })
    expect(closed.body.total).toBeGreaterThan(0)
    expect((await balancesOf(service, operatorMerchantId)).available).toBe(0)
  })

  it('cannot pay a transaction that is already paid', async () => {
    const { suspended } = await payUnattributed(service, { amount: 900 })
    const { id } = await payOne(service, 900)
    const refused = await send(people.finance, `/suspense/${suspended.id}/match`, { transactionId: id })
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('it is already paid')])
    const unknown = await send(people.finance, `/suspense/${suspended.id}/match`, { transactionId: randomUUID() })
    expect(unknown.status).toBe(404)
    const { id: other } = await charge(service, { amount: 901 })
    const preview = await get<AttributionPreview>(
      people.finance,
      `/suspense/${suspended.id}/match?transactionId=${other}`,
    )
    expect(preview.body).toMatchObject({ amount: 900, transaction: { amount: 901 } })
  })
})

it('a dispute of a payment without a transaction is listed in the period in which it was opened', async () => {
  const [opened, now] = [new Date('2026-03-10T15:00:00Z'), service.clock.now()]
  await service.db.query(sql`
    insert into unattributed_disputes (acquirer, reference, end_to_end, amount, acquirer_state, opened_at, changed_at)
    values ('simulator', 'of-march', 'of-no-transaction', 700, 'open', ${opened}, ${now})`)
  const listed = async (filters: object) => {
    const body = { tab: 'to_answer', ...filters }
    const answer = await send<{ unattributed: { reference: string }[] }>(people.admin, '/list/dispute', body)
    expect(answer.status).toBe(200)
    return answer.body.unattributed.map(({ reference }) => reference)
  }
  for (const filters of [{}, { from: '2026-03-10' }, { until: '2026-03-10' }])
    expect(await listed(filters)).toEqual(['of-march'])
  for (const filters of [{ from: '2026-03-11' }, { until: '2026-03-09' }, { isDueSoon: true }])
    expect(await listed(filters)).toEqual([])
  await service.db.query(sql`delete from unattributed_disputes where reference = 'of-march'`)
})
