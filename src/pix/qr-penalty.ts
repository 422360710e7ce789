import type { Template } from './qr-template.ts'

/**
 * The choice of the mask (ISO/IEC 18004, 7.8.3): each of the eight is tried and the one with the lowest penalty taken, the first
 * of equals. 32 columns of a row are one word, so that every rule is a few operations on words for 32 modules at once; the
 * rules for lines are written for columns, and serve rows by way of the transposed symbol. Format and version information
 * is left light meanwhile, as other encoders do, so that the result can be checked against theirs.
 */
export function lowestPenaltyMask(template: Template, words: Int32Array): number {
  const { size, masks } = template
  const transposedMasks = transposedMasksOf(template)
  transpose(words, transposed, size)
  let best = 0
  let lowest = Number.POSITIVE_INFINITY
  for (let mask = 0; mask < 8; mask++) {
    const plain = masks[mask] ?? words
    apply(words, plain, size)
    let penalty = blocksAndBalance(size) + lines(size)
    // No rule takes off: a mask that is already behind is not looked at further.
    if (penalty >= lowest) continue
    apply(transposed, transposedMasks[mask] ?? transposed, size)
    penalty += lines(size)
    if (penalty >= lowest) continue
    lowest = penalty
    best = mask
  }
  return best
}

// Room for version 11: 61 rows of two words. `candidate` has four rows more, all dark, before and behind each column of words,
// so that rule 3 may look over the edge without finding light modules there.
const margin = 4
const transposed = new Int32Array(122)
const candidate = new Int32Array(2 * (61 + 2 * margin)).fill(-1)

const transposedMasks = new WeakMap<Template, Int32Array[]>()

function transposedMasksOf(template: Template): Int32Array[] {
  let masks = transposedMasks.get(template)
  if (!masks) {
    masks = template.masks.map((mask) => {
      const turned = new Int32Array(mask.length)
      transpose(mask, turned, template.size)
      return turned
    })
    transposedMasks.set(template, masks)
  }
  return masks
}

function apply(words: Int32Array, mask: Int32Array, size: number): void {
  const columns = size > 32 ? 2 : 1
  for (let column = 0; column < columns; column++) {
    const to = column * (size + 2 * margin) + margin
    const from = column * size
    candidate.fill(-1, to - margin, to)
    for (let y = 0; y < size; y++) candidate[to + y] = (words[from + y] ?? 0) ^ (mask[from + y] ?? 0)
    candidate.fill(-1, to + size, to + size + margin)
  }
}

/** Rule 1, runs of five or more, and rule 3, the likeness of a finder pattern, in all columns. */
function lines(size: number): number {
  let runs = 0
  let finders = 0
  const columns = size > 32 ? 2 : 1
  for (let column = 0; column < columns; column++) {
    const valid = column < columns - 1 ? -1 : lowBits(size - 32 * column)
    const first = column * (size + 2 * margin) + margin
    let x1 = 0
    let x2 = 0
    let x3 = 0
    let x4 = 0
    let x5 = 0
    let x6 = 0
    let same1 = 0
    let same2 = 0
    let same3 = 0
    let run1 = 0
    for (let at = first; at < first + size; at++) {
      const x = candidate[at] ?? 0
      const same = at > first ? ~(x ^ x1) : 0
      // Five alike end here. A run of n counts n - 2: one for each such end (n - 4), and two for the first of them.
      const run = same & same1 & same2 & same3 & valid
      runs += weightedCount(run, run & ~run1)
      // Dark, light, three dark, light, dark: with four light before or behind it costs 40, with both 80.
      const finder = x & ~x1 & x2 & x3 & x4 & ~x5 & x6 & valid
      if (finder !== 0) finders += lightAround(finder, at)
      x6 = x5
      x5 = x4
      x4 = x3
      x3 = x2
      x2 = x1
      x1 = x
      same3 = same2
      same2 = same1
      same1 = same
      run1 = run
    }
  }
  return runs + 40 * finders
}

function lightAround(finder: number, at: number): number {
  const behind =
    (candidate[at + 1] ?? 0) | (candidate[at + 2] ?? 0) | (candidate[at + 3] ?? 0) | (candidate[at + 4] ?? 0)
  const before =
    (candidate[at - 7] ?? 0) | (candidate[at - 8] ?? 0) | (candidate[at - 9] ?? 0) | (candidate[at - 10] ?? 0)
  return bitCount(finder & ~behind) + bitCount(finder & ~before)
}

/** Rule 2, blocks of two by two alike, and rule 4, the share of dark modules. */
function blocksAndBalance(size: number): number {
  let blocks = 0
  let dark = 0
  const columns = size > 32 ? 2 : 1
  const stride = size + 2 * margin
  for (let column = 0; column < columns; column++) {
    const isLast = column === columns - 1
    const valid = isLast ? lowBits(size - 32 * column) : -1
    const validPairs = isLast ? lowBits(size - 32 * column - 1) : -1
    const first = column * stride + margin
    let x1 = 0
    let right1 = 0
    for (let at = first; at < first + size; at++) {
      const x = candidate[at] ?? 0
      const right = (x >>> 1) | (isLast ? 0 : (candidate[at + stride] ?? 0) << 31)
      dark += bitCount(x & valid)
      if (at > first) blocks += bitCount(~((x ^ x1) | (right ^ right1) | (x ^ right)) & validPairs)
      x1 = x
      right1 = right
    }
  }
  // 45 to 55 % are free; each further step of 5 %, begun or whole, costs 10.
  const total = size * size
  const steps = Math.ceil(Math.max(0, Math.abs(dark * 100 - total * 50) - total * 5) / (total * 5))
  return 3 * blocks + 10 * steps
}

function lowBits(count: number): number {
  return count >= 32 ? -1 : (1 << count) - 1
}

/** The number of ones in a word. */
function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** `bitCount(once) + 2 * bitCount(twice)`, for the price of little more than one. */
function weightedCount(once: number, twice: number): number {
  const pairs = once - ((once >>> 1) & 0x55555555)
  const pairsTwice = twice - ((twice >>> 1) & 0x55555555)
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  const nibblesTwice = (pairsTwice & 0x33333333) + ((pairsTwice >>> 2) & 0x33333333)
  const sum = nibbles + 2 * nibblesTwice // at most 12 each
  return Math.imul((sum & 0x0f0f0f0f) + ((sum >>> 4) & 0x0f0f0f0f), 0x01010101) >>> 24
}

const square = new Int32Array(32)

/** Rows become columns, 32 by 32 modules at a time: ever smaller squares change places across the diagonal. */
function transpose(from: Int32Array, to: Int32Array, size: number): void {
  for (let top = 0; top < size; top += 32) {
    for (let left = 0; left < size; left += 32) {
      for (let i = 0; i < 32; i++) square[i] = top + i < size ? (from[(left >> 5) * size + top + i] ?? 0) : 0
      for (let half = 16, mask = 0xffff; half > 0; half >>= 1, mask ^= mask << half) {
        for (let i = 0; i < 32; i = (i + half + 1) & ~half) {
          const swap = (((square[i] ?? 0) >>> half) ^ (square[i + half] ?? 0)) & mask
          square[i] = (square[i] ?? 0) ^ (swap << half)
          square[i + half] = (square[i + half] ?? 0) ^ swap
        }
      }
      for (let i = 0; i < 32 && left + i < size; i++) to[(top >> 5) * size + left + i] = square[i] ?? 0
    }
  }
}
