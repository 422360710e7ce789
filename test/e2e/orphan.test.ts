import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { matchPayment } from '../../src/orphans/match.ts'
import { undoMatch } from '../../src/orphans/undo.ts'
import { returnHeld } from '../../src/suspense/send-back.ts'
import { createSettlement } from '../../src/transactions/settle.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { contest, pollUntil } from '../support/infractions.ts'
import { charge, eventsOf, fetchTransaction, payAt, statusesOf } from '../support/payments.ts'
import { fetchRefundable, payOne, refund, returnsOf, setFixedFee, untilRefund } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSuspenseOf, houseBalances, payingCustomer, payOrphan, untilSuspense } from '../support/suspense.ts'
import { eventually } from '../support/webhooks.ts'
import { balancesOf, countMoney, expectBooksAgree, untilWithdrawal, withdraw } from '../support/withdrawals.ts'

type Shown = { id: string; status: string; candidates: { score: number; transactionId: string; reasons: string[] }[] }

let service: TestService
let cli: CommandLine
beforeAll(async () => {
  // The commands have the real time, and so has the service.
  service = await startTestService({ clock: { now: () => new Date(), advance: () => {}, set: () => {} } })
  cli = await openCommandLine(service)
  await setFixedFee(service, 'transaction', 30)
})
afterEach(async () => await expectBooksAgree(service))
afterAll(async () => {
  await cli.stop()
  await service.stop()
})

const deps = () => ({ ...service, settlement: createSettlement(service), nudgeDeliveries: () => {} })
const match = async (id: string, transactionId: string) => await matchPayment(deps(), { id, transactionId })
const undo = async (id: string) => await undoMatch(deps(), id)
const auditOf = async (id: string) =>
  (await cli.runJson<{ action: string }[]>(['audit', 'list', '--record', id])).map(({ action }) => action)

describe('a payment that names no charge', () => {
  it('is the house’s until an operator says what it was for; then it is booked as any payment is', async () => {
    const house = await houseBalances(service)
    const merchant = await balancesOf(service)
    const { id, endToEnd, held } = await payOrphan(service, { amount: 1_500, customer: payingCustomer })
    expect(await balancesOf(service)).toEqual(merchant)
    expect(await houseBalances(service)).toEqual({ ...house, suspense: 1_500, acquirer: -1_500 })
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED' })

    const listed = await cli.read(['orphan', 'list'])
    expect(listed).toMatch(new RegExp(`${held.id} +orphan +held +R\\$ 15,00`))
    const shown = await cli.runJson<Shown>(['orphan', 'show', held.id])
    expect(shown).toMatchObject({ id: held.id, status: 'held' })
    expect(shown.candidates[0]).toMatchObject({ score: 100, transactionId: id })
    expect(await cli.read(['orphan', 'show', held.id])).toMatch(new RegExp(`^100 +${id} .*same amount \\(30\\)`, 'm'))

    const matched = await cli.runJson(['orphan', 'match', held.id, '--transaction', id])
    expect(matched).toMatchObject({ status: 'matched', transactionId: id })
    expect(await fetchTransaction(service, id)).toMatchObject({
      ...{ status: 'PAID', amountPaid: 1_500, endToEnd, payer: { name: payingCustomer.name } },
      receiver: { name: expect.stringMatching(/\S/) },
    })
    expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated', 'transaction.paid'])
    expect(await balancesOf(service)).toEqual({
      ...merchant,
      available: merchant.available + 1_470,
      fees: merchant.fees + 30,
      acquirer: merchant.acquirer - 1_500,
    })
    expect(await houseBalances(service)).toEqual(house)
    expect(await auditOf(held.id)).toEqual(['orphan.match'])
    expect(await cli.read(['orphan', 'list'])).not.toContain(held.id)
    await cli.expectFailure(['orphan', 'match', held.id, '--transaction', id], /matched already.*orphan undo/)
  })

  it('pays a transaction whose code has expired as well', async () => {
    const { id, held } = await payOrphan(service)
    const other = await startTestService({ database: service })
    // Another process, whose clock is past the expiry and the time that is given beyond it.
    other.clock.set(new Date(Date.now() + 3_600_000))
    await eventually(async () => {
      await other.runJob('transactions.check')
      return (await fetchTransaction(service, id)).status === 'FAILED'
    }).finally(other.stop)
    await match(held.id, id)
    expect(statusesOf(await fetchTransaction(service, id))).toEqual([
      'PENDING',
      'PIX_QRCODE_GENERATED',
      'FAILED',
      'PAID',
    ])
  })

  it('is sent back to who paid it when an operator says so', async () => {
    const { endToEnd, held } = await payOrphan(service)
    expect(await cli.runJson(['orphan', 'return', held.id])).toMatchObject({ status: 'returning', amount: 1000 })
    const returned = await untilSuspense(service, endToEnd, 'returned')
    const id = returned.return_id?.replaceAll('-', '')
    expect(await returnsOf(service.db, endToEnd)).toEqual([{ id, amount: 1000, nature: 'ORIGINAL' }])
    expect(await auditOf(held.id)).toEqual(['orphan.return'])
    await cli.expectFailure(['orphan', 'return', held.id], /sent back already/)
    await cli.expectFailure(['orphan', 'match', held.id, '--transaction', randomUUID()], /There is no transaction/)
  })
})

describe('a match', () => {
  it('is undone: the money is held again, the fee given back, and another transaction may be paid with it', async () => {
    const merchant = await balancesOf(service)
    const wrong = await charge(service)
    const { id: right, endToEnd, held } = await payOrphan(service)
    await match(held.id, wrong.id)
    expect(await cli.runJson(['orphan', 'undo', held.id])).toMatchObject({ status: 'held', transactionId: wrong.id })
    expect(await balancesOf(service)).toEqual(merchant)
    expect((await houseBalances(service)).suspense).toBe(1000)
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

    await match(held.id, right)
    expect(await fetchTransaction(service, right)).toMatchObject({ status: 'PAID', endToEnd })
    await undo(held.id)
    expect(await balancesOf(service)).toEqual(merchant)
    expect((await findSuspenseOf(service, endToEnd))?.statuses).toEqual(['held', 'matched', 'held', 'matched', 'held'])
    expect(await auditOf(held.id)).toEqual(['orphan.undo'])
    await cli.expectFailure(['orphan', 'undo', held.id], /matched to no transaction/)
    await returnHeld(service, held.id)
    await untilSuspense(service, endToEnd, 'returned')
  })

  it('that is undone when the money is spent is a debt, which the next payment fills', async () => {
    const { id, held } = await payOrphan(service, { amount: 5_000 })
    await match(held.id, id)
    const amount = (await balancesOf(service)).available - 100
    await untilWithdrawal(service, await withdraw(service, { amount }), 'PROCESSED')
    expect(await countMoney(service, async () => await void (await undo(held.id)))).toEqual({
      ...{ available: -100, fees: -30, acquirer: 5_000, debt: -4_870 },
    })
    await payOne(service, 4_900)
    expect(await balancesOf(service)).toMatchObject({ debt: 0, available: 0 })
  })

  it('leaves a transaction whose own payment, when it comes, is sent back', async () => {
    const other = await charge(service)
    const { held } = await payOrphan(service)
    await match(held.id, other.id)
    await undo(held.id)
    const { body } = await payAt(service, other.uri)
    await untilSuspense(service, body.endToEndId, 'returned')
    expect(await returnsOf(service.db, body.endToEndId)).toHaveLength(1)
    expect((await fetchTransaction(service, other.id)).status).toBe('REFUNDED')
  })

  it('is not undone when the money went another way meanwhile', async () => {
    const matched = async () => {
      const one = await payOrphan(service)
      await match(one.held.id, one.id)
      return one
    }
    const [refunded, contested] = [await matched(), await matched()]
    await untilRefund(service, refunded.id, await refund(service, refunded.id, { amount: 1 }), 'REFUNDED')
    await expect(undo(refunded.held.id)).rejects.toThrow(/part of the payment went back/)
    await contest(service, contested.endToEnd)
    await pollUntil(service, contested.id, 'BLOCKED')
    await expect(undo(contested.held.id)).rejects.toThrow(/contested/)
  })

  it('is made with an unpaid transaction only, once of several that try at once', async () => {
    const paid = await payOne(service)
    const { id, held } = await payOrphan(service)
    await expect(match(held.id, paid.id)).rejects.toThrow(/is PAID: it was paid already/)
    await cli.expectFailure(['orphan', 'match', randomUUID(), '--transaction', id], /no payment .* in suspense/)
    const another = await charge(service)
    const tries = Array.from({ length: 10 }, async (_, n) => await match(held.id, n % 2 === 0 ? id : another.id))
    const outcomes = await Promise.allSettled(tries)
    expect(outcomes.filter(({ status: outcome }) => outcome === 'fulfilled')).toHaveLength(1)
    const statuses = await Promise.all(
      [id, another.id].map(async (one) => (await fetchTransaction(service, one)).status),
    )
    expect(statuses.sort()).toEqual(['PAID', 'PIX_QRCODE_GENERATED'])
  })
})
