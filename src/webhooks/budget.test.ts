import { describe, expect, it } from 'vitest'
import { createBudget } from './budget.ts'

const quick = { durationMs: 5, hung: false }
const hung = { durationMs: 15_000, hung: true }
const slow = { durationMs: 8_000, hung: false }

function roomAfter(answers: { durationMs: number; hung: boolean }[]): number | undefined {
  const budget = createBudget({ perReceiverMax: 16, totalMax: 256 })
  for (const answer of answers) {
    budget.take('a')
    budget.give('a', answer)
  }
  // One more in flight, or a receiver in its first state would not be listed.
  budget.take('a')
  return budget.loads().find(({ receiver }) => receiver === 'a')?.room
}

describe('the budget', () => {
  it('starts a receiver with four, and shrinks to one when it hangs, by halves', () => {
    expect(roomAfter([])).toBe(3)
    expect(roomAfter([hung])).toBe(1)
    expect(roomAfter([hung, hung])).toBe(0)
    expect(roomAfter([hung, hung, hung, hung])).toBe(0)
  })

  it('recovers by one for each quick answer', () => {
    expect(roomAfter([hung, hung, quick, quick])).toBe(2)
  })

  it('does not punish a receiver that is merely slow below the start', () => {
    expect(roomAfter([slow, slow, slow])).toBe(3)
  })

  it('grows with quick answers to the limit while the receiver is busy', () => {
    const budget = createBudget({ perReceiverMax: 16, totalMax: 256 })
    budget.take('a')
    for (let i = 0; i < 50; i += 1) {
      budget.take('a')
      budget.give('a', quick)
    }
    expect(budget.loads()).toEqual([{ receiver: 'a', inFlight: 1, room: 15 }])
  })

  it('forgets receivers that are as new, and remembers five thousand that hang', () => {
    const budget = createBudget({ perReceiverMax: 16, totalMax: 256 })
    for (let i = 0; i < 6_000; i += 1) {
      budget.take(`quick ${i}`)
      budget.give(`quick ${i}`, quick)
      budget.take(`hung ${i}`)
      budget.give(`hung ${i}`, hung)
    }
    expect(budget.loads()).toHaveLength(5_000)
    expect(budget.free()).toBe(256)
  })
})
