import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { recordDecision, recordDispute } from '../../src/transactions/dispute/dispute.ts'
import { decide, dispute, disputesOf, fetchDisputed, pollUntil, returnUnannounced } from '../support/disputes.ts'
import { eventsOf, statusesOf, untilStatus } from '../support/payments.ts'
import { drain, fetchRefundable, payOne, refund, requestRefund, untilRefund, untilSent } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'
import { balanceChanges, balancesOf, expectLedgerConsistent, refusal } from '../support/withdrawals.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

const bought = ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID']

/** A paid transaction whose payment is disputed. */
async function disputedPayment({ amount = 1000, of }: { amount?: number; of?: number } = {}) {
  const paid = await payOne(service, amount)
  const reference = await dispute(service, paid.endToEnd, of)
  await pollUntil(service, paid.id, 'BLOCKED')
  return { ...paid, reference }
}

describe('a disputed payment', () => {
  it('is blocked once, however often the acquirer reports it', async () => {
    const paid = await payOne(service)
    const money = await balanceChanges(service, async () => {
      await dispute(service, paid.endToEnd)
      for (let polls = 0; polls < 3; polls += 1) await pollUntil(service, paid.id, 'BLOCKED')
    })
    expect(money).toEqual({ available: -1000, blocked: 1000 })
    expect(await fetchRefundable(service, paid.id)).toMatchObject({ infractionDate: service.clock.now().toISOString() })
    expect(await disputesOf(service, paid.id)).toEqual([{ state: 'open', amount: 1000 }])
    expect(refusal(await requestRefund(service, paid.id))).toEqual(['refund_not_possible', 'status disputed'])
  })

  it.each(['reject', 'cancel'] as const)('is the merchant’s again after the dispute ends with %s', async (decision) => {
    const { id, reference } = await disputedPayment()
    const money = await balanceChanges(service, async () => {
      await decide(service, reference, decision)
      await pollUntil(service, id, 'PAID')
    })
    expect(money).toEqual({ available: 1000, blocked: -1000 })
    expect(statusesOf(await fetchRefundable(service, id))).toEqual([...bought, 'BLOCKED', 'PAID'])
    await untilRefund(service, id, await refund(service, id), 'REFUNDED')
  })

  it('is returned to the payer when the dispute is accepted', async () => {
    const { id, reference } = await disputedPayment()
    const money = await balanceChanges(service, async () => {
      await decide(service, reference, 'accept')
      await pollUntil(service, id, 'PROCESSING_INFRACTION')
      expect(refusal(await requestRefund(service, id))).toEqual(['refund_not_possible', 'status disputed'])
      service.clock.advance(2_000)
      await pollUntil(service, id, 'INFRACTION')
    })
    expect(money).toEqual({ blocked: -1000, acquirer: 1000 })
    const statuses = [...bought, 'BLOCKED', 'PROCESSING_INFRACTION', 'INFRACTION']
    expect(statusesOf(await fetchRefundable(service, id))).toEqual(statuses)
    expect(await eventsOf(service, id)).toEqual(statuses.slice(1).map((one) => `transaction.${one.toLowerCase()}`))
    expect(refusal(await requestRefund(service, id))).toEqual(['refund_not_possible', 'status returned'])
    expect(await disputesOf(service, id)).toEqual([{ state: 'returned', amount: 1000 }])
  })

  it('has only the disputed part blocked', async () => {
    const { id, reference } = await disputedPayment({ of: 400 })
    expect((await balancesOf(service)).blocked).toBeGreaterThanOrEqual(400)
    const money = await balanceChanges(service, async () => {
      await decide(service, reference, 'accept')
      service.clock.advance(2_000)
      await pollUntil(service, id, 'INFRACTION')
    })
    expect(money).toEqual({ blocked: -400, acquirer: 400 })
  })

  it('has the rest blocked after a part was refunded', async () => {
    const { id, endToEnd } = await payOne(service)
    await untilRefund(service, id, await refund(service, id, { amount: 300 }), 'REFUNDED')
    const money = await balanceChanges(service, async () => {
      await dispute(service, endToEnd)
      await pollUntil(service, id, 'BLOCKED')
    })
    expect(money).toEqual({ available: -700, blocked: 700 })
  })
})

describe('the statement', () => {
  type Entry = { kind: string; amount: number; recordType: string; transactionId: string | null }
  const entriesOf = async (id: string) => {
    const { body } = await service.call<{ data: Entry[] }>('/statement')
    return body.data
      .filter(({ transactionId }) => transactionId === id)
      .map(({ kind, amount, recordType }) => [recordType, kind, amount])
  }

  it('names the transaction of each entry of a dispute, its end or a return under MED', async () => {
    const { id, endToEnd, reference } = await disputedPayment({ of: 400 })
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
    await returnUnannounced(service, endToEnd)
    await untilStatus(service, id, 'INFRACTION')
    expect(await entriesOf(id)).toEqual([
      ['infraction', 'infraction_returned', -1000],
      ['infraction', 'infraction_released', 400],
      ['infraction', 'infraction_blocked', -400],
      ['transaction', 'payment', 1000],
    ])
  })
})

describe('a merchant that has spent the money already', () => {
  it('owes the missing money, and later payments repay it first', async () => {
    const { id, endToEnd } = await payOne(service)
    await drain(service, (await balancesOf(service)).available - 300)
    await dispute(service, endToEnd)
    await pollUntil(service, id, 'BLOCKED')
    const before = await balancesOf(service)
    expect(before).toMatchObject({ available: 0, debt: -700 })
    await payOne(service, 500)
    expect(await balancesOf(service)).toMatchObject({ available: 0, debt: -200, blocked: before.blocked })
    await payOne(service, 500)
    expect(await balancesOf(service)).toMatchObject({ available: 300, debt: 0 })
  })

  it('owes nothing any more when the dispute is rejected', async () => {
    const { id, endToEnd } = await payOne(service)
    await drain(service, (await balancesOf(service)).available)
    const reference = await dispute(service, endToEnd)
    await pollUntil(service, id, 'BLOCKED')
    await payOne(service, 600)
    expect(await balancesOf(service)).toMatchObject({ available: 0, debt: -400 })
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
    expect(await balancesOf(service)).toMatchObject({ available: 600, debt: 0 })
  })
})

describe('a refund in process when its payment is disputed', () => {
  // A refund of this amount stays in process for ten minutes.
  const slow = 800_002

  it('is not blocked, and is posted while the transaction is BLOCKED', async () => {
    const { id, endToEnd } = await payOne(service, slow + 1000)
    const refundId = await refund(service, id, { amount: slow })
    await untilSent(service, refundId)
    let reference = ''
    const money = await balanceChanges(service, async () => {
      reference = await dispute(service, endToEnd)
      await pollUntil(service, id, 'BLOCKED')
    })
    expect(money).toEqual({ available: -1000, blocked: 1000 })
    await finishSlowRefund(id, refundId)
    expect(await fetchRefundable(service, id)).toMatchObject({ status: 'BLOCKED', amountRefunded: slow })
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
    expect(await fetchRefundable(service, id)).toMatchObject({ amountRefunded: slow, errorMessage: null })
  })

  it('continues when the dispute ends first', async () => {
    const { id, endToEnd } = await payOne(service, slow)
    const refundId = await refund(service, id)
    await untilSent(service, refundId)
    const reference = await dispute(service, endToEnd)
    expect(await balanceChanges(service, async () => await pollUntil(service, id, 'BLOCKED'))).toEqual({})
    await decide(service, reference, 'cancel')
    await pollUntil(service, id, 'PROCESSING_REFUND')
    await finishSlowRefund(id, refundId)
    await untilStatus(service, id, 'REFUNDED')
  })

  it('of the whole payment ends in REFUNDED once the dispute is rejected', async () => {
    const { id, endToEnd } = await payOne(service, slow)
    const refundId = await refund(service, id)
    await untilSent(service, refundId)
    const reference = await dispute(service, endToEnd)
    await pollUntil(service, id, 'BLOCKED')
    await finishSlowRefund(id, refundId)
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'REFUNDED')
    const statuses = [...bought, 'PROCESSING_REFUND', 'BLOCKED', 'PROCESSING_REFUND', 'REFUNDED']
    expect(statusesOf(await fetchRefundable(service, id))).toEqual(statuses)
    expect(await eventsOf(service, id)).toHaveLength(statuses.length - 1)
  })

  it('does not prevent the return of the rest', async () => {
    const { id, endToEnd } = await payOne(service, slow + 1000)
    const refundId = await refund(service, id, { amount: slow })
    await untilSent(service, refundId)
    const reference = await dispute(service, endToEnd)
    await decide(service, reference, 'accept')
    service.clock.advance(2_000)
    await pollUntil(service, id, 'PROCESSING_INFRACTION')
    await eventually(async () => {
      await service.runJob('transactions.disputes')
      return (await fetchDisputed(service, id)).amountReturned === 1000
    })
    // If the refund were refused, the dispute would block its money: the dispute ends only after the refund.
    await finishSlowRefund(id, refundId)
    await untilStatus(service, id, 'INFRACTION')
    expect(await fetchRefundable(service, id)).toMatchObject({ amountRefunded: slow, amountReturned: 1000 })
  })

  async function finishSlowRefund(id: string, refundId: string): Promise<void> {
    service.clock.advance(700_000)
    await service.runJob('transactions.check-refunds')
    await untilRefund(service, id, refundId, 'REFUNDED')
  }
})

describe('a payment that is disputed more than once', () => {
  /** The simulated bank opens only one dispute of a payment at a time: a second one is added to its table. */
  async function openBeside(endToEnd: string, amount: number): Promise<string> {
    const reference = randomUUID()
    const now = service.clock.now()
    await service.db.query(sql`
      insert into simulator.disputes (id, end_to_end_id, amount, reason, state, opened_at, changed_at)
      values (${reference}, ${endToEnd}, ${amount}, 'fraud', 'open', ${now}, ${now})`)
    return reference
  }
  const untilDisputes = async (id: string, expected: object[]) => {
    let last: object[] = []
    await eventually(
      async () => {
        await service.runJob('transactions.disputes')
        last = (await fetchDisputed(service, id)).disputes.map(({ status, amountBlocked }) => ({
          status,
          amountBlocked,
        }))
        return JSON.stringify(last) === JSON.stringify(expected)
      },
      () => JSON.stringify(last),
    )
  }

  it('has no more blocked than was paid, and what one dispute releases the other blocks', async () => {
    const paid = await payOne(service)
    const first = await dispute(service, paid.endToEnd, 700)
    await pollUntil(service, paid.id, 'BLOCKED')
    service.clock.advance(1_000)
    const second = await openBeside(paid.endToEnd, 600)
    await untilDisputes(paid.id, [
      { status: 'OPEN', amountBlocked: 700 },
      { status: 'OPEN', amountBlocked: 300 },
    ])
    await decide(service, first, 'reject')
    await untilDisputes(paid.id, [
      { status: 'REJECTED', amountBlocked: 0 },
      { status: 'OPEN', amountBlocked: 600 },
    ])
    await decide(service, second, 'accept')
    service.clock.advance(2_000)
    await pollUntil(service, paid.id, 'INFRACTION')
    expect(await fetchDisputed(service, paid.id)).toMatchObject({ amountReturned: 600 })
    const statuses = [...bought, 'BLOCKED', 'PROCESSING_INFRACTION', 'INFRACTION']
    expect(statusesOf(await fetchRefundable(service, paid.id))).toEqual(statuses)
  })

  it('has the rest blocked by a second dispute after the first was returned, and refunded once that is rejected', async () => {
    const { id, endToEnd, reference } = await disputedPayment({ of: 300 })
    await decide(service, reference, 'accept')
    service.clock.advance(2_000)
    await pollUntil(service, id, 'INFRACTION')
    let second = ''
    const money = await balanceChanges(service, async () => {
      second = await dispute(service, endToEnd)
      await pollUntil(service, id, 'BLOCKED')
    })
    expect(money).toEqual({ available: -700, blocked: 700 })
    await decide(service, second, 'reject')
    await pollUntil(service, id, 'INFRACTION')
    await untilRefund(service, id, await refund(service, id), 'REFUNDED')
    expect(await untilStatus(service, id, 'INFRACTION')).toMatchObject({ amountRefunded: 700, amountReturned: 300 })
  })

  it('is blocked again when a dispute is reopened under the same reference', async () => {
    const { id, reference } = await disputedPayment()
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
    const money = await balanceChanges(service, async () => {
      await service.db.query(sql`
        update simulator.disputes set state = 'open', changed_at = ${service.clock.now()} where id = ${reference}`)
      await pollUntil(service, id, 'BLOCKED')
    })
    expect(money).toEqual({ available: -1000, blocked: 1000 })
    expect(await disputesOf(service, id)).toEqual([{ state: 'open', amount: 1000 }])
  })

  it('shows the dispute even when nothing is left to block', async () => {
    const { id, endToEnd } = await payOne(service)
    await untilRefund(service, id, await refund(service, id), 'REFUNDED')
    await dispute(service, endToEnd)
    await untilDisputes(id, [{ status: 'OPEN', amountBlocked: 0 }])
    expect((await fetchRefundable(service, id)).status).toBe('REFUNDED')
  })
})

describe('a dispute that is accepted', () => {
  it('between two polls, or returned before the next, shows every step, each with its event', async () => {
    const { id, endToEnd } = await payOne(service)
    await decide(service, await dispute(service, endToEnd), 'accept')
    service.clock.advance(2_000)
    // The callback of its return is the only sign: it triggers a poll of the disputes.
    await untilStatus(service, id, 'INFRACTION')
    const statuses = [...bought, 'BLOCKED', 'PROCESSING_INFRACTION', 'INFRACTION']
    expect(statusesOf(await fetchRefundable(service, id))).toEqual(statuses)
    expect(await eventsOf(service, id)).toEqual(statuses.slice(1).map((one) => `transaction.${one.toLowerCase()}`))
  })
})

describe('the operator', () => {
  const deps = () => ({ db: service.db, clock: service.clock, wakeDeliveries: () => {} })
  const open = async (transactionId: string, more: { id?: string; amount?: number; reason?: string } = {}) =>
    await recordDispute(deps(), { by: { actor: 'cli:test' }, transactionId, ...more })

  it('enters a dispute that the acquirer reported in another way, and decides it', async () => {
    const { id } = await payOne(service)
    await open(id, { amount: 400, reason: 'A letter from the bank' })
    expect((await fetchRefundable(service, id)).status).toBe('BLOCKED')
    await recordDecision(deps(), { by: { actor: 'cli:test' }, transactionId: id, decision: 'accept' })
    expect((await fetchRefundable(service, id)).status).toBe('PROCESSING_INFRACTION')
    await recordDecision(deps(), { by: { actor: 'cli:test' }, transactionId: id, decision: 'reject' })
    expect((await fetchRefundable(service, id)).status).toBe('PAID')
    expect(await disputesOf(service, id)).toEqual([{ state: 'rejected', amount: 400 }])
  })

  it('enters a dispute that the acquirer reports later: it is the same dispute', async () => {
    const { id, endToEnd } = await payOne(service)
    const entered = await open(id)
    const reference = await dispute(service, endToEnd)
    await pollUntil(service, id, 'BLOCKED')
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
    expect(await open(id, entered)).toEqual(entered)
    expect(await disputesOf(service, id)).toEqual([{ state: 'rejected', amount: 1000 }])
  })

  it('enters a part, and all is blocked once the acquirer says that all is disputed', async () => {
    const { id, endToEnd } = await payOne(service)
    await open(id, { amount: 100 })
    await dispute(service, endToEnd)
    const money = await balanceChanges(service, async () => {
      await eventually(async () => {
        await service.runJob('transactions.disputes')
        return (await fetchDisputed(service, id)).disputes.some(({ amount }) => amount === 1000)
      })
    })
    expect(money).toEqual({ available: -900, blocked: 900 })
    expect(await disputesOf(service, id)).toEqual([{ state: 'open', amount: 1000 }])
  })

  it('gets an error for what is not possible', async () => {
    const { id } = await payOne(service)
    const codeOf = async (work: Promise<unknown>) => await work.then(String, ({ code }: { code: string }) => code)
    expect(
      await codeOf(recordDecision(deps(), { by: { actor: 'cli:test' }, transactionId: id, decision: 'accept' })),
    ).toBe('infraction_not_possible')
    for (const amount of [0, -1, 1.5, 1001, Number.NaN])
      expect(await codeOf(open(id, { amount }))).toBe('infraction_not_possible')
    const nowhere = '00000000-0000-4000-8000-000000000000'
    expect(await codeOf(open(nowhere))).toBe('not_found')
    expect(
      await codeOf(recordDecision(deps(), { by: { actor: 'cli:test' }, transactionId: nowhere, decision: 'reject' })),
    ).toBe('not_found')
    await open(id)
    expect(await codeOf(open(id))).toBe('infraction_not_possible')
    await recordDecision(deps(), { by: { actor: 'cli:test' }, transactionId: id, decision: 'accept' })
    expect(
      await codeOf(recordDecision(deps(), { by: { actor: 'cli:test' }, transactionId: id, decision: 'accept' })),
    ).toBe('infraction_not_possible')
  })

  it('enters a dispute even while a refund of the payment is requested', async () => {
    const { id } = await payOne(service)
    const [refunded] = await Promise.all([requestRefund(service, id), open(id)])
    const { status } = await fetchRefundable(service, id)
    if (refunded.status === 201) expect(['BLOCKED', 'PROCESSING_REFUND', 'REFUNDED']).toContain(status)
    else expect([...refusal(refunded), status]).toEqual(['refund_not_possible', 'status disputed', 'BLOCKED'])
  })
})

it('the metric of a day’s deadlines is the time until the next one, and negative once all have passed', async () => {
  await service.db.query(sql`update disputes set answered_at = ${service.clock.now()} where state = 'open'`)
  await Promise.all([disputedPayment(), disputedPayment()])
  const measured = async (first: number, second: number) => {
    const at = [first, second].map((seconds) => new Date(service.clock.now().getTime() + seconds * 1_000))
    await service.db.query(sql`
      update disputes set deadline_at = (${at}::timestamptz[])[rank] from (
        select id, row_number() over (order by id) as rank from disputes where state = 'open' and answered_at is null
      ) open where open.id = disputes.id`)
    const text = await (await fetch(`${service.baseUrl}/metrics`)).text()
    return /^guiche_disputes_deadline_in_seconds\{.*\} (.*)$/m.exec(text)?.[1]
  }
  expect([await measured(-20, 10), await measured(-20, -10)]).toEqual(['10', '-10'])
})
