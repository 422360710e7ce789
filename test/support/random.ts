/**
 * True in `npm run test:long`: `it.runIf(isLong)` is for a case that takes long, if other tests are likely to find the
 * same faults.
 */
export const isLong = process.env.TEST_LONG === '1'

/** `long` in `npm run test:long`, else `short`, for tests that find more the longer they run. */
export function lengthOf({ short, long }: { short: number; long: number }): number {
  return isLong ? long : short
}

/** Pseudo-random draws that are the same for the same seed, so that a run can be repeated. */
export type Random = {
  /** From 0 to below 1. */
  fraction(): number
  /** A whole number from 0 to below the bound. */
  below(bound: number): number
  /** True with this probability in percent. */
  percent(chance: number): boolean
  pick<Item>(items: readonly Item[]): Item | undefined
  shuffle<Item>(items: readonly Item[]): Item[]
}

/** mulberry32: small, and good enough to choose steps with. */
export function createRandom(seed: number): Random {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const below = (bound: number) => next() % bound
  return {
    fraction: () => next() / 2 ** 32,
    below,
    percent: (chance) => below(100) < chance,
    pick: (items) => items[below(Math.max(1, items.length))],
    shuffle: (items) =>
      items
        .map((item) => ({ item, order: next() }))
        .sort((a, b) => a.order - b.order)
        .map(({ item }) => item),
  }
}
