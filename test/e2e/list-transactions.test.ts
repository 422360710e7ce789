import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describePages, type Page, recordsOfPages } from '../support/pages.ts'
import { historyColumns, insertRow, transactionHistories, updateRow } from '../support/records.ts'
import { addTestClient, refusedFields, type TestClient } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'

type Item = { id: string; createdAt: string; externalCode?: string; status: string }

let service: TestService
/** The ids of the seeded transactions, by their names. */
const ids: Record<string, string> = {}
let outsider: TestClient

const endToEnd = (name: string) => `E12345678202603021500${name.padEnd(11, '0')}`
const customer = (more: object = {}) => ({ name: 'Ana', document: '12345678909', email: 'ana@example.com', ...more })
const at = (time: string) => new Date(`2026-02-${time}Z`)

/** Transactions that the filters must distinguish. The name is also the externalCode, padded to eight characters. */
const seeds: Record<string, { body?: object; statuses?: readonly string[]; createdAt?: Date; columns?: object }> = {
  'maria-00': {
    body: {
      amount: 1,
      customer: customer({
        name: 'María José ÁVILA',
        document: '529.982.247-25',
        email: 'Maria@Example.COM',
        mobilePhone: '+55 (11) 98765-4321',
      }),
    },
    createdAt: at('10T12:00:00.000'),
  },
  'joao-000': {
    body: {
      amount: 10_000_000,
      customer: customer({ name: 'Joa\u0303o da Silva', document: '12abc34501de35', landline: '+55 (011) 3333-4444' }),
    },
    createdAt: at('10T12:00:00.001'),
  },
  'tokyo-00': {
    body: { amount: 500, customer: customer({ name: '株式会社 ПРИВЕТ Straße' }) },
    createdAt: at('11T02:59:59.999'),
  },
  'no-customer': { body: { amount: 501 }, createdAt: at('11T03:00:00.000') },
  ...Object.fromEntries(
    Object.entries(transactionHistories).map(([status, statuses]) => [
      `is-${status}`,
      {
        statuses,
        createdAt: at('20T00:00:00.000'),
        columns: statuses.includes('PAID')
          ? { amount_paid: 1000, payment_date: at('20T00:00:00'), end_to_end: endToEnd(status) }
          : {},
      },
    ]),
  ),
}

beforeAll(async () => {
  service = await startTestService()
  outsider = await addTestClient(service)
  for (const [
    name,
    { body, statuses = ['PENDING', 'PIX_QRCODE_GENERATED'], createdAt = at('01T00:00:00'), columns },
  ] of Object.entries(seeds)) {
    const created = await service.call<{ id: string }>('/transaction', {
      body: smallestTransaction({ externalCode: name.padEnd(8, '0'), ...body }),
    })
    expect(created.status, created.text).toBe(201)
    ids[name] = created.body.id
    await updateRow(service.db, 'transactions', created.body.id, { ...historyColumns(createdAt, statuses), ...columns })
  }
  for (const [name, reference] of [
    ['is-REFUNDED', 'D1234567820260302Refund0001'],
    ['is-PAID', 'D1234567820260302Refund0002'],
    ['is-PAID', 'D1234567820260302Refund0003'],
  ] as const) {
    await insertRow(service.db, 'refunds', {
      merchant_id: await merchantOf(ids[name]),
      id: randomUUID(),
      transaction_id: ids[name],
      amount: 1,
      status: 'REFUNDED',
      end_to_end: reference,
      created_at: at('21T00:00:00'),
    })
  }
})
afterAll(async () => await service.stop())

async function merchantOf(id = ''): Promise<string> {
  const { rows } = await service.db.pool.query('select merchant_id from transactions where id = $1', [id])
  return rows[0].merchant_id
}

const list = async (query: string) => await service.call<Page<Item>>(`/transaction?perPage=100&${query}`)

/** A query as the body of a search. */
function toBody(query: string): object {
  const body: Record<string, unknown> = { perPage: 100 }
  const texts = new URLSearchParams(query)
  for (const name of new Set(texts.keys())) {
    const values = texts.getAll(name)
    const isList = name === 'status' || name === 'paymentMethod'
    body[name] = isList ? values : name.endsWith('Amount') ? Number(values[0]) : values[0]
  }
  return body
}

/** The names of the matching transactions, in the order of their seeds. */
async function select(query: string): Promise<string[]> {
  const { status, body, text } = await list(query)
  expect(status, text.slice(0, 300)).toBe(200)
  // Every filter of the query string also works in a body.
  const searched = await service.call<Page<Item>>('/transaction/search', { body: toBody(query) })
  expect([searched.status, searched.body]).toEqual([200, body])
  expect(body.total).toBe(body.data.length)
  const found = body.data.map((item) => item.id)
  return Object.keys(seeds).filter((name) => found.includes(ids[name] ?? ''))
}

const everyStatus = Object.keys(transactionHistories)
const namesOf = (status: string) => Object.keys(seeds).filter((name) => name === `is-${status}`)

describe('a filter', () => {
  it.each(everyStatus.filter((status) => status !== 'PIX_QRCODE_GENERATED'))(
    'status=%s selects those with this status',
    async (status) => {
      expect(await select(`status=${status}`)).toEqual(namesOf(status))
    },
  )

  it.each<[string, string[]]>([
    ['status=PAID&status=FAILED', [...namesOf('PAID'), ...namesOf('FAILED')]],
    [everyStatus.map((status) => `status=${status}`).join('&'), Object.keys(seeds)],
    ['paymentMethod=PIX', Object.keys(seeds)],

    // Any part of the name. Case and accents do not matter.
    ['customerName=maria%20jose', ['maria-00']],
    ['customerName=MAR%C3%8DA', ['maria-00']],
    ['customerName=avila', ['maria-00']],
    ['customerName=jo%C3%A3o', ['joao-000']],
    ['customerName=joao', ['joao-000']],
    ['customerName=%D0%BF%D1%80%D0%B8%D0%B2%D0%B5%D1%82', ['tokyo-00']],
    ['customerName=%E4%BC%9A%E7%A4%BE', ['tokyo-00']],
    ['customerName=strasse', ['tokyo-00']],
    ['customerName=a', ['maria-00', 'joao-000', 'tokyo-00']],
    ['customerName=marcos', []],
    // A letter of which nothing remains without its accent.
    ['customerName=%EF%BE%9E', ['maria-00', 'joao-000', 'tokyo-00']],

    ['customerEmail=maria%40example.com', ['maria-00']],
    ['customerEmail=MARIA%40EXAMPLE.COM', ['maria-00']],
    ['customerEmail=aria%40example.com', []],

    ['customerDocument=52998224725', ['maria-00']],
    ['customerDocument=529.982.247-25', ['maria-00']],
    ['customerDocument=12.ABC.345/01DE-35', ['joao-000']],
    ['customerDocument=12abc34501de35', ['joao-000']],
    ['customerDocument=11222333000181', []],

    ['customerPhone=11987654321', ['maria-00']],
    ['customerPhone=%2B5511987654321', ['maria-00']],
    ['customerPhone=5511987654321', ['maria-00']],
    ['customerPhone=(11)%2098765-4321', ['maria-00']],
    ['customerPhone=011%2098765.4321', ['maria-00']],
    ['customerPhone=%2B55%2011%203333-4444', ['joao-000']],
    ['customerPhone=%2B55%20(011)%203333-4444', ['joao-000']],
    ['customerPhone=987654321', []],
    ['customerPhone=0', []],

    ['externalCode=maria-00', ['maria-00']],
    ['externalCode=MARIA-00', []],
    ['externalCode=maria-0%25', []],

    [`endToEnd=${endToEnd('PAID')}`, namesOf('PAID')],
    [`endToEnd=${endToEnd('PAID').toLowerCase()}`, []],
    [`endToEnd=${endToEnd('PAID').slice(0, -1)}`, []],
    ['endToEndRefund=D1234567820260302Refund0001', namesOf('REFUNDED')],
    ['endToEndRefund=D1234567820260302Refund0003', namesOf('PAID')],
    ['endToEndRefund=D1234567820260302REFUND0003', []],

    ['minAmount=10000000', ['joao-000']],
    ['maxAmount=1', ['maria-00']],
    ['minAmount=500&maxAmount=501', ['tokyo-00', 'no-customer']],
    ['minAmount=501&maxAmount=501', ['no-customer']],
    ['minAmount=502&maxAmount=999', []],

    // Both ends are included. An offset is respected; without one the time is UTC.
    ['startDate=2026-02-10T12:00:00.000Z&endDate=2026-02-10T12:00:00.000Z', ['maria-00']],
    ['startDate=2026-02-10T12:00:00.001Z&endDate=2026-02-11T02:59:59.999Z', ['joao-000', 'tokyo-00']],
    ['startDate=2026-02-11T00:00:00-03:00&endDate=2026-02-11T00:00:00-03:00', ['no-customer']],
    ['endDate=2026-02-10T23:59:59.999-03:00', ['maria-00', 'joao-000', 'tokyo-00']],
    ['startDate=2026-02-10T17:30:00%2B05:30&endDate=2026-02-10T17:30:00%2B0530', ['maria-00']],
    ['startDate=2026-02-10T12:00:00&endDate=2026-02-10T12:00', ['maria-00']],
    ['startDate=2026-02-10t12:00:00,001z&endDate=2026-02-10T12:00:00.0019Z', ['joao-000']],
    ['startDate=0000-01-01T00:00:00Z&endDate=9999-12-31T11:59:59-12:00', Object.keys(seeds)],
    ['startDate=2026-02-20T00:00:00.001Z', []],

    // All given filters must match.
    ['status=PAID&minAmount=1001', []],
    [
      `customerName=maria&customerDocument=52998224725&customerPhone=11987654321&externalCode=maria-00&maxAmount=1&paymentMethod=PIX`,
      ['maria-00'],
    ],
    ['customerName=maria&customerDocument=12ABC34501DE35', []],
  ])('%s selects %j', async (query, names) => {
    expect(await select(query)).toEqual(names)
  })

  it('id selects exactly one, in upper or lower case', async () => {
    expect(await select(`id=${ids['maria-00']}`)).toEqual(['maria-00'])
    expect(await select(`id=${ids['maria-00']?.toUpperCase()}`)).toEqual(['maria-00'])
    expect(await select(`id=${randomUUID()}`)).toEqual([])
  })

  const long = 'x'.repeat(256)
  // Numbers that are not plain digits.
  const notPlain = ['0x10', '0b11', '0o17', '1e3', '%2010', '10%20', '10.0', '%2B10']
  it.each<[string, string[]]>([
    ['status', ['', 'paid', 'UNKNOWN', 'PAID,FAILED', 'PAID&status=', 'PAID&status=PAID', 'PAID&status=UNKNOWN']],
    ['paymentMethod', ['', 'pix', 'CARD', 'PIX&paymentMethod=PIX']],
    [
      'customerEmail',
      [
        '',
        'maria',
        'maria@',
        'a%20b@c.co',
        'a@b.co%00',
        'a@b.co&customerEmail=b@b.co',
        `${'x'.repeat(243)}@example.com`,
      ],
    ],
    [
      'customerName',
      ['', '%20', '%25', '_', 'maria%25', 'mar_a', '%5C', '<b>', 'a%00', 'a%0Ab', 'a&customerName=b', long],
    ],
    [
      'customerDocument',
      [
        '',
        '52998224726',
        '529982247',
        '11111111111',
        'maria',
        '529 982 247 25',
        '52998224725&customerDocument=52998224725',
      ],
    ],
    ['customerPhone', ['', 'x', '--', '(11) 98765-4321x', '%25', '1'.repeat(31), '1'.repeat(10_000)]],
    [
      'id',
      [
        '',
        '1',
        '00000000-0000-0000-0000-000000000000',
        '018f6b1e-7c3a-7abc-8def-0123456789ab',
        `{${randomUUID()}}`,
        randomUUID().replaceAll('-', ''),
      ],
    ],
    ['endToEnd', ['', '1234567', long, 'abcdefg%00', 'abcdefg%0A']],
    ['endToEndRefund', ['', '1234567', long, 'abcdefg%00']],
    ['externalCode', ['', '1234567', long, 'abcdefg%00', 'abcdefg%C2%85']],
    [
      'minAmount',
      ['', '0', '10000001', '-1', '1.5', '1,5', 'one', 'null', 'true', 'NaN', 'Infinity', '1&minAmount=2', ...notPlain],
    ],
    ['maxAmount', ['', '0', '10000001', '-1', '1.5', 'one', '1e99', '1&maxAmount=2', ...notPlain]],
    ['perPage', ['0x10', '1e1', '10.0', '%2010']],
    ['page', ['0x1', '1e0', '1.0', '%2B1']],
    ...['startDate', 'endDate'].map((field): [string, string[]] => [
      field,
      [
        '',
        '2026-02-10',
        '2026-02-30T00:00:00Z',
        '2026-13-01T00:00:00Z',
        '2026-02-10T24:00:00Z',
        '2026-02-10T12:60:00Z',
        '2026-02-10 12:00:00Z',
        '2026-02-10T12:00:00+03:00',
        '2026-02-10T12:00:00%2B24:00',
        '1770724800000',
        'yesterday',
        '0000-01-01T00:00:00%2B00:01',
        '9999-12-31T23:59:59-00:01',
        '02/10/2026',
        '20260210T120000Z',
        '2026-02-10T12:00:00Z%00',
      ],
    ]),
  ])('%s is refused outside of its limits', async (field, values) => {
    for (const value of values) {
      expect(refusedFields(await list(`${field}=${value}`)), value).toEqual([field])
    }
  })

  it.each<[string, string[]]>([
    ['externalCode', ['12345678', 'x'.repeat(255), '%F0%9F%98%80'.repeat(8)]],
    ['endToEnd', ['12345678', 'x'.repeat(255)]],
    ['endToEndRefund', ['12345678', 'x'.repeat(255)]],
    ['customerName', ['x', 'x'.repeat(255), '%C3%A9']],
    ['customerEmail', [`${'x'.repeat(242)}@example.com`]],
    ['customerPhone', ['1', '1'.repeat(30)]],
    ['minAmount', ['1', '10000000']],
    ['maxAmount', ['1', '10000000']],
  ])('%s is accepted at its limits', async (field, values) => {
    for (const value of values) expect((await list(`${field}=${value}`)).status, value).toBe(200)
  })

  it.each([
    ['startDate=2026-02-10T12:00:00.001Z&endDate=2026-02-10T12:00:00.000Z', 'endDate'],
    ['startDate=2026-02-10T12:00:00Z&endDate=2026-02-10T12:00:00%2B03:00', 'endDate'],
    ['minAmount=2&maxAmount=1', 'maxAmount'],
    ['minAmount=10&maxAmount=9', 'maxAmount'],
  ])('%s has its ends in the wrong order', async (query, field) => {
    expect(refusedFields(await list(query))).toEqual([field])
  })

  it('finds a customer whose normalized name is longer than an index entry may be', async () => {
    const client = await addTestClient(service)
    // The first letter becomes eighteen, each other one two or three of three bytes: PostgreSQL has to compress them.
    const name = `${'ﷺ'.repeat(24)}${Array.from({ length: 231 }, (_, index) => String.fromCodePoint(0xac00 + ((index * 4793) % 11_172))).join('')}`
    const created = await service.call('/transaction', {
      token: client.token,
      body: smallestTransaction({ customer: customer({ name }) }),
    })
    expect(created.status, created.text).toBe(201)
    const query = `customerName=${encodeURIComponent(name.slice(0, 40))}`
    expect((await service.call<Page>(`/transaction?${query}`, { token: client.token })).body.total).toBe(1)
  })

  it('is reported with all other errors at once', async () => {
    const query = 'status=x&minAmount=2&maxAmount=1&startDate=x&id=1&page=0&unknown=1&customerName=%00'
    expect(refusedFields(await list(query)).sort()).toEqual([
      'customerName',
      'id',
      'maxAmount',
      'page',
      'startDate',
      'status',
      'unknown',
    ])
  })

  it('that is refused is not repeated in the answer', async () => {
    const answer = await list('customerEmail=maria.example&customerDocument=52998224799&endToEnd=secret')
    expect(answer.status).toBe(422)
    expect(answer.text).not.toMatch(/maria\.example|52998224799|secret/)
  })
})

describe('an item', () => {
  it('equals the fetched record', async () => {
    const { data } = (await list('')).body
    expect(data).toHaveLength(Object.keys(seeds).length)
    for (const item of data) expect((await service.call(`/transaction/${item.id}`)).body).toEqual(item)
  })

  it('of another client is in no list', async () => {
    const request = async (query: string) =>
      await service.call<Page>(`/transaction?${query}`, { token: outsider.token })
    for (const query of [
      '',
      `id=${ids['maria-00']}`,
      'externalCode=maria-00',
      `endToEnd=${endToEnd('PAID')}`,
      'endToEndRefund=D1234567820260302Refund0001',
      'customerName=maria',
    ]) {
      expect((await request(query)).body).toMatchObject({ total: 0, totalPages: 0, data: [], nextCursor: null })
    }
    const { nextCursor } = (await service.call<Page>('/transaction?perPage=1')).body
    expect((await request(`cursor=${nextCursor}`)).body).toMatchObject({ total: 0, data: [] })
  })

  it('is not listed without a token or its scope', async () => {
    const writer = await addTestClient(service, ['transaction.write', 'withdrawal.read'])
    expect((await service.call('/transaction', { token: null })).status).toBe(401)
    expect((await service.call('/transaction', { token: writer.token })).status).toBe(403)
  })
})

describe('a long list', () => {
  let many: TestService

  beforeAll(async () => {
    const client = await addTestClient(service)
    many = { ...service, call: async (path, options) => await service.call(path, { token: client.token, ...options }) }
    for (let made = 0; made < recordsOfPages; made++) {
      // Thirty with the same time, then fifteen one after the other.
      if (made >= 30) service.clock.advance(1)
      await many.call('/transaction', { body: smallestTransaction() })
    }
  })

  describePages('/transaction', () => many)
})
