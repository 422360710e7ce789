import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byService } from '../../src/audit/record.ts'
import { sql } from '../../src/db/sql.ts'
import type { TransferKind } from '../../src/ledger/accounts.ts'
import { computeFee, feeFor, setFeeRule } from '../../src/ledger/fees.ts'
import { post } from '../../src/ledger/post.ts'
import { insertFeeRule } from '../../src/ledger/store.ts'
import { disputed, paid, released, reserved, sent } from '../../src/ledger/transfers.ts'
import { findLedgerBreaches } from '../../src/ledger/verify.ts'
import { newUuid } from '../../src/lib/secrets.ts'
import { fetchRefundable, payOne, refund, setFixedFee, untilRefund } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { balanceChanges } from '../support/withdrawals.ts'

type Balance = { available: number; reserved: number; blocked: number; debt: number; at: string }
type Statement = {
  total: number
  nextCursor: string | null
  data: { kind: TransferKind; amount: number; balance: number }[]
}

let service: TestService
let merchantId: string

beforeAll(async () => {
  service = await startTestService()
  const rows = await service.db.query<{ merchant_id: string }>(sql`select merchant_id from clients`)
  merchantId = rows[0]?.merchant_id ?? ''
})
afterAll(async () => {
  expect(await findLedgerBreaches(service.db)).toEqual([])
  await service.stop()
})

async function postNow(transfers: Parameters<typeof post>[1]['transfers'], recordId = newUuid()): Promise<void> {
  service.clock.advance(1_000)
  await service.db.transaction(async (tx) => {
    await post(tx, {
      merchantId,
      eventKey: `test:${newUuid()}`,
      recordType: 'transaction',
      acquirer: 'simulator',
      recordId,
      now: service.clock.now(),
      transfers,
    })
  })
}

const balance = async (query = '') => (await service.call<Balance>(`/balance${query}`)).body

describe('the balance', () => {
  it('is zero before anything was posted', async () => {
    expect(await balance()).toMatchObject({ available: 0, reserved: 0, blocked: 0, debt: 0 })
  })

  it('follows payments, fees, and money that is reserved, released or sent', async () => {
    await postNow(paid(10_000, 150))
    const before = service.clock.now()
    await postNow(reserved('withdrawal_reserved', 4_000, 100))
    expect(await balance()).toMatchObject({ available: 5_750, reserved: 4_100, blocked: 0 })
    await postNow(sent('withdrawal_sent', 4_000, 100))
    await postNow(reserved('refund_reserved', 1_000, 0))
    await postNow(released('refund_released', 1_000, 0))
    expect(await balance()).toMatchObject({ available: 5_750, reserved: 0 })
    expect(await balance(`?at=${before.toISOString()}`)).toEqual({
      available: 9_850,
      reserved: 0,
      blocked: 0,
      debt: 0,
      at: before.toISOString(),
    })
  })

  it('refuses what it does not cover, and nothing is posted', async () => {
    await expect(postNow(reserved('withdrawal_reserved', 5_751, 0))).rejects.toMatchObject({
      code: 'insufficient_balance',
    })
    expect(await balance()).toMatchObject({ available: 5_750 })
  })

  it('turns what a dispute finds missing into a debt, which the next payments repay', async () => {
    await postNow(disputed(6_000))
    expect(await balance()).toMatchObject({ available: 0, blocked: 6_000, debt: 250 })
    await postNow(paid(1_000, 0))
    expect(await balance()).toMatchObject({ available: 750, debt: 0 })
  })

  it('is posted once for one event, enforced by the database', async () => {
    const event = {
      merchantId,
      eventKey: 'twice',
      recordType: 'transaction' as const,
      acquirer: 'simulator',
      recordId: newUuid(),
      now: service.clock.now(),
    }
    const postOnce = async () =>
      await service.db.transaction(async (tx) => await post(tx, { ...event, transfers: paid(500, 0) }))
    const outcomes = await Promise.allSettled([postOnce(), postOnce(), postOnce()])
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('cannot be changed by the service itself without the ledger', async () => {
    for (const statement of [
      sql`update ledger_transfers set amount = 1`,
      sql`delete from ledger_transfers`,
      sql`truncate ledger_transfers`,
    ]) {
      await expect(service.db.query(statement)).rejects.toThrow('permission denied')
    }
  })

  it('keeps its invariants with many concurrent writers', async () => {
    await postNow(paid(1_600, 0))
    const { available } = await balance()
    const each = 100
    const outcomes = await Promise.allSettled(
      Array.from({ length: 64 }, async () => await postNow(reserved('withdrawal_reserved', each, 0))),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(
      Math.min(64, Math.floor(available / each)),
    )
    expect((await balance()).available).toBe(available % each)
  })
})

describe('the statement', () => {
  it('has every change with the balance after it, newest first, in pages', async () => {
    const whole = (await service.call<Statement>('/statement?perPage=100')).body
    expect(whole.data).toHaveLength(whole.total)
    for (const [index, entry] of whole.data.entries()) {
      expect(entry.balance).toBe((whole.data[index + 1]?.balance ?? 0) + entry.amount)
    }
    const first = (await service.call<Statement>('/statement?perPage=3')).body
    const next = (await service.call<Statement>(`/statement?perPage=3&cursor=${first.nextCursor}`)).body
    expect([...first.data, ...next.data]).toEqual(whole.data.slice(0, 6))
  })

  it('is filtered by kind and by date', async () => {
    const { data } = (await service.call<Statement>('/statement?kind=fee&kind=debt_repaid')).body
    expect(new Set(data.map(({ kind }) => kind))).toEqual(new Set(['fee', 'debt_repaid']))
    expect(
      (
        await service.call<Statement>(
          `/statement?startDate=${new Date(service.clock.now().getTime() + 1).toISOString()}`,
        )
      ).body.total,
    ).toBe(0)
    expect((await service.call('/statement?kind=other')).status).toBe(422)
    expect((await service.call('/statement?cursor=abc')).status).toBe(422)
  })

  it('is returned as CSV, complete, when the client accepts CSV', async () => {
    const whole = (await service.call<Statement>('/statement?perPage=100')).body
    const csv = await service.call('/statement', { headers: { accept: 'text/csv' } })
    expect(csv.headers.get('content-type')).toContain('text/csv')
    const lines = csv.text.trimEnd().split('\r\n')
    expect(lines).toHaveLength(whole.total + 1)
    expect(lines[0]).toBe(
      'id,created_at,kind,amount_cents,balance_cents,record_type,record_id,transaction_id,description,end_to_end,external_code,corrected_subject,corrected_reference',
    )
  })

  it('requires a token, as the balance does', async () => {
    for (const path of ['/statement', '/balance']) expect((await service.call(path, { token: null })).status).toBe(401)
  })
})

describe('a fee', () => {
  it.each([
    [{ fixed: 50, basis_points: 0, minimum: 0, maximum: null }, 10_000, 50],
    [{ fixed: 0, basis_points: 99, minimum: 0, maximum: null }, 10_000, 99],
    // Half a cent is rounded up.
    [{ fixed: 0, basis_points: 100, minimum: 0, maximum: null }, 50, 1],
    [{ fixed: 0, basis_points: 100, minimum: 0, maximum: null }, 49, 0],
    [{ fixed: 0, basis_points: 100, minimum: 30, maximum: 200 }, 100, 30],
    [{ fixed: 0, basis_points: 100, minimum: 30, maximum: 200 }, 10_000_000, 200],
  ])('by rule %j of %i is %i', (rule, amount, fee) => {
    expect(computeFee(rule, amount)).toBe(fee)
  })

  it('applies from its time on', async () => {
    const rule = {
      merchantId,
      operation: 'transaction' as const,
      fixed: 10,
      basis_points: 0,
      minimum: 0,
      maximum: null,
    }
    const validFrom = new Date(service.clock.now().getTime() + 1000)
    await service.db.transaction(async (tx) => await insertFeeRule(tx, { ...rule, validFrom }))
    const request = async (now: Date) =>
      await feeFor(service.db, { merchantId, operation: 'transaction', amount: 100, now })
    expect([await request(service.clock.now()), await request(validFrom)]).toEqual([0, 10])
    // Another machine, whose clock is ahead, has set it. A person who has not read it does not replace it.
    const setting = {
      merchantId,
      operation: rule.operation,
      rule: { ...rule, returns_payment_fee: false },
      by: byService,
    }
    await expect(setFeeRule(service, { ...setting, validFrom: null })).rejects.toMatchObject({
      code: 'change_not_possible',
    })
  })

  it('takes no more than the payment, and is not returned with a refund', async () => {
    // After the rule of the test before has begun.
    service.clock.advance(2_000)
    await setFixedFee(service, 'transaction', 5000)
    const { id } = await payOne(service)
    service.clock.advance(1)
    await setFixedFee(service, 'transaction', 0)
    expect(await fetchRefundable(service, id)).toMatchObject({ amountPaid: 1000, feeAmount: 1000 })
    // The merchant pays the whole refund from other payments.
    await payOne(service)
    const money = await balanceChanges(service, async () => {
      await untilRefund(service, id, await refund(service, id), 'REFUNDED')
    })
    expect(money).toEqual({ available: -1000, acquirer: 1000 })
  })
})
