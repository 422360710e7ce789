import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { recordAttribution } from '../../src/attribution/attribute.ts'
import { recordReversal } from '../../src/attribution/reverse.ts'
import { sql } from '../../src/db/sql.ts'
import { postEntry } from '../../src/entries/post.ts'
import { explainRecord } from '../../src/explain/explain.ts'
import { cents } from '../../src/lib/money.ts'
import { findLinkWithTotals, listLinkPayments } from '../../src/links/store.ts'
import { startSendBack } from '../../src/suspense/send-back.ts'
import { recordReported } from '../../src/transactions/dispute/dispute.ts'
import { createSettlement } from '../../src/transactions/settle.ts'
import { decide, dispute, disputesOf, pollUntil } from '../support/disputes.ts'
import {
  charge,
  eventsOf,
  fetchTransaction,
  openQuietBank,
  payAt,
  statusesOf,
  untilStatus,
} from '../support/payments.ts'
import { correctReturn } from '../support/reconciling.ts'
import {
  fetchRefundable,
  forgeReturn,
  payOne,
  refund,
  returnsOf,
  setFixedFee,
  untilRefund,
} from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSuspenseOf, operatorBalances, payUnattributed, untilReturned } from '../support/suspense.ts'
import { eventually } from '../support/webhooks.ts'
import {
  balanceChanges,
  balancesOf,
  expectLedgerConsistent,
  merchantOf,
  untilWithdrawal,
  withdraw,
} from '../support/withdrawals.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  await setFixedFee(service, 'transaction', 30)
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

const deps = () => ({ ...service, settlement: createSettlement(service), wakeDeliveries: () => {} })
const match = async (id: string, transactionId: string) =>
  await recordAttribution(deps(), { id, transactionId, by: { actor: 'cli:test' } })
const undo = async (id: string) => await recordReversal(deps(), { id, by: { actor: 'cli:test' } })

/** What operators did, as the timeline of a transaction shows it. */
async function operatorActionsOf(id: string): Promise<string[]> {
  const timeline = (await explainRecord(service, id))?.timeline ?? []
  return timeline.flatMap((entry) => (entry.kind === 'operator' ? entry.data.action : []))
}

it('an unattributed payment is counted by the metrics while it waits for the operator', async () => {
  const fetchCount = async () => {
    const { text } = await service.call('/metrics')
    const [, count = expect.unreachable('the metric is missing')] =
      /^guiche_suspense_payments\{status="held"\} (\d+)$/m.exec(text) ?? []
    return Number(count)
  }
  const before = await fetchCount()
  const { id, suspended } = await payUnattributed(service)
  expect(await fetchCount()).toBe(before + 1)
  await match(suspended.id, id)
  expect(await fetchCount()).toBe(before)
})

describe('an attribution', () => {
  it('may be to a transaction whose code has expired', async () => {
    const { id, suspended } = await payUnattributed(service)
    service.clock.advance(3_600_000)
    await service.runJob('transactions.check')
    await untilStatus(service, id, 'FAILED')
    await match(suspended.id, id)
    expect(statusesOf(await fetchTransaction(service, id))).toEqual([
      'PENDING',
      'PIX_QRCODE_GENERATED',
      'FAILED',
      'PAID',
    ])
  })

  it('is reversed: the money is in suspense again, the fee is returned, and it can pay another transaction', async () => {
    const merchant = await balancesOf(service)
    const wrong = await charge(service)
    const { id: right, endToEnd, suspended } = await payUnattributed(service)
    await match(suspended.id, wrong.id)
    expect(await undo(suspended.id)).toMatchObject({ transactionId: wrong.id })
    expect(await balancesOf(service)).toEqual(merchant)
    expect((await operatorBalances(service)).suspense).toBe(1000)
    const refunded = await fetchRefundable(service, wrong.id)
    expect(refunded).toMatchObject({ status: 'REFUNDED', amountRefunded: 1000 })
    expect(refunded.refunds).toMatchObject([
      { amount: 1000, status: 'REFUNDED', reason: expect.stringContaining('not for this') },
    ])
    expect(await eventsOf(service, wrong.id)).toEqual([
      ...['transaction.pix_qrcode_generated', 'transaction.paid'],
      ...['transaction.processing_refund', 'transaction.refunded'],
    ])
    expect(await returnsOf(service.db, endToEnd)).toEqual([])

    await match(suspended.id, right)
    expect(await fetchTransaction(service, right)).toMatchObject({ status: 'PAID', endToEnd })
    await undo(suspended.id)
    expect(await balancesOf(service)).toEqual(merchant)
    expect((await findSuspenseOf(service, endToEnd))?.statuses).toEqual(['held', 'matched', 'held', 'matched', 'held'])
    await expect(undo(suspended.id)).rejects.toThrow(/attributed to no transaction/)
    await startSendBack(service, { id: suspended.id, by: { actor: 'cli:test' } })
    await untilReturned(service, endToEnd)
    for (const id of [wrong.id, right]) expect(await operatorActionsOf(id)).toEqual(['suspense.match', 'suspense.undo'])
  })

  it('that is reversed counts no longer for the payment link of the charge', async () => {
    const { id: right, suspended } = await payUnattributed(service, { idempotencyKey: randomUUID() })
    const { id: wrong } = await charge(service, { idempotencyKey: randomUUID() })
    const merchantId = await merchantOf(service)
    const linkId = randomUUID()
    await service.db.query(sql`
      insert into payment_links (merchant_id, id, slug, title, stock, needs_customer, is_enabled, created_at, changed_at)
      values (${merchantId}, ${linkId}, 'a-link', 'Coffee', 5, false, true, ${service.clock.now()}, ${service.clock.now()})`)
    await service.db.query(sql`
      insert into payment_link_charges (merchant_id, link_id, key, created_at)
      select merchant_id, ${linkId}, idempotency_key, created_at from transactions where id = any (${[right, wrong]}::uuid[])`)
    const link = { merchant_id: merchantId, id: linkId }
    const counted = async () => {
      const row = await findLinkWithTotals(service.db, { merchantId, id: linkId, now: service.clock.now() })
      const { total } = await listLinkPayments(service.db, { ...link, limit: 10, offset: 0 })
      return [row?.paid, row?.amount_paid, row?.live, total]
    }
    expect(await counted()).toEqual([0, 0, 2, 2])
    await match(suspended.id, wrong)
    expect(await counted()).toEqual([1, 1000, 2, 2])
    await undo(suspended.id)
    expect(await counted()).toEqual([0, 0, 1, 1])
    await match(suspended.id, right)
    expect(await counted()).toEqual([1, 1000, 1, 1])
  })

  it('is reversed after the operator drew the fee, which then comes from the operator’s own money', async () => {
    const merchant = await balancesOf(service)
    const { id, suspended } = await payUnattributed(service)
    await match(suspended.id, id)
    const { fees } = await balancesOf(service)
    const about = {
      acquirer: 'simulator',
      amount: fees,
      idempotencyKey: randomUUID(),
      description: 'a test',
      by: { actor: 'cli:test' },
    }
    await postEntry(service, { type: 'fee_draw', merchantId: null, ...about })
    const operator = await operatorBalances(service)
    expect(await undo(suspended.id)).toMatchObject({ transactionId: id })
    expect(await balancesOf(service)).toMatchObject({ available: merchant.available, fees: 0 })
    expect((await operatorBalances(service)).debt).toBe(operator.debt - 30)
  })

  it('that is reversed when the money is spent becomes a debt, which the next payment repays', async () => {
    const { id, suspended } = await payUnattributed(service, { amount: 5_000 })
    await match(suspended.id, id)
    const amount = (await balancesOf(service)).available - 100
    await untilWithdrawal(service, await withdraw(service, { amount }), 'PROCESSED')
    const undoing = async () => {
      await undo(suspended.id)
    }
    expect(await balanceChanges(service, undoing)).toEqual({
      ...{ available: -100, fees: -30, acquirer: 5_000, debt: -4_870 },
    })
    await payOne(service, 4_900)
    expect(await balancesOf(service)).toMatchObject({ debt: 0, available: 0 })
  })

  it('that is reversed leaves a REFUNDED transaction: a later payment of its code is returned', async () => {
    const other = await charge(service)
    const { suspended } = await payUnattributed(service)
    await match(suspended.id, other.id)
    await undo(suspended.id)
    const { body } = await payAt(service, other.uri)
    await untilReturned(service, body.endToEndId)
    expect(await returnsOf(service.db, body.endToEndId)).toHaveLength(1)
    expect((await fetchTransaction(service, other.id)).status).toBe('REFUNDED')
  })

  it('is not reversed when the money was refunded or disputed in the meantime', async () => {
    const matched = async () => {
      const one = await payUnattributed(service)
      await match(one.suspended.id, one.id)
      return one
    }
    const [refunded, disputed] = [await matched(), await matched()]
    await untilRefund(service, refunded.id, await refund(service, refunded.id, { amount: 100 }), 'REFUNDED')
    await expect(undo(refunded.suspended.id)).rejects.toThrow(/part of the payment was refunded/)
    await dispute(service, disputed.endToEnd)
    await pollUntil(service, disputed.id, 'BLOCKED')
    await expect(undo(disputed.suspended.id)).rejects.toThrow(/disputed/)
  })

  it('is reversed while a return is confirmed, which is then not corrected at the transaction', async () => {
    const { id, endToEnd, suspended } = await payUnattributed(service)
    await match(suspended.id, id)
    await forgeReturn(service, endToEnd, 400, 'ORIGINAL')
    const bank = await openQuietBank(service)
    const beforeCommit = async () => await undo(suspended.id)
    await expect(correctReturn(service, bank.handle, endToEnd, { beforeCommit })).rejects.toThrow(
      /attribution .* was reversed meanwhile/,
    )
    expect(await fetchRefundable(service, id)).toMatchObject({ status: 'REFUNDED', amountReturned: 0 })
    await bank.close()
  })

  it('and a return of the same payment never both succeed, in any order', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id, endToEnd, suspended } = await payUnattributed(service)
      const actions = [
        async () => await match(suspended.id, id),
        async () => await startSendBack(service, { id: suspended.id, by: { actor: 'cli:test' } }),
      ]
      const tries = Array.from({ length: 8 }, async (_, n) => await actions[(n + round) % 2]?.())
      expect((await Promise.allSettled(tries)).filter((one) => one.status === 'fulfilled')).toHaveLength(1)
      const { status } = await fetchTransaction(service, id)
      if (status !== 'PAID') await untilReturned(service, endToEnd)
      expect(await returnsOf(service.db, endToEnd)).toHaveLength(status === 'PAID' ? 0 : 1)
    }
  })

  it('may only be to an unpaid transaction, and one of several concurrent tries succeeds', async () => {
    const paid = await payOne(service)
    const { id, suspended } = await payUnattributed(service)
    await expect(match(suspended.id, paid.id)).rejects.toThrow(/is PAID: it is already paid/)
    await expect(match(randomUUID(), id)).rejects.toThrow(/no payment in suspense/)
    await expect(match(suspended.id, randomUUID())).rejects.toThrow(/no transaction with this id/)
    const another = await charge(service)
    const tries = Array.from({ length: 10 }, async (_, n) => await match(suspended.id, n % 2 === 0 ? id : another.id))
    const outcomes = await Promise.allSettled(tries)
    expect(outcomes.filter(({ status: outcome }) => outcome === 'fulfilled')).toHaveLength(1)
    const statuses = await Promise.all(
      [id, another.id].map(async (one) => (await fetchTransaction(service, one)).status),
    )
    expect(statuses.sort()).toEqual(['PAID', 'PIX_QRCODE_GENERATED'])
  })
})

it('a dispute that is reopened after the attribution was reversed follows the payment to its next transaction', async () => {
  const { id: right, endToEnd, suspended } = await payUnattributed(service)
  const wrong = await charge(service)
  await match(suspended.id, wrong.id)
  const reference = await dispute(service, endToEnd)
  await pollUntil(service, wrong.id, 'BLOCKED')
  await decide(service, reference, 'reject')
  await pollUntil(service, wrong.id, 'PAID')
  await undo(suspended.id)
  // A poll found the payment at its former transaction, and waited for the lock in the meantime.
  const late = {
    reference,
    endToEndId: endToEnd,
    amount: cents(1000),
    reason: null,
    status: 'REJEITADA',
    deadline: null,
  }
  const found = { ...late, state: 'rejected', openedAt: service.clock.now() } as const
  const { paid_at: paidAt } = suspended
  const payment = { endToEndId: endToEnd, txid: null, amount: cents(1000), paidAt, payer: null, returns: [], fee: null }
  const former = { merchantId: await merchantOf(service), id: wrong.id }
  expect(await recordReported(deps(), { ...former, found, payment })).toBe(false)
  await match(suspended.id, right)
  await service.db.query(sql`
    update simulator.disputes set state = 'open', changed_at = ${service.clock.now()} where id = ${reference}`)
  const money = await balanceChanges(service, async () => await pollUntil(service, right, 'BLOCKED'))
  expect(money).toMatchObject({ blocked: 1000 })
  expect(await disputesOf(service, right)).toEqual([{ state: 'open', amount: 1000 }])
  expect((await fetchTransaction(service, wrong.id)).status).toBe('REFUNDED')
  await decide(service, reference, 'reject')
  await pollUntil(service, right, 'PAID')
  // Reopened while the payment is in suspense: the attribution blocks it in the same commit.
  await undo(suspended.id)
  await service.db.query(sql`
    update simulator.disputes set state = 'open', changed_at = ${service.clock.now()} where id = ${reference}`)
  await eventually(async () => {
    await service.runJob('transactions.disputes')
    const kept = await service.db.query(sql`
      select from unattributed_disputes where end_to_end = ${endToEnd} and acquirer_state = 'open'`)
    return kept.length === 1
  })
  const third = await charge(service)
  await match(suspended.id, third.id)
  expect((await fetchTransaction(service, third.id)).status).toBe('BLOCKED')
})
