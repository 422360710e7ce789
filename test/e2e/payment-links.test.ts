import { createHash, randomUUID } from 'node:crypto'
import { PNG } from 'pngjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import type { LinkDetailResponse, LinkPaymentResponse } from '../../src/links/schema.ts'
import { countNames } from '../../src/transactions/list/name-store.ts'
import { verifyNames } from '../../src/transactions/list/names.ts'
import { eventsOf, fetchTransaction, openQuietBank, payAt, sendCallback, untilStatus } from '../support/payments.ts'
import { addTestClient } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'
import { balancesOf, expectLedgerConsistent } from '../support/withdrawals.ts'

let service: TestService
let receiver: TestReceiver
let owner: Browser
beforeAll(async () => {
  service = await startTestService({ environment: { WEBHOOK_ALLOW_PRIVATE: 'true', TOKEN_LIFETIME_SECONDS: '86400' } })
  receiver = await startTestReceiver()
  const merchantId = await findSandboxMerchant(service)
  owner = await openBrowser(service, { email: await inviteUser(service, { role: 'owner', merchantId }), password })
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => {
  await receiver.stop()
  await service.stop()
})

const input = {
  title: 'Café torrado 500 g',
  amount: 2_590,
  needsCustomer: false,
  isEnabled: true,
  hasStaticCode: false,
}
const create = async (more: object = {}) => {
  const body = { id: randomUUID(), ...input, ...more }
  return await owner.call<LinkDetailResponse>('/dashboard/api/link', { body })
}
const made = async (more: object = {}) => {
  const { status, body, text } = await create(more)
  expect(status, text).toBe(201)
  return body
}
const change = async ({ id, changedAt }: LinkDetailResponse, more: object) =>
  await owner.call(`/dashboard/api/link/${id}`, { method: 'PUT', body: { ...input, changedAt, ...more } })
const detail = async (id: string) => (await owner.call<LinkDetailResponse>(`/dashboard/api/link/${id}`)).body
const paymentsOf = async (id: string) =>
  (await owner.call<{ total: number; data: LinkPaymentResponse[] }>(`/dashboard/api/link/${id}/payment`)).body

const open = async (url: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(url, { headers: { 'accept-language': 'en', ...headers } })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}
/** Sends the form of the page, as a browser does. */
const send = async (url: string, fields: Record<string, string> = {}, address = '') => {
  const form = { request: randomUUID(), ...fields }
  const answer = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams(form),
    headers: { 'accept-language': 'en', ...(address && { 'x-forwarded-for': address }) },
  })
  return { status: answer.status, location: answer.headers.get('location') ?? '', text: await answer.text() }
}

describe('a payment link', () => {
  it('is paid any number of times, and counts its payments', async () => {
    const link = await made({ webhookUrl: receiver.url })
    const page = await open(link.url)
    expect(page.text).toMatch(/Café torrado 500 g[\s\S]*R\$25\.90[\s\S]*Pay with Pix/)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.text.length).toBeLessThan(30_000)
    for (const round of [1, 2]) {
      const { status, location } = await send(link.url)
      expect(status).toBe(303)
      const payment = await open(new URL(location, link.url).href)
      const uri = /<code id="code">([^<]+)</.exec(payment.text)?.[1] ?? ''
      await payAt(service, uri)
      await eventually(async () => (await detail(link.id)).paymentCount === round)
    }
    expect(await detail(link.id)).toMatchObject({ paymentCount: 2, paymentAmount: 5_180, reserved: 2, state: 'active' })
    const { total, data } = await paymentsOf(link.id)
    expect(total).toBe(2)
    const { body: record } = await owner.call(`/dashboard/api/record/${data[0]?.id}`)
    expect(record.link).toEqual({ id: link.id, title: 'Café torrado 500 g' })
    expect(data.map(({ status, amount, isStatic }) => [status, amount, isStatic])).toEqual([
      ['PAID', 2_590, false],
      ['PAID', 2_590, false],
    ])
    const other = await made()
    await send(other.url)
    const listed = async (browser: Browser, linkId: string) => {
      const list = await browser.call<{ data: { id: string }[] }>('/dashboard/api/list/transaction', {
        body: { linkId },
      })
      const sums = await browser.call('/dashboard/api/list/transaction/summary', { body: { linkId } })
      return [list.status, list.body.data?.map(({ id }) => id).sort(), sums.body.count, sums.body.settled]
    }
    const ids = data.map(({ id }) => id).sort()
    expect(await listed(owner, link.id)).toEqual([200, ids, 2, 5_180])
    expect(await listed(owner, other.id)).toEqual([200, [expect.any(String)], 1, 0])
    expect((await listed(owner, 'anything'))[0]).toBe(422)
    const { merchantId } = await addTestClient(service)
    const admin = await openBrowser(service, { email: await inviteUser(service, { role: 'admin' }), password })
    expect(await listed(admin, link.id)).toEqual([200, ids, 2, 5_180])
    const foreign = { email: await inviteUser(service, { role: 'owner', merchantId }), password }
    expect(await listed(await openBrowser(service, foreign), link.id)).toEqual([200, [], 0, 0])
    const transaction = await fetchTransaction(service, data[0]?.id ?? '')
    expect(transaction).toMatchObject({ status: 'PAID', metadata: { paymentLinkId: link.id } })
  })

  it('looks like its merchant’s payment page, also once it takes no payments', async () => {
    const link = await made()
    const read = async () => await open(link.url)
    expect((await read()).text).not.toContain('class="logo"')
    expect((await fetch(`${link.url}/logo.png`)).status).toBe(404)
    const logo = PNG.sync.write(new PNG({ width: 40, height: 20 })).toString('base64')
    const plain = { embedOrigins: [], showsItems: false, changedAt: null }
    const branding = { ...plain, color: '#FFCC00', shopUrl: 'https://loja.example', logo }
    const { status } = await owner.call('/dashboard/api/branding', { method: 'PUT', body: branding })
    expect(status).toBe(200)
    const active = await read()
    expect(active.text).toMatch(/Your bank’s app will show: <b>Loja Guichê Simulada Ltda</)
    await change(link, { isEnabled: false })
    for (const { text, headers } of [active, await read()]) {
      expect(text).toContain('<a href="https://loja.example/" target="_top">')
      const [, colors = ''] = /<style>(:root\{--accent:[^<]*#ffcc00[^<]*)<\/style>/.exec(text) ?? []
      // Without its hash, browsers would ignore the colors.
      expect(headers.get('content-security-policy')).toContain(createHash('sha256').update(colors).digest('base64'))
      const [, path = ''] = /<img class="logo" src="([^"]+)"/.exec(text) ?? []
      const image = await fetch(new URL(path, link.url))
      expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png'])
    }
  })

  it('creates one charge when its form is sent twice', async () => {
    const link = await made()
    const request = randomUUID()
    const answers = await Promise.all([send(link.url, { request }), send(link.url, { request })])
    expect(new Set(answers.map(({ location }) => location)).size).toBe(1)
    expect((await detail(link.id)).reserved).toBe(1)
  })

  it('leads to the charge already made when its form is sent again after the link was changed', async () => {
    const link = await made()
    const request = randomUUID()
    const { location } = await send(link.url, { request })
    expect((await change(link, { title: 'Another name', webhookUrl: receiver.url, stock: 5 })).status).toBe(200)
    expect(await send(link.url, { request })).toMatchObject({ status: 303, location })
    expect((await detail(link.id)).reserved).toBe(1)
  })

  it('with an open amount accepts what is between its limits, and says what is wrong', async () => {
    const link = await made({ amount: null, amountMin: 1_000, amountMax: 500_000, needsCustomer: true })
    const customer = { name: 'Maria da Silva', email: 'maria@example.com', document: '529.982.247-25' }
    // No numeric keypad: a CNPJ may contain letters.
    expect((await open(link.url)).text).toMatch(/name="document"[^>]* autocapitalize="characters"/)
    for (const amount of ['', '9,99', '5.000,01', '1,234.00', '10,001', '-20', '1e3'])
      expect((await send(link.url, { ...customer, amount })).text).toContain('Check the amount.')
    const wrong = await send(link.url, { amount: '10', name: '<b>', email: 'maria', document: '529.982.247-24' })
    expect(wrong.status).toBe(422)
    expect(wrong.text).toMatch(/&#60;b&#62;[\s\S]*Enter your name\.[\s\S]*Check the email[\s\S]*Check the CPF/)
    // The first contains a NUL character, which PostgreSQL would refuse only after the acquirer has created the charge.
    for (const email of ['a\0b@c.de', 'a\x07b@c.de', `${'a'.repeat(250)}@c.de`, 'a,b@c.de']) {
      const refused = await send(link.url, { ...customer, amount: '10', email })
      expect([refused.status, refused.text.includes('Check the email')]).toEqual([422, true])
    }
    expect((await send(link.url, { ...customer, amount: '10', name: 'a'.repeat(256) })).status).toBe(422)
    expect((await send(link.url, { ...customer, amount: '1.234,56' })).status).toBe(303)
    const [payment] = (await paymentsOf(link.id)).data
    expect(payment).toMatchObject({ amount: 123_456, payerName: 'Maria da Silva', status: 'PIX_QRCODE_GENERATED' })
    expect(await fetchTransaction(service, payment?.id ?? '')).toMatchObject({
      customer: { email: 'maria@example.com', document: { value: '52998224725' } },
    })
  })

  it('sells no more than its stock to customers who come at once, and sells again what nobody paid', async () => {
    const link = await made({ stock: 3 })
    const answers = await Promise.all(Array.from({ length: 8 }, async () => await send(link.url)))
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(3)
    expect(answers.filter(({ status, text }) => status === 410 && text.includes('Sold out'))).toHaveLength(5)
    expect(await detail(link.id)).toMatchObject({ reserved: 3, state: 'sold_out', paymentCount: 0 })
    expect((await open(link.url)).text).toContain('Sold out')
    const [first] = (await paymentsOf(link.id)).data
    await payAt(service, (await fetchTransaction(service, first?.id ?? '')).pixResponse?.uri ?? '')
    await untilStatus(service, first?.id ?? '', 'PAID')
    // Beyond the code's expiry and the check after it.
    service.clock.advance(21 * 60_000)
    await service.runJob('transactions.check')
    await eventually(async () => (await detail(link.id)).reserved === 1)
    expect((await send(link.url)).status).toBe(303)
  })

  it('gives its last unit to a customer whose form is sent twice at once', async () => {
    const link = await made({ stock: 1 })
    const request = randomUUID()
    // Both wait for the link's row.
    const sent = await service.db.transaction(async (tx) => {
      await tx.query(sql`select id from payment_links where id = ${link.id} for update`)
      const answers = [send(link.url, { request }), send(link.url, { request })]
      await eventually(async () => {
        const [row] = await service.db.query<{ count: number }>(sql`
          select count(*) as count from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%payment_links%'`)
        return row?.count === 2
      })
      return answers
    })
    const answers = await Promise.all(sent)
    expect(answers.map(({ status }) => status)).toEqual([303, 303])
    expect(new Set(answers.map(({ location }) => location)).size).toBe(1)
    expect(await detail(link.id)).toMatchObject({ reserved: 1, state: 'sold_out' })
  })

  it('treats a form whose request was interrupted long ago as a new one', async () => {
    const [first, second] = [await made({ stock: 1 }), await made({ stock: 1 })]
    const request = randomUUID()
    for (const { id } of [first, second]) {
      // The row that remains when a request is interrupted before it calls the acquirer.
      const hash = createHash('sha256').update(JSON.stringify([id, request, { amount: 2_590, customer: null }]))
      const reservedAt = new Date(service.clock.now().getTime() - 11 * 60_000)
      await service.db.query(sql`
        insert into payment_link_charges (merchant_id, link_id, key, created_at)
        select merchant_id, id, ${`link:${hash.digest('hex')}`}, ${reservedAt} from payment_links where id = ${id}`)
    }
    expect((await send(first.url)).status).toBe(303)
    expect(await send(first.url, { request })).toMatchObject({ status: 410, text: expect.stringContaining('Sold out') })
    expect((await send(second.url, { request })).status).toBe(303)
    expect((await send(second.url)).status).toBe(410)
    expect((await paymentsOf(first.id)).total + (await paymentsOf(second.id)).total).toBe(2)
  })

  it('frees what it reserved for a charge that the acquirer refuses', async () => {
    const link = await made({ amount: 4_220_422, stock: 1 })
    for (const _ of [1, 2]) expect((await send(link.url)).text).toContain('The code could not be created')
    expect(await detail(link.id)).toMatchObject({ reserved: 0, state: 'active' })
  })

  it('says in plain words that it is disabled, has expired or does not exist', async () => {
    const expiresAt = new Date(service.clock.now().getTime() + 60_000).toISOString()
    const link = await made({ expiresAt })
    expect((await open(link.url)).status).toBe(200)
    service.clock.advance(60_000)
    for (const answer of [await open(link.url), await send(link.url)])
      expect(answer).toMatchObject({ status: 410, text: expect.stringContaining('This link has expired') })
    expect((await open(link.url, { 'accept-language': 'pt' })).text).toContain('Este link expirou')
    service.clock.advance(1)
    expect((await change(link, { isEnabled: false })).status).toBe(200)
    // This change is based on the link as it was before the change above, and would undo that one.
    const late = await change(link, { title: 'Another name', isEnabled: true })
    expect(late).toMatchObject({ status: 409, body: { code: 'change_not_possible', errors: [{ code: 'changed' }] } })
    expect(await open(link.url)).toMatchObject({ status: 410, text: expect.stringContaining('Link disabled') })
    expect(await open(`${service.baseUrl}/l/nothing-here`)).toMatchObject({ status: 404 })
    expect(await send(`${service.baseUrl}/l/nothing-here`)).toMatchObject({ status: 404 })
  })

  it('is the only one to get a free address that another link requests at the same moment', async () => {
    const links = [await made(), await made()]
    const slug = 'a-free-address'
    // Both wait after they have found it free.
    const changes = await service.db.transaction(async (tx) => {
      await tx.query(sql`update payment_links set slug = ${slug} where id = ${(await made()).id}`)
      const both = links.map(async (link) => await change(link, { slug }))
      await eventually(async () => {
        const [row] = await service.db.query<{ count: number }>(sql`
          select count(*) as count from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%payment_links%'`)
        return row?.count === 2
      })
      await tx.query(sql`update payment_links set slug = 'another-address' where slug = ${slug}`)
      return both
    })
    const answers = await Promise.all(changes)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422])
    expect(answers.find(({ status }) => status === 422)?.body).toMatchObject({
      errors: [{ field: 'slug', code: 'duplicate' }],
    })
  })

  it('is created once when the request is repeated, and an error names each wrong field', async () => {
    const id = randomUUID()
    const [first, second] = [await made({ id, slug: 'cafe-da-ana' }), await made({ id, slug: 'cafe-da-ana' })]
    expect(second).toEqual(first)
    expect(first.url).toBe(`${service.baseUrl}/l/cafe-da-ana`)
    // After a lost answer the user changed the form: the existing link differs from it.
    expect(await create({ id, amount: 6_000, expiresAt: '2027-01-01T00:00:00Z' })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused', errors: [{ field: 'amount' }, { field: 'expiresAt' }] },
    })
    expect(await detail(id)).toEqual(first)
    // The operator's users find a link by its id alone.
    const { merchantId } = await addTestClient(service)
    const outsider = await openBrowser(service, {
      email: await inviteUser(service, { role: 'owner', merchantId }),
      password,
    })
    expect(await outsider.call('/dashboard/api/link', { body: { id, ...input } })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'id', code: 'duplicate' }] },
    })
    const other = randomUUID()
    const atOnce = await Promise.all([2_590, 6_000].map(async (amount) => await create({ id: other, amount })))
    expect(atOnce.map(({ status }) => status).sort()).toEqual([201, 422])
    expect(await create({ slug: 'cafe-da-ana' })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'slug', code: 'duplicate' }] },
    })
    expect(await create({ hasStaticCode: true, stock: 2, expiresAt: '2027-01-01T00:00:00Z' })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'stock' }, { field: 'expiresAt' }] },
    })
    expect(await create({ amount: 0, stock: 0, title: ' ', slug: 'A b' })).toMatchObject({ status: 422 })
    expect(await create({ amount: null, amountMin: 500, amountMax: 400 })).toMatchObject({ status: 422 })
  })
})

describe('a static code', () => {
  it('makes each payment one transaction, however often, and even concurrently, it is notified', async () => {
    const link = await made({ hasStaticCode: true, webhookUrl: receiver.url })
    expect(link.staticQrCode).toMatch(/^data:image\/png/)
    const before = await balancesOf(service)
    const uri = link.staticCode ?? ''
    const { body: first } = await payAt(service, uri)
    const bank = await openQuietBank(service)
    const second = await bank.payQuietly(uri)
    expect(await Promise.all([1, 2, 3].map(async () => await sendCallback(service, { pix: [second] })))).toEqual(
      Array(3).fill(200),
    )
    await eventually(async () => (await detail(link.id)).paymentCount === 2)
    // The payment is reported twice more: by a callback that the inbox does not recognize as a repetition, because its
    // row was deleted, and by the PSP's list of payments.
    await service.db.query(sql`delete from callback_inbox where end_to_end = ${second.endToEndId}`)
    await sendCallback(service, { pix: [second] })
    await service.runJob('transactions.poll')
    await eventually(async () => {
      const [row] = await service.db.query<{ state: string }>(sql`
        select state from callback_inbox where end_to_end = ${second.endToEndId}`)
      return row?.state === 'settled'
    })
    const { data } = await paymentsOf(link.id)
    expect(data).toHaveLength(2)
    expect(data.every(({ isStatic, status, amount }) => isStatic && status === 'PAID' && amount === 2_590)).toBe(true)
    const shown = await Promise.all(data.map(async ({ id }) => await fetchTransaction(service, id)))
    expect(shown.map(({ endToEnd }) => endToEnd).sort()).toEqual([first.endToEndId, second.endToEndId].sort())
    const id = data[0]?.id ?? ''
    expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated', 'transaction.paid'])
    await eventually(
      () => receiver.received.filter(({ body }) => body.includes(id) && body.includes('"PAID"')).length === 1,
    )
    const after = await balancesOf(service)
    expect(after.acquirer).toBe(before.acquirer - 5_180)
    const [{ count } = { count: -1 }] = await service.db.query<{ count: number }>(
      sql`select count(*) as count from suspense_payments`,
    )
    expect(count).toBe(0)
    await bank.close()
  })

  it('makes a payment that is found late a transaction of that moment, so that counted names stay right', async () => {
    const link = await made({ hasStaticCode: true })
    const bank = await openQuietBank(service)
    const { endToEndId } = await bank.payQuietly(link.staticCode ?? '')
    await bank.close()
    service.clock.advance(600_000)
    await countNames(service.db, await findSandboxMerchant(service), service.clock.now())
    await sendCallback(service, { pix: [{ endToEndId }] })
    await eventually(async () => (await detail(link.id)).paymentCount === 1)
    expect(await verifyNames(service.db, { error() {} })).toEqual([])
  })

  it('without an amount takes what the payer chooses, also while its link is disabled', async () => {
    const link = await made({ amount: null, hasStaticCode: true })
    await change(link, { amount: null, hasStaticCode: false, isEnabled: false })
    const uri = (await detail(link.id)).staticCode ?? ''
    expect((await payAt(service, uri)).body).toMatchObject({ code: 'payment_refused' })
    await payAt(service, uri, { amount: 777 })
    await eventually(async () => (await detail(link.id)).paymentAmount === 777)
  })

  it('keeps its amount, and the payment of a code that no link has stays in suspense', async () => {
    const link = await made({ hasStaticCode: true })
    const changed = await change(link, { amount: 100, hasStaticCode: true })
    expect(changed).toMatchObject({ status: 422, body: { errors: [{ field: 'amount', code: 'not_offered' }] } })
    await service.db.query(sql`update payment_links set static_txid = 'other' where id = ${link.id}`)
    const { body } = await payAt(service, link.staticCode ?? '')
    await eventually(async () => {
      const rows = await service.db.query(sql`
        select id from suspense_payments where end_to_end = ${body.endToEndId} and status = 'held'`)
      return rows.length === 1
    })
    expect((await detail(link.id)).paymentCount).toBe(0)
  })
})
