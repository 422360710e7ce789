import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { refusedReturnAmount, rejectedReturnAmount, slowReturnAmount } from '../../simulator/returns.ts'
import { sql } from '../../src/db/sql.ts'
import { refundsMax } from '../../src/transactions/refund/refund.ts'
import { charge, eventsOf, statusesOf, untilStatus } from '../support/payments.ts'
import {
  drain,
  fetchRefundable,
  payOne,
  type RefundAnswer,
  refund,
  requestRefund,
  returnsOf,
  setFixedFee,
  untilRefund,
  untilSent,
  untilVerified,
} from '../support/refunds.ts'
import { addTestClient, refusedFields } from '../support/requests.ts'
import { fetchToken, startTestService, type TestService } from '../support/service.ts'
import { startTestReceiver } from '../support/webhooks.ts'
import { balanceChanges, balancesOf, expectLedgerConsistent, refusal, transfersOf } from '../support/withdrawals.ts'

let service: TestService
beforeAll(async () => {
  // Longer than the test advances the clock.
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

const isReplay = (answer: RefundAnswer) => answer.headers.get('idempotent-replayed') === 'true'
const whole = ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', 'PROCESSING_REFUND', 'REFUNDED']

describe('a refund', () => {
  it('of the whole payment is answered immediately, sent, and ends the transaction', async () => {
    const { id, endToEnd } = await payOne(service)
    let refundId = ''
    const money = await balanceChanges(service, async () => {
      const answer = await requestRefund(service, id, { reason: 'Out of stock' })
      expect(answer.status, answer.text).toBe(201)
      refundId = answer.body.id
      expect(answer.headers.get('location')).toBe(`${service.baseUrl}/transaction/${id}`)
      expect(answer.body).toEqual({
        id: expect.any(String),
        transactionId: id,
        amount: 1000,
        type: 'REFUND',
        status: 'PROCESSING',
      })
      await untilStatus(service, id, 'REFUNDED')
    })
    expect(money).toEqual({ available: -1000, acquirer: 1000 })
    const transaction = await fetchRefundable(service, id)
    expect(transaction).toMatchObject({ amountRefunded: 1000, errorMessage: null })
    expect(transaction.refunds).toEqual([
      {
        id: refundId,
        amount: 1000,
        status: 'REFUNDED',
        endToEndRefund: expect.stringMatching(/^D/),
        reason: 'Out of stock',
        createdAt: service.clock.now().toISOString(),
      },
    ])
    expect(statusesOf(transaction)).toEqual(whole)
    expect(await eventsOf(service, id)).toEqual(whole.slice(1).map((status) => `transaction.${status.toLowerCase()}`))
    expect(await returnsOf(service.db, endToEnd)).toEqual([
      { id: refundId.replaceAll('-', ''), amount: 1000, nature: 'ORIGINAL' },
    ])
    expect(await transfersOf(service, refundId)).toEqual([
      'refund_reserved available>reserved 1000',
      'refund_sent reserved>acquirer 1000',
    ])
  })

  it('of a part leaves the transaction PAID, and the rest can follow until nothing is left', async () => {
    const { id } = await payOne(service)
    await untilRefund(service, id, await refund(service, id, { amount: 300 }), 'REFUNDED')
    expect(await fetchRefundable(service, id)).toMatchObject({ status: 'PAID', amountRefunded: 300 })
    await untilRefund(service, id, await refund(service, id, { amount: 200 }), 'REFUNDED')
    const rest = await requestRefund(service, id)
    expect(rest.body.amount).toBe(500)
    await untilRefund(service, id, rest.body.id, 'REFUNDED')
    const transaction = await fetchRefundable(service, id)
    expect(transaction).toMatchObject({ status: 'REFUNDED', amountRefunded: 1000 })
    expect(transaction.refunds.map(({ amount }) => amount)).toEqual([300, 200, 500])
  })

  it('is found by its endToEndRefund', async () => {
    const { id } = await payOne(service)
    const { refunds } = await untilRefund(service, id, await refund(service, id), 'REFUNDED')
    const list = async (endToEnd: string) =>
      (await service.call<{ data: { id: string }[] }>(`/transaction?endToEndRefund=${endToEnd}`)).body.data
    expect((await list(refunds[0]?.endToEndRefund ?? '')).map((one) => one.id)).toEqual([id])
    expect(await list('D0000000020260302150000000000000')).toEqual([])
  })

  it('sends webhooks with what GET answered at each time', async () => {
    const receiver = await startTestReceiver()
    const { id } = await payOne(service, 1000, { more: { webhookUrl: receiver.url } })
    await receiver.until(2)
    const paid = await fetchRefundable(service, id)
    await untilRefund(service, id, await refund(service, id, { amount: 400 }), 'REFUNDED')
    await receiver.until(4)
    const part = await fetchRefundable(service, id)
    await untilRefund(service, id, await refund(service, id), 'REFUNDED')
    await receiver.until(6)
    const data = receiver.received.map(({ event }) => event.data)
    expect(data[1]).toEqual({ ...paid, sequence: 2 })
    expect(data[2]).toMatchObject({
      status: 'PROCESSING_REFUND',
      amountRefunded: 0,
      refunds: [{ status: 'PROCESSING' }],
    })
    expect(data[3]).toEqual({ ...part, sequence: 4 })
    expect(data[5]).toEqual({ ...(await fetchRefundable(service, id)), sequence: 6 })
    await receiver.stop()
  })

  it('costs a fee in addition, and the fee of the payment is not returned', async () => {
    await setFixedFee(service, 'transaction', 70)
    await setFixedFee(service, 'refund', 30)
    try {
      const { id } = await payOne(service)
      expect(await fetchRefundable(service, id)).toMatchObject({ feeAmount: 70 })
      expect(await transfersOf(service, id)).toEqual(['payment acquirer>available 1000', 'fee available>fees 70'])
      const money = await balanceChanges(service, async () => {
        await untilRefund(service, id, await refund(service, id, { amount: 900 }), 'REFUNDED')
      })
      expect(money).toEqual({ available: -930, fees: 30, acquirer: 900 })
    } finally {
      service.clock.advance(1)
      await setFixedFee(service, 'transaction', 0)
      await setFixedFee(service, 'refund', 0)
    }
  })
})

describe('a refund is refused', () => {
  const refusedWith = async (id: string, body: Record<string, unknown> = {}) =>
    refusal(await requestRefund(service, id, body))

  it('for an unknown transaction, or another client’s', async () => {
    expect((await requestRefund(service, randomUUID())).status).toBe(404)
    const { id } = await payOne(service)
    const other = await addTestClient(service)
    expect((await requestRefund(service, id, {}, { token: other.token })).status).toBe(404)
    expect((await requestRefund(service, 'none')).status).toBe(422)
  })

  it('to a token without the scope', async () => {
    const { token } = await addTestClient(service, ['transaction.read', 'transaction.write', 'withdrawal.write'])
    const answer = await requestRefund(service, randomUUID(), {}, { token })
    expect([answer.status, answer.body.code]).toEqual([403, 'insufficient_scope'])
  })

  it('for a transaction that is not paid, is refunded, or has a refund in process', async () => {
    const unpaid = await charge(service)
    expect(await refusedWith(unpaid.id)).toEqual(['refund_not_possible', 'status not_paid'])
    const { id } = await payOne(service, slowReturnAmount)
    const slow = await refund(service, id)
    await untilSent(service, slow)
    expect(await refusedWith(id)).toEqual(['refund_not_possible', 'status refund_in_progress'])
    service.clock.advance(700_000)
    await service.runJob('transactions.check-refunds')
    await untilRefund(service, id, slow, 'REFUNDED')
    expect(await refusedWith(id)).toEqual(['refund_not_possible', 'status refunded'])
  })

  it('above what is left, and says what is left', async () => {
    const { id } = await payOne(service)
    expect(await refusedWith(id, { amount: 1001 })).toEqual(['refund_not_possible', 'amount too_large'])
    await untilRefund(service, id, await refund(service, id, { amount: 999 }), 'REFUNDED')
    const answer = await requestRefund(service, id, { amount: 2 })
    expect([answer.status, answer.body.amountLeft]).toEqual([422, 1])
    await untilRefund(service, id, await refund(service, id, { amount: 1 }), 'REFUNDED')
  })

  it('after the maximum number of refunds of a transaction, failed ones not counted', async () => {
    const [{ id }] = await Promise.all([payOne(service), untilVerified(service)])
    const fill = async (status: 'FAILED' | 'REFUNDED', count: number, daysAgo: number) =>
      await service.db.query(sql`
        insert into refunds (merchant_id, id, transaction_id, amount, status, created_at, finished_at, idempotency_key)
        select merchant_id, gen_random_uuid(), id, 1, ${status}, created_at + n * interval '1 ms' - ${daysAgo} * interval '1 day',
          ${service.clock.now()}::timestamptz - ${daysAgo} * interval '1 day', 'filler-' || ${status} || id || n
        from transactions, generate_series(1, ${count}) n where id = ${id}`)
    await fill('REFUNDED', refundsMax - 1, 0)
    await fill('FAILED', 2 * refundsMax, 2)
    await untilRefund(service, id, await refund(service, id, { amount: 1 }), 'REFUNDED')
    const answer = await requestRefund(service, id, { amount: 1 })
    expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(`at most ${refundsMax} refunds`)])
    await service.db.query(sql`delete from refunds where transaction_id = ${id} and idempotency_key like 'filler-%'`)
  })

  it('temporarily after many recent failures for a transaction', async () => {
    const { id } = await payOne(service)
    await service.db.query(sql`
      insert into refunds (merchant_id, id, transaction_id, amount, status, created_at, finished_at, idempotency_key)
      select merchant_id, gen_random_uuid(), id, 1, 'FAILED', created_at + n * interval '1 ms',
        ${service.clock.now()}::timestamptz - n * interval '1 min', 'filler-' || id || n
      from transactions, generate_series(1, 10) n where id = ${id}`)
    const answer = await requestRefund(service, id, { amount: 1 })
    expect([answer.status, answer.headers.get('retry-after'), answer.body.code]).toEqual([429, '3000', 'rate_limited'])
    service.clock.advance(3_000_000)
    await untilRefund(service, id, await refund(service, id, { amount: 1 }), 'REFUNDED')
    await service.db.query(sql`delete from refunds where transaction_id = ${id} and idempotency_key like 'filler-%'`)
  })

  it('later than 90 days after the payment', async () => {
    const own = await startTestService()
    const [last, late] = [await payOne(own), await payOne(own)]
    own.clock.advance(90 * 86_400_000)
    const token = await fetchToken(own.baseUrl, own.sandbox)
    expect((await requestRefund(own, last.id, {}, { token })).status).toBe(201)
    own.clock.advance(1)
    expect(refusal(await requestRefund(own, late.id, {}, { token }))).toEqual(['refund_not_possible', 'status too_old'])
    await own.stop()
  })

  it.each<[string, Record<string, unknown>]>([
    ['amount', { amount: 0 }],
    ['amount', { amount: -1 }],
    ['amount', { amount: 1.5 }],
    ['amount', { amount: '100' }],
    ['amount', { amount: true }],
    ['reason', { reason: 'x' }],
    ['reason', { reason: 'x'.repeat(141) }],
    ['reason', { reason: 'a\u0000b' }],
    ['reason', { reason: 7 }],
    ['idempotencyKey', { idempotencyKey: undefined }],
    ['idempotencyKey', { idempotencyKey: 'x'.repeat(7) }],
    ['idempotencyKey', { idempotencyKey: 'x'.repeat(256) }],
    ['idempotencyKey', { idempotencyKey: 12_345_678 }],
  ])('when %s is not valid: %o', async (field, body) => {
    expect(refusedFields(await requestRefund(service, randomUUID(), body))).toEqual([field])
  })

  it('with every error at once', async () => {
    const answer = await requestRefund(service, randomUUID(), { amount: 0, reason: 'x', idempotencyKey: undefined })
    expect(refusedFields(answer).sort()).toEqual(['amount', 'idempotencyKey', 'reason'])
  })

  it('when amount and fee exceed the balance, without using the key', async () => {
    const shop = await addTestClient(service)
    const { id } = await payOne(service, 1000, { token: shop.token })
    await drain(service, 1, shop.merchantId)
    const body = { idempotencyKey: randomUUID() }
    const answer = await requestRefund(service, id, body, { token: shop.token })
    expect([answer.status, answer.body.code]).toEqual([422, 'insufficient_balance'])
    const { status } = (await service.call<{ status: string }>(`/transaction/${id}`, { token: shop.token })).body
    expect(status).toBe('PAID')
    await drain(service, -1, shop.merchantId)
    expect((await requestRefund(service, id, body, { token: shop.token })).status).toBe(201)
  })
})

describe('the same key', () => {
  it('gives the first answer again, byte for byte, also when the refund has ended', async () => {
    const { id, endToEnd } = await payOne(service)
    const body = { amount: 400, reason: 'Broken', idempotencyKey: randomUUID() }
    const first = await requestRefund(service, id, body)
    await untilRefund(service, id, first.body.id, 'REFUNDED')
    const second = await requestRefund(service, id, body)
    expect([first.status, second.status, second.text]).toEqual([201, 201, first.text])
    expect([isReplay(first), isReplay(second)]).toEqual([false, true])
    expect(await returnsOf(service.db, endToEnd)).toHaveLength(1)
  })

  it('means the same in a header, and no amount means everything that was left then', async () => {
    const { id } = await payOne(service)
    await untilRefund(service, id, await refund(service, id, { amount: 100 }), 'REFUNDED')
    const key = randomUUID()
    const header = { headers: { 'idempotency-key': key } }
    const first = await requestRefund(service, id, { idempotencyKey: undefined }, header)
    expect(first.status).toBe(201)
    await untilRefund(service, id, first.body.id, 'REFUNDED')
    for (const body of [{}, { amount: 900 }]) {
      const again = await requestRefund(service, id, { ...body, idempotencyKey: key })
      expect([again.text, isReplay(again)]).toEqual([first.text, true])
    }
  })

  it('with different content is refused with the differing fields', async () => {
    const [one, other] = [await payOne(service), await payOne(service)]
    const idempotencyKey = randomUUID()
    await untilRefund(service, one.id, await refund(service, one.id, { amount: 400, idempotencyKey }), 'REFUNDED')
    const differing = async (id: string, body: Record<string, unknown>) =>
      refusal(await requestRefund(service, id, { ...body, idempotencyKey }))
    expect(await differing(one.id, { amount: 401 })).toEqual(['idempotency_key_reused', 'amount differs'])
    // What is left is 600 now, and was 1000 then: the first request meant neither.
    expect(await differing(one.id, {})).toEqual(['idempotency_key_reused', 'amount differs'])
    expect(await differing(one.id, { amount: 400, reason: 'Because' })).toEqual([
      'idempotency_key_reused',
      'reason differs',
    ])
    expect(await differing(other.id, { amount: 400 })).toEqual(['idempotency_key_reused', 'id differs'])
  })

  it('sent many times concurrently makes one refund', async () => {
    const { id, endToEnd } = await payOne(service)
    const body = { amount: 500, idempotencyKey: randomUUID() }
    const answers = await Promise.all(Array.from({ length: 12 }, async () => await requestRefund(service, id, body)))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1)
    await untilRefund(service, id, answers[0]?.body.id ?? '', 'REFUNDED')
    expect(await returnsOf(service.db, endToEnd)).toHaveLength(1)
  })

  it('sent for two transactions concurrently refunds one of them', async () => {
    const paid = [await payOne(service), await payOne(service)]
    const body = { idempotencyKey: randomUUID() }
    const answers = await Promise.all(paid.map(async ({ id }) => await requestRefund(service, id, body)))
    expect(answers.map(({ status }) => `${status}`).sort()).toEqual(['201', '422'])
    expect(answers.find(({ status }) => status === 422)?.body.code).toBe('idempotency_key_reused')
  })
})

describe('concurrently', () => {
  it('of three refunds, of which any two exceed the payment, one succeeds', async () => {
    const { id } = await payOne(service)
    const answers = await Promise.all([1, 2, 3].map(async () => await requestRefund(service, id, { amount: 600 })))
    expect(answers.map(({ status }) => `${status}`).sort()).toEqual(['201', '422', '422'])
    await untilStatus(service, id, 'PAID')
    expect(await fetchRefundable(service, id)).toMatchObject({ amountRefunded: 600 })
  })

  it('of sixteen refunds as many succeed as the balance covers', async () => {
    const shop = await addTestClient(service)
    const { token, merchantId } = shop
    const paid = await Promise.all(Array.from({ length: 16 }, async () => await payOne(service, 1000, { token })))
    await drain(service, 10_500, merchantId)
    const answers = await Promise.all(paid.map(async ({ id }) => await requestRefund(service, id, {}, { token })))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
    expect(new Set(answers.map(({ body }) => body.code).filter(Boolean))).toEqual(new Set(['insufficient_balance']))
    expect((await balancesOf(service, merchantId)).available).toBe(500)
  })
})

describe('the acquirer', () => {
  it.each([
    ['refuses immediately', refusedReturnAmount],
    ['takes it and then does not carry it out', rejectedReturnAmount],
  ])('%s: the money is released, and the transaction is PAID with the reason', async (_, amount) => {
    const { id, endToEnd } = await payOne(service, amount)
    const money = await balanceChanges(service, async () => {
      await untilRefund(service, id, await refund(service, id), 'FAILED')
    })
    expect(money).toEqual({})
    const transaction = await fetchRefundable(service, id)
    expect(transaction).toMatchObject({ status: 'PAID', amountRefunded: 0, errorMessage: expect.stringMatching(/\w/) })
    expect(await returnsOf(service.db, endToEnd)).toEqual([])
    // It may be requested again, and the failure disappears once it succeeds.
    await untilRefund(service, id, await refund(service, id, { amount: 100 }), 'REFUNDED')
    expect(await fetchRefundable(service, id)).toMatchObject({
      status: 'PAID',
      amountRefunded: 100,
      errorMessage: null,
    })
  })

  it('fails temporarily: the message says that the refund may be requested again', async () => {
    const { id, endToEnd } = await payOne(service, slowReturnAmount)
    const refundId = await refund(service, id)
    await untilSent(service, refundId)
    await service.db.query(sql`
      update simulator.returns set rejection = 'AB03', settles_at = ${service.clock.now()} where end_to_end_id = ${endToEnd}`)
    service.clock.advance(60_000)
    await service.runJob('transactions.check-refunds')
    await untilRefund(service, id, refundId, 'FAILED')
    expect((await fetchRefundable(service, id)).errorMessage).toMatch(/AB03.*request the refund again/)
  })

  it('takes long: the money stays reserved until the outcome is certain', async () => {
    const { id } = await payOne(service, slowReturnAmount)
    const before = await balancesOf(service)
    const refundId = await refund(service, id)
    await untilSent(service, refundId)
    for (const seconds of [6, 60, 300]) {
      service.clock.advance(seconds * 1000)
      await service.runJob('transactions.check-refunds')
    }
    expect(await fetchRefundable(service, id)).toMatchObject({ status: 'PROCESSING_REFUND', amountRefunded: 0 })
    expect(await balancesOf(service)).toMatchObject({
      available: before.available - slowReturnAmount,
      reserved: before.reserved + slowReturnAmount,
    })
    service.clock.advance(700_000)
    await service.runJob('transactions.check-refunds')
    await untilRefund(service, id, refundId, 'REFUNDED')
  })
})
