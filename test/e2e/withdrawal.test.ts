import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { insertFeeRule } from '../../src/ledger/store.ts'
import { addTestClient, refusedFields } from '../support/requests.ts'
import { type Answer, startTestService, type TestService } from '../support/service.ts'
import {
  act,
  balanceChanges,
  balancesOf,
  expectLedgerConsistent,
  fetchWithdrawal,
  freezeAllPayouts,
  fund,
  merchantOf,
  refusal,
  releaseAllPayouts,
  requestWithdrawal,
  transfersOf,
  untilWithdrawal,
  withdraw,
  withdrawalBody,
} from '../support/withdrawals.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService()
  await fund(service, 50_000_000)
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

const request = async (more: Record<string, unknown> = {}) => await requestWithdrawal(service, more)
const isReplay = (answer: Answer<unknown>) => answer.headers.get('idempotent-replayed') === 'true'
const isoDate = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)

describe('a withdrawal', () => {
  it('is answered immediately, sent automatically, and shown completely', async () => {
    const body = withdrawalBody({
      amount: 12_345,
      pixKey: { key: '529.982.247-25', type: 'CPF' },
      externalCode: 'payout-0001',
      metadata: { batch: 7, tags: ['a', { b: null }] },
    })
    const created = await service.call<{ id: string }>('/withdrawal', { body })
    expect(created.status).toBe(201)
    const { id } = created.body
    expect(created.headers.get('location')).toBe(`${service.baseUrl}/withdrawal/${id}`)
    expect(created.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      externalCode: 'payout-0001',
      amount: 12_345,
      type: 'WITHDRAWAL',
      status: 'PENDING',
    })
    const shown = await untilWithdrawal(service, id, 'PROCESSED')
    expect(shown).toEqual({
      id,
      acquirer: 'simulator',
      amount: 12_345,
      method: 'PIX',
      externalCode: 'payout-0001',
      metadata: { batch: 7, tags: ['a', { b: null }] },
      createdAt: isoDate,
      status: 'PROCESSED',
      statusHistory: [
        { status: 'PENDING', date: isoDate, durationInMilliseconds: 0 },
        { status: 'PROCESSING', date: isoDate, durationInMilliseconds: 0 },
        { status: 'PROCESSED', date: isoDate, durationInMilliseconds: null },
      ],
      updatedAt: isoDate,
      amountWithdrawn: 12_345,
      processedDate: isoDate,
      errorMessage: null,
      endToEnd: expect.stringMatching(/^E[0-9A-Za-z]{31}$/),
      payer: expect.objectContaining({ type: 'PJ', bankAccount: expect.anything() }),
      receiver: expect.objectContaining({ document: '52998224725', pix: { key: '52998224725', type: 'CPF' } }),
      pixKey: { key: '52998224725', type: 'CPF' },
      feeAmount: 0,
    })
    const listed = await service.call<{ data: unknown[] }>(`/withdrawal?endToEnd=${shown.endToEnd}`)
    expect(listed.body.data).toEqual([shown])
  })

  it('reserves amount and fee, and posts them when the money has left', async () => {
    const merchantId = await merchantOf(service)
    const validFrom = service.clock.now()
    const rule = { merchantId, operation: 'withdrawal' as const, validFrom, maximum: 500 }
    await service.db.transaction(
      async (tx) => await insertFeeRule(tx, { ...rule, fixed: 50, basis_points: 100, minimum: 0 }),
    )
    let id = ''
    const money = await balanceChanges(service, async () => {
      id = await withdraw(service, { amount: 10_000 })
      expect(await untilWithdrawal(service, id, 'PROCESSED')).toMatchObject({ feeAmount: 150, amountWithdrawn: 10_000 })
    })
    expect(money).toEqual({ available: -10_150, acquirer: 10_000, fees: 150 })
    expect(await transfersOf(service, id)).toEqual([
      'withdrawal_reserved available>reserved 10150',
      'withdrawal_sent reserved>acquirer 10000',
      'fee reserved>fees 150',
    ])
    service.clock.advance(1)
    await service.db.transaction(
      async (tx) =>
        await insertFeeRule(tx, { ...rule, validFrom: service.clock.now(), fixed: 0, basis_points: 0, minimum: 0 }),
    )
  })

  it('is 404 to another client, like an unknown one', async () => {
    const id = await withdraw(service)
    const { token } = await addTestClient(service)
    for (const path of [`/withdrawal/${id}`, `/withdrawal/${id}/event`, `/withdrawal/${randomUUID()}`])
      expect((await service.call(path, { token })).status).toBe(404)
    for (const verb of ['cancel', 'confirm'] as const) {
      expect((await act(service, id, verb, { token })).status).toBe(404)
      expect((await act(service, randomUUID(), verb)).status).toBe(404)
      expect((await service.call(`/withdrawal/none/${verb}`, { method: 'POST' })).status).toBe(422)
    }
    expect((await service.call('/withdrawal/none')).status).toBe(422)
    await untilWithdrawal(service, id, 'PROCESSED')
  })
})

describe('the body', () => {
  it.each<[string, Record<string, unknown>, string[]]>([
    ['an amount of 9', { amount: 9 }, ['amount']],
    ['an amount above the limit', { amount: 10_000_001 }, ['amount']],
    ['an amount with decimals', { amount: 10.5 }, ['amount']],
    ['an amount as text', { amount: '1000' }, ['amount']],
    ['another method', { method: 'TED' }, ['method']],
    ['no method', { method: undefined }, ['method']],
    ['no key', { pixKey: undefined }, ['pixKey']],
    ['a key without a type', { pixKey: { key: 'a@example.com' } }, ['pixKey.type']],
    ['a key of another type', { pixKey: { key: 'a@example.com', type: 'MAIL' } }, ['pixKey.type']],
    ['a webhook without https', { webhookUrl: 'ftp://shop.example.com/' }, ['webhookUrl']],
    ['a short external code', { externalCode: '1234567' }, ['externalCode']],
    ['no idempotency key', { idempotencyKey: undefined }, ['idempotencyKey']],
    ['a short idempotency key', { idempotencyKey: '1234567' }, ['idempotencyKey']],
    ['an idempotency key that is a number', { idempotencyKey: 12_345_678 }, ['idempotencyKey']],
    ['metadata that is a list', { metadata: [] }, ['metadata']],
    ['metadata that is too large', { metadata: { a: 'x'.repeat(8192) } }, ['metadata']],
    ['metadata with control characters', { metadata: { a: '\u0000' } }, ['metadata.a']],
    [
      'many faults at once',
      { amount: 0, method: 1, pixKey: { key: '1', type: 'CPF' }, idempotencyKey: undefined },
      ['amount', 'method', 'pixKey.key', 'idempotencyKey'],
    ],
  ])('with %s is refused', async (_, more, fields) => {
    expect(refusedFields(await request(more)).sort()).toEqual([...fields].sort())
  })

  it('may have unknown fields, and the smallest and largest amounts', async () => {
    for (const amount of [10, 10_000_000]) {
      const id = await withdraw(service, { amount, unknown: 'member' })
      expect(await untilWithdrawal(service, id, 'PROCESSED')).toMatchObject({ amountWithdrawn: amount })
    }
    expect((await service.call('/withdrawal?unknown=1', { body: withdrawalBody() })).status).toBe(422)
  })
})

describe('a key', () => {
  it.each([
    ['CPF', '529.982.247-25', '52998224725'],
    ['CPF', '52998224725', '52998224725'],
    ['CNPJ', '11.222.333/0001-81', '11222333000181'],
    ['CNPJ', '12.abc.345/01de-35', '12ABC34501DE35'],
    ['EMAIL', 'Maria.Silva+Pix@Example.com', 'maria.silva+pix@example.com'],
    ['PHONE', '(11) 98765-4321', '+5511987654321'],
    ['PHONE', '+55 11 98765-4321', '+5511987654321'],
    ['EVP', '123E4567-E12B-12D1-A456-426655440000', '123e4567-e12b-12d1-a456-426655440000'],
  ])('that is a %s is stored in its normal form: %s', async (type, key, normal) => {
    const id = await withdraw(service, { pixKey: { key, type }, amount: 1_000 + normal.length + key.length })
    const { pixKey, receiver } = await untilWithdrawal(service, id, 'PROCESSED')
    expect(pixKey).toEqual({ key: normal, type })
    expect(receiver?.pix).toEqual({ key: normal, type })
    const listed = await service.call<{ data: { id: string }[] }>(`/withdrawal?pixKey=${encodeURIComponent(key)}`)
    expect(listed.body.data.map((one) => one.id)).toContain(id)
  })

  it.each([
    ['CPF', '529.982.247-26'],
    ['CPF', '11.222.333/0001-81'],
    ['CNPJ', '11.222.333/0001-82'],
    ['CNPJ', '52998224725'],
    ['EMAIL', 'maria'],
    ['EMAIL', `${'m'.repeat(66)}@example.com`],
    ['PHONE', '+1 212 555 0100'],
    ['PHONE', '5299822472'],
    ['EVP', 'none'],
    ['EVP', '123e4567e12b12d1a456426655440000'],
    ['EVP', ''],
  ])('that is not a valid %s is refused: %s', async (type, key) => {
    expect(refusedFields(await request({ pixKey: { key, type } }))).toEqual(['pixKey.key'])
  })
})

describe('an idempotency key', () => {
  it('gives the first answer again, byte for byte, whatever the state of the withdrawal', async () => {
    const body = withdrawalBody({ externalCode: 'payout-0002' })
    const money = await balanceChanges(service, async () => {
      const first = await service.call<{ id: string }>('/withdrawal', { body })
      await untilWithdrawal(service, first.body.id, 'PROCESSED')
      service.clock.advance(1_000)
      const again = await service.call('/withdrawal', { body })
      expect([again.status, again.text, isReplay(first), isReplay(again)]).toEqual([201, first.text, false, true])
      const { idempotencyKey, ...rest } = body
      const header = { 'idempotency-key': String(idempotencyKey) }
      expect((await service.call('/withdrawal', { body: rest, headers: header })).text).toBe(first.text)
      expect((await service.call('/withdrawal', { body, headers: header })).text).toBe(first.text)
    })
    expect(money).toEqual({ available: -1_000, acquirer: 1_000 })
  })

  it('is the same for a PIX key in another notation', async () => {
    const body = withdrawalBody({ pixKey: { key: '(11) 3333-4444', type: 'PHONE' } })
    const first = await service.call<{ id: string }>('/withdrawal', { body })
    const again = await service.call('/withdrawal', {
      body: { ...body, pixKey: { key: '+551133334444', type: 'PHONE' } },
    })
    expect([again.text, isReplay(again)]).toEqual([first.text, true])
    await untilWithdrawal(service, first.body.id, 'PROCESSED')
  })

  it.each<[string, unknown, string[]]>([
    ['amount', 1_001, ['amount']],
    ['pixKey', { key: 'b@example.com', type: 'EMAIL' }, ['pixKey.key', 'pixKey.type']],
    ['externalCode', 'payout-0004', ['externalCode']],
    ['webhookUrl', 'https://shop.example.com/other', ['webhookUrl']],
    ['metadata', { batch: 2 }, ['metadata']],
  ])('refuses another %s, and names it', async (member, value, fields) => {
    const body = withdrawalBody({ externalCode: 'payout-0003' })
    await untilWithdrawal(service, (await service.call<{ id: string }>('/withdrawal', { body })).body.id, 'PROCESSED')
    const answer = await service.call('/withdrawal', { body: { ...body, [member]: value } })
    expect(answer.status).toBe(422)
    expect(refusal(answer)).toEqual(['idempotency_key_reused', ...fields.map((field) => `${field} differs`)])
    expect(answer.text).not.toContain('payout-0003')
  })

  it('is refused when header and body differ, and is not used by a refusal', async () => {
    const body = withdrawalBody({ amount: 9 })
    expect((await service.call('/withdrawal', { body })).status).toBe(422)
    const differing = { body: { ...body, amount: 1_000 }, headers: { 'idempotency-key': 'another-key' } }
    expect(refusedFields(await service.call('/withdrawal', differing))).toEqual(['Idempotency-Key'])
    const created = await service.call<{ id: string }>('/withdrawal', { body: { ...body, amount: 1_000 } })
    expect([created.status, isReplay(created)]).toEqual([201, false])
    await untilWithdrawal(service, created.body.id, 'PROCESSED')
  })
})

describe('the balance', () => {
  it('has to cover amount and fee, to the cent', async () => {
    const { merchantId, token } = await addTestClient(service)
    await fund(service, 5_000, merchantId)
    const [validFrom, operation] = [service.clock.now(), 'withdrawal' as const]
    const rule = { merchantId, operation, validFrom, fixed: 100, basis_points: 0, minimum: 0, maximum: null }
    await service.db.transaction(async (tx) => await insertFeeRule(tx, rule))
    const refused = await requestWithdrawal(service, { amount: 4_901 }, { token })
    expect([refused.status, refused.body.code]).toEqual([422, 'insufficient_balance'])
    const listed = await service.call<{ total: number }>('/withdrawal', { token })
    expect(listed.body.total).toBe(0)
    expect((await requestWithdrawal(service, { amount: 4_900 }, { token })).status).toBe(201)
    expect(await balancesOf(service, merchantId)).toMatchObject({ available: 0 })
    expect(refusal(await requestWithdrawal(service, { amount: 10 }, { token }))).toEqual(['insufficient_balance'])
  })
})

describe('during a payout freeze', () => {
  it('requests are refused, and a repeated request still has its first answer', async () => {
    const body = withdrawalBody()
    const first = await service.call<{ id: string }>('/withdrawal', { body })
    await untilWithdrawal(service, first.body.id, 'PROCESSED')
    await freezeAllPayouts(service)
    const refused = await request()
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      503,
      'payouts_stopped',
      '300',
    ])
    expect((await service.call('/withdrawal', { body })).text).toBe(first.text)
    await releaseAllPayouts(service)
    await untilWithdrawal(service, await withdraw(service), 'PROCESSED')
  })

  it('an earlier withdrawal waits, can be canceled, and is sent afterwards', async () => {
    const pixKey = { key: randomUUID(), type: 'EVP' }
    await untilWithdrawal(service, await withdraw(service, { pixKey }), 'PROCESSED')
    // Pending review, so that the freeze comes before the sending.
    const [sent, canceled] = [await withdraw(service, { pixKey }), await withdraw(service, { pixKey })]
    await freezeAllPayouts(service)
    for (const id of [sent, canceled]) expect((await act(service, id, 'confirm')).body.hold).toBeUndefined()
    service.clock.advance(20_000)
    await service.runJob('withdrawals.check')
    await new Promise((done) => setTimeout(done, 200))
    expect(await fetchWithdrawal(service, sent)).toMatchObject({ status: 'PENDING' })
    expect((await act(service, canceled, 'cancel')).body.status).toBe('CANCELED')
    await releaseAllPayouts(service)
    service.clock.advance(60_000)
    await service.runJob('withdrawals.check')
    await untilWithdrawal(service, sent, 'PROCESSED')
    expect(await fetchWithdrawal(service, canceled)).toMatchObject({ status: 'CANCELED' })
  })
})
