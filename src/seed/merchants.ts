import type { Balances } from '../ledger/accounts.ts'
import type { FeeParts } from '../ledger/store.ts'
import type { Random } from './random.ts'

export type Merchant = {
  id: string
  clientId: string
  name: string
  /** How many transactions it has in the end, exactly. */
  transactions: number
  /** Where it is told of them; null when it does not want to be. */
  receiver: string | null
  sellsGoods: boolean
  /** In cents: half of its sales are below. */
  medianAmount: number
  feeRule: FeeParts
  /** As they are so far. */
  balances: Balances
  /** How many orders it has numbered. */
  orders: number
}

/**
 * Merchants of very different sizes, the first with exactly 1 % of all, the second a small one. The others share the rest by Zipf's law,
 * the n-th largest with an n-th of the largest.
 */
export function makeMerchants(
  random: Random,
  { transactions, merchants, seed }: { transactions: number; merchants: number; seed: number },
): [Merchant, Merchant, ...Merchant[]] {
  const onePercent = Math.round(transactions / 100)
  const small = Math.min(smallTransactions, Math.ceil(transactions / 100))
  const [first, second] = [makeMerchant(random, seed, 1, onePercent), makeMerchant(random, seed, 2, small)]
  const others = share(transactions - onePercent - small, merchants - 2)
  return [first, second, ...others.map((count, index) => makeMerchant(random, seed, index + 3, count))]
}

/** What a shop that has just begun has. */
const smallTransactions = 100

function share(whole: number, parts: number): number[] {
  const harmonic = Array.from({ length: parts }, (_, index) => 1 / (index + 1)).reduce((sum, weight) => sum + weight, 0)
  const counts = Array.from({ length: parts }, (_, index) => Math.floor(whole / (index + 1) / harmonic))
  // What rounding left over is the largest one's.
  const left = whole - counts.reduce((sum, count) => sum + count, 0)
  return counts.map((count, index) => (index === 0 ? count + left : count))
}

function makeMerchant(random: Random, seed: number, number: number, transactions: number): Merchant {
  return {
    id: random.uuid(),
    clientId: `seed-${seed}-${number}`,
    name: number === 1 ? 'Seed 1: one in a hundred' : number === 2 ? 'Seed 2: a small one' : `Seed ${number}`,
    transactions,
    // Of a domain that is reserved for examples: nobody is called.
    receiver: random.chance(0.5) ? `https://shop-${number}.example` : null,
    sellsGoods: random.chance(0.4),
    medianAmount: Math.round(Math.exp(Math.log(8_000) + 0.8 * random.normal())),
    feeRule: {
      fixed: random.pick([0, 10, 25]),
      basis_points: random.pick([49, 79, 99, 119]),
      minimum: 0,
      maximum: null,
    },
    balances: { available: 0, reserved: 0, blocked: 0, fees: 0, acquirer: 0, suspense: 0, debt: 0 },
    orders: 0,
  }
}

/**
 * Draws merchants until each has been drawn as often as it has transactions: at random, and in proportion to what is left of each. A tree
 * of sums (Fenwick) finds the one that a number falls on in some ten steps.
 */
export function createDraw(random: Random, merchants: readonly Merchant[]): () => Merchant {
  const size = 2 ** Math.ceil(Math.log2(merchants.length + 1))
  const sums = new Float64Array(size + 1)
  let left = 0
  const add = (index: number, amount: number) => {
    left += amount
    for (let at = index + 1; at <= size; at += at & -at) sums[at] = (sums[at] ?? 0) + amount
  }
  merchants.forEach(({ transactions }, index) => {
    add(index, transactions)
  })
  return () => {
    let rest = random.below(left)
    let at = 0
    for (let step = size; step >= 1; step /= 2) {
      const sum = sums[at + step]
      if (at + step > size || sum === undefined || sum > rest) continue
      at += step
      rest -= sum
    }
    const merchant = merchants[at]
    if (!merchant) throw new Error('more transactions were drawn than the merchants have')
    add(at, -1)
    return merchant
  }
}
