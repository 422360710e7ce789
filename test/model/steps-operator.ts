import { randomUUID } from 'node:crypto'
import { sql } from '../../src/db/sql.ts'
import { type NewEntry, postEntry } from '../../src/entries/post.ts'
import { simulatorName } from '../../src/network.ts'
import { operatorMerchantId } from '../../src/suspense/status.ts'
import { feesOf } from './accounts.ts'
import { attempt, describe, Unexpected } from './attempt.ts'
import type { Entered } from './memory.ts'
import { readAll, type Seen } from './read.ts'
import type { Step } from './steps.ts'
import type { World } from './world.ts'

/** Money is paid in, for a merchant or the operator. */
export const payIn: Step = async (world) => {
  const { random, merchants } = world
  const merchantId = random.pick([...merchants, null]) ?? null
  return await enter(world, { type: 'pay_in', merchantId, amount: 1 + random.below(20_000) })
}

/** Draws fees: usually no more than there are. More must be refused. */
export const drawFees: Step = async (world) => {
  const { random } = world
  const total = await sumFees(world)
  if (total === 0) return 'nothing to draw'
  const amount = random.percent(25) ? total + 1 + random.below(500) : 1 + random.below(total)
  return await enter(world, { type: 'fee_draw', merchantId: null, amount })
}

/** The PSP charges a fee, sometimes more than was earned. */
export const payPsp: Step = async (world) => {
  const { random } = world
  const total = await sumFees(world)
  const amount = random.percent(30) ? total + 1 + random.below(500) : 1 + random.below(1 + total)
  return await enter(world, { type: 'psp_fee', merchantId: null, amount })
}

/** A part or all of a merchant's debt is written off. More than the debt must be refused. */
export const writeOff: Step = async (world) => {
  const { random, merchants } = world
  const seen = await readAll(world.db, world.clock.now())
  const merchantId = random.pick(merchants.filter((id) => owedBy(seen, id) > 0))
  if (merchantId === undefined) return 'nothing to write off'
  const owed = owedBy(seen, merchantId)
  const amount = random.percent(20) ? owed + 1 : random.percent(40) ? owed : 1 + random.below(owed)
  return await enter(world, { type: 'write_off', merchantId, amount })
}

async function sumFees(world: World): Promise<number> {
  const seen = await readAll(world.db, world.clock.now())
  return [...world.merchants, operatorMerchantId].reduce((sum, id) => sum + feesOf(world, seen, id), 0)
}

function owedBy({ balances }: Seen, merchantId: string): number {
  return 0 - (balances.find((one) => one.merchant_id === merchantId && one.account === 'debt')?.balance ?? 0)
}

type Requested = Pick<NewEntry, 'type' | 'merchantId' | 'amount'>

/**
 * Posts an entry, compares the result with the expected one, and sometimes sends it again, unchanged or with another
 * amount.
 */
async function enter(world: World, requested: Requested): Promise<string> {
  const { random, db, clock, memory } = world
  const moves = foresee(world, await readAll(db, clock.now()), requested)
  const idempotencyKey = randomUUID()
  const send = async (amount: number) => {
    const about = { acquirer: simulatorName, description: 'the model', by: { actor: 'cli:model' }, idempotencyKey }
    return await attempt(async () => await postEntry(world.process.deps, { ...requested, ...about, amount }))
  }
  const first = await send(requested.amount)
  const exists = await isPosted(world, idempotencyKey)
  if (first.did !== 'lost' && (first.did === 'done') !== (moves !== null))
    throw new Unexpected(`${requested.type} of ${requested.amount}: ${describe(first)}`)
  if (first.did !== 'lost' && (first.did === 'done') !== exists)
    throw new Unexpected(`${requested.type}: ${describe(first)}, and it is ${exists ? 'posted' : 'not posted'}`)
  if (exists) memory.entered.push(...(moves ?? []))
  const said = `${requested.type} of ${requested.amount} for ${requested.merchantId ?? 'the operator'}: ${describe(first)}`
  if (!exists || random.percent(60)) return said
  const isOther = random.percent(30)
  const again = await send(requested.amount + (isOther ? 1 : 0))
  const isRight = isOther ? again.did === 'refused' : again.did === 'done' && again.value.isReplay
  if (again.did !== 'lost' && !isRight) throw new Unexpected(`${said}, and once more: ${describe(again)}`)
  return `${said}, and once more: ${describe(again)}`
}

async function isPosted({ db }: World, key: string): Promise<boolean> {
  return (await db.query(sql`select from operator_entries where idempotency_key = ${key}`)).length === 1
}

/** The changes that an entry must make, by merchant. Null if it must be refused. */
function foresee(world: World, seen: Seen, { type, merchantId, amount }: Requested): Entered[] | null {
  const id = merchantId ?? operatorMerchantId
  switch (type) {
    case 'pay_in': {
      if (merchantId !== null) return [{ merchantId: id, clearing: amount, fees: 0, debt: 0 }]
      const owed = Math.min(amount, owedBy(seen, id))
      return [{ merchantId: id, clearing: amount, fees: amount - owed, debt: owed }]
    }
    case 'fee_draw':
      return spend(world, seen, { amount, except: null, mayLose: false })
    case 'write_off': {
      if (amount > owedBy(seen, id)) return null
      const own = Math.min(amount, feesOf(world, seen, id))
      const rest = { amount: amount - own, except: id, mayLose: true }
      return [{ merchantId: id, clearing: amount - own, fees: 0 - own, debt: 0 }, ...(spend(world, seen, rest) ?? [])]
    }
    default:
      return spend(world, seen, { amount, except: null, mayLose: true })
  }
}

type Spending = { amount: number; except: string | null; mayLose: boolean }

/**
 * Takes from the fees of the merchants with the most, then from the operator's own money. The operator owes the rest.
 */
function spend(world: World, seen: Seen, { amount, except, mayLose }: Spending): Entered[] | null {
  const holders = world.merchants
    .filter((id) => id !== except)
    .toSorted((a, b) => feesOf(world, seen, b) - feesOf(world, seen, a) || (a < b ? -1 : 1))
  let rest = amount
  const taken = [...holders, operatorMerchantId].map((merchantId): Entered => {
    const part = Math.min(rest, feesOf(world, seen, merchantId))
    rest -= part
    return { merchantId, clearing: 0 - part, fees: 0 - part, debt: 0 }
  })
  if (rest > 0 && !mayLose) return null
  return [...taken, { merchantId: operatorMerchantId, clearing: 0 - rest, fees: 0, debt: 0 - rest }]
}
