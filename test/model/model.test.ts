import { afterAll, expect, it } from 'vitest'
import { lengthOf } from '../support/random.ts'
import { runModel, stepNames } from './run.ts'

/**
 * The seed is part of each test's name. MODEL_SEED repeats one run, MODEL_RUNS makes more runs, each with the next
 * seed, and MODEL_STEPS makes them longer.
 */
const firstSeed = Number(process.env.MODEL_SEED ?? Math.floor(Date.now() / 1000))
const runs = Number(process.env.MODEL_RUNS ?? (process.env.MODEL_SEED ? 1 : lengthOf({ short: 1, long: 8 })))
const steps = Number(process.env.MODEL_STEPS ?? 250)

const effectiveRunsInAll = new Map<string, number>()

it.each(Array.from({ length: runs }, (_, index) => firstSeed + index))(
  'no cent is lost or created, whatever happens, in any order, and however often it is interrupted: seed %i',
  { timeout: 300_000 + 500 * steps },
  async (seed) => {
    const { histories, effectiveRuns } = await runModel({ seed, steps })
    expect(histories.length).toBeGreaterThan(0)
    for (const [name, times] of effectiveRuns) effectiveRunsInAll.set(name, (effectiveRunsInAll.get(name) ?? 0) + times)
  },
)

// MODEL_TAKEN=1 prints how often each step found something to do, and which never did.
afterAll(() => {
  if (!process.env.MODEL_TAKEN) return
  const never = stepNames.filter((name) => !effectiveRunsInAll.has(name))
  process.stdout.write(`${JSON.stringify({ ...Object.fromEntries(effectiveRunsInAll), never })}\n`)
})
