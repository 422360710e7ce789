import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { lengthOf } from '../support/random.ts'
import { findFaults } from './invariants.ts'
import type { Requested } from './memory.ts'
import { workUntilQuiet } from './queue.ts'
import { readAll } from './read.ts'
import { sendAndCompare } from './request.ts'
import { openWorld, type World } from './world.ts'

const count = lengthOf({ short: 40, long: 1_000 })
const half = Math.ceil(count / 2)

it(`of ${2 * half} payouts and refunds whose first answer is lost, none is made twice and all are settled`, {
  timeout: 300_000 + 300 * count,
}, async () => {
  const world = await openWorld(20_260_302)
  try {
    await earn(world)
    const requested = [...(await requestRefunds(world)), ...(await requestPayouts(world))]
    // The bank carries out about half of them, and sends no callback.
    world.setLosses(100, ['time_out_after', 'time_out_before'])
    await workUntilQuiet(world)
    expect((await readAll(world.db, world.clock.now())).bank.payouts.length).toBeGreaterThan(half / 4)
    expect(await listOpen(world)).toHaveLength(2 * half)
    expect(await findFaults(world)).toEqual([])

    // The bank recovers gradually. Each pause is longer than the service waits between two polls.
    for (const percent of [90, 60, 60, 30, 0, 0]) {
      world.setLosses(percent)
      world.clock.advance(6 * 60_000)
      await workUntilQuiet(world)
    }
    expect(await listOpen(world)).toEqual([])
    expect(await findFaults(world)).toEqual([])
    const { bank, refunds, withdrawals } = await readAll(world.db, world.clock.now())
    expect(new Set(refunds.map(({ status }) => status))).toEqual(new Set(['REFUNDED']))
    expect(new Set(withdrawals.map(({ status }) => status))).toEqual(new Set(['PROCESSED']))
    expect(bank.payouts.length + bank.returns.length).toBe(requested.length)
  } finally {
    await world.close()
  }
})

/** As many payments as refunds, each large enough for its refund and a payout. */
async function earn(world: World): Promise<void> {
  const requested = Array.from({ length: half }, (_, index): Requested => {
    const input = {
      amount: 1_000,
      paymentMethod: 'PIX' as const,
      isInfoProduct: true,
      pix: { expirationSeconds: 3_600 },
    }
    return { kind: 'transaction', merchantId: world.merchants[index % 2] ?? '', id: null, input }
  })
  await requestAll(world, requested)
  for (const { pix_uri } of (await readAll(world.db, world.clock.now())).transactions)
    expect(await world.bank.pay({ uri: pix_uri ?? '' })).toMatchObject({ ok: true })
  await workUntilQuiet(world)
}

async function requestRefunds(world: World): Promise<Requested[]> {
  const { transactions } = await readAll(world.db, world.clock.now())
  const requested = transactions.map((row, index): Requested => {
    const input = { amount: 1 + (index % 500), idempotencyKey: randomUUID() }
    return { kind: 'refund', merchantId: row.merchant_id, transactionId: row.id, id: null, input }
  })
  return await requestAll(world, requested)
}

async function requestPayouts(world: World): Promise<Requested[]> {
  const requested = Array.from({ length: half }, (_, index): Requested => {
    const pixKey = { key: randomUUID(), type: 'EVP' as const }
    const input = { amount: 10, method: 'PIX' as const, pixKey, idempotencyKey: randomUUID() }
    return { kind: 'withdrawal', merchantId: world.merchants[index % 2] ?? '', id: null, input }
  })
  return await requestAll(world, requested)
}

async function requestAll(world: World, requested: Requested[]): Promise<Requested[]> {
  for (const one of requested) await sendAndCompare(world, one, { isAlone: false })
  expect(requested.filter(({ id }) => id === null)).toEqual([])
  return requested
}

async function listOpen({ db, clock }: World): Promise<string[]> {
  const { refunds, withdrawals } = await readAll(db, clock.now())
  return [...refunds, ...withdrawals].flatMap(({ id, status }) => (status === 'PROCESSING' ? [id] : []))
}
