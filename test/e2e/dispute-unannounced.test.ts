import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { toTxid } from '../../src/pix/ids.ts'
import { recordDecision } from '../../src/transactions/dispute/dispute.ts'
import { checkReturns } from '../../src/transactions/dispute/poll.ts'
import { settleDepsWith } from '../support/acquirer.ts'
import { decide, dispute, disputesOf, fetchDisputed, pollUntil, returnUnannounced } from '../support/disputes.ts'
import { eventsOf, openQuietBank, statusesOf, untilStatus } from '../support/payments.ts'
import { correctReturn } from '../support/reconciling.ts'
import {
  drain,
  type FaultyNetwork,
  fetchRefundable,
  forgeFailedRefund,
  forgeReturn,
  payOne,
  refund,
  requestRefund,
  startOnFaultyNetwork,
  untilRefund,
  untilSent,
} from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'
import { balanceChanges, balancesOf, expectLedgerConsistent, merchantOf, refusal } from '../support/withdrawals.ts'

const bought = ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID']

describe('an unannounced return under MED, at a bank with callbacks', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  })
  afterEach(async () => await expectLedgerConsistent(service))
  afterAll(async () => await service.stop())

  it('of a transaction that is PAID', async () => {
    const { id, endToEnd } = await payOne(service)
    const money = await balanceChanges(service, async () => {
      await returnUnannounced(service, endToEnd)
      await untilStatus(service, id, 'INFRACTION')
    })
    expect(money).toEqual({ available: -1000, acquirer: 1000 })
    const transaction = await fetchRefundable(service, id)
    expect(transaction).toMatchObject({ infractionDate: service.clock.now().toISOString(), amountRefunded: 0 })
    expect(statusesOf(transaction)).toEqual([...bought, 'INFRACTION'])
    // However often the list of payments reports it after the callback.
    for (let polls = 0; polls < 3; polls += 1) await service.runJob('transactions.poll')
    await sleep(200)
    expect(await disputesOf(service, id)).toEqual([{ state: 'returned', amount: 1000 }])
    expect(await eventsOf(service, id)).toHaveLength(3)
  })

  it('changes what is left: a repeated refund request without an amount is still recognized', async () => {
    const { id, endToEnd } = await payOne(service, 800_004)
    const body = { idempotencyKey: randomUUID() }
    const first = await requestRefund(service, id, body)
    await untilRefund(service, id, first.body.id, 'FAILED')
    await returnUnannounced(service, endToEnd, 300_000)
    await eventually(async () => (await disputesOf(service, id)).length === 1)
    const again = await requestRefund(service, id, body)
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
  })

  it('of one that is PAID, in two parts', async () => {
    const { id, endToEnd } = await payOne(service)
    await returnUnannounced(service, endToEnd, 300)
    await eventually(async () => (await disputesOf(service, id)).length === 1)
    expect(await fetchRefundable(service, id)).toMatchObject({ status: 'PAID', amountReturned: 300 })
    const money = await balanceChanges(service, async () => {
      await returnUnannounced(service, endToEnd, 200)
      await eventually(async () => (await disputesOf(service, id)).length === 2)
    })
    expect(money).toEqual({ available: -200, acquirer: 200 })
    // No status changed: no event. What is left can be refunded, and no more.
    expect(await eventsOf(service, id)).toHaveLength(2)
    expect(refusal(await requestRefund(service, id, { amount: 501 }))).toEqual([
      'refund_not_possible',
      'amount too_large',
    ])
    await untilRefund(service, id, await refund(service, id), 'REFUNDED')
    const ended = await untilStatus(service, id, 'INFRACTION')
    expect(ended).toMatchObject({ amountRefunded: 500, amountReturned: 500 })
  })

  it('of a part can be looked up by its endToEndId', async () => {
    const { id, endToEnd } = await payOne(service)
    await returnUnannounced(service, endToEnd, 300)
    await eventually(async () => (await disputesOf(service, id)).length === 1)
    const { disputes, returns } = await fetchDisputed(service, id)
    expect(disputes).toMatchObject([{ amount: 300, amountReturned: 300, amountBlocked: 0, status: 'RETURNED' }])
    expect(returns).toMatchObject([
      { amount: 300, endToEndRefund: expect.stringMatching(/^D/), disputeId: disputes[0]?.id },
    ])
    const found = await service.call<{ total: number; data: { id: string }[] }>(
      `/transaction?endToEndRefund=${returns[0]?.endToEndRefund}`,
    )
    expect(found.body).toMatchObject({ total: 1, data: [{ id }] })
  })

  it('of one whose money is spent becomes a debt', async () => {
    const { id, endToEnd } = await payOne(service)
    await drain(service, (await balancesOf(service)).available - 100)
    await returnUnannounced(service, endToEnd)
    await untilStatus(service, id, 'INFRACTION')
    expect(await balancesOf(service)).toMatchObject({ available: 0, debt: -900 })
    await payOne(service, 1000)
    expect(await balancesOf(service)).toMatchObject({ available: 100, debt: 0 })
  })

  it('of one that is REFUNDED', async () => {
    const { id, endToEnd } = await payOne(service)
    await untilRefund(service, id, await refund(service, id), 'REFUNDED')
    await payOne(service, 5000)
    const money = await balanceChanges(service, async () => {
      await forgeReturn(service, endToEnd, 400)
      await service.runJob('transactions.poll')
      await untilStatus(service, id, 'INFRACTION')
    })
    expect(money).toEqual({ available: -400, acquirer: 400 })
  })

  it('of one that is BLOCKED takes the blocked money, and leaves the rest blocked while the dispute is open', async () => {
    const { id, endToEnd } = await payOne(service)
    const reference = await dispute(service, endToEnd)
    await pollUntil(service, id, 'BLOCKED')
    const money = await balanceChanges(service, async () => {
      await returnUnannounced(service, endToEnd, 600)
      await eventually(async () => (await fetchDisputed(service, id)).amountReturned === 600)
    })
    expect(money).toEqual({ blocked: -600, acquirer: 600 })
    const shown = { amount: 1000, amountReturned: 600, amountBlocked: 400, status: 'OPEN' }
    expect(await fetchDisputed(service, id)).toMatchObject({ status: 'BLOCKED', disputes: [shown] })
    expect(refusal(await requestRefund(service, id))).toEqual(['refund_not_possible', 'status disputed'])
    const rest = await balanceChanges(service, async () => {
      await decide(service, reference, 'accept')
      service.clock.advance(2_000)
      await pollUntil(service, id, 'INFRACTION')
    })
    expect(rest).toEqual({ blocked: -400, acquirer: 400 })
    expect(await disputesOf(service, id)).toEqual([{ state: 'returned', amount: 1000 }])
  })

  it('of a part of one that is BLOCKED leaves it PAID when the dispute is rejected', async () => {
    const { id, endToEnd } = await payOne(service)
    const reference = await dispute(service, endToEnd)
    await pollUntil(service, id, 'BLOCKED')
    await returnUnannounced(service, endToEnd, 400)
    await eventually(async () => (await fetchDisputed(service, id)).amountReturned === 400)
    const money = await balanceChanges(service, async () => {
      await decide(service, reference, 'reject')
      await pollUntil(service, id, 'PAID')
    })
    expect(money).toEqual({ available: 600, blocked: -600 })
    expect(await fetchDisputed(service, id)).toMatchObject({ amountReturned: 400, amountRefunded: 0 })
    // A second dispute blocks what is left.
    const second = await balanceChanges(service, async () => {
      await dispute(service, endToEnd, 900)
      await pollUntil(service, id, 'BLOCKED')
    })
    expect(second).toEqual({ available: -600, blocked: 600 })
  })

  it('of one that is PROCESSING_REFUND, whose refund still ends', async () => {
    const slow = 800_002
    const { id, endToEnd } = await payOne(service, slow + 1000)
    const refundId = await refund(service, id, { amount: slow })
    await untilSent(service, refundId)
    await returnUnannounced(service, endToEnd)
    await eventually(async () => (await fetchDisputed(service, id)).amountReturned === 1000)
    service.clock.advance(700_000)
    await service.runJob('transactions.check-refunds')
    await untilRefund(service, id, refundId, 'REFUNDED')
    expect(await fetchRefundable(service, id)).toMatchObject({ status: 'INFRACTION', amountRefunded: slow })
    expect(await disputesOf(service, id)).toEqual([{ state: 'returned', amount: 1000 }])
  })

  it('of what an operator has already posted as the bank’s own return is not posted again', async () => {
    const { id, endToEnd } = await payOne(service)
    await forgeReturn(service, endToEnd, 400, 'ORIGINAL')
    const bank = await openQuietBank(service)
    const corrected = await balanceChanges(service, async () => await correctReturn(service, bank.handle, endToEnd))
    expect(corrected).toEqual({ available: -400, acquirer: 400 })
    expect(await fetchDisputed(service, id)).toMatchObject({ status: 'PAID', amountReturned: 400 })
    await service.db.query(sql`update simulator.returns set nature = 'MED_FRAUDE' where end_to_end_id = ${endToEnd}`)
    const renamed = await balanceChanges(
      service,
      async () => await checkReturns(settleDepsWith(service, bank.handle), await keyOf(id)),
    )
    expect(renamed).toEqual({})
    // A later return is another return.
    const more = await balanceChanges(service, async () => {
      await returnUnannounced(service, endToEnd, 250)
      await eventually(async () => (await fetchDisputed(service, id)).amountReturned === 650)
    })
    expect(more).toEqual({ available: -250, acquirer: 250 })
    await bank.close()
  })

  it('is posted in full after the correction of a refund that failed and was made after all', async () => {
    const { id, endToEnd } = await payOne(service)
    const { merchantId } = await keyOf(id)
    const refundId = await forgeFailedRefund(service, { merchantId, transactionId: id, amount: 400 })
    await forgeReturn(service, endToEnd, 400, 'ORIGINAL', toTxid(refundId))
    const bank = await openQuietBank(service)
    expect(await balanceChanges(service, async () => await correctReturn(service, bank.handle, endToEnd))).toEqual({
      available: -400,
      acquirer: 400,
    })
    const more = await balanceChanges(service, async () => {
      await returnUnannounced(service, endToEnd, 300)
      await eventually(async () => (await fetchDisputed(service, id)).amountReturned === 700)
    })
    expect(more).toEqual({ available: -300, acquirer: 300 })
    await bank.close()
  })

  const keyOf = async (id: string) => ({ merchantId: await merchantOf(service), id })

  // The last test: it advances the clock by months.
  it('a return of a payment from days or months ago is posted from the list of returns', async () => {
    const payments = [await payOne(service), await payOne(service), await payOne(service)] as const
    for (const [index, days] of [2, 25, 50].entries()) {
      service.clock.advance(days * 24 * 60 * 60_000)
      const { id, endToEnd } = payments[index as 0 | 1 | 2]
      await service.db.query(sql`
        insert into simulator.returns (end_to_end_id, id, return_id, amount, nature, requested_at, settles_at)
        values (${endToEnd}, ${`med${index}`}, ${`D090893562026030215000000000009${index}`}, 400, 'MED_FRAUDE',
          ${service.clock.now()}, ${service.clock.now()})`)
      // Written into the simulated bank's tables, so that it sends no callback.
      await eventually(async () => {
        await service.runJob('transactions.poll-returns')
        return (await disputesOf(service, id)).length === 1
      })
    }
    for (const { id } of payments)
      expect(await disputesOf(service, id)).toMatchObject([{ state: 'returned', amount: 400 }])
  })
})

describe('at a bank without callbacks', () => {
  let network: FaultyNetwork
  beforeAll(async () => {
    network = await startOnFaultyNetwork()
  })
  afterEach(async () => await expectLedgerConsistent(network.service))
  afterAll(async () => await network.stop())

  it('a payment that was returned before it was known is PAID and INFRACTION', async () => {
    const { service } = network
    const { body } = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
      body: { amount: 1000, paymentMethod: 'PIX', pix: {} },
    })
    const paid = await service.call<{ endToEndId: string }>('/sandbox/payment', { body: { uri: body.pixResponse.uri } })
    await returnUnannounced(service, paid.body.endToEndId)
    await service.runJob('transactions.poll')
    const transaction = await untilStatus(service, body.id, 'INFRACTION')
    expect(statusesOf(transaction)).toEqual([...bought, 'INFRACTION'])
    expect(await eventsOf(service, body.id)).toHaveLength(3)
  })

  it('a return that cannot be posted delays no other, and is posted once that is possible', async () => {
    const { service } = network
    const [bad, good] = [await payOne(service), await payOne(service)]
    // The sequence of its event is already used: the database refuses it.
    await service.db.query(sql`
      insert into events (merchant_id, id, type, record_type, record_id, sequence, occurred_at)
      select merchant_id, gen_random_uuid(), 'transaction.infraction', 'transaction', id, 3, now()
      from transactions where id = ${bad.id}`)
    await returnUnannounced(service, bad.endToEnd)
    await returnUnannounced(service, good.endToEnd)
    const unpaid = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
      body: { amount: 1000, paymentMethod: 'PIX', pix: {} },
    })
    await service.call('/sandbox/payment', { body: { uri: unpaid.body.pixResponse.uri } })
    await service.runJob('transactions.poll')
    await untilStatus(service, good.id, 'INFRACTION')
    await untilStatus(service, unpaid.body.id, 'PAID')
    expect(await fetchRefundable(service, bad.id)).toMatchObject({ status: 'PAID' })
    await service.db.query(sql`delete from events where record_id = ${bad.id} and sequence = 3`)
    // Without another poll: by a separate job.
    await untilStatus(service, bad.id, 'INFRACTION')
  })

  it('a dispute that ended before it was known goes through every step', async () => {
    const { service } = network
    const { id, endToEnd } = await payOne(service)
    await decide(service, await dispute(service, endToEnd), 'accept')
    service.clock.advance(2_000)
    await pollUntil(service, id, 'INFRACTION')
    const statuses = [...bought, 'BLOCKED', 'PROCESSING_INFRACTION', 'INFRACTION']
    expect(statusesOf(await fetchRefundable(service, id))).toEqual(statuses)
  })

  it('a dispute that was rejected before it was known is shown, and blocks nothing', async () => {
    const { service } = network
    const { id, endToEnd } = await payOne(service)
    await decide(service, await dispute(service, endToEnd), 'reject')
    const other = await payOne(service)
    await dispute(service, other.endToEnd)
    await pollUntil(service, other.id, 'BLOCKED')
    expect(await fetchDisputed(service, id)).toMatchObject({
      status: 'PAID',
      infractionDate: expect.any(String),
      disputes: [{ status: 'REJECTED', amountBlocked: 0 }],
    })
  })

  it('a dispute that the operator had rejected is returned anyway', async () => {
    const { service } = network
    const { id, endToEnd } = await payOne(service)
    const reference = await dispute(service, endToEnd)
    await pollUntil(service, id, 'BLOCKED')
    const deps = { db: service.db, clock: service.clock, wakeDeliveries: () => {} }
    await recordDecision(deps, { by: { actor: 'cli:test' }, transactionId: id, decision: 'reject' })
    service.clock.advance(60_000)
    await decide(service, reference, 'accept')
    service.clock.advance(2_000)
    await pollUntil(service, id, 'INFRACTION')
    expect(await disputesOf(service, id)).toEqual([{ state: 'returned', amount: 1000 }])
    const { statusHistory } = await fetchRefundable(service, id)
    expect(statusHistory.map(({ status }) => status).slice(3)).toEqual([
      ...['BLOCKED', 'PAID', 'BLOCKED', 'PROCESSING_INFRACTION', 'INFRACTION'],
    ])
  })

  it('a dispute of a payment that is not posted yet posts it first', async () => {
    const { service } = network
    const { body } = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
      body: { amount: 1000, paymentMethod: 'PIX', pix: {} },
    })
    const paid = await service.call<{ endToEndId: string }>('/sandbox/payment', { body: { uri: body.pixResponse.uri } })
    await dispute(service, paid.body.endToEndId)
    await pollUntil(service, body.id, 'BLOCKED')
  })

  it('a refund that is refused while its payment is disputed leaves its money blocked', async () => {
    const { service } = network
    // The bank accepts a refund of this amount, and refuses it afterwards.
    const { id, endToEnd } = await payOne(service, 800_001)
    const refundId = await refund(service, id)
    await eventually(
      async () =>
        (await network.bank.query(sql`select from simulator.returns where end_to_end_id = ${endToEnd}`)).length > 0,
    )
    let reference = ''
    const blocked = await balanceChanges(service, async () => {
      reference = await dispute(service, endToEnd)
      await pollUntil(service, id, 'BLOCKED')
    })
    expect(blocked).toEqual({})
    const money = await balanceChanges(service, async () => await repeatUntil(id, refundId, 'FAILED'))
    expect(money).toEqual({ reserved: -800_001, blocked: 800_001 })
    expect((await fetchRefundable(service, id)).status).toBe('BLOCKED')
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
    expect(await fetchRefundable(service, id)).toMatchObject({
      errorMessage: expect.stringMatching(/\w/),
      amountRefunded: 0,
    })
  })

  it('a refund that is refused because of a return under MED finds that return', async () => {
    const { service } = network
    const { id, endToEnd } = await payOne(service)
    const refundId = await requestLostRefund(id)
    await returnUnannounced(service, endToEnd)
    const money = await balanceChanges(service, async () => {
      await repeatUntil(id, refundId, 'FAILED')
      await untilStatus(service, id, 'INFRACTION')
    })
    expect(money).toEqual({ reserved: -1000, acquirer: 1000 })
  })

  /** Requests a refund that does not reach the bank. */
  async function requestLostRefund(id: string): Promise<string> {
    const put = ['PUT', '/devolucao/'] as const
    const before = network.countRequests(...put)
    network.disturb(...put, 'time_out_before')
    const refundId = await refund(network.service, id)
    await eventually(() => network.countRequests(...put) > before)
    return refundId
  }

  async function repeatUntil(id: string, refundId: string, status: string): Promise<void> {
    await eventually(async () => {
      network.service.clock.advance(60_000)
      await network.service.runJob('transactions.check-refunds')
      await sleep(40)
      const { refunds } = await fetchRefundable(network.service, id)
      return refunds.some((one) => one.id === refundId && one.status === status)
    })
  }
})
