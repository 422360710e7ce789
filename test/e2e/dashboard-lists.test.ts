import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { setFeeRule } from '../../src/ledger/fees.ts'
import { createSpreadsheet } from '../../src/reports/spreadsheet.ts'
import { setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { charge, chargeMany, payAt, untilStatus } from '../support/payments.ts'
import { fetchToken, startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually, startTestReceiver } from '../support/webhooks.ts'
import { act, fund, untilWithdrawal, withdraw } from '../support/withdrawals.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400', WEBHOOK_ALLOW_PRIVATE: 'true' } })
})
afterAll(async () => {
  await service.stop()
})

async function browserOf(role: string, ofMerchant: string | null = null): Promise<Browser> {
  service.clock.advance(10 * 60_000)
  const email = await inviteUser(service, { role, merchantId: ofMerchant })
  return await openBrowser(service, { email, password })
}

describe('the lists', () => {
  type Listed = {
    next: string | null
    previous: string | null
    data: { id: string; clientId: string; createdAt: string; amount: number; refunded: number }[]
  }
  type Summary = {
    counts: { status: string; count: number }[]
    isMore: boolean
    count: number
    amount: number
    settled: number
    fees: number
    refunded: number
  }

  const idsOf = (page: Listed | undefined) => page?.data.map(({ id }) => id)

  it('show all merchants to the operator, and to a merchant only its own', async () => {
    const admin = await browserOf('admin')
    const made = await admin.call<{ merchantId: string; clientId: string; clientSecret: string }>(
      '/dashboard/api/client',
      {
        body: { name: 'Loja Gama', scopes: ['transaction.read', 'transaction.write'] },
      },
    )
    const token = await fetchToken(service.baseUrl, made.body)
    const body = { amount: 4321, paymentMethod: 'PIX', externalCode: 'order-of-gama', pix: {} }
    const created = await service.call<{ id: string }>('/transaction', { token, body })
    expect(created.status, created.text).toBe(201)
    const own = await chargeMany(service, 2)

    const read = async (browser: Browser, filters: object = {}) =>
      (await browser.call<Listed>('/dashboard/api/list/transaction', { body: filters })).body
    const all = await read(admin)
    expect(
      all.data
        .slice(0, 3)
        .map(({ id }) => id)
        .sort(),
    ).toEqual([created.body.id, ...own.map(({ id }) => id)].sort())
    expect(all.data.find(({ id }) => id === created.body.id)).toMatchObject({
      clientName: 'Loja Gama',
      amount: 4321,
      refunded: 0,
    })
    // A filter for open codes reads only the merchants that have some, from the first day with one.
    const open = await read(admin, { status: ['PENDING', 'PIX_QRCODE_GENERATED'] })
    expect(idsOf(open)).toEqual(idsOf(all))
    const gama = await browserOf('owner', made.body.merchantId)
    // Naming another merchant does not help.
    for (const filters of [{}, { clientId: service.sandbox.clientId }]) {
      expect(idsOf(await read(gama, filters)), JSON.stringify(filters)).toEqual([created.body.id])
    }
    expect((await read(admin, { clientId: made.body.clientId })).data.map(({ id }) => id)).toEqual([created.body.id])
    const summary = await gama.call<Summary>('/dashboard/api/list/transaction/summary', { body: {} })
    expect(summary.body).toMatchObject({
      counts: [{ status: 'PIX_QRCODE_GENERATED', count: 1 }],
      count: 1,
      amount: 4321,
      settled: 0,
    })
    const refused = await admin.call('/dashboard/api/list/transaction', { body: { customerName: 'Maria' } })
    expect([refused.status, refused.body.code]).toEqual([422, 'validation_failed'])
    expect((await admin.call('/dashboard/api/list/transaction', { body: { sort: 'highest' } })).status).toBe(422)
    expect((await admin.call('/dashboard/api/list/withdrawal', { body: {} })).body).toEqual({
      next: null,
      previous: null,
      data: [],
    })
  })

  it('go through all pages in each order, and back', async () => {
    const support = await browserOf('support')
    for (let round = 0; round < 5; round += 1) {
      service.clock.advance(1)
      await Promise.all(Array.from({ length: 9 }, async (_, index) => await charge(service, { amount: 1_000 + index })))
    }
    const { clientId } = service.sandbox
    for (const filters of [
      {},
      { sort: 'oldest' },
      { clientId },
      { clientId, sort: 'highest' },
      { clientId, sort: 'lowest' },
    ]) {
      const read = async (place: object) =>
        (await support.call<Listed>('/dashboard/api/list/transaction', { body: { ...filters, ...place } })).body
      const pages: Listed[] = [await read({})]
      for (let next = pages[0]?.next; next; next = pages.at(-1)?.next) pages.push(await read({ after: next }))
      const label = JSON.stringify(filters)
      const ids = pages.flatMap(({ data }) => data.map(({ id }) => id))
      expect(pages.length, label).toBeGreaterThan(2)
      expect(new Set(ids).size, label).toBe(ids.length)
      const isByAmount = filters.sort === 'highest' || filters.sort === 'lowest'
      const isAscending = filters.sort === 'oldest' || filters.sort === 'lowest'
      const sorted = pages.flatMap(({ data }) =>
        data.map(({ amount, createdAt }) => (isByAmount ? amount : Date.parse(createdAt))),
      )
      expect(new Set(sorted).size, label).toBeGreaterThan(4)
      expect(sorted, label).toEqual(sorted.toSorted((a, b) => (isAscending ? a - b : b - a)))
      const back = await read({ before: pages[2]?.previous })
      expect(idsOf(back), label).toEqual(idsOf(pages[1]))
      expect(idsOf(await read({ before: back.previous })), label).toEqual(idsOf(pages[0]))
    }
  })

  it('sum what the filters leave: the transactions, their fees and their refunds', async () => {
    const admin = await browserOf('admin')
    const [first, second] = await chargeMany(service, 2)
    for (const one of [first, second]) {
      await payAt(service, one?.uri ?? '')
      await untilStatus(service, one?.id ?? '', 'PAID')
    }
    const refund = await service.call(`/transaction/${first?.id}/refund`, {
      body: { amount: 400, idempotencyKey: randomUUID() },
    })
    expect(refund.status, refund.text).toBe(201)
    await eventually(async () => {
      const { body } = await service.call<{ amountRefunded: number }>(`/transaction/${first?.id}`)
      return body.amountRefunded === 400
    })
    const day = (shift: number) =>
      new Date(service.clock.now().getTime() + shift * 86_400_000).toISOString().slice(0, 10)
    for (const filters of [{}, { minAmount: 1 }, { from: day(-30), until: day(1) }, { status: ['PAID'] }]) {
      const { body } = await admin.call<Summary>('/dashboard/api/list/transaction/summary', { body: filters })
      const [row] = await service.db.query<Omit<Summary, 'counts' | 'isMore'>>(sql`
        select count(*) as count, sum(amount)::bigint as amount, coalesce(sum(amount_paid), 0)::bigint as settled,
          coalesce(sum(fee_amount), 0)::bigint as fees,
          (select coalesce(sum(amount), 0)::bigint from refunds where status = 'REFUNDED') as refunded
        from transactions where ${'status' in filters} is false or status = 'PAID'`)
      expect(body, JSON.stringify(filters)).toMatchObject({ ...row, isMore: false })
      expect(body.refunded).toBe(400)
      const total = await service.db.query<{ status: string; count: number }>(sql`
        select status, count(*) as count from transactions group by status`)
      expect(new Map(body.counts.map(({ status, count }) => [status, count]))).toEqual(
        new Map(total.map(({ status, count }) => [status, count])),
      )
    }
    const none = await admin.call<Summary>('/dashboard/api/list/transaction/summary', { body: { from: day(2) } })
    expect(none.body).toMatchObject({ counts: [], count: 0, amount: 0, refunded: 0 })
    for (const from of ['0999-12-31', '1000-01-01'])
      expect((await admin.call('/dashboard/api/list/transaction/summary', { body: { from } })).status).toBe(
        from === '0999-12-31' ? 422 : 200,
      )
    const partly = await admin.call<Listed>('/dashboard/api/list/transaction', { body: { id: first?.id } })
    expect(partly.body.data).toMatchObject([{ status: 'PAID', refunded: 400 }])
  })

  it('sum the fees of withdrawals, without those that were released', async () => {
    const merchantId = await findSandboxMerchant(service)
    const by = { actor: 'cli:test' }
    const rule = { fixed: 70, basis_points: 0, minimum: 0, maximum: null, returns_payment_fee: false }
    await setFeeRule(service, { merchantId, operation: 'withdrawal', rule, by })
    await fund(service, 10_000)
    await untilWithdrawal(service, await withdraw(service, { amount: 1_000, externalCode: 'with-fees' }), 'PROCESSED')
    await setWithdrawalLimits(service, { merchantId, by, approvalAbove: 1_000 })
    const canceled = await withdraw(service, { amount: 2_000, externalCode: 'with-fees' })
    await setWithdrawalLimits(service, { merchantId, by, approvalAbove: null })
    await act(service, canceled, 'cancel')
    const sums = { body: { externalCode: 'with-fees' } }
    const { body } = await (await browserOf('admin')).call<Summary>('/dashboard/api/list/withdrawal/summary', sums)
    expect(body).toMatchObject({ count: 2, amount: 3_000, settled: 1_000, fees: 70 })
    await setFeeRule(service, { merchantId, operation: 'withdrawal', rule: { ...rule, fixed: 0 }, by })
  })

  it('show the webhooks of all merchants to the operator, newest first, and to a merchant only its own', async () => {
    type Item = { at: string; clientId: string; eventId: string; type: string; state: string; url: string }
    type Deliveries = { next: string | null; previous: string | null; searchedUntil: string | null; data: Item[] }
    let status = 500
    const receiver = await startTestReceiver((response) => response.writeHead(status).end())
    const support = await browserOf('support')
    const read = async (browser: Browser, filters: object = {}) => {
      const answer = await browser.call<Deliveries>('/dashboard/api/list/delivery', { body: filters })
      expect(answer.status, answer.text).toBe(200)
      return answer.body
    }
    const made = await (await browserOf('admin')).call<{ merchantId: string; clientId: string; clientSecret: string }>(
      '/dashboard/api/client',
      { body: { name: 'Loja Delta', scopes: ['transaction.read', 'transaction.write'] } },
    )
    const other = made.body
    await charge(service, { webhookUrl: receiver.url })
    const failing = async () => (await read(support, { tab: 'failing' })).data
    await eventually(async () => (await failing()).length === 1)
    status = 204
    await Promise.all(Array.from({ length: 24 }, async () => await charge(service, { webhookUrl: receiver.url })))
    const token = await fetchToken(service.baseUrl, other)
    const body = { amount: 4321, paymentMethod: 'PIX', pix: {}, webhookUrl: receiver.url }
    expect((await service.call('/transaction', { token, body })).status).toBe(201)
    const whole: Item[] = []
    await eventually(async () => {
      whole.length = 0
      for (let after: string | null | undefined; after !== null; ) {
        const page: Deliveries = await read(support, after === undefined ? {} : { after })
        whole.push(...page.data)
        after = page.next
      }
      return whole.filter(({ state }) => state === 'delivered').length === 25
    })
    expect(whole).toHaveLength(26)
    expect(new Set(whole.map(({ eventId }) => eventId)).size).toBe(26)
    expect(whole.map(({ at }) => at)).toEqual(
      whole
        .map(({ at }) => at)
        .sort()
        .reverse(),
    )
    expect(new Set(whole.map(({ clientId }) => clientId))).toEqual(new Set([service.sandbox.clientId, other.clientId]))
    const second = await read(support, { after: (await read(support)).next })
    expect((await read(support, { before: second.previous })).data).toEqual(whole.slice(0, 20))

    expect((await read(support, { tab: 'delivered' })).data).toHaveLength(20)
    expect(await failing()).toMatchObject([
      { type: 'transaction.pix_qrcode_generated', state: 'pending', lastStatus: 500 },
    ])
    for (const none of [{ tab: 'given_up' }, { type: 'withdrawal.failed' }, { receiver: 'https://nobody.example' }])
      expect(await read(support, none)).toEqual({ next: null, previous: null, searchedUntil: null, data: [] })
    const origin = new URL(receiver.url).origin
    expect((await read(support, { tab: 'failing', receiver: origin })).data).toHaveLength(1)
    const summary = async (browser: Browser) =>
      (await browser.call('/dashboard/api/list/delivery/summary', { body: {} })).body
    expect(await summary(support)).toMatchObject({
      counts: [
        { status: 'waiting', count: 0 },
        { status: 'failing', count: 1 },
        { status: 'given_up', count: 0 },
      ],
      worst: [{ clientId: service.sandbox.clientId, failing: 1 }],
    })
    // A merchant sees its own, whichever it names.
    const owner = await browserOf('owner', other.merchantId)
    for (const filters of [{}, { clientId: service.sandbox.clientId }])
      expect((await read(owner, filters)).data).toMatchObject([{ clientId: other.clientId }])
    expect((await read(owner, { tab: 'failing' })).data).toEqual([])
    expect(await summary(owner)).toMatchObject({ counts: [{ count: 0 }, { count: 0 }, { count: 0 }], worst: [] })

    // Where a merchant has many, a page reads the latest, says how far it searched, and the next continues there.
    await service.db.query(sql`
      with old as (
        update webhook_deliveries set state = 'gone', receiver = 'https://old.example', created_at = created_at - interval '1 day'
        where id = (select id from webhook_deliveries where state = 'delivered' limit 1)
        returning *
      )
      insert into webhook_deliveries
        (merchant_id, id, record_id, sequence, url, receiver, state, next_attempt_at, created_at, attempts)
      select merchant_id, gen_random_uuid(), record_id, sequence, url, ${origin}, 'exhausted', next_attempt_at, created_at + n * interval '1 minute', 12
      from old, generate_series(1, 300) n`)
    const rare = { tab: 'given_up', receiver: 'https://old.example' }
    let page = await read(support, rare)
    expect(page).toMatchObject({ data: [], searchedUntil: expect.any(String), next: expect.any(String) })
    for (let pages = 0; page.data.length === 0 && pages < 5; pages += 1)
      page = await read(support, { ...rare, after: page.next })
    expect(page.data).toMatchObject([{ state: 'gone' }])
    await receiver.stop()
  })

  it('take any day of the calendar, also the last one that a form accepts', async () => {
    const support = await browserOf('support')
    const days = { from: '1000-01-01', until: '9999-12-31' }
    const lists = ['transaction', 'transaction/summary', 'withdrawal', 'withdrawal/summary', 'dispute', 'delivery']
    for (const list of lists) {
      const read = async (body: object) => await support.call(`/dashboard/api/list/${list}`, { body })
      expect((await read(days)).status, list).toBe(200)
      const shown = async (body: object) => ({ ...(await read(body)).body, now: null })
      // Between the two answers a charge may expire.
      await eventually(async () => isDeepStrictEqual(await shown(days), await shown({})))
    }
  })

  it('keep named filters of each user, without personal data', async () => {
    const [ana, bruno] = [await browserOf('support'), await browserOf('support')]
    const save = async (query: string, { by = ana, name = ' Pagas ' } = {}) =>
      await by.call<{ id: string }>('/dashboard/api/saved-view', { body: { screen: 'transactions', name, query } })
    const first = await save('status=PAID')
    const again = await save('status=PAID&period=today')
    expect([first.status, again.status, again.body.id]).toEqual([201, 201, first.body.id])
    expect((await save('customerName=Maria')).status).toBe(422)
    const list = async (browser: Browser) =>
      (await browser.call<{ data: object[] }>('/dashboard/api/saved-view?screen=transactions')).body.data
    expect(await list(ana)).toEqual([{ id: first.body.id, name: 'Pagas', query: 'status=PAID&period=today' }])
    expect(await list(bruno)).toEqual([])
    const remove = async (browser: Browser) =>
      (await browser.call(`/dashboard/api/saved-view/${first.body.id}`, { method: 'DELETE' })).status
    expect([await remove(bruno), await remove(ana), await list(ana)]).toEqual([404, 204, []])
    // There are fifty at most, and each can still be replaced.
    const names = Array.from({ length: 51 }, (_, index) => `View ${index}`)
    const statuses = []
    for (const name of [...names, 'View 7']) statuses.push((await save('status=PAID', { by: bruno, name })).status)
    expect(statuses).toEqual([...Array(50).fill(201), 422, 201])
  })
})

describe('a search', () => {
  it('finds the transactions behind newer withdrawals for a person who may not see withdrawals', async () => {
    const { id, uri } = await charge(service, { amount: 5000, externalCode: 'shared-code' })
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    service.clock.advance(60_000)
    for (let count = 0; count < 20; count += 1) await withdraw(service, { amount: 100, externalCode: 'shared-code' })
    const find = async (role: string) => {
      const browser = await browserOf(role, await findSandboxMerchant(service))
      const { body } = await browser.call<{ records: { id: string; type: string }[] }>('/dashboard/api/search', {
        body: { text: 'shared-code' },
      })
      return body.records
    }
    expect((await find('owner')).filter(({ type }) => type === 'withdrawal')).toHaveLength(20)
    expect(await find('developer')).toEqual([expect.objectContaining({ type: 'transaction', id })])
  })
})

describe('a search by name', () => {
  it('says that it read only the newest transactions, of all merchants or of one', async () => {
    const support = await browserOf('support')
    const { clientId } = service.sandbox
    const [clients] = await service.db.query<{ count: number }>(sql`select count(*) as count from clients`)
    const limitsWith = async (transactions: number) => {
      await service.db.query(sql`
        insert into customer_names_counted (merchant_id, until, transactions)
        select merchant_id, '-infinity', ${transactions} from clients where client_id = ${clientId}
        on conflict (merchant_id) do update set transactions = excluded.transactions`)
      const areLimited = async (more: object) =>
        (
          await support.call<{ leavesOutOlderNames: boolean }>('/dashboard/api/search', {
            body: { text: 'maria silva', ...more },
          })
        ).body.leavesOutOlderNames
      return [await areLimited({}), await areLimited({ clientId })]
    }
    const share = Math.floor(300_000 / (clients?.count ?? 1))
    expect(await limitsWith(share)).toEqual([false, false])
    expect(await limitsWith(share + 1)).toEqual([true, share === 300_000])
    expect(await limitsWith(300_001)).toEqual([true, true])
    // Merchants with fewer than 1,000 transactions are not counted. Together they may have more than a search reads.
    const estimate = async (transactions: number) =>
      await service.db.query(sql`
        select pg_restore_relation_stats(
          'schemaname', 'public', 'relname', 'transactions', 'reltuples', ${transactions}::real)`)
    await estimate(300_001)
    expect(await limitsWith(0)).toEqual([true, false])
    await estimate(300_000)
    expect(await limitsWith(0)).toEqual([false, false])
  })
})

describe('the audit log', () => {
  it('exports what the filters leave, safe in a spreadsheet, to those who may read it', async () => {
    const admin = await browserOf('admin')
    await service.db.query(sql`
      update users set name = ${'=cmd|calc; "x"'} where id = (select id from users order by created_at desc limit 1)`)
    const invited = await admin.call('/dashboard/api/user', {
      body: { email: 'invited@example.com', role: 'support' },
    })
    expect(invited.status).toBe(201)
    const found = await admin.call<{ data: { id: number }[] }>('/dashboard/api/audit?area=user')
    const { status, text } = await admin.call('/dashboard/api/audit.csv?area=user')
    expect(status).toBe(200)
    const [head = '', first = '', ...lines] = text.trimEnd().split('\r\n')
    expect(head).toBe(
      'id,created_at,actor,actor_name,action,client_id,client_name,record_id,user_name,amount_cents,details',
    )
    expect([first, ...lines].map((line) => Number(line.split(',')[0]))).toEqual(found.body.data.map(({ id }) => id))
    expect(first).toContain(`,"'=cmd|calc; ""x""",user.invite,`)
    const sheet = createSpreadsheet('pt')(text).split('\r\n')
    expect(sheet[0]).toMatch(/^\ufeffId;Criado em;Conta;Pessoa;O que aconteceu;/)
    expect(sheet[1]).toMatch(/^\d+;\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d;/)
    expect(sheet[1]).toContain(`;"'=cmd|calc; ""x""";user.invite;`)
    const support = await browserOf('support')
    expect((await support.call('/dashboard/api/audit.csv')).status).toBe(403)
    expect((await admin.call('/dashboard/api/audit.csv?before=1')).status).toBe(422)
  })
})
