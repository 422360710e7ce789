import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Disturbance } from '../../simulator/disturb.ts'
import { sql } from '../../src/db/sql.ts'
import { toTxid } from '../../src/pix/ids.ts'
import { type RemoteBank, startRemoteBank } from '../support/payouts.ts'
import { createRandom, lengthOf } from '../support/random.ts'
import { balanceChanges, expectLedgerConsistent, fund, runChecksUntil, withdraw } from '../support/withdrawals.ts'

const count = lengthOf({ short: 30, long: 1_000 })
const outcomes: Disturbance[] = ['none', 'time_out_before', 'time_out_after', 'error_500']

let bank: RemoteBank
beforeAll(async () => {
  bank = await startRemoteBank()
  await fund(bank.service, 1_000 * count)
})
afterAll(async () => await bank.stop())

it('sends each of many once, however many answers are lost', { timeout: 600_000 }, async () => {
  const { service } = bank
  bank.sendCallbacks(false)
  const random = createRandom(20_260_302)
  bank.disturb(({ path }) => (path.includes('/gn/pix/') ? (random.pick(outcomes) ?? 'none') : 'none'))
  const money = await balanceChanges(service, async () => {
    const ids: string[] = []
    while (ids.length < count)
      ids.push(...(await Promise.all(Array.from({ length: 10 }, async () => await withdraw(service)))))
    const isSettled = async () => {
      const { body } = await service.call<{ total: number }>('/withdrawal?status=PENDING&status=PROCESSING')
      return body.total === 0
    }
    // Longer than any pause between two queries.
    await runChecksUntil(service, isSettled, 6 * 60_000)
    const made = await bank.db.query(sql`select from simulator.payouts where id = any(${ids.map(toTxid)})`)
    expect(made).toHaveLength(count)
    const { body } = await service.call<{ total: number }>('/withdrawal?status=PROCESSED')
    expect(body.total).toBe(count)
  })
  expect(money).toEqual({ available: -1_000 * count, acquirer: 1_000 * count })
  await expectLedgerConsistent(service)
})
