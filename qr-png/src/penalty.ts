import type { Template } from './template.ts'

/**
 * Chooses the mask (ISO/IEC 18004, 7.8.3): of the eight masks the one with the lowest penalty, the first of equals. 32
 * columns of a row are one word, so every rule takes a few operations on words for 32 modules at once. The rules for
 * lines are written for columns, and apply to rows through the transposed symbol. Format and version information stays
 * light meanwhile, as in other encoders, so that tests can compare the result with theirs.
 *
 * Two things halve the time. Rows are read four at a time (there are 4 n + 1 of them), so that the previous ones are
 * still in variables. And matches are not counted word by word: `ones`, `twos` and `fours` each hold one binary digit
 * of 32 counters, one for each bit column, and only the carries out of the highest digit are added up.
 */
export function lowestPenaltyMask(template: Template, words: Int32Array): number {
  const { size, masks } = template
  const { maskLines, maskEdges } = derivedOf(template)
  const length = writeLines(words, symbolLines, size)
  stripe(symbolLines, length, size)
  writeEdges(words, symbolEdges, size, -1)
  let best = 0
  let lowest = Number.POSITIVE_INFINITY
  for (let mask = 0; mask < 8; mask++) {
    const itsWords = masks[mask] ?? words
    const itsEdges = maskEdges[mask] ?? words
    const itsLines = maskLines[mask] ?? words
    let penalty = 0
    for (let from = 0; from < words.length; from += size) penalty += blocks(words, itsWords, itsEdges, from, size)
    // No rule subtracts: a mask that already has a higher penalty is skipped.
    for (let from = 0; from < length && penalty < lowest; from += size) penalty += runsAndFinders(itsLines, from, size)
    if (penalty < lowest) penalty += balance(words, itsWords, size)
    if (penalty >= lowest) continue
    lowest = penalty
    best = mask
  }
  return best
}

// The symbol without a mask: version 11 has 61 lines each way, in four words side by side.
const symbolLines = new Int32Array(4 * 61)
const symbolEdges = new Int32Array(2 * 61)
const turned = new Int32Array(2 * 61)

type Derived = { maskLines: Int32Array[]; maskEdges: Int32Array[] }

const derived = new WeakMap<Template, Derived>()

function derivedOf(template: Template): Derived {
  let known = derived.get(template)
  if (!known) {
    const { masks, size } = template
    known = { maskLines: [], maskEdges: [] }
    for (const mask of masks) {
      const lines = new Int32Array(4 * size)
      const edges = new Int32Array(2 * size)
      writeLines(mask, lines, size)
      writeEdges(mask, edges, size, 0)
      known.maskLines.push(lines)
      known.maskEdges.push(edges)
    }
    derived.set(template, known)
  }
  return known
}

/**
 * Writes all columns, and the rows as columns, side by side into as few words as possible; returns the number of words.
 * Up to version 7, what remains of both after their first 32 lines shares one word.
 */
function writeLines(words: Int32Array, lines: Int32Array, size: number): number {
  transpose(words, turned, size)
  const rest = size - 32
  for (let y = 0; y < size; y++) {
    lines[y] = words[y] ?? 0
    lines[size + y] = turned[y] ?? 0
    if (rest <= 0) continue
    const column = words[size + y] ?? 0
    const row = turned[size + y] ?? 0
    lines[2 * size + y] = rest <= 16 ? column | (row << 16) : column
    if (rest > 16) lines[3 * size + y] = row
  }
  return size * (rest <= 0 ? 2 : rest <= 16 ? 3 : 4)
}

/**
 * Makes the bits beyond the last line alternate from row to row: no rule matches there, and none needs a special case.
 */
function stripe(lines: Int32Array, length: number, size: number): void {
  const rest = size & 31
  const used = ~(-1 << rest)
  const unused = size > 32 && rest <= 16 ? ~(used | (used << 16)) : ~used
  for (let at = size > 32 ? 2 * size : 0; at < length; at += 2) lines[at] = (lines[at] ?? 0) | unused
}

/** Sets the bits of modules that differ from their right neighbour; after the last module, the bits of `beyond`. */
function writeEdges(words: Int32Array, edges: Int32Array, size: number, beyond: number): void {
  const last = (size >> 5) * size
  const inside = ~(-1 << ((size & 31) - 1))
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? 0
    edges[at] =
      at < last
        ? word ^ ((word >>> 1) | ((words[at + size] ?? 0) << 31))
        : ((word ^ (word >>> 1)) & inside) | (beyond & ~inside)
  }
}

/** Rule 2, blocks of two by two equal modules, in 32 columns: no edge in either row, and none between the rows. */
function blocks(words: Int32Array, mask: Int32Array, edgeMask: Int32Array, from: number, size: number): number {
  let ones = 0
  let twos = 0
  let fours = 0
  let x0 = (words[from] ?? 0) ^ (mask[from] ?? 0)
  let edge0 = (symbolEdges[from] ?? 0) ^ (edgeMask[from] ?? 0)
  for (let at = from + 1; at < from + size; at += 4) {
    const x1 = (words[at] ?? 0) ^ (mask[at] ?? 0)
    const x2 = (words[at + 1] ?? 0) ^ (mask[at + 1] ?? 0)
    const x3 = (words[at + 2] ?? 0) ^ (mask[at + 2] ?? 0)
    const x4 = (words[at + 3] ?? 0) ^ (mask[at + 3] ?? 0)
    const edge1 = (symbolEdges[at] ?? 0) ^ (edgeMask[at] ?? 0)
    const edge2 = (symbolEdges[at + 1] ?? 0) ^ (edgeMask[at + 1] ?? 0)
    const edge3 = (symbolEdges[at + 2] ?? 0) ^ (edgeMask[at + 2] ?? 0)
    const edge4 = (symbolEdges[at + 3] ?? 0) ^ (edgeMask[at + 3] ?? 0)
    const block1 = ~((x0 ^ x1) | edge0 | edge1)
    const block2 = ~((x1 ^ x2) | edge1 | edge2)
    const block3 = ~((x2 ^ x3) | edge2 | edge3)
    const block4 = ~((x3 ^ x4) | edge3 | edge4)
    const carry1 = majority(ones, block1, block2)
    ones ^= block1 ^ block2
    const carry2 = majority(ones, block3, block4)
    ones ^= block3 ^ block4
    fours += bitCount(majority(twos, carry1, carry2))
    twos ^= carry1 ^ carry2
    x0 = x4
    edge0 = edge4
  }
  return 3 * (4 * fours + 2 * bitCount(twos) + bitCount(ones))
}

/**
 * Rule 1, runs of five or more, and rule 3, patterns like a finder, in 32 lines. A run of n scores n - 2: one for each
 * position where five equal modules end (n - 4), and two for the first of these. Dark, light, three dark, light, dark
 * scores 40 with four light modules before it, and 40 with four after it.
 *
 * The bits of each variable, one for each line, at the current position:
 * - `x`: the module is dark
 * - `d`: it differs from the module before
 * - `two`: it and the module before both differ from their predecessors
 * - `alike`: three equal modules end here
 * - `core`: three equal modules end here, directly after a `two`: perhaps the core of a finder
 * - `finder`: the pattern of a finder ends here
 * - `light`: four light modules end here
 * `old…` is the value of the previous step, `older…` that of the step before it.
 */
function runsAndFinders(mask: Int32Array, from: number, size: number): number {
  let runs = 0
  let finders = 0
  let ones = 0
  let twos = 0
  let fours = 0
  let x0 = (symbolLines[from] ?? 0) ^ (mask[from] ?? 0)
  // The border of the symbol ends a run, but is not part of a finder.
  let dOfRuns = -1
  let dOfFinders = 0
  let [oldAlike3, oldAlike4, oldTwo3, oldTwo4, oldCore3, oldCore4, oldRun4] = [0, 0, 0, 0, 0, 0, 0]
  let [oldFinder1, oldFinder2, oldFinder3, oldFinder4] = [0, 0, 0, 0]
  let [oldLight1, oldLight2, oldLight3, oldLight4] = [0, 0, 0, 0]
  let [olderLight2, olderLight3, olderLight4] = [0, 0, 0]
  for (let at = from + 1; at < from + size; at += 4) {
    const x1 = (symbolLines[at] ?? 0) ^ (mask[at] ?? 0)
    const d1 = x1 ^ x0
    const alike1 = ~(d1 | dOfRuns)
    const two1 = d1 & dOfFinders
    const core1 = alike1 & oldTwo3
    const finder1 = x1 & two1 & oldCore3
    const light1 = ~x1 & alike1 & oldAlike4
    const run1 = alike1 & oldAlike3

    const x2 = (symbolLines[at + 1] ?? 0) ^ (mask[at + 1] ?? 0)
    const d2 = x2 ^ x1
    const alike2 = ~(d2 | d1)
    const two2 = d2 & d1
    const core2 = alike2 & oldTwo4
    const finder2 = x2 & two2 & oldCore4
    const light2 = ~x2 & alike2 & alike1
    const run2 = alike2 & oldAlike4

    const x3 = (symbolLines[at + 2] ?? 0) ^ (mask[at + 2] ?? 0)
    const d3 = x3 ^ x2
    const alike3 = ~(d3 | d2)
    const two3 = d3 & d2
    const core3 = alike3 & two1
    const finder3 = x3 & two3 & core1
    const light3 = ~x3 & alike3 & alike2
    const run3 = alike3 & alike1

    const x4 = (symbolLines[at + 3] ?? 0) ^ (mask[at + 3] ?? 0)
    const d4 = x4 ^ x3
    const alike4 = ~(d4 | d3)
    const two4 = d4 & d3
    const core4 = alike4 & two2
    const finder4 = x4 & two4 & core2
    const light4 = ~x4 & alike4 & alike3
    const run4 = alike4 & alike2

    // A line with a continuing run cannot begin another in the same step: a run has five modules, a step four.
    const begun = (run1 | run2 | run3 | run4) & ~oldRun4
    const carry1 = majority(ones, run1, run2)
    ones ^= run1 ^ run2
    const carry2 = majority(ones, run3, run4)
    ones ^= run3 ^ run4
    const carry3 = majority(twos, carry1, carry2)
    twos ^= carry1 ^ carry2
    const carry4 = twos & begun
    twos ^= begun
    runs += 8 * bitCount(majority(fours, carry3, carry4))
    fours ^= carry3 ^ carry4

    const behind1 = light1 & oldFinder1
    const behind2 = light2 & oldFinder2
    const behind3 = light3 & oldFinder3
    const behind4 = light4 & oldFinder4
    const before1 = finder1 & olderLight2
    const before2 = finder2 & olderLight3
    const before3 = finder3 & olderLight4
    const before4 = finder4 & oldLight1
    // Rare: one step in four.
    if ((behind1 | behind2 | behind3 | behind4 | before1 | before2 | before3 | before4) !== 0) {
      finders += bitCount(behind1) + bitCount(behind2) + bitCount(behind3) + bitCount(behind4)
      finders += bitCount(before1) + bitCount(before2) + bitCount(before3) + bitCount(before4)
    }

    x0 = x4
    dOfRuns = d4
    dOfFinders = d4
    oldAlike3 = alike3
    oldAlike4 = alike4
    oldTwo3 = two3
    oldTwo4 = two4
    oldCore3 = core3
    oldCore4 = core4
    oldRun4 = run4
    oldFinder1 = finder1
    oldFinder2 = finder2
    oldFinder3 = finder3
    oldFinder4 = finder4
    olderLight2 = oldLight2
    olderLight3 = oldLight3
    olderLight4 = oldLight4
    oldLight1 = light1
    oldLight2 = light2
    oldLight3 = light3
    oldLight4 = light4
  }
  return runs + 4 * bitCount(fours) + 2 * bitCount(twos) + bitCount(ones) + 40 * finders
}

/** Rule 4: 45 to 55 % of dark modules cost nothing; each further 5 %, complete or begun, costs 10. */
function balance(words: Int32Array, mask: Int32Array, size: number): number {
  let dark = 0
  for (let at = 0; at < words.length; at++) dark += bitCount((words[at] ?? 0) ^ (mask[at] ?? 0))
  const total = size * size
  const steps = Math.ceil(Math.max(0, Math.abs(dark * 100 - total * 50) - total * 5) / (total * 5))
  return 10 * steps
}

/** The carry of the sum of three bits, in each of 32 columns; the sum bit itself is `a ^ b ^ c`. */
function majority(a: number, b: number, c: number): number {
  return (a & b) | (c & (a ^ b))
}

/** The number of ones in a word. */
function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

const square = new Int32Array(32)

/** Makes rows columns, 32 by 32 modules at a time: smaller and smaller squares are swapped across the diagonal. */
function transpose(from: Int32Array, to: Int32Array, size: number): void {
  for (let top = 0; top < size; top += 32) {
    for (let left = 0; left < size; left += 32) {
      for (let i = 0; i < 32; i++) square[i] = top + i < size ? (from[(left >> 5) * size + top + i] ?? 0) : 0
      exchange(16, 0x0000ffff)
      exchange(8, 0x00ff00ff)
      exchange(4, 0x0f0f0f0f)
      exchange(2, 0x33333333)
      exchange(1, 0x55555555)
      for (let i = 0; i < 32 && left + i < size; i++) to[(top >> 5) * size + left + i] = square[i] ?? 0
    }
  }
}

function exchange(half: number, mask: number): void {
  for (let i = 0; i < 32; i = (i + half + 1) & ~half) {
    const swap = (((square[i] ?? 0) >>> half) ^ (square[i + half] ?? 0)) & mask
    square[i] = (square[i] ?? 0) ^ (swap << half)
    square[i + half] = (square[i + half] ?? 0) ^ swap
  }
}
