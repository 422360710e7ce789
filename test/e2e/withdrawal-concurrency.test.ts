import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { insertFeeRule } from '../../src/ledger/store.ts'
import { addTestClient } from '../support/requests.ts'
import { type Answer, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'
import {
  act,
  balanceChanges,
  balancesOf,
  countPayouts,
  expectLedgerConsistent,
  fetchWithdrawal,
  fund,
  requestWithdrawal,
  transfersOf,
  untilWithdrawal,
  type Withdrawal,
  withdraw,
  withdrawalBody,
} from '../support/withdrawals.ts'

let service: TestService
/** Another process of the same service. */
let other: TestService

beforeAll(async () => {
  service = await startTestService()
  other = await startTestService({ database: service, clock: service.clock })
  await fund(service, 50_000_000)
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => {
  await other.stop()
  await service.stop()
})

/** Sends half of the requests to each of the two processes, all at the same time. */
async function sendConcurrently<Body>(
  count: number,
  request: (process: TestService, index: number) => Promise<Answer<Body>>,
): Promise<Answer<Body>[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_, index) => await request(index % 2 === 0 ? service : other, index)),
  )
}

describe('many concurrent requests', () => {
  it('with one key are one withdrawal, one payout and one answer', async () => {
    const body = withdrawalBody()
    const money = await balanceChanges(service, async () => {
      const answers = await sendConcurrently(40, async (process) => {
        return await process.call<Withdrawal>('/withdrawal', { body, token: service.token })
      })
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') !== 'true')).toHaveLength(1)
      const id = answers[0]?.body.id ?? ''
      await untilWithdrawal(service, id, 'PROCESSED')
      expect(await countPayouts(service.db, id)).toBe(1)
    })
    expect(money).toEqual({ available: -1_000, acquirer: 1_000 })
  })

  it('with one key and two contents: one wins', async () => {
    const body = withdrawalBody()
    const answers = await sendConcurrently(20, async (process, index) => {
      const token = service.token
      return await process.call<Withdrawal & { code: string }>('/withdrawal', {
        body: { ...body, amount: index < 10 ? 1_000 : 2_000 },
        token,
      })
    })
    const won = answers.filter(({ status }) => status === 201)
    expect(won).toHaveLength(10)
    expect(new Set(won.map(({ text }) => text)).size).toBe(1)
    for (const lost of answers.filter(({ status }) => status !== 201))
      expect(lost.body.code).toBe('idempotency_key_reused')
    await untilWithdrawal(service, won[0]?.body.id ?? '', 'PROCESSED')
  })

  it('of sixteen clients for one balance take exactly what it covers', async () => {
    const { merchantId, token } = await addTestClient(service)
    const now = service.clock.now()
    const rule = { fixed: 5, basis_points: 0, minimum: 0, maximum: null }
    await service.db.transaction(
      async (tx) => await insertFeeRule(tx, { ...rule, merchantId, operation: 'withdrawal', validFrom: now }),
    )
    // 100 withdrawals of 1000 with a fee of 5, and a cent less than another one takes.
    await fund(service, 100 * 1_005 + 1_004, merchantId)
    const answers: Answer<Withdrawal & { code?: string }>[] = []
    await Promise.all(
      Array.from({ length: 16 }, async (_, writer) => {
        const process = writer % 2 === 0 ? service : other
        for (let turn = 0; turn < 10; turn++) answers.push(await requestWithdrawal(process, {}, { token }))
      }),
    )
    const accepted = answers.filter(({ status }) => status === 201)
    expect(accepted).toHaveLength(100)
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.code ?? ''}`))).toEqual(
      new Set(['201 ', '422 insufficient_balance']),
    )
    await eventually(async () => (await balancesOf(service, merchantId)).reserved === 0)
    expect(await balancesOf(service, merchantId)).toMatchObject({ available: 1_004, fees: 500, acquirer: -1_504 })
    const paid = await service.db.query(sql`
      select from simulator.payouts join withdrawals on replace(withdrawals.id::text, '-', '') = payouts.id
      where merchant_id = ${merchantId}`)
    expect(paid).toHaveLength(100)
  })
})

describe('a cancellation', () => {
  it('while the withdrawal is being sent succeeds or is refused, with matching balances', async () => {
    const ends = new Map<string, number>()
    for (let round = 0; round < 40; round++) {
      const id = await withdraw(service)
      // A little later each time, so that it comes before, during and after the sending.
      if (round < 39) await new Promise((done) => setTimeout(done, round % 20))
      else await eventually(async () => (await fetchWithdrawal(service, id)).status !== 'PENDING')
      const answers = await Promise.all([
        act(service, id, 'cancel'),
        act(other, id, 'cancel', { token: service.token }),
      ])
      await eventually(async () => ['CANCELED', 'PROCESSED'].includes((await fetchWithdrawal(service, id)).status))
      const { status } = await fetchWithdrawal(service, id)
      ends.set(status, (ends.get(status) ?? 0) + 1)
      expect(answers.map((answer) => answer.status)).toEqual(status === 'CANCELED' ? [200, 200] : [422, 422])
      expect(await countPayouts(service.db, id)).toBe(status === 'CANCELED' ? 0 : 1)
      expect((await transfersOf(service, id)).at(-1)).toMatch(status === 'CANCELED' ? /released/ : /sent/)
    }
    expect([...ends.keys()]).toContain('PROCESSED')
  })

  it('of a withdrawal pending review releases amount and fee, and gives the same answer again', async () => {
    const pixKey = { key: randomUUID(), type: 'EVP' }
    await untilWithdrawal(service, await withdraw(service, { pixKey }), 'PROCESSED')
    const money = await balanceChanges(service, async () => {
      const id = await withdraw(service, { pixKey })
      const first = await act(service, id, 'cancel')
      expect([first.status, first.body.status, first.body.hold]).toEqual([200, 'CANCELED', undefined])
      expect((await act(service, id, 'cancel')).text).toBe(first.text)
      expect(first.body).toEqual(await fetchWithdrawal(service, id))
    })
    expect(money).toEqual({})
  })

  it('concurrent with the confirmation succeeds or is refused', async () => {
    for (let round = 0; round < 10; round++) {
      const pixKey = { key: randomUUID(), type: 'EVP' }
      await withdraw(service, { pixKey })
      const id = await withdraw(service, { pixKey })
      const [, canceled] = await Promise.all([act(service, id, 'confirm'), act(service, id, 'cancel')])
      await eventually(async () => ['CANCELED', 'PROCESSED'].includes((await fetchWithdrawal(service, id)).status))
      const { status } = await fetchWithdrawal(service, id)
      expect(canceled.status).toBe(status === 'CANCELED' ? 200 : 422)
      expect(await countPayouts(service.db, id)).toBe(status === 'CANCELED' ? 0 : 1)
    }
  })
})
