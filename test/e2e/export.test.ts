import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sql, sql } from '../../src/db/sql.ts'
import { writeTransactionsCsv } from '../../src/transactions/view.ts'
import type { Page } from '../support/pages.ts'
import { insertRow } from '../support/records.ts'
import { addTestClient, type TestClient } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'

let service: TestService
let shop: TestClient
let outsider: TestClient

beforeAll(async () => {
  service = await startTestService()
  shop = await addTestClient(service)
  outsider = await addTestClient(service)
})
afterAll(async () => await service.stop())

async function exported(path: string, token = shop.token): Promise<string[][]> {
  const answer = await service.call(path, { token })
  expect(answer.status, answer.text.slice(0, 300)).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(answer.text.endsWith('\r\n')).toBe(true)
  return answer.text
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','))
}

describe('an export of transactions', () => {
  it('has a line for each, as in the list, and neutralizes formulas in texts', async () => {
    const made = []
    for (const externalCode of ['order-1, the first', '=HYPERLINK("http://x")']) {
      service.clock.advance(1)
      const customer = { name: 'Ana', document: '52998224725', email: '+ana@example.com' }
      made.push(
        (
          await service.call('/transaction', {
            token: shop.token,
            body: smallestTransaction({ externalCode, customer }),
          })
        ).body,
      )
    }
    const answer = await service.call('/transaction', { token: shop.token, headers: { accept: 'text/csv' } })
    const [header, newest, oldest, ...more] = answer.text.split('\r\n')
    expect(header).toBe(
      'id,created_at,status,amount_cents,amount_paid_cents,amount_refunded_cents,fee_cents,payment_date,end_to_end,external_code,customer_name,customer_document,customer_email,error_message,payer_name,payer_document,amount_returned_cents,net_cents,posted_at',
    )
    const listed = (await service.call<Page>('/transaction', { token: shop.token })).body.data
    expect(newest).toBe(
      `${made[1]?.id},${listed[0]?.createdAt},PIX_QRCODE_GENERATED,1000,,,,,,"'=HYPERLINK(""http://x"")",Ana,52998224725,'+ana@example.com,,,,,,`,
    )
    expect(oldest).toContain(',"order-1, the first",Ana,')
    expect(more).toEqual([''])
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="transactions.csv"')
  })

  it('contains only the client’s records that match the filters', async () => {
    expect(await exported('/transaction.csv?externalCode=order-1,%20the%20first')).toHaveLength(2)
    expect(await exported('/transaction.csv?status=PAID')).toHaveLength(1)
    expect(await exported('/transaction.csv?customerName=ana')).toHaveLength(3)
    expect(await exported('/transaction.csv', outsider.token)).toHaveLength(1)
    for (const wrong of ['/transaction?status=x', '/transaction.csv?status=x', '/transaction.csv?page=1'])
      expect((await service.call(wrong, { token: shop.token, headers: { accept: 'text/csv' } })).status).toBe(422)
  })

  it('has each of thousands once, in the order of the list, read in batches', async () => {
    await service.db.query(sql`
      insert into transactions (
        id, merchant_id, acquirer, amount, is_info_product, pix_expiration_seconds, created_at, statuses, status_dates)
      select gen_random_uuid(), ${shop.merchantId}, 'simulator', i, true, 60, created_at, array['PENDING'], array[created_at]
      from (
        -- Rows of the same time are on both sides of the border between two pieces.
        select i, timestamptz '2026-01-01T00:00:00Z' + (i / 7) * interval '1 second' as created_at from generate_series(1, 2345) i
      ) made`)
    const lines = await exported('/transaction.csv?status=PENDING')
    const ids = await service.db.query<{ id: string }>(sql`
      select id from transactions where merchant_id = ${shop.merchantId} and status = 'PENDING' order by created_at desc, id desc`)
    expect(lines.slice(1).map(([id]) => id)).toEqual(ids.map(({ id }) => id))

    // Nothing is read before the client requests it, and nothing after the last requested piece.
    const requested: Sql[] = []
    const spy: typeof service.db = {
      ...service.db,
      query: async (statement) => {
        requested.push(statement)
        return await service.db.query(statement)
      },
    }
    const pieces = writeTransactionsCsv(spy, shop.merchantId, {})
    await pieces.next()
    expect(requested).toHaveLength(0)
    const { value } = await pieces.next()
    expect(String(value).split('\r\n')).toHaveLength(201)
    expect(requested).toHaveLength(1)
    await pieces.return(undefined)
    expect(requested).toHaveLength(1)
  })

  it('shows refunded amounts', async () => {
    const [row] = await service.db.query<{ id: string }>(sql`
      update transactions set amount_paid = 1000, payment_date = created_at, end_to_end = 'E1'
      where id = (select id from transactions where merchant_id = ${shop.merchantId} and amount = 1000 limit 1) returning id`)
    for (const [status, amount] of [
      ['REFUNDED', 300],
      ['FAILED', 200],
      ['REFUNDED', 1],
    ] as const) {
      await insertRow(service.db, 'refunds', {
        ...{ merchant_id: shop.merchantId, id: crypto.randomUUID(), transaction_id: row?.id, amount, status },
        ...{ created_at: new Date(), fee_amount: 0 },
      })
    }
    const [, line] = await exported(`/transaction.csv?id=${row?.id}`)
    expect(line?.slice(3, 6)).toEqual(['1000', '1000', '301'])
  })
})

it('an export of withdrawals has a line for each, by the same filters', async () => {
  for (const [index, status] of ['PENDING', 'CANCELED'].entries()) {
    await insertRow(service.db, 'withdrawals', {
      ...{
        id: crypto.randomUUID(),
        merchant_id: shop.merchantId,
        acquirer: 'simulator',
        amount: 1000,
        pix_key_type: 'PHONE',
      },
      ...{ pix_key: '+5511987654321', created_at: new Date(index), fee_amount: 5, external_code: 'payout-01' },
      ...{
        statuses: ['PENDING', 'CANCELED'].slice(0, index + 1),
        status_dates: [new Date(0), new Date(1)].slice(0, index + 1),
      },
    })
    expect((await exported('/withdrawal.csv'))[1]?.slice(1)).toEqual([
      ...[
        new Date(index).toISOString(),
        status,
        '1000',
        '5',
        '',
        '',
        "'+5511987654321",
        'PHONE',
        '',
        '',
        'payout-01',
        ...['', '', '', ''],
      ],
    ])
  }
  expect(await exported('/withdrawal.csv?status=PENDING')).toHaveLength(2)
  expect(await exported('/withdrawal.csv', outsider.token)).toHaveLength(1)
})
