import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findMet } from '../../src/alerts/conditions.ts'
import { recordAttribution } from '../../src/attribution/attribute.ts'
import { sql } from '../../src/db/sql.ts'
import { compareBalance, observeBalances } from '../../src/reconciliation/balance.ts'
import { createSettlement } from '../../src/transactions/settle.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { decide, dispute, fetchDisputed, pollUntil } from '../support/disputes.ts'
import { eventsOf, fetchTransaction } from '../support/payments.ts'
import { returnsOf, setFixedFee } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { operatorBalances, payingCustomer, payUnattributed, untilReturned, untilSuspense } from '../support/suspense.ts'
import { eventually } from '../support/webhooks.ts'
import { balancesOf, expectLedgerConsistent } from '../support/withdrawals.ts'

type Shown = { id: string; status: string; candidates: { score: number; transactionId: string }[] }

let service: TestService
let cli: CommandLine
beforeAll(async () => {
  // The commands use the real time, and so does the service.
  service = await startTestService({ clock: { now: () => new Date(), advance: () => {}, set: () => {} } })
  cli = await openCommandLine(service)
  await setFixedFee(service, 'transaction', 30)
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => {
  await cli.stop()
  await service.stop()
})

const deps = () => ({ ...service, settlement: createSettlement(service), wakeDeliveries: () => {} })
const auditOf = async (id: string) =>
  (await cli.runJson<{ action: string }[]>(['audit', 'list', '--record', id])).map(({ action }) => action)

describe('an unattributed payment', () => {
  it('is posted to the operator’s suspense account, and shown with its candidate charges', async () => {
    const operator = await operatorBalances(service)
    const merchant = await balancesOf(service)
    const { id, suspended } = await payUnattributed(service, { amount: 1_500, customer: payingCustomer })
    expect(await balancesOf(service)).toEqual(merchant)
    expect(await operatorBalances(service)).toEqual({ ...operator, suspense: 1_500, acquirer: -1_500 })
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED' })

    const listed = await cli.read(['suspense', 'list'])
    expect(listed).toMatch(new RegExp(`${suspended.id} +unattributed +held +R\\$ 15,00`))
    const shown = await cli.runJson<Shown>(['suspense', 'show', suspended.id])
    expect(shown).toMatchObject({ id: suspended.id, status: 'held' })
    expect(shown.candidates[0]).toMatchObject({ score: 100, transactionId: id })
    expect(await cli.read(['suspense', 'show', suspended.id])).toMatch(
      new RegExp(`^100 +${id} .*same amount \\(30\\)`, 'm'),
    )
  })

  it('is posted like any payment once an operator attributes it', async () => {
    const operator = await operatorBalances(service)
    const merchant = await balancesOf(service)
    const { id, endToEnd, suspended } = await payUnattributed(service, { amount: 1_500 })
    const matched = await cli.runJson(['suspense', 'match', suspended.id, '--transaction', id])
    expect(matched).toMatchObject({ status: 'matched', matched: { transactionId: id } })
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
    expect(await operatorBalances(service)).toEqual(operator)
    expect(await auditOf(suspended.id)).toEqual(['suspense.match'])
    expect(await cli.read(['suspense', 'list'])).not.toContain(suspended.id)
    await cli.expectFailure(
      ['suspense', 'match', suspended.id, '--transaction', id],
      /already attributed.*suspense undo/,
    )
  })

  it('is returned to the payer when an operator requests it', async () => {
    const { endToEnd, suspended } = await payUnattributed(service)
    expect(await cli.runJson(['suspense', 'return', suspended.id])).toMatchObject({
      status: 'returning',
      returnAmount: 1000,
    })
    const returned = await untilReturned(service, endToEnd)
    const id = returned.return_id?.replaceAll('-', '')
    expect(await returnsOf(service.db, endToEnd)).toEqual([{ id, amount: 1000, nature: 'ORIGINAL' }])
    expect(await auditOf(suspended.id)).toEqual(['suspense.return'])
    await cli.expectFailure(['suspense', 'return', suspended.id], /already sent back/)
    await cli.expectFailure(['suspense', 'return', randomUUID()], /no payment .* in suspense.*suspense list --all/)
  })

  it('has its attribution reversed, and the merchant’s transaction is refunded', async () => {
    const { id, suspended } = await payUnattributed(service)
    await recordAttribution(deps(), { id: suspended.id, transactionId: id, by: { actor: 'cli:test' } })
    expect(await cli.runJson(['suspense', 'undo', suspended.id])).toMatchObject({ status: 'held', transactionId: id })
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'REFUNDED' })
    expect(await auditOf(suspended.id)).toEqual(['suspense.match', 'suspense.undo'])
    await cli.expectFailure(['suspense', 'undo', suspended.id], /attributed to no transaction/)
  })
})

describe('a disputed payment in suspense', () => {
  const untilDisputeState = async (endToEnd: string, state: string) =>
    await eventually(async () => {
      await service.runJob('transactions.disputes')
      const rows = await service.db.query<{ state: string }>(sql`
        select acquirer_state as state from unattributed_disputes where end_to_end = ${endToEnd}`)
      return rows[0]?.state === state
    })

  /** The comparison with a PSP that blocks an amount under MED, and the alerts about it. */
  function observeComparison() {
    const registry = new Registry()
    const acquirer = { name: 'simulator', readBalance: null }
    const { db } = service
    let now = new Date()
    const clock = { now: () => now }
    observeBalances({
      db,
      clock,
      registry,
      acquirers: [{ ...acquirer, readBalance: async () => await Promise.reject() }],
    })
    return {
      with: async (disputed: number) =>
        await compareBalance(
          { db, clock },
          {
            ...acquirer,
            readBalance: async () => await Promise.resolve({ available: 0, blocked: null, disputed }),
          },
        ),
      advance(ms: number) {
        now = new Date(now.getTime() + ms)
      },
      alerts: async () =>
        (await findMet(registry)).met
          .filter(({ kind }) => kind === 'disputed_differs' || kind === 'balance_unread')
          .map(({ kind, value }) => [kind, value]),
    }
  }

  it('shows its dispute, is not returned meanwhile, and is blocked in the commit that attributes it', async () => {
    const { id, endToEnd, suspended } = await payUnattributed(service, { amount: 50_000 })
    const merchant = await balancesOf(service)
    const compared = observeComparison()
    const before = (await compared.with(0))?.ledgerDisputed ?? 0
    const reference = await dispute(service, endToEnd)
    await untilDisputeState(endToEnd, 'open')
    await compared.with(before + 50_000)
    expect(await compared.alerts()).toEqual([])
    // The PSP blocks an amount for a dispute that Guichê does not know.
    await compared.with(before + 57_000)
    expect(await compared.alerts()).toEqual([['disputed_differs', 7_000]])
    await compared.with(before + 50_000)
    // The balance was not read for an hour, as when the PSP refuses the request.
    compared.advance(60 * 60_000 + 1_000)
    expect(await compared.alerts()).toEqual([['balance_unread', 3_601]])
    expect(await cli.runJson(['suspense', 'show', suspended.id])).toMatchObject({
      disputes: [{ reference, amount: 50_000, state: 'open', status: 'ABERTA', deadline: expect.any(String) }],
    })
    expect(await cli.read(['suspense', 'show', suspended.id])).toMatch(/disputed \(MED\)/)
    await cli.expectFailure(['suspense', 'return', suspended.id], /payment has an open dispute \(MED\)/)

    await cli.runJson(['suspense', 'match', suspended.id, '--transaction', id])
    expect(await fetchDisputed(service, id)).toMatchObject({
      status: 'BLOCKED',
      disputes: [{ amount: 50_000, amountBlocked: 50_000, status: 'OPEN' }],
    })
    expect(await eventsOf(service, id)).toEqual([
      ...['transaction.pix_qrcode_generated', 'transaction.paid', 'transaction.blocked'],
    ])
    // The fee is the operator's; nothing of the payment can be withdrawn.
    const { available, debt, blocked } = await balancesOf(service)
    expect({ free: available + debt, blocked }).toEqual({
      free: merchant.available + merchant.debt - 30,
      blocked: merchant.blocked + 50_000,
    })

    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
  })

  it('can be returned once its dispute is over', async () => {
    const { endToEnd, suspended } = await payUnattributed(service, { amount: 50_000 })
    const reference = await dispute(service, endToEnd)
    await untilDisputeState(endToEnd, 'open')
    await decide(service, reference, 'cancel')
    await untilDisputeState(endToEnd, 'canceled')
    expect(await cli.runJson(['suspense', 'return', suspended.id])).toMatchObject({ status: 'returning' })
  })

  it('is returned when its dispute is accepted and the bank returns it', async () => {
    const { endToEnd } = await payUnattributed(service, { amount: 50_000 })
    const reference = await dispute(service, endToEnd)
    await untilDisputeState(endToEnd, 'open')
    await decide(service, reference, 'accept')
    await untilDisputeState(endToEnd, 'accepted')
    await untilSuspense(service, endToEnd, 'returned')
  })
})
