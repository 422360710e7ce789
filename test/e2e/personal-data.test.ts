import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadSecretKey } from '../../src/auth/secret-key.ts'
import { raw, sql } from '../../src/db/sql.ts'
import { exportPerson } from '../../src/privacy/person.ts'
import { privacyJobs } from '../../src/privacy/retention.ts'
import { setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { decide, dispute, fetchDisputed, pollUntil } from '../support/disputes.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { payOne } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSuspenseOf, payUnattributed, untilReturned } from '../support/suspense.ts'
import { inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import {
  act,
  fetchWithdrawal,
  merchantOf,
  requestWithdrawal,
  untilWithdrawal,
  withdraw,
} from '../support/withdrawals.ts'

const document = '52998224725'
const person = {
  name: 'Zuleica Quintanilha',
  document: '529.982.247-25',
  email: 'zuleica.q@example.com',
  mobilePhone: '(11) 98765-4321',
}
const order = {
  amount: 2590,
  customer: person,
  description: 'Bolo de Zuleica',
  metadata: { note: 'call Zuleica first' },
  idempotencyKey: 'order-77',
}
const payer = { name: person.name, document }

let service: TestService
let cli: CommandLine
let paid: string

beforeAll(async () => {
  service = await startTestService({ clock: { now: () => new Date(), advance: () => {}, set: () => {} } })
  cli = await openCommandLine(service)
  const { id, uri } = await charge(service, order)
  expect((await payAt(service, uri, { payer })).status).toBe(200)
  await untilStatus(service, id, 'PAID')
  paid = id
})
afterAll(async () => {
  await cli.stop()
  await service.stop()
})

/** Tables of the service that contain a text. The simulated bank's tables do not count. */
async function placesOf(text: string): Promise<string[]> {
  const tables = await service.db.query<{ name: string }>(sql`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'public'`)
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await service.db.query(sql`select 1 from ${raw(name)} t where t::text ilike ${`%${text}%`} limit 1`)
    if (rows.length > 0) found.push(name)
  }
  return found
}

type Disputed = { defence: { text: string | null; files: object[] } }
type Listed = { id: string; customer: object | null; disputes: Disputed[] }
type Exported = { transactions: Listed[]; withdrawals: { id: string }[] }
const exportByCommand = async () => await cli.runJson<Exported>(['customer', 'export', '--document', person.document])
const erase = ['customer', 'erase', '--document', person.document, '--confirm', document]

describe('a person', () => {
  it('is exported with all stored data, and the audit log shows the export', async () => {
    const exported = await exportByCommand()
    expect(exported.transactions).toMatchObject([
      {
        id: paid,
        amount: 2590,
        status: 'PAID',
        customer: { email: person.email },
        description: order.description,
        metadata: order.metadata,
        payer,
      },
    ])
    const [entry] = await cli.runJson<{ action: string; details: object }[]>(['audit', 'list', '--last', '1'])
    expect(entry).toMatchObject({ action: 'customer.export', details: { transactions: 1 } })
    expect(JSON.stringify(entry)).not.toContain(document)
  })

  it('is not erased while something is still open, nor by mistake', async () => {
    const open = await charge(service, { amount: 700, customer: person })
    await cli.expectFailure(erase, /still open \(/)
    await cli.expectFailure([...erase.slice(0, -1), '11144477735'], /--confirm has a different document/)
    expect((await exportByCommand()).transactions).toHaveLength(2)
    expect((await payAt(service, open.uri, { payer })).status).toBe(200)
    await untilStatus(service, open.id, 'PAID')
  })

  it('is erased everywhere, and the money stays', async () => {
    const withdrawal = await service.call<{ id: string }>('/withdrawal', {
      body: { amount: 500, method: 'PIX', pixKey: { key: document, type: 'CPF' }, idempotencyKey: 'payout-77' },
    })
    const { id } = withdrawal.body
    await eventually(
      async () => (await service.call<{ status: string }>(`/withdrawal/${id}`)).body.status === 'PROCESSED',
    )
    const before = await service.call('/balance')
    expect((await placesOf('zuleica.q')).toSorted()).toEqual(['public.transactions'])
    expect(await placesOf('Quintanilha')).toContain('public.events')
    expect(await cli.runJson(erase)).toMatchObject({ transactions: 2, withdrawals: 1 })
    for (const text of ['Zuleica', 'Quintanilha', document, '98765'])
      expect([text, await placesOf(text)]).toEqual([text, []])
    const after = await service.call('/balance')
    expect({ ...after.body, at: before.body.at }).toEqual(before.body)
    await cli.runJson(['ledger', 'verify'])
    const shown = await service.call(`/transaction/${paid}`)
    expect(shown.body).toMatchObject({ id: paid, status: 'PAID', amount: 2590, amountPaid: 2590 })
    for (const field of ['customer', 'payer', 'description', 'metadata']) expect(shown.body).not.toHaveProperty(field)
    expect((await service.call(`/transaction/${paid}/event`)).status).toBe(200)
    expect((await service.call(`/withdrawal/${id}`)).status).toBe(200)
  })

  it('is found again by the document, and erased again without a change', async () => {
    expect(await exportByCommand()).toMatchObject({
      transactions: [{ customer: null, payer: null }, { customer: null }],
      withdrawals: [{ pixKey: expect.stringMatching(/^hash:[0-9a-f]{32}$/) }],
    })
    expect(await cli.runJson(erase)).toMatchObject({ transactions: 2, withdrawals: 1 })
  })

  it('leaves idempotency keys as they were', async () => {
    const { amount, ...more } = order
    const again = await service.call<{ id: string }>('/transaction', {
      body: { amount, paymentMethod: 'PIX', pix: {}, ...more },
    })
    expect([again.status, again.body.id]).toEqual([201, paid])
    const other = await service.call('/transaction', { body: { amount: 1, paymentMethod: 'PIX', pix: {}, ...more } })
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused'])
  })
})

it('the erasure of a person leaves others as they are', async () => {
  const other = { ...person, name: 'Outra Pessoa', document: '111.444.777-35', email: 'outra@example.com' }
  const { id } = await charge(service, { amount: 900, customer: other, idempotencyKey: randomUUID() })
  await cli.runJson(erase)
  expect((await service.call(`/transaction/${id}`)).body).toMatchObject({ customer: { name: 'Outra Pessoa' } })
})

it('a person is exported and erased at the dashboard only by an admin, who types the document twice', async () => {
  const someone = { ...person, name: 'Ivo Torres', document: '935.411.347-80', email: 'ivo@example.com' }
  const { id, uri } = await charge(service, { amount: 1400, customer: someone })
  expect((await payAt(service, uri, { payer: { name: 'Ivo Torres', document: '93541134780' } })).status).toBe(200)
  await untilStatus(service, id, 'PAID')
  const browserOf = async (role: string) =>
    await openBrowser(service, { email: await inviteUser(service, { role }), password })
  const [admin, finance] = [await browserOf('admin'), await browserOf('finance')]
  const post = async (browser: typeof admin, path: string, body: object) =>
    await browser.call<{ transactions: { id: string }[] | number }>(`/dashboard/api/person/${path}`, {
      method: 'POST',
      body,
    })
  expect((await post(finance, 'export', { document: someone.document })).status).toBe(403)
  const exported = await post(admin, 'export', { document: someone.document })
  expect(exported.body.transactions).toContainEqual(expect.objectContaining({ id }))
  expect((await post(admin, 'erasure', { document: someone.document, confirm: person.document })).status).toBe(422)
  const erased = await post(admin, 'erasure', { document: someone.document, confirm: '93541134780' })
  expect([erased.status, erased.body]).toMatchObject([200, { transactions: 1, withdrawals: 0 }])
  expect(await placesOf('Ivo Torres')).toEqual([])
})

it('a person is exported without the person who paid for them, or for whom they paid', async () => {
  const customer = { name: 'Ana', document: '390.533.447-05', email: 'ana@example.com' }
  const order = { amount: 1100, description: 'Bolo', metadata: { note: 'for Ana' } }
  const { id, uri } = await charge(service, { ...order, customer })
  expect((await payAt(service, uri, { payer: { name: 'Ivo', document: '16899535009' } })).status).toBe(200)
  await untilStatus(service, id, 'PAID')
  const exportOf = async (number: string) =>
    (await cli.runJson<Exported>(['customer', 'export', '--document', number])).transactions[0]
  const ofCustomer = { id, description: 'Bolo', metadata: order.metadata, customer: { name: 'Ana' } }
  const ofPayer = { id, amountPaid: 1100, payer: { name: 'Ivo' } }
  const nothing = { customer: null, address: null, items: null, description: null, metadata: null }
  expect(await exportOf('39053344705')).toMatchObject({ ...ofCustomer, payer: null })
  expect(await exportOf('16899535009')).toMatchObject({ ...ofPayer, ...nothing })
  for (const [masked, payer] of [
    ['***.995.350-**', null],
    ['***.533.447-**', { name: 'Ivo' }],
  ] as const) {
    await service.db.query(sql`
      update transactions set payer = (payer::jsonb || ${JSON.stringify({ document: masked })}::jsonb)::json where id = ${id}`)
    expect(await exportOf('39053344705')).toMatchObject({ ...ofCustomer, payer })
  }
})

it('a person is exported and erased as the seller, without the others', async () => {
  const seller = { name: 'Rute Seller', document: '168.995.350-09' }
  const order = { amount: 1150, seller, description: 'Torta', customer: { ...person, document: '390.533.447-05' } }
  const { id, uri } = await charge(service, { ...order, idempotencyKey: 'order-78' })
  await payAt(service, uri, { payer: { name: 'Ivo', document: '31415926590' } })
  await untilStatus(service, id, 'PAID')
  const [exported] = (await cli.runJson<Exported>(['customer', 'export', '--document', seller.document])).transactions
  expect(exported).toMatchObject({ id, seller: { name: 'Rute Seller' }, customer: null, payer: null })
  for (const number of [seller.document, '314.159.265-90'])
    await cli.runJson(['customer', 'erase', '--document', number, '--confirm', number])
  expect(await placesOf('Rute Seller')).toEqual([])
  const again = async (changed: object) => {
    const body = { ...order, paymentMethod: 'PIX', pix: {}, idempotencyKey: 'order-78', ...changed }
    return (await service.call('/transaction', { body })).status
  }
  // What was not erased is still compared.
  expect(await Promise.all([again({}), again({ description: 'Bolo' })])).toEqual([201, 422])
})

describe('by age, with a retention period', () => {
  const dayMs = 24 * 60 * 60_000
  const retentionDays = 365
  // The job of the previous test, on a future day, has moved its position past the records of the next test.
  beforeEach(async () => await service.db.query(sql`truncate personal_data_cursors`))

  /** Runs the daily job on a future day. */
  async function eraseOn(day: number) {
    const { key } = await loadSecretKey(service.db, null)
    const clock = { now: () => new Date(Date.now() + day * dayMs) }
    const jobs = privacyJobs({ db: service.db, clock, key, personalDataDays: retentionDays })
    await jobs['privacy.erase-old']?.({}, new AbortController().signal)
    return key
  }

  it('a transaction is erased once its last change is old enough, and not while it is open', async () => {
    const closed = await charge(service, { amount: 1200, customer: person })
    const open = await charge(service, { amount: 1300, customer: person })
    expect((await payAt(service, closed.uri, { payer })).status).toBe(200)
    await untilStatus(service, closed.id, 'PAID')
    const hasCustomer = async () =>
      await Promise.all(
        [closed, open].map(
          async ({ id }) =>
            (await service.call<{ customer?: object }>(`/transaction/${id}`)).body.customer !== undefined,
        ),
      )
    await eraseOn(retentionDays - 1)
    expect(await hasCustomer()).toEqual([true, true])
    for (let times = 0; times < 2; times += 1) await eraseOn(retentionDays + 1)
    expect(await hasCustomer()).toEqual([false, true])
    const found = async () => (await exportByCommand()).transactions.map(({ id }) => id)
    expect(await found()).toContain(closed.id)
    // When the job erases it again, because of a payer stored later, the hash of the customer stays as it is.
    await service.db.query(sql`update transactions set payer = '{"name": "Ivo"}' where id = ${closed.id}`)
    await service.db.query(sql`truncate personal_data_cursors`)
    await eraseOn(retentionDays + 1)
    expect(await found()).toContain(closed.id)
    // However long it was open, it is erased after it has ended.
    expect((await payAt(service, open.uri, { payer })).status).toBe(200)
    await untilStatus(service, open.id, 'PAID')
    const key = await eraseOn(retentionDays + 2)
    expect(await hasCustomer()).toEqual([false, false])
    // Found even after SECRET_KEY was replaced.
    const replaced = { current: randomBytes(32), former: [key.current] }
    const again = await exportPerson(
      { db: service.db, clock: { now: () => new Date() }, key: replaced },
      { document, by: { actor: 'cli:test' } },
    )
    expect((again.transactions as { id: string }[]).map(({ id }) => id)).toContain(closed.id)
  })

  it('a transaction that names neither a customer nor a payer loses what else may name a person', async () => {
    const address = { street: 'Rua da Zuleica', number: '12', neighborhood: 'Centro', city: 'Recife', state: 'PE' }
    const parts = [
      { description: 'Torta de Zuleica' },
      { metadata: { note: 'for Zuleica' } },
      { returnUrl: 'https://shop.example/zuleica' },
      { address: { ...address, zipCode: '50030-230', country: 'BR' } },
      { seller: { name: 'Zuleica', document } },
    ]
    const charges = await Promise.all(parts.map(async (part) => await charge(service, { amount: 1400, ...part })))
    for (const { id } of charges)
      await service.db.query(sql`
        update transactions set statuses = statuses || 'FAILED'::text, status_dates = status_dates || ${new Date()}::timestamptz
        where id = ${id}`)
    await eraseOn(retentionDays - 1)
    expect(await placesOf('zuleica')).toEqual(['public.transactions'])
    await eraseOn(retentionDays + 1)
    expect(await placesOf('zuleica')).toEqual([])
    const erased = async () =>
      await service.db.query(sql`select id, erased_at from transactions where erased_at is not null order by id`)
    const once = await erased()
    await service.db.query(sql`truncate personal_data_cursors`)
    await eraseOn(retentionDays + 2)
    expect(await erased()).toEqual(once)
  })

  it('the defence of a dispute is erased even when the transaction names nobody', async () => {
    const customer = { ...person, name: 'Outra Pessoa', email: 'outra@example.com' }
    const disputes = await Promise.all(
      [1, 2].map(async () => {
        const { id, endToEnd } = await payOne(service, 1000, { more: { customer } })
        await decide(service, await dispute(service, endToEnd), 'reject')
        await pollUntil(service, id, 'PAID')
        return (await fetchDisputed(service, id)).disputes[0]?.id ?? ''
      }),
    )
    const [written, uploaded] = disputes
    await service.db.query(sql`
      insert into dispute_defences (merchant_id, dispute_id, state, revision, text, delivery, changed_at)
      select merchant_id, id, 'draft', 1, 'Received by Zuleica', '{}', ${new Date()} from disputes where id = ${written}`)
    await service.db.query(sql`
      insert into dispute_files (merchant_id, id, dispute_id, name, type, size, sha256, content, added_at)
      select merchant_id, id, id, 'zuleica.txt', 'text/plain', 1, sha256('1'), '1', ${new Date()} from disputes where id = ${uploaded}`)
    const exported = (await exportByCommand()).transactions.flatMap((one) => one.disputes.map(({ defence }) => defence))
    expect(exported.map(({ text }) => text).toSorted()).toEqual(['Received by Zuleica', null])
    expect(exported.flatMap(({ files }) => files)).toEqual([
      { name: 'zuleica.txt', type: 'text/plain', base64: 'MQ==' },
    ])
    await service.db.query(sql`
      update transactions set customer = null, payer = null, seller = null, address = null, description = null, metadata = null,
        return_url = null
      from disputes where disputes.transaction_id = transactions.id`)
    await eraseOn(retentionDays - 1)
    expect(await placesOf('zuleica')).toEqual(['public.dispute_defences', 'public.dispute_files'])
    await eraseOn(retentionDays + 1)
    expect(await placesOf('zuleica')).toEqual([])
  })

  it('the receiver of a withdrawal is erased, with its PIX key, and not while the withdrawal is open', async () => {
    const { uri, id } = await charge(service, { amount: 100_000 })
    expect((await payAt(service, uri)).status).toBe(200)
    await untilStatus(service, id, 'PAID')
    const email = 'receiver.q@example.com'
    const body = {
      amount: 700,
      pixKey: { key: email, type: 'EMAIL' },
      metadata: { note: 'for Zuleica' },
      idempotencyKey: 'payout-79',
    }
    const sent = await withdraw(service, body)
    expect(await untilWithdrawal(service, sent, 'PROCESSED')).toHaveProperty('receiver')
    const merchantId = await merchantOf(service)
    await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, approvalAbove: 0 })
    const waiting = await withdraw(service, { amount: 800, pixKey: { key: document, type: 'CPF' } })
    await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, approvalAbove: null })
    await eraseOn(retentionDays - 1)
    expect(await placesOf(email)).toContain('public.withdrawals')
    for (let times = 0; times < 2; times += 1) await eraseOn(retentionDays + 1)
    for (const text of [email, 'for Zuleica']) expect([text, await placesOf(text)]).toEqual([text, []])
    const erased = await fetchWithdrawal(service, sent)
    expect(erased).toMatchObject({ status: 'PROCESSED', amount: 700, pixKey: { key: expect.stringMatching(/^hash:/) } })
    expect(erased).not.toHaveProperty('receiver')
    expect(await requestWithdrawal(service, body)).toMatchObject({ status: 201, body: { id: sent } })
    expect(await fetchWithdrawal(service, waiting)).toMatchObject({ status: 'PENDING', pixKey: { key: document } })
    expect((await act(service, waiting, 'cancel')).status).toBe(200)
    await eraseOn(retentionDays + 2)
    expect(await exportByCommand()).toMatchObject({
      withdrawals: expect.arrayContaining([expect.objectContaining({ id: waiting })]),
    })
    expect((await fetchWithdrawal(service, waiting)).pixKey.key).toMatch(/^hash:/)
  })

  it('the payer of an unattributed payment is erased once it, its disputes and its transaction are closed', async () => {
    const payerOf = async (endToEnd: string) => (await findSuspenseOf(service, endToEnd))?.payer
    const [suspended, returned, disputed, attributed] = [
      await payUnattributed(service, { amount: 1_501 }),
      await payUnattributed(service, { amount: 1_502 }),
      await payUnattributed(service, { amount: 1_503 }),
      await payUnattributed(service, { amount: 1_504 }),
    ]
    for (const { suspended: one } of [returned, disputed]) await cli.runJson(['suspense', 'return', one.id])
    await cli.runJson(['suspense', 'match', attributed.suspended.id, '--transaction', attributed.id])
    const reference = await dispute(service, attributed.endToEnd)
    await pollUntil(service, attributed.id, 'BLOCKED')
    for (const { endToEnd } of [returned, disputed]) await untilReturned(service, endToEnd)
    // The money has gone back, but the acquirer has not reported the end of the dispute yet.
    const { id: suspendedId, acquirer } = disputed.suspended
    await service.db.query(sql`
      insert into unattributed_disputes (acquirer, reference, end_to_end, amount, acquirer_state, opened_at, changed_at)
      values (${acquirer}, ${suspendedId}, ${disputed.endToEnd}, 1503, 'accepted', ${new Date()}, ${new Date()})`)
    await eraseOn(retentionDays - 1)
    expect(await payerOf(returned.endToEnd)).not.toBeNull()
    for (let times = 0; times < 2; times += 1) await eraseOn(retentionDays + 1)
    const kept = await Promise.all(
      [suspended, returned, disputed, attributed].map(async ({ endToEnd }) => (await payerOf(endToEnd)) !== null),
    )
    expect(kept).toEqual([true, false, true, true])
    await decide(service, reference, 'reject')
    await pollUntil(service, attributed.id, 'PAID')
    await service.db.query(
      sql`update unattributed_disputes set acquirer_state = 'returned' where reference = ${suspendedId}`,
    )
    await eraseOn(retentionDays + 2)
    expect(await Promise.all([disputed, attributed].map(async ({ endToEnd }) => await payerOf(endToEnd)))).toEqual([
      null,
      null,
    ])
    expect(await payerOf(suspended.endToEnd)).not.toBeNull()
  })
})
