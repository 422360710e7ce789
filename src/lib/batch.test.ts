import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { createBatch } from './batch.ts'

/** A `run` whose flights land when told, and that keeps what was aboard. */
function createAirport() {
  const flights: { items: number[]; land: (error?: Error) => void }[] = []
  const run = (items: number[]) =>
    new Promise<string[]>((resolve, reject) => {
      const land = (error?: Error) => (error === undefined ? resolve(items.map((item) => `#${item}`)) : reject(error))
      flights.push({ items, land })
    })
  return { flights, run }
}

describe('a batch', () => {
  it('takes the items of one turn together and gives each its own result', async () => {
    const { flights, run } = createAirport()
    const add = createBatch({ run, itemsMax: 10, flightsMax: 1 })
    const results = Promise.all([add(1), add(2), add(3)])
    await turn()
    flights[0]?.land()
    expect(await results).toEqual(['#1', '#2', '#3'])
    expect(flights.map(({ items }) => items)).toEqual([[1, 2, 3]])
  })

  it('leaves in the midst of a turn once it is half full, and takes the rest of the turn together', async () => {
    const { flights, run } = createAirport()
    const add = createBatch({ run, itemsMax: 6, flightsMax: 2, besideMin: 2 })
    const results = [1, 2, 3].map(add)
    expect(flights.map(({ items }) => items)).toEqual([[1, 2, 3]])
    results.push(add(4), add(5))
    expect(flights).toHaveLength(1)
    await turn()
    expect(flights.map(({ items }) => items)).toEqual([
      [1, 2, 3],
      [4, 5],
    ])
    for (const { land } of flights) land()
    expect(await Promise.all(results)).toEqual(['#1', '#2', '#3', '#4', '#5'])
  })

  it('keeps items that come while all flights are busy for the next one', async () => {
    const { flights, run } = createAirport()
    const add = createBatch({ run, itemsMax: 10, flightsMax: 1 })
    const first = add(1)
    await turn()
    const later = Promise.all([add(2), add(3)])
    await turn()
    expect(flights).toHaveLength(1)
    flights[0]?.land()
    expect(await first).toBe('#1')
    await vi.waitFor(() => expect(flights[1]?.items).toEqual([2, 3]))
    flights[1]?.land()
    expect(await later).toEqual(['#2', '#3'])
  })

  it('lets one more flight leave beside others only when it is well filled, and at once when there is none', async () => {
    const { flights, run } = createAirport()
    const add = createBatch({ run, itemsMax: 10, flightsMax: 2, besideMin: 3 })
    const results = [add(1)]
    await turn()
    results.push(add(2), add(3))
    await turn()
    await turn()
    expect(flights.map(({ items }) => items)).toEqual([[1]])
    results.push(add(4))
    await turn()
    await turn()
    expect(flights.map(({ items }) => items)).toEqual([[1], [2, 3, 4]])
    results.push(add(5))
    flights[0]?.land()
    flights[1]?.land()
    await vi.waitFor(() => expect(flights[2]?.items).toEqual([5]))
    flights[2]?.land()
    expect(await Promise.all(results)).toEqual(['#1', '#2', '#3', '#4', '#5'])
  })

  it('has those wait for more who came meanwhile, where they are few, and who comes alone for nobody', async () => {
    const { flights, run } = createAirport()
    const add = createBatch({ run, itemsMax: 10, flightsMax: 1, besideMin: 3, restMs: 50 })
    const alone = async (item: number) => {
      const result = add(item)
      await turn()
      flights.at(-1)?.land()
      const landed = await result
      await turn()
      return landed
    }
    // Each leaves in the turn in which it comes.
    expect([await alone(1), await alone(2)]).toEqual(['#1', '#2'])

    const first = add(3)
    await turn()
    const second = add(4)
    flights[2]?.land()
    await first
    const third = add(5)
    await turn()
    expect(flights).toHaveLength(3)
    await vi.waitFor(() => expect(flights[3]?.items).toEqual([4, 5]))
    flights[3]?.land()
    expect(await Promise.all([second, third])).toEqual(['#4', '#5'])
  })

  it('has those who came meanwhile wait as long as the flight took, for that is how busy it is', async () => {
    const departures: number[] = []
    const add = createBatch<number, number>({
      itemsMax: 10,
      flightsMax: 1,
      restMs: 1,
      run: async (items) => {
        departures.push(performance.now())
        await sleep(20)
        return items
      },
    })
    const first = add(1)
    await turn()
    const second = add(2)
    await first
    const landedAt = performance.now()
    await second
    expect((departures[1] ?? 0) - landedAt).toBeGreaterThan(15)
  })

  it('never carries more than itemsMax, nor flies more than flightsMax at once', async () => {
    let now = 0
    let flightsSeen = 0
    let itemsSeen = 0
    const add = createBatch<number, number>({
      run: async (items) => {
        now += 1
        flightsSeen = Math.max(flightsSeen, now)
        itemsSeen = Math.max(itemsSeen, items.length)
        await turn()
        now -= 1
        return items.map((item) => item * 2)
      },
      itemsMax: 7,
      flightsMax: 2,
    })
    const items = Array.from({ length: 1000 }, (_, index) => index)
    expect(await Promise.all(items.map(add))).toEqual(items.map((item) => item * 2))
    expect({ flightsSeen, itemsSeen }).toEqual({ flightsSeen: 2, itemsSeen: 7 })
  })

  it('sorts a batch, and still gives every caller its own', async () => {
    const seen: number[][] = []
    const add = createBatch<number, string>({
      run: async (items) => {
        seen.push(items)
        return items.map((item) => `#${item}`)
      },
      itemsMax: 10,
      flightsMax: 1,
      sort: (a, b) => a - b,
    })
    expect(await Promise.all([add(3), add(1), add(2)])).toEqual(['#3', '#1', '#2'])
    expect(seen).toEqual([[1, 2, 3]])
  })

  it('lets a bad item fail alone', async () => {
    const add = createBatch<number, number>({
      run: async (items) => {
        if (items.includes(2)) throw new Error('two is bad')
        return items
      },
      itemsMax: 10,
      flightsMax: 1,
    })
    const settled = await Promise.allSettled([add(1), add(2), add(3)])
    expect(settled).toEqual([
      { status: 'fulfilled', value: 1 },
      { status: 'rejected', reason: new Error('two is bad') },
      { status: 'fulfilled', value: 3 },
    ])
    expect(await add(4)).toBe(4)
  })

  it('does not repeat an error that is no item’s fault', async () => {
    let runs = 0
    const add = createBatch<number, number>({
      run: async () => {
        runs += 1
        throw new Error('connection lost')
      },
      itemsMax: 10,
      flightsMax: 1,
      isolates: () => false,
    })
    const settled = await Promise.allSettled([add(1), add(2)])
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(runs).toBe(1)
  })

  it('takes too few results for a fault, and leaves nobody waiting', async () => {
    const add = createBatch<number, number>({ run: async () => [], itemsMax: 10, flightsMax: 1 })
    const settled = await Promise.allSettled([add(1), add(2)])
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })
})
