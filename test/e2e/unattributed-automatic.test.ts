import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { recordAttribution } from '../../src/attribution/attribute.ts'
import { attributionJobs } from '../../src/attribution/jobs.ts'
import { recordReversal } from '../../src/attribution/reverse.ts'
import { candidatesMax, listCandidates } from '../../src/attribution/store.ts'
import { listActions } from '../../src/audit/store.ts'
import { isSuspenseDue, type SuspenseRow } from '../../src/suspense/store.ts'
import { createSettlement } from '../../src/transactions/settle.ts'
import { disputesOf, returnUnannounced } from '../support/disputes.ts'
import { charge, fetchTransaction, untilStatus } from '../support/payments.ts'
import { payOne } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSuspenseOf, operatorBalances, payingCustomer, payUnattributed } from '../support/suspense.ts'
import { eventually } from '../support/webhooks.ts'
import { balancesOf, expectLedgerConsistent } from '../support/withdrawals.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

const deps = () => ({ ...service, settlement: createSettlement(service), wakeDeliveries: () => {} })
/** The worker's job for unattributed payments, with this threshold. */
async function runAttribution(attributionThreshold: number | null): Promise<void> {
  const jobs = attributionJobs({ ...deps(), log: pino({ level: 'silent' }), attributionThreshold })
  await jobs['suspense.attribute']?.({}, new AbortController().signal)
}
/** Runs it until every payment has been checked: a run leaves those that a poll has locked at that moment. */
async function attributeAll(threshold: number): Promise<void> {
  await eventually(async () => {
    await runAttribution(threshold)
    return !(await isSuspenseDue(service.db, 'held', service.clock.now()))
  })
}
/** An amount that no other test's charges have. */
let amount = 1_000
const customer = payingCustomer
const nextCharge = () => ({ amount: ++amount, customer })

describe('an unattributed payment', () => {
  it('is attributed automatically when only one charge scores enough, and the audit log says so', async () => {
    const { id, endToEnd, suspended } = await payUnattributed(service, nextCharge())
    await charge(service, { amount })
    await attributeAll(75)
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PAID', endToEnd })
    expect(await listActions(service.db, { recordIds: [suspended.id], limit: 5 })).toMatchObject([
      { actor: 'service', action: 'suspense.match', details: { transactionId: id, score: 100 } },
    ])
  })

  it('is left to the operator without a threshold, which is the default', async () => {
    const { id, endToEnd } = await payUnattributed(service, nextCharge())
    await runAttribution(null)
    expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
    await attributeAll(100)
    expect(await findSuspenseOf(service, endToEnd)).toMatchObject({ status: 'matched' })
  })

  it('is left to the operator when two charges are equally likely, or none is likely enough', async () => {
    const twin = nextCharge()
    const one = await payUnattributed(service, twin)
    const other = await charge(service, twin)
    const outsider = await payUnattributed(service, { amount: ++amount })
    await attributeAll(75)
    for (const { id } of [one, other, outsider])
      expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
    // Each payment is checked once: one that was unclear then is not attributed automatically later.
    await service.call(`/sandbox/payment`, { body: { uri: other.uri, behaviour: 'honest' } })
    await untilStatus(service, other.id, 'PAID')
    await attributeAll(1)
    for (const { endToEnd } of [one, outsider])
      expect(await findSuspenseOf(service, endToEnd)).toMatchObject({ status: 'held', check_at: null })
  })

  it('is left to the operator when the charges with its amount reach the maximum that is compared', async () => {
    const { id, endToEnd } = await payUnattributed(service, nextCharge())
    await Promise.all(Array.from({ length: candidatesMax - 1 }, async () => await charge(service, { amount })))
    await attributeAll(75)
    expect(await findSuspenseOf(service, endToEnd)).toMatchObject({ status: 'held', check_at: null })
    expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
  })

  it('is left to the operator when part of it was returned under MED', async () => {
    const { id, endToEnd } = await payUnattributed(service, nextCharge())
    await returnUnannounced(service, endToEnd, 1)
    await eventually(async () => {
      service.clock.advance(15_000)
      await service.runJob('transactions.poll')
      return (await findSuspenseOf(service, endToEnd))?.taken_amount === 1
    })
    await attributeAll(75)
    expect(await findSuspenseOf(service, endToEnd)).toMatchObject({ status: 'held', check_at: null })
    expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
  })

  it('is not attributed automatically again after an operator has reversed its attribution', async () => {
    const { endToEnd, suspended } = await payUnattributed(service, nextCharge())
    await attributeAll(75)
    await recordReversal(deps(), { id: suspended.id, by: { actor: 'cli:test' } })
    await charge(service, { amount, customer })
    await attributeAll(1)
    expect(await findSuspenseOf(service, endToEnd)).toMatchObject({ status: 'held' })
  })

  it('has for candidates the unpaid charges of its amount, from three days before it to five minutes after', async () => {
    const { id, suspended } = await payUnattributed(service, nextCharge())
    const paid = await payOne(service, amount)
    const other = await charge(service, { amount: amount + 1, customer })
    const at = async (ms: number, of: Partial<SuspenseRow> = {}) => {
      const paid_at = new Date(suspended.paid_at.getTime() + ms)
      return (await listCandidates(service.db, { ...suspended, ...of, paid_at }, null)).map((one) => one.id)
    }
    const days = 24 * 3_600_000
    expect([await at(0), await at(3 * days), await at(-5 * 60_000)]).toEqual([[id], [id], [id]])
    expect([await at(3 * days + 1), await at(-5 * 60_000 - 1), await at(0, { acquirer: 'another' })]).toEqual([
      [],
      [],
      [],
    ])
    expect(await at(0, { amount: amount + 1 })).toEqual([other.id])
    expect(await at(0)).not.toContain(paid.id)
    amount += 1
  })
})

it('a service with a threshold in its settings attributes automatically', async () => {
  const other = await startTestService({ environment: { ATTRIBUTION_THRESHOLD: '90' } })
  const { id } = await payUnattributed(other, nextCharge())
  await eventually(async () => {
    await other.runJob('suspense.attribute')
    return (await fetchTransaction(other, id)).status === 'PAID'
  })
  await expectLedgerConsistent(other)
  await other.stop()
})

describe('a return under MED', () => {
  it('of a payment in suspense takes it out of suspense', async () => {
    const operator = await operatorBalances(service)
    const { endToEnd } = await payUnattributed(service, nextCharge())
    await returnUnannounced(service, endToEnd)
    await eventually(async () => {
      service.clock.advance(15_000)
      await service.runJob('transactions.poll')
      return (await findSuspenseOf(service, endToEnd))?.status === 'returned'
    })
    expect(await findSuspenseOf(service, endToEnd)).toMatchObject({ taken_amount: amount, return_id: null })
    expect(await operatorBalances(service)).toEqual(operator)
  })

  it('of an attributed one belongs to the transaction', async () => {
    const { id, endToEnd, suspended } = await payUnattributed(service, nextCharge())
    await recordAttribution(deps(), { id: suspended.id, transactionId: id, by: { actor: 'cli:test' } })
    await returnUnannounced(service, endToEnd)
    await untilInfraction(id)
    expect(await disputesOf(service, id)).toMatchObject([{ state: 'returned', amount }])
    await expect(recordReversal(deps(), { id: suspended.id, by: { actor: 'cli:test' } })).rejects.toThrow(
      /returned to the payer under MED/,
    )
  })

  it('of one whose attribution was reversed belongs to the operator, and costs the merchant nothing', async () => {
    const before = await balancesOf(service)
    const { id, endToEnd, suspended } = await payUnattributed(service, nextCharge())
    await recordAttribution(deps(), { id: suspended.id, transactionId: id, by: { actor: 'cli:test' } })
    await recordReversal(deps(), { id: suspended.id, by: { actor: 'cli:test' } })
    await returnUnannounced(service, endToEnd)
    await eventually(async () => {
      service.clock.advance(15_000)
      await service.runJob('transactions.poll')
      return (await findSuspenseOf(service, endToEnd))?.status === 'returned'
    })
    expect((await fetchTransaction(service, id)).status).toBe('REFUNDED')
    expect(await balancesOf(service)).toEqual(before)
  })
})

async function untilInfraction(id: string): Promise<void> {
  await eventually(async () => {
    service.clock.advance(15_000)
    await service.runJob('transactions.poll')
    return (await fetchTransaction(service, id)).status === 'INFRACTION'
  })
}
