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

  it('forgets receivers that are as new, and remembers the last thousand that are not', () => {
    const budget = createBudget({ perReceiverMax: 16, totalMax: 256 })
    for (let i = 0; i < 2_000; i += 1) {
      for (const [name, answer] of Object.entries({ quick, slow, hung })) {
        budget.take(`${name} ${i}`)
        budget.give(`${name} ${i}`, answer)
      }
    }
    expect(budget.loads()).toHaveLength(1_000)
    expect(budget.loads().some(({ receiver }) => receiver.startsWith('slow'))).toBe(false)
    expect(budget.loads().some(({ receiver }) => receiver === 'hung 1999')).toBe(true)
    expect(budget.free()).toBe(256)
  })

  it('remembers a window that has grown, though all that was in flight is booked at once', () => {
    expect(roomAfter([quick, quick, quick])).toBe(6)
  })
})
