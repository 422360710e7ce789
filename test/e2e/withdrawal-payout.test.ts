import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Disturb, Disturbance } from '../../simulator/disturb.ts'
import { refusedPayoutAmount, slowPayoutAmount } from '../../simulator/payouts.ts'
import { slowMs } from '../../simulator/settlement.ts'
import { rejectedPayoutAmounts } from '../../simulator/spi-codes.ts'
import { sql } from '../../src/db/sql.ts'
import { cents } from '../../src/lib/money.ts'
import { toTxid } from '../../src/pix/ids.ts'
import { eventsOf } from '../support/payments.ts'
import { type RemoteBank, startRemoteBank } from '../support/payouts.ts'
import type { TestService } from '../support/service.ts'
import { inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import {
  act,
  balanceChanges,
  balancesOf,
  expectLedgerConsistent,
  fetchWithdrawal,
  fund,
  refusal,
  runChecksUntil,
  transfersOf,
  untilWithdrawal,
  withdraw,
} from '../support/withdrawals.ts'

let bank: RemoteBank
let service: TestService

beforeAll(async () => {
  bank = await startRemoteBank()
  service = bank.service
  await fund(service, 500_000_000)
})
beforeEach(() => {
  bank.disturb(() => 'none')
  bank.sendCallbacks(true)
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await bank.stop())

const isSend = ({ method, path }: Parameters<Disturb>[0]) => method === 'PUT' && path.startsWith('/v3/gn/pix/')
const isQuery = ({ path }: Parameters<Disturb>[0]) => path.includes('/enviados/')
/** The first of these requests gets this fault; later ones pass. */
function once(matches: typeof isSend, disturbance: Disturbance): Disturb {
  let isOver = false
  return (request) => {
    if (isOver || !matches(request)) return 'none'
    isOver = true
    return disturbance
  }
}

const checkUntil = async (condition: () => Promise<boolean>, stepMs?: number) =>
  await runChecksUntil(service, condition, stepMs)
const isIn = (id: string, status: string) => async () => (await fetchWithdrawal(service, id)).status === status

describe('a payout that is refused', () => {
  it.each([...rejectedPayoutAmounts])(
    'of %i cents fails with a readable reason, and everything is released: %s',
    async (amount, code) => {
      const money = await balanceChanges(service, async () => {
        const id = await withdraw(service, { amount })
        const failed = await untilWithdrawal(service, id, 'FAILED')
        expect(failed.errorMessage).toMatch(new RegExp(`^[A-Z][a-zA-Z’ ,-]+.*\\. \\(${code}\\)$`))
        expect(failed).not.toHaveProperty('amountWithdrawn')
        expect(failed.statusHistory.map(({ status }) => status)).toEqual(['PENDING', 'PROCESSING', 'FAILED'])
        expect(await transfersOf(service, id)).toEqual([
          `withdrawal_reserved available>reserved ${amount}`,
          `withdrawal_released reserved>available ${amount}`,
        ])
      })
      expect(money).toEqual({})
    },
  )

  it('in the answer to its request fails too', async () => {
    const id = await withdraw(service, { amount: refusedPayoutAmount })
    expect((await untilWithdrawal(service, id, 'FAILED')).errorMessage).toMatch(/simulador/)
  })
})

describe('a slow payout', () => {
  it('is PROCESSING, cannot be canceled, and is found when it is done', async () => {
    const id = await withdraw(service, { amount: slowPayoutAmount })
    await untilWithdrawal(service, id, 'PROCESSING')
    const refused = await act(service, id, 'cancel')
    expect([refused.status, ...refusal(refused)]).toEqual([422, 'withdrawal_not_possible', 'status not_pending'])
    expect(refused.body.detail).toMatch(/PROCESSING/)
    service.clock.advance(slowMs / 2)
    await service.runJob('withdrawals.check')
    expect(await isIn(id, 'PROCESSING')()).toBe(true)
    await checkUntil(isIn(id, 'PROCESSED'))
    expect(await bank.countPayouts(id)).toEqual({ requested: 1, made: 1 })
    expect(await eventsOf(service, id)).toEqual(['withdrawal.processing', 'withdrawal.processed'])
  })
})

describe('a callback', () => {
  const untilReceived = async (id: string, state: string) =>
    await eventually(async () => {
      const rows = await service.db.query<{ state: string }>(sql`
        select state from callback_inbox where txid = ${toTxid(id)} and state = ${state}`)
      return rows.length > 0
    })

  it('only triggers a query: it settles immediately what the bank confirms, and nothing else', async () => {
    bank.sendCallbacks(false)
    const id = await withdraw(service, { amount: slowPayoutAmount })
    await untilWithdrawal(service, id, 'PROCESSING')
    expect(await bank.postCallback(id)).toBe(200)
    await untilReceived(id, 'received')
    await new Promise((done) => setTimeout(done, 200))
    expect(await isIn(id, 'PROCESSING')()).toBe(true)
    service.clock.advance(slowMs)
    await bank.postCallback(id, { endToEndId: `E${'1'.repeat(31)}` })
    await untilWithdrawal(service, id, 'PROCESSED')
    await untilReceived(id, 'settled')
  })

  it('sends nothing that is pending review, and returns nothing that was not returned', async () => {
    const pixKey = { key: randomUUID(), type: 'EVP' }
    const sent = await withdraw(service, { pixKey })
    await untilWithdrawal(service, sent, 'PROCESSED')
    const pending = await withdraw(service, { pixKey })
    const devolucoes = [{ rtrId: `D${'2'.repeat(31)}`, valor: '10.00', status: 'DEVOLVIDO' }]
    await bank.postCallback(sent, { endToEndId: `E${'2'.repeat(31)}`, devolucoes })
    await untilReceived(sent, 'settled')
    await bank.postCallback(pending, { endToEndId: `E${'3'.repeat(31)}`, devolucoes })
    await bank.postCallback(randomUUID(), { endToEndId: `E${'4'.repeat(31)}` })
    await untilReceived(pending, 'received')
    await new Promise((done) => setTimeout(done, 200))
    expect([await isIn(sent, 'PROCESSED')(), await isIn(pending, 'PENDING')()]).toEqual([true, true])
    await act(service, pending, 'cancel')
  })
})

describe('a missing answer', () => {
  it.each<[Disturbance, number]>([
    ['time_out_before', 2],
    ['error_500', 2],
    ['time_out_after', 1],
  ])('by %s leaves the withdrawal PROCESSING, and nothing is sent twice', async (disturbance, requested) => {
    bank.sendCallbacks(false)
    bank.disturb(once(isSend, disturbance))
    const money = await balanceChanges(service, async () => {
      const id = await withdraw(service)
      await untilWithdrawal(service, id, 'PROCESSING')
      await eventually(async () => (await bank.countPayouts(id)).requested === 1)
      expect((await balancesOf(service)).reserved).toBe(1_000)
      await checkUntil(isIn(id, 'PROCESSED'))
      expect(await bank.countPayouts(id)).toEqual({ requested, made: 1 })
    })
    expect(money).toEqual({ available: -1_000, acquirer: 1_000 })
  })

  it('for hours releases nothing, and is settled when the bank is back', async () => {
    // The service still has a token: an expired one would cause another request.
    await untilWithdrawal(service, await withdraw(service), 'PROCESSED')
    bank.sendCallbacks(false)
    let isAway = true
    bank.disturb((request) => {
      if (isSend(request) && isAway) return 'time_out_after'
      return isAway && isQuery(request) ? 'time_out_before' : 'none'
    })
    const id = await withdraw(service)
    await untilWithdrawal(service, id, 'PROCESSING')
    await eventually(async () => (await bank.countPayouts(id)).requested === 1)
    for (let hour = 0; hour < 12; hour++) {
      service.clock.advance(60 * 60_000)
      await service.runJob('withdrawals.check')
    }
    expect(await isIn(id, 'PROCESSING')()).toBe(true)
    expect((await balancesOf(service)).reserved).toBe(1_000)
    isAway = false
    await checkUntil(isIn(id, 'PROCESSED'), 5 * 60_000)
    expect(await bank.countPayouts(id)).toEqual({ requested: 1, made: 1 })
  })

  it('is settled by the callback, if there is one', async () => {
    bank.disturb(once(isSend, 'time_out_after'))
    const id = await withdraw(service)
    await untilWithdrawal(service, id, 'PROCESSED')
    expect(await bank.countPayouts(id)).toEqual({ requested: 1, made: 1 })
  })
})

describe('a receiver that sends the money back', () => {
  const sendBack = async (id: string, amount?: number) => {
    const outcome = await bank.simulator.returnPayout({
      payoutId: toTxid(id),
      ...(amount !== undefined && { amount: cents(amount) }),
    })
    expect(outcome.ok).toBe(true)
    return outcome.ok ? outcome.id : ''
  }

  it('makes the withdrawal REFUNDED when the callback arrives, and the money is available again', async () => {
    const money = await balanceChanges(service, async () => {
      const id = await withdraw(service)
      const processed = await untilWithdrawal(service, id, 'PROCESSED')
      const returnId = await sendBack(id)
      const refunded = await untilWithdrawal(service, id, 'REFUNDED')
      expect(refunded).toEqual({
        ...processed,
        status: 'REFUNDED',
        statusHistory: expect.any(Array),
        updatedAt: expect.any(String),
        errorMessage: 'The receiver sent the money back',
      })
      const { body } = await service.call<{ data: unknown[] }>(`/withdrawal?endToEndRefund=${returnId}`)
      expect(body.data).toEqual([refunded])
      expect(await eventsOf(service, id)).toEqual([
        'withdrawal.processing',
        'withdrawal.processed',
        'withdrawal.refunded',
      ])
    })
    expect(money).toEqual({})
  })

  it.each([0, 1, 20, 80])('is found without a callback after %i days', async (days) => {
    bank.sendCallbacks(false)
    const id = await withdraw(service)
    await checkUntil(isIn(id, 'PROCESSED'), 6_000)
    service.clock.advance(days * 24 * 60 * 60_000)
    await service.runJob('withdrawals.returns')
    await sendBack(id)
    await checkUntil(isIn(id, 'REFUNDED'), 8 * 24 * 60 * 60_000)
  })

  it('is found within minutes after the bank did not answer the check', async () => {
    bank.sendCallbacks(false)
    const id = await withdraw(service)
    await checkUntil(isIn(id, 'PROCESSED'), 6_000)
    await sendBack(id)
    bank.disturb((request) => (isQuery(request) ? 'error_500' : 'none'))
    service.clock.advance(20 * 24 * 60 * 60_000)
    await service.runJob('withdrawals.returns')
    expect(await isIn(id, 'PROCESSED')()).toBe(true)
    bank.disturb(() => 'none')
    service.clock.advance(5 * 60_000)
    await service.runJob('withdrawals.returns')
    expect(await isIn(id, 'REFUNDED')()).toBe(true)
  })

  it('before the service knows that it was sent: both become known together', async () => {
    bank.sendCallbacks(false)
    bank.disturb(once(isSend, 'time_out_after'))
    const id = await withdraw(service)
    await eventually(async () => (await bank.countPayouts(id)).made === 1)
    await sendBack(id)
    await checkUntil(isIn(id, 'REFUNDED'))
    const { statusHistory } = await fetchWithdrawal(service, id)
    expect(statusHistory.map(({ status }) => status)).toEqual(['PENDING', 'PROCESSING', 'PROCESSED', 'REFUNDED'])
  })

  it('in parts returns each part', async () => {
    const id = await withdraw(service)
    await untilWithdrawal(service, id, 'PROCESSED')
    const parts = [await sendBack(id, 300)]
    expect((await untilWithdrawal(service, id, 'REFUNDED')).errorMessage).toMatch(/a part of the money/)
    parts.push(await sendBack(id, 200))
    await eventually(async () => (await transfersOf(service, id)).length === 4)
    const reader = await openBrowser(service, { email: await inviteUser(service, { role: 'support' }), password })
    const summary = await reader.call('/dashboard/api/list/withdrawal/summary', { body: { id } })
    expect(summary.body).toMatchObject({ count: 1, amount: 1_000, refunded: 500 })
    bank.sendCallbacks(false)
    parts.push(await sendBack(id))
    await checkUntil(async () => (await transfersOf(service, id)).length === 5, 24 * 60 * 60_000)
    expect((await transfersOf(service, id)).slice(2)).toEqual([
      'withdrawal_returned acquirer>available 300',
      'withdrawal_returned acquirer>available 200',
      'withdrawal_returned acquirer>available 500',
    ])
    expect((await fetchWithdrawal(service, id)).errorMessage).toBe('The receiver sent the money back')
    // It is found by the id of each part.
    for (const part of parts) {
      const { body } = await service.call<{ data: { id: string }[] }>(`/withdrawal?endToEndRefund=${part}`)
      expect(body.data.map((one) => one.id)).toEqual([id])
    }
    const { text } = await service.call(`/withdrawal.csv?id=${id}`)
    const cell = text.split(',').find((one) => one.includes(String(parts[0])))
    expect(cell?.split(' ').toSorted()).toEqual(parts.toSorted())
  })
})
