import { describe, expect, it } from 'vitest'
import { createBudget, quickMs, totalMax } from './budget.ts'

const immediate = { durationMs: 5, hung: false }
const quick = { durationMs: 500, hung: false }
const hung = { durationMs: 15_000, hung: true }
const slow = { durationMs: 8_000, hung: false }

type Answer = typeof immediate
type Budget = ReturnType<typeof createBudget>

const create = (limits = {}) =>
  createBudget({ perReceiverMax: 16, totalMax: 256, quickMs, isBusy: () => false, ...limits })

function answer(budget: Budget, receiver: string, how: Answer): void {
  budget.lease(receiver, 'claimed')
  budget.begin(receiver)
  budget.end(receiver, how)
  budget.release(receiver, 'claimed')
}

/**
 * How many connections the receiver may have at once, and how many more deliveries may be claimed for it while one is
 * leased.
 */
function stateAfter(answers: Answer[]): { window: number; capacity: number | undefined } {
  const budget = create()
  for (const one of answers) answer(budget, 'a', one)
  budget.lease('a', 'claimed')
  const capacity = budget.loads().find(({ receiver }) => receiver === 'a')?.capacity
  let window = 0
  while (budget.begin('a')) window += 1
  return { window, capacity }
}

describe('the budget', () => {
  it('reserves for a known receiver as far as it has capacity, whatever is claimed for it', () => {
    const budget = create()
    const reserve = (count: number) => Array.from({ length: count }, () => budget.reserve('a'))
    expect(budget.reserve('a')).toBe(false)
    answer(budget, 'a', immediate)
    // Five connections, and eight deliveries for each, because it responds immediately.
    expect(reserve(41).lastIndexOf(true)).toBe(39)
    expect(budget.loads()).toMatchObject([{ leased: 40, capacity: 40 }])
    for (let claimed = 0; claimed < 40; claimed += 1) budget.lease('a', 'claimed')
    expect(budget.loads()).toMatchObject([{ leased: 80, capacity: 0 }])
    expect(budget.reserve('a')).toBe(false)
    budget.release('a', 'claimed')
    expect(budget.reserve('a')).toBe(false)
    budget.release('a', 'own')
    expect(budget.reserve('a')).toBe(true)
    expect(budget.free()).toBe(256 - 79)
  })

  it('reserves nothing for a receiver that hangs', () => {
    const budget = create()
    answer(budget, 'a', hung)
    expect(budget.reserve('a')).toBe(false)
    for (const how of [quick, quick]) answer(budget, 'a', how)
    budget.lease('a', 'claimed')
    expect(budget.reserve('a')).toBe(true)
  })

  it('reserves at most half of what the process may hold, and nothing when it holds all of it', () => {
    const budget = create({ totalMax: 8 })
    answer(budget, 'a', immediate)
    expect([1, 2, 3, 4, 5].map(() => budget.reserve('a'))).toEqual([true, true, true, true, false])
    for (let claimed = 0; claimed < 4; claimed += 1) budget.lease('b', 'claimed')
    budget.release('a', 'own')
    expect(budget.reserve('a')).toBe(true)
    budget.release('a', 'own')
    budget.lease('b', 'claimed')
    expect(budget.reserve('a')).toBe(false)
  })

  it('sends a receiver at most 32 requests at once while requests wait for the process', () => {
    let isBusy = true
    const budget = create({ perReceiverMax: 64, totalMax, isBusy: () => isBusy })
    for (let answers = 0; answers < 100; answers += 1) answer(budget, 'a', immediate)
    budget.lease('a', 'claimed')
    const begin = () => Array.from({ length: 100 }, () => budget.begin('a')).filter(Boolean).length
    expect(begin()).toBe(32)
    isBusy = false
    expect(begin()).toBe(32)
  })

  it('starts a receiver with four connections, and halves them down to one when it hangs', () => {
    expect(stateAfter([])).toEqual({ window: 4, capacity: 3 })
    expect(stateAfter([hung])).toEqual({ window: 2, capacity: 1 })
    expect(stateAfter([hung, hung])).toEqual({ window: 1, capacity: 0 })
    expect(stateAfter([hung, hung, hung, hung])).toEqual({ window: 1, capacity: 0 })
  })

  it('recovers by one for each quick response', () => {
    expect(stateAfter([hung, hung, quick, quick])).toEqual({ window: 3, capacity: 2 })
  })

  it('does not punish a receiver that is merely slow below the start', () => {
    expect(stateAfter([slow, slow, slow])).toEqual({ window: 4, capacity: 3 })
  })

  it('does not enlarge the window of a receiver that hung when it answers slowly', () => {
    expect(stateAfter([hung, hung, slow])).toEqual({ window: 1, capacity: 0 })
    expect(stateAfter([hung, slow, quick])).toEqual({ window: 3, capacity: 2 })
    const budget = create()
    for (const how of [hung, slow]) answer(budget, 'a', how)
    expect(budget.reserve('a')).toBe(false)
  })

  it('grows with quick responses up to the limit', () => {
    expect(stateAfter(Array.from({ length: 50 }, () => quick))).toEqual({ window: 16, capacity: 15 })
  })

  it('claims more deliveries than a receiver has connections while it responds immediately', () => {
    expect(stateAfter([immediate])).toEqual({ window: 5, capacity: 39 })
    expect(stateAfter([immediate, quick])).toEqual({ window: 6, capacity: 5 })
    const budget = create()
    answer(budget, 'a', immediate)
    budget.lease('a', 'claimed')
    budget.markSlow('a')
    expect(budget.loads()).toEqual([{ receiver: 'a', leased: 1, capacity: 4, nothingDueBefore: null }])
  })

  it('lists receivers with leased deliveries, and remembered ones that differ from a new one', () => {
    const budget = create()
    answer(budget, 'quick', quick)
    answer(budget, 'hung', hung)
    answer(budget, 'slow', slow)
    budget.lease('busy', 'claimed')
    expect(budget.loads()).toEqual([
      { receiver: 'busy', leased: 1, capacity: 3, nothingDueBefore: null },
      { receiver: 'hung', leased: 0, capacity: 2, nothingDueBefore: null },
      { receiver: 'quick', leased: 0, capacity: 5, nothingDueBefore: null },
    ])
    expect(budget.free()).toBe(255)
  })

  it('remembers the last thousand that hung and the last hundred that were quick', () => {
    const budget = create()
    for (let i = 0; i < 2_000; i += 1) {
      for (const [name, how] of Object.entries({ quick, slow, hung })) answer(budget, `${name} ${i}`, how)
    }
    const remembered = budget.loads().map(({ receiver }) => receiver)
    expect(remembered).toHaveLength(1_100)
    expect(remembered.at(0)).toBe('hung 1000')
    expect(remembered.at(-1)).toBe('quick 1999')
    expect(budget.free()).toBe(256)
  })

  it('restores the window of a remembered receiver', () => {
    const budget = create()
    for (const _ of Array.from({ length: 12 })) answer(budget, 'a', quick)
    budget.lease('a', 'claimed')
    expect(budget.loads()).toEqual([{ receiver: 'a', leased: 1, capacity: 15, nothingDueBefore: null }])
  })

  it('remembers until when a receiver has nothing due, unless an older delivery is found', () => {
    const budget = create()
    const until = new Date()
    budget.markNothingDueBefore('nobody', until)
    budget.lease('a', 'claimed')
    budget.markNothingDueBefore('a', until)
    expect(budget.loads()).toEqual([{ receiver: 'a', leased: 1, capacity: 3, nothingDueBefore: until }])
    budget.noteDue('a', until)
    budget.noteDue('nobody', until)
    expect(budget.loads()).toMatchObject([{ nothingDueBefore: until }])
    budget.noteDue('a', new Date(until.getTime() - 1))
    expect(budget.loads()).toMatchObject([{ nothingDueBefore: null }])
    budget.markNothingDueBefore('a', until)
    budget.release('a', 'claimed')
    budget.lease('a', 'claimed')
    expect(budget.loads()).toMatchObject([{ nothingDueBefore: null }])
  })
})
