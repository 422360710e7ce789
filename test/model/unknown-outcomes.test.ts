import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { lengthOf } from '../support/random.ts'
import { ask } from './ask.ts'
import { findFaults } from './invariants.ts'
import type { Asked } from './memory.ts'
import { workUntilQuiet } from './queue.ts'
import { readAll } from './read.ts'
import { openWorld, type World } from './world.ts'

const count = lengthOf({ short: 200, long: 1_000 })
const half = Math.ceil(count / 2)

it(`of ${2 * half} payouts and refunds whose first answer is lost, none is made twice and all are settled`, {
  timeout: 300_000 + 300 * count,
}, async () => {
  const world = await openWorld(20_260_302)
  try {
    await earn(world)
    const asked = [...(await askForRefunds(world)), ...(await askForPayouts(world))]
    // The bank carries out every second one, and sends no callback.
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
    expect(bank.payouts.length + bank.returns.length).toBe(asked.length)
  } finally {
    await world.close()
  }
})

/** As many payments as refunds, each large enough for its refund and a payout. */
async function earn(world: World): Promise<void> {
  const asked = Array.from({ length: half }, (_, made): Asked => {
    const input = {
      amount: 1_000,
      paymentMethod: 'PIX' as const,
      isInfoProduct: true,
      pix: { expirationSeconds: 3_600 },
    }
    return { kind: 'transaction', merchantId: world.merchants[made % 2] ?? '', id: null, input }
  })
  await askAll(world, asked)
  for (const { pix_uri } of (await readAll(world.db, world.clock.now())).transactions)
    expect(await world.bank.pay({ uri: pix_uri ?? '' })).toMatchObject({ ok: true })
  await workUntilQuiet(world)
}

async function askForRefunds(world: World): Promise<Asked[]> {
  const { transactions } = await readAll(world.db, world.clock.now())
  const asked = transactions.map((row, made): Asked => {
    const input = { amount: 1 + (made % 500), idempotencyKey: randomUUID() }
    return { kind: 'refund', merchantId: row.merchant_id, transactionId: row.id, id: null, input }
  })
  return await askAll(world, asked)
}

async function askForPayouts(world: World): Promise<Asked[]> {
  const asked = Array.from({ length: half }, (_, made): Asked => {
    const pixKey = { key: randomUUID(), type: 'EVP' as const }
    const input = { amount: 10, method: 'PIX' as const, pixKey, idempotencyKey: randomUUID() }
    return { kind: 'withdrawal', merchantId: world.merchants[made % 2] ?? '', id: null, input }
  })
  return await askAll(world, asked)
}

async function askAll(world: World, asked: Asked[]): Promise<Asked[]> {
  for (const one of asked) await ask(world, one, { isAlone: false })
  expect(asked.filter(({ id }) => id === null)).toEqual([])
  return asked
}

async function listOpen({ db, clock }: World): Promise<string[]> {
  const { refunds, withdrawals } = await readAll(db, clock.now())
  return [...refunds, ...withdrawals].flatMap(({ id, status }) => (status === 'PROCESSING' ? [id] : []))
}
