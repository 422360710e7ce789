import { assert } from '../../src/lib/assert.ts'
import { setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { createRandom, type Random } from '../support/random.ts'
import { approvalAbove } from './expect.ts'
import { findFaults } from './invariants.ts'
import { settleAll, workUntilQuiet } from './queue.ts'
import { settleAllOpen } from './settle.ts'
import type { Step } from './steps.ts'
import * as people from './steps.ts'
import * as network from './steps-bank.ts'
import * as operator from './steps-operator.ts'
import * as processes from './steps-process.ts'
import { openWorld, type World } from './world.ts'

/** The steps by name, each with its weight in the draw. */
const weights: [string, number, Step][] = [
  ['create', 10, people.create],
  ['pay', 14, people.pay],
  ['refund', 9, people.refund],
  ['withdraw', 10, people.withdraw],
  ['repeat', 5, people.repeat],
  ['sendConcurrently', 2, people.sendConcurrently],
  ['cancel', 2, people.cancel],
  ['cancelCharge', 4, people.cancelCharge],
  ['confirm', 3, people.confirm],
  ['approve', 3, people.approve],
  ['reject', 1, people.reject],
  ['callback', 9, network.callback],
  ['sendBack', 2, network.sendBack],
  ['dispute', 5, network.dispute],
  ['decide', 6, network.decide],
  ['disputeAgain', 2, network.disputeAgain],
  ['reopen', 4, network.reopen],
  ['takeBack', 2, network.takeBack],
  ['takeBackPart', 2, network.takeBackPart],
  ['enterDispute', 2, network.enterDispute],
  ['decideInGateway', 2, network.decideInGateway],
  ['payIn', 2, operator.payIn],
  ['drawFees', 2, operator.drawFees],
  ['payPsp', 2, operator.payPsp],
  ['writeOff', 2, operator.writeOff],
  ['runJobs', 18, processes.runJobs],
  ['runScheduled', 10, processes.runScheduled],
  ['wait', 7, processes.wait],
  ['injectFault', 9, processes.injectFault],
  ['setLossRate', 3, processes.setLossRate],
  ['setFee', 2, processes.setFee],
  ['freezeAllPayouts', 2, processes.freezeAllPayouts],
  ['releaseAllPayouts', 3, processes.releaseAllPayouts],
]
export const stepNames = weights.map(([name]) => name)
const deck = weights.flatMap(([name, weight, step]) => Array.from({ length: weight }, () => ({ name, step })))
/**
 * Steps that run concurrently in production. The clock, fees and the payout freeze change only while nothing else runs.
 */
const concurrentSteps = deck.filter(({ name }) =>
  /^(?:create|pay|refund|withdraw|repeat|cancel|cancelCharge|confirm|approve|callback|runJobs|runScheduled|enterDispute)$/.test(
    name,
  ),
)
/** In this percentage of steps, several run concurrently. */
const concurrentPercent = 15

/** The histories, and how often each step found something to do, without steps that ran concurrently. */
type ModelResult = { histories: string[]; effectiveRuns: Map<string, number> }

/** One random run of the service, from its seed. Throws with the seed and the trail when a check fails. */
export async function runModel({ seed, steps }: { seed: number; steps: number }): Promise<ModelResult> {
  const world = await openWorld(seed)
  try {
    for (const merchantId of world.merchants)
      await setWithdrawalLimits(world, {
        by: { actor: 'cli:test' },
        merchantId,
        approvalAbove,
        perDay: null,
        perNight: null,
      })
    await beginPaid(world)
    for (let number = 1; number <= steps; number++) {
      await takeStep(world, number)
      expectNone(await findFaults(world))
    }
    world.memory.trail.push('the end')
    expectNone(await settleAllOpen(world))
    const { histories, effectiveRuns } = world.memory
    return { histories: [...histories.values()].map((statuses) => statuses.join(' ')), effectiveRuns }
  } catch (error) {
    const trail = world.memory.trail.slice(-60).join('\n  ')
    throw new Error(`MODEL_SEED=${seed} MODEL_STEPS=${steps}: ${String(error)}\n  ${trail}`, { cause: error })
  } finally {
    await world.close()
  }
}

/** Initial payments, so that few steps find nothing to do. */
async function beginPaid(world: World): Promise<void> {
  for (const step of [people.create, people.pay]) {
    for (let count = 0; count < 8; count++) {
      world.clock.advance(1)
      await step(world, { isAlone: true })
    }
  }
  await workUntilQuiet(world)
  expectNone(await findFaults(world))
}

async function takeStep(world: World, number: number): Promise<void> {
  const { seed, memory, clock } = world
  // Each step has its own draws: concurrent steps never run the same way twice, and a difference in one changes no
  // later draw.
  const random = createRandom(seed * 100_003 + number)
  // No two records have the same time, so that a seed finds them in the same order again.
  clock.advance(1)
  const isConcurrent = random.percent(concurrentPercent)
  const said: string[] = []
  try {
    if (isConcurrent) {
      const steps = Array.from({ length: 2 + random.below(4) }, () => drawFrom(random, concurrentSteps).step)
      const worlds = steps.map(() => withRandom(world, createRandom(random.below(2 ** 31))))
      const running = steps.map(async (step, index) => await step(worlds[index] ?? world, { isAlone: false }))
      await settleAll(running.map(async (one) => void said.push(await one)))
    } else {
      // A step that finds nothing to do is replaced by another.
      do {
        const { name, step } = drawFrom(random, deck)
        said[0] = await step(withRandom(world, random), { isAlone: true })
        if (!said[0].startsWith('nothing')) memory.effectiveRuns.set(name, (memory.effectiveRuns.get(name) ?? 0) + 1)
      } while (said[0].startsWith('nothing'))
    }
  } finally {
    memory.trail.push(`${number}${isConcurrent ? ' concurrently' : ''}. ${said.join(' | ') || 'cut short'}`)
    // Another process follows a dead one: a crash happens between two steps of the service and does not end the model.
    if (world.process.injector.isDead()) {
      memory.trail.push('  (the process had ended, and another one began)')
      await world.restartProcess()
    }
  }
}

/** The same world with separate draws. */
function withRandom(world: World, random: Random): World {
  return Object.create(world, { random: { value: random } })
}

function drawFrom(random: Random, steps: typeof deck): (typeof deck)[number] {
  const drawn = random.pick(steps)
  assert(drawn, 'there are steps to draw from')
  return drawn
}

function expectNone(faults: string[]): void {
  if (faults.length > 0) throw new Error(faults.join('\n'))
}
