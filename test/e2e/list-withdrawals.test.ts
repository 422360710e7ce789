import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPage } from '../../src/db/page.ts'
import { empty, sql } from '../../src/db/sql.ts'
import { describePages, type Page, recordsOfPages } from '../support/pages.ts'
import { accountHolder, historyColumns, insertRow, withdrawalHistories } from '../support/records.ts'
import { addTestClient, refusedFields } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'

type Item = Record<string, unknown> & {
  id: string
  statusHistory: { status: string; durationInMilliseconds: number | null }[]
}

let service: TestService
let merchantId: string
const ids: Record<string, string> = {}

const at = (time: string) => new Date(`2026-02-${time}Z`)
const evp = '0f3b6b1c-8a5e-1d2c-9b7a-123456789abc'

/** Withdrawals that the filters must distinguish, each by its name. */
const seeds: Record<string, { statuses?: readonly string[]; createdAt?: Date; columns?: object }> = {
  cpf: { columns: { pix_key: '52998224725', pix_key_type: 'CPF', amount: 10 }, createdAt: at('10T12:00:00.000') },
  cnpj: {
    columns: { pix_key: '12ABC34501DE35', pix_key_type: 'CNPJ', amount: 10_000_000 },
    createdAt: at('10T12:00:00.001'),
  },
  email: {
    columns: { pix_key: 'maria@example.com', pix_key_type: 'EMAIL', amount: 500 },
    createdAt: at('11T02:59:59.999'),
  },
  phone: {
    columns: { pix_key: '+5511987654321', pix_key_type: 'PHONE', amount: 501 },
    createdAt: at('11T03:00:00.000'),
  },
  evp: {
    columns: {
      pix_key: evp,
      pix_key_type: 'EVP',
      external_code: 'payout-0001',
      webhook_url: 'https://shop.example.com/hook',
    },
  },
  ...Object.fromEntries(
    Object.entries(withdrawalHistories).map(([status, statuses]) => [
      status,
      {
        statuses,
        createdAt: at('20T00:00:00.000'),
        columns: {
          ...(statuses.includes('PROCESSED') && {
            amount_withdrawn: 1000,
            processed_date: at('20T00:00:02'),
            end_to_end: `E1234567820260220${status}`,
            payer: accountHolder,
            receiver: accountHolder,
            fee_amount: 100,
          }),
          ...(status === 'REFUNDED' && { end_to_end_refund: 'D1234567820260220Return' }),
          ...(status === 'FAILED' && { error_message: 'The account is closed' }),
        },
      },
    ]),
  ),
}

async function insertWithdrawal(
  id: string,
  owner: string,
  { statuses = ['PENDING'], createdAt = at('01T00:00:00'), columns = {} }: (typeof seeds)[string],
) {
  await insertRow(service.db, 'withdrawals', {
    id,
    merchant_id: owner,
    acquirer: 'simulator',
    amount: 1000,
    pix_key: '11222333000181',
    pix_key_type: 'CNPJ',
    ...historyColumns(createdAt, statuses),
    ...columns,
  })
}

beforeAll(async () => {
  service = await startTestService()
  const [client] = await service.db.query<{ merchant_id: string }>(sql`select merchant_id from clients`)
  merchantId = client?.merchant_id ?? ''
  for (const [name, seed] of Object.entries(seeds)) {
    ids[name] = randomUUID()
    await insertWithdrawal(ids[name], merchantId, seed)
  }
})
afterAll(async () => await service.stop())

const list = async (query: string) => await service.call<Page<Item>>(`/withdrawal?perPage=100&${query}`)

/** The names of the matching withdrawals, in the order of their seeds. */
async function select(query: string): Promise<string[]> {
  const { status, body, text } = await list(query)
  expect(status, text.slice(0, 300)).toBe(200)
  expect(body.total).toBe(body.data.length)
  const found = body.data.map((item) => item.id)
  return Object.keys(seeds).filter((name) => found.includes(ids[name] ?? ''))
}

const everyStatus = Object.keys(withdrawalHistories)
const pending = ['cpf', 'cnpj', 'email', 'phone', 'evp', 'PENDING']

describe('a filter', () => {
  it.each(everyStatus)('status=%s selects those with this status', async (status) => {
    expect(await select(`status=${status}`)).toEqual(status === 'PENDING' ? pending : [status])
  })

  it.each<[string, string[]]>([
    ['status=PROCESSED&status=FAILED', ['PROCESSED', 'FAILED']],
    [everyStatus.map((status) => `status=${status}`).join('&'), Object.keys(seeds)],

    ['pixKey=52998224725', ['cpf']],
    ['pixKey=529.982.247-25', ['cpf']],
    ['pixKey=12ABC34501DE35', ['cnpj']],
    ['pixKey=12.abc.345/01de-35', ['cnpj']],
    ['pixKey=maria@example.com', ['email']],
    ['pixKey=MARIA%40Example.com', ['email']],
    ['pixKey=%2B5511987654321', ['phone']],
    ['pixKey=5511987654321', ['phone']],
    ['pixKey=(11)%2098765-4321', ['phone']],
    [`pixKey=${evp}`, ['evp']],
    [`pixKey=${evp.toUpperCase()}`, ['evp']],
    ['pixKey=12345678909', []],
    ['pixKey=11.222.333/0001-81', everyStatus],

    ['externalCode=payout-0001', ['evp']],
    ['externalCode=PAYOUT-0001', []],
    ['endToEnd=E1234567820260220PROCESSED', ['PROCESSED']],
    ['endToEnd=e1234567820260220processed', []],
    ['endToEndRefund=D1234567820260220Return', ['REFUNDED']],
    ['endToEndRefund=D1234567820260220RETURN', []],

    ['minAmount=10000000', ['cnpj']],
    ['maxAmount=10', ['cpf']],
    ['minAmount=500&maxAmount=501', ['email', 'phone']],
    ['minAmount=502&maxAmount=999', []],

    ['startDate=2026-02-10T12:00:00.000Z&endDate=2026-02-10T12:00:00.000Z', ['cpf']],
    ['startDate=2026-02-11T00:00:00-03:00&endDate=2026-02-11T00:00:00-03:00', ['phone']],
    ['startDate=2026-02-10T17:30:00.001%2B05:30&endDate=2026-02-10T23:59:59.999-03:00', ['cnpj', 'email']],

    ['status=PENDING&pixKey=52998224725&maxAmount=10', ['cpf']],
    ['status=FAILED&pixKey=52998224725', []],
  ])('%s selects %j', async (query, names) => {
    expect(await select(query)).toEqual(names)
  })

  it('id selects exactly one, in upper or lower case', async () => {
    expect(await select(`id=${ids.cpf}`)).toEqual(['cpf'])
    expect(await select(`id=${ids.cpf?.toUpperCase()}`)).toEqual(['cpf'])
    expect(await select(`id=${randomUUID()}`)).toEqual([])
  })

  const long = 'x'.repeat(256)
  // Numbers that are not plain digits.
  const notPlain = ['0x10', '0b11', '0o17', '1e3', '%2010', '10%20', '10.0', '%2B10']
  it.each<[string, string[]]>([
    ['status', ['', 'pending', 'PAID', 'PENDING,FAILED', 'PENDING&status=PENDING', 'PENDING&status=']],
    ['id', ['', '1', '00000000-0000-0000-0000-000000000000', '018f6b1e-7c3a-7abc-8def-0123456789ab']],
    [
      'pixKey',
      [
        '',
        'maria',
        '52898224726',
        // Eleven digits, but area code 52 does not exist.
        '52998224724',
        '12345678900',
        '529.982.247-26',
        '+551',
        'a@b',
        '0f3b6b1c8a5e1d2c9b7a123456789abc',
        'a@b.co%00',
        `${'x'.repeat(66)}@example.com`,
        '52998224725&pixKey=52998224725',
      ],
    ],
    ['endToEnd', ['', '1234567', long, 'abcdefg%00']],
    ['endToEndRefund', ['', '1234567', long, 'abcdefg%00']],
    ['externalCode', ['', '1234567', long, 'abcdefg%00', 'caf%E9-12345', '100%-12345', 'abcdefg%ED%A0%80']],
    ['minAmount', ['', '9', '10000001', '-10', '10.5', 'ten', '10&minAmount=11', ...notPlain]],
    ['maxAmount', ['', '9', '10000001', '-10', '10.5', 'ten', '10&maxAmount=11']],
    ['startDate', ['', '2026-02-10', '2026-02-30T00:00:00Z', '2026-02-10T12:00:00+03:00', 'now']],
    ['endDate', ['', '2026-02-10', '2026-02-30T00:00:00Z', '2026-02-10T12:00:00+03:00', 'now']],
    ['paymentMethod', ['PIX']],
    ['customerName', ['Maria']],
  ])('%s is refused outside of its limits', async (field, values) => {
    for (const value of values) expect(refusedFields(await list(`${field}=${value}`)), value).toEqual([field])
  })

  it.each<[string, string[]]>([
    ['pixKey', [`${'x'.repeat(65)}@example.com`]],
    ['endToEnd', ['12345678', 'x'.repeat(255)]],
    ['endToEndRefund', ['12345678', 'x'.repeat(255)]],
    ['externalCode', ['12345678', 'x'.repeat(255)]],
    ['minAmount', ['10', '10000000']],
    ['maxAmount', ['10', '10000000']],
  ])('%s is accepted at its limits', async (field, values) => {
    for (const value of values) expect((await list(`${field}=${value}`)).status, value).toBe(200)
  })

  it.each([
    ['startDate=2026-02-10T12:00:00.001Z&endDate=2026-02-10T12:00:00.000Z', 'endDate'],
    ['minAmount=11&maxAmount=10', 'maxAmount'],
  ])('%s has its ends in the wrong order', async (query, field) => {
    expect(refusedFields(await list(query))).toEqual([field])
  })
})

describe('an item', () => {
  const isoDate = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  const processed = {
    amountWithdrawn: 1000,
    processedDate: isoDate,
    endToEnd: expect.stringMatching(/^E/),
    payer: accountHolder,
    receiver: accountHolder,
    feeAmount: 100,
  }

  it.each<[string, object]>([
    ['PENDING', {}],
    ['PROCESSING', {}],
    ['PROCESSED', processed],
    ['FAILED', { errorMessage: 'The account is closed' }],
    ['CANCELED', {}],
    ['REFUNDED', processed],
    ['REJECTED', {}],
    [
      'evp',
      {
        status: 'PENDING',
        pixKey: { key: evp, type: 'EVP' },
        externalCode: 'payout-0001',
        webhookUrl: 'https://shop.example.com/hook',
      },
    ],
  ])('that is %s has exactly the fields of the API', async (name, members) => {
    const [item] = (await list(`id=${ids[name]}`)).body.data
    expect(item).toEqual({
      id: ids[name],
      acquirer: 'simulator',
      amount: 1000,
      method: 'PIX',
      createdAt: isoDate,
      status: name,
      statusHistory: expect.any(Array),
      updatedAt: isoDate,
      pixKey: { key: '11222333000181', type: 'CNPJ' },
      errorMessage: null,
      feeAmount: 0,
      ...members,
    })
    const history = withdrawalHistories[name] ?? ['PENDING']
    expect(item?.statusHistory.map(({ status }) => status)).toEqual(history)
    expect(item?.statusHistory.map(({ durationInMilliseconds }) => durationInMilliseconds)).toEqual([
      ...history.slice(1).map(() => 1001),
      null,
    ])
  })

  it('of another client is in no list', async () => {
    const outsider = await addTestClient(service)
    for (const query of ['', `id=${ids.cpf}`, 'pixKey=52998224725', 'endToEnd=E1234567820260220PROCESSED']) {
      const answer = await service.call<Page>(`/withdrawal?${query}`, { token: outsider.token })
      expect(answer.body).toMatchObject({ total: 0, totalPages: 0, data: [], nextCursor: null })
    }
  })

  it('is not listed without a token or its scope', async () => {
    const reader = await addTestClient(service, ['transaction.read', 'withdrawal.write'])
    expect((await service.call('/withdrawal', { token: null })).status).toBe(401)
    expect((await service.call('/withdrawal', { token: reader.token })).status).toBe(403)
  })
})

describe('a search whose body', () => {
  it.each(['null', '[]', '1', '"text"'])('is %s is refused', async (rawBody) => {
    for (const path of ['/withdrawal/search', '/transaction/search']) {
      const headers = { 'content-type': 'application/json' }
      const answer = await service.call<{ code: string }>(path, { rawBody, headers })
      expect([answer.status, answer.body.code], path).toEqual([422, 'validation_failed'])
    }
  })
})

describe('a long list', () => {
  let many: TestService

  beforeAll(async () => {
    const client = await addTestClient(service)
    many = { ...service, call: async (path, options) => await service.call(path, { token: client.token, ...options }) }
    for (let made = 0; made < recordsOfPages; made++) {
      // Thirty with the same time, then fifteen one after the other.
      await insertWithdrawal(randomUUID(), client.merchantId, {
        createdAt: new Date(Date.UTC(2026, 1, 1) + Math.max(0, made - 29)),
      })
    }
  })

  describePages('/withdrawal', () => many)

  it('refuses a page only if it exists and too many items are before it', async () => {
    const read = async (items: number) =>
      await findPage(service.db, {
        table: sql`(select gen_random_uuid() as id, now() as created_at, ${merchantId} as merchant_id
          from generate_series(1, ${items}::int)) listed_numbers`,
        columns: sql`id, created_at`,
        merchantId,
        where: empty,
        ...{ page: 1002, perPage: 100, after: null },
      })
    expect(await read(100_100)).toEqual({ total: 100_100, items: [], next: null })
    await expect(read(100_101)).rejects.toMatchObject({ details: { fields: [{ field: 'page', code: 'too_deep' }] } })
  })
})
