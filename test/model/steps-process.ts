import { freezePayouts, releasePayouts } from '../../src/ledger/payout-freeze.ts'
import { insertFeeRule } from '../../src/ledger/store.ts'
import { countSent } from './invariants.ts'
import { enqueueScheduled, scheduledJobs, work } from './queue.ts'
import { readAll } from './read.ts'
import type { Step } from './steps.ts'
import type { World } from './world.ts'

const second = 1_000
const pauses = [1, 1, 5, 5, 20, 60, 60, 301, 601, 3_600, 86_400].map((seconds) => seconds * second)

export const runJobs: Step = async (world, { isAlone }) => {
  const limit = 1 + world.random.below(6)
  const isConcurrent = !isAlone || world.random.percent(40)
  return `jobs${isConcurrent ? ' concurrently' : ''}: ${(await work(world, { limit, isConcurrent })).join(' ')}`
}

export const runScheduled: Step = async (world) => {
  const name = world.random.pick([...scheduledJobs, 'ledger.verify']) ?? 'ledger.verify'
  await enqueueScheduled(world, name)
  return `${name}, with ${(await work(world, { limit: 10, isConcurrent: false })).join(' ')}`
}

export const wait: Step = async ({ clock, random }) => {
  const ms = random.pick(pauses) ?? second
  clock.advance(ms)
  return `wait ${ms / second} s`
}

/** At one of its next 40 steps (see FaultInjector), the process crashes or the step fails. */
export const injectFault: Step = async ({ process: { injector }, random }) => {
  const kind = random.percent(70) ? 'crash' : 'fault'
  const steps = 1 + random.below(40)
  injector.arm(kind, steps)
  return `${kind} in ${steps} steps`
}

export const setLossRate: Step = async (world) => {
  const percent = world.random.pick([0, 0, 20, 60]) ?? 0
  world.setLosses(percent)
  return `${percent} % of the requests to the bank are lost`
}

export const setFee: Step = async (world) => {
  const { random, db, clock, memory, merchants } = world
  const merchantId = random.pick(merchants) ?? ''
  const operation = random.pick(['transaction', 'refund', 'withdrawal'] as const) ?? 'transaction'
  const [fixed, points, minimum] = [random.below(60), random.below(300), random.below(40)]
  const maximum = minimum + random.below(5_000)
  const returns = operation === 'refund' && random.percent(60)
  // No two rules have the same time, and nothing else has the time of a rule.
  clock.advance(second)
  const from = clock.now()
  await db.transaction(async (tx) => {
    const rule = {
      merchantId,
      operation,
      validFrom: from,
      fixed,
      basis_points: points,
      minimum,
      maximum,
      returns_payment_fee: returns,
    }
    await insertFeeRule(tx, rule)
  })
  memory.rules.push({ merchantId, operation, from, fixed, points, minimum, maximum, returns })
  return `fee of a ${operation}: ${fixed} + ${points} points, ${minimum} to ${maximum}${returns ? ', and that of the payment comes back' : ''}`
}

export const freezeAllPayouts: Step = async (world) => {
  const { db, clock, memory } = world
  memory.sentBeforeFreeze = countSent((await readAll(db, clock.now())).bank)
  memory.isFrozen = true
  await freezePayouts(db, { reason: 'the model', now: clock.now() })
  return 'payouts are frozen'
}

export const releaseAllPayouts: Step = async (world) => {
  await releasePayoutFreeze(world)
  return 'payouts are released'
}

export async function releasePayoutFreeze({ db, clock, memory }: World): Promise<void> {
  memory.isFrozen = false
  await releasePayouts({ db, clock }, { reason: 'the model', by: { actor: 'cli:model' } })
}
