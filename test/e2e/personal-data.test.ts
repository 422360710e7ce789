import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadSecretKey } from '../../src/auth/secret-key.ts'
import { raw, sql } from '../../src/db/sql.ts'
import { exportPerson } from '../../src/privacy/person.ts'
import { privacyJobs } from '../../src/privacy/retention.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'

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

/** Tables of the service, not of the simulated bank, in which a text is. */
async function placesOf(text: string): Promise<string[]> {
  const tables = await service.db.query<{ name: string }>(sql`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'graphile_worker')`)
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await service.db.query(sql`select 1 from ${raw(name)} t where t::text ilike ${`%${text}%`} limit 1`)
    if (rows.length > 0) found.push(name)
  }
  return found
}

type Exported = { transactions: { id: string; customer: object | null }[]; withdrawals: { id: string }[] }
const exportByCommand = async () => await cli.runJson<Exported>(['customer', 'export', '--document', person.document])
const erase = ['customer', 'erase', '--document', person.document, '--confirm', document]

describe('a person', () => {
  it('is exported with all that is kept, and that it was read is in the audit log', async () => {
    const exported = await exportByCommand()
    expect(exported.transactions).toMatchObject([
      { id: paid, amount: 2590, status: 'PAID', customer: { email: person.email }, metadata: order.metadata, payer },
    ])
    const [entry] = await cli.runJson<{ action: string; details: object }[]>(['audit', 'list', '--last', '1'])
    expect(entry).toMatchObject({ action: 'customer.export', details: { transactions: 1 } })
    expect(JSON.stringify(entry)).not.toContain(document)
  })

  it('is not erased while something of theirs is under way, nor by mistake', async () => {
    const open = await charge(service, { amount: 700, customer: person })
    await cli.expectFailure(erase, /still open \(/)
    await cli.expectFailure([...erase.slice(0, -1), '11144477735'], /--confirm names another document/)
    expect((await exportByCommand()).transactions).toHaveLength(2)
    expect((await payAt(service, open.uri, { payer })).status).toBe(200)
    await untilStatus(service, open.id, 'PAID')
  })

  it('is erased wherever they are kept, and the money stays', async () => {
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
    for (const field of ['customer', 'payer', 'metadata']) expect(shown.body).not.toHaveProperty(field)
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

it('leaves others as they are', async () => {
  const other = { ...person, name: 'Outra Pessoa', document: '111.444.777-35', email: 'outra@example.com' }
  const { id } = await charge(service, { amount: 900, customer: other, idempotencyKey: randomUUID() })
  await cli.runJson(erase)
  expect((await service.call(`/transaction/${id}`)).body).toMatchObject({ customer: { name: 'Outra Pessoa' } })
})

it('is erased by age where a retention is set: what is older, and not what is open', async () => {
  const young = await charge(service, { amount: 1100, customer: person, metadata: { order: 1 } })
  const old = await charge(service, { amount: 1200, customer: person })
  const open = await charge(service, { amount: 1300, customer: person })
  expect((await payAt(service, old.uri, { payer })).status).toBe(200)
  await untilStatus(service, old.id, 'PAID')
  await service.db.query(sql`update clients set created_at = created_at - interval '3 years'`)
  await service.db.query(
    sql`update transactions set created_at = created_at - interval '2 years' where id in (${old.id}, ${open.id})`,
  )
  const { key } = await loadSecretKey(service.db, null)
  const run = privacyJobs({ db: service.db, clock: { now: () => new Date() }, key, personalDataDays: 365 })[
    'privacy.erase-old'
  ]
  for (let times = 0; times < 2; times += 1) await run?.({}, new AbortController().signal)
  const customerOf = async (id: string) =>
    (await service.call<{ customer?: object }>(`/transaction/${id}`)).body.customer !== undefined
  expect(await Promise.all([young, old, open].map(({ id }) => customerOf(id)))).toEqual([true, false, true])
  const found = await exportByCommand()
  expect(found.transactions.map(({ id }) => id)).toContain(old.id)
  // Also after SECRET_KEY was replaced.
  const replaced = { current: randomBytes(32), former: [key.current] }
  const again = await exportPerson(
    { db: service.db, clock: { now: () => new Date() }, key: replaced },
    { document, by: 'cli:test' },
  )
  expect((again.transactions as { id: string }[]).map(({ id }) => id)).toContain(old.id)
})

it('is exported and erased at the dashboard by an admin alone, who types the document twice', async () => {
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
