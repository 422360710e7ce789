import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lowestPenaltyMask } from './penalty.ts'
import { type Template, templateOf } from './template.ts'

const versions = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
// Sparse and dense symbols are full of long runs, and of patterns that touch the border.
const word = fc.oneof(
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  fc.constantFrom(0, -1, 0b1011101, 0b10111010000, 0b1011101 << 14, 0b11101 << 27, 0x55555555, 0x0f0f0f0f),
)

describe('lowestPenaltyMask', () => {
  it.each(versions)('is the same as by the rules applied module by module, for version %i', (version) => {
    const template = templateOf(version)
    const symbol = fc.array(word, { minLength: template.patterns.length, maxLength: template.patterns.length })
    fc.assert(
      fc.property(symbol, (words) => {
        const modules = withinSymbol(Int32Array.from(words), template.size)
        const penalties = template.masks.map((mask) => penaltyOf(modules, mask, template))
        expect(lowestPenaltyMask(template, modules)).toBe(penalties.indexOf(Math.min(...penalties)))
      }),
      { numRuns: 40 },
    )
  })

  it.each(versions)('is the first of equals, also for a symbol without codewords, for version %i', (version) => {
    const template = templateOf(version)
    const penalties = template.masks.map((mask) => penaltyOf(template.patterns, mask, template))
    expect(lowestPenaltyMask(template, template.patterns)).toBe(penalties.indexOf(Math.min(...penalties)))
    const equal = { ...template, masks: template.masks.map(() => template.patterns) }
    expect(lowestPenaltyMask(equal, template.patterns)).toBe(0)
  })
})

// Each of these eight masks gives all columns the same beginning and end. Modules outside the symbol do not count.
describe('a line that touches the border', () => {
  it.each(versions)('counts only what is within the symbol, for version %i', (version) => {
    const template = templateOf(version)
    const { size } = template
    const end = fc.constantFrom(
      ...'0111010000 000010111010000 111010000 0000111010000 00000 0000 11111 1111 01 10'.split(' '),
    )
    const column = fc.tuple(end, end, fc.boolean()).map(([first, last, isDark]) => {
      const middle = (isDark ? '01' : '10').repeat(size)
      return first + middle.slice(0, Math.max(0, size - first.length - last.length)) + [...last].reverse().join('')
    })
    fc.assert(
      fc.property(fc.array(column, { minLength: 8, maxLength: 8 }), (columns) => {
        const masks = columns.map((bits) => {
          const words = template.patterns.map((_, at) => (bits[at % size] === '1' ? -1 : 0))
          return withinSymbol(words, size)
        })
        const light = new Int32Array(template.patterns.length)
        const penalties = masks.map((mask) => penaltyOf(light, mask, template))
        expect(lowestPenaltyMask({ ...template, masks }, light)).toBe(penalties.indexOf(Math.min(...penalties)))
      }),
      { numRuns: 40 },
    )
  })
})

function withinSymbol(words: Int32Array, size: number): Int32Array {
  return words.map((bits, at) => (at < size && size > 32 ? bits : bits & ~(-1 << (size & 31))))
}

/** ISO/IEC 18004, table 11, literally. */
function penaltyOf(words: Int32Array, mask: Int32Array, { size }: Template): number {
  const all = Array.from({ length: size }, (_, i) => i)
  const isDark = (x: number, y: number) => {
    const at = (x >> 5) * size + y
    return (((words[at] ?? 0) ^ (mask[at] ?? 0)) >>> (x & 31)) & 1
  }
  const rows = all.map((y) => all.map((x) => isDark(x, y)).join(''))
  const columns = all.map((x) => all.map((y) => isDark(x, y)).join(''))
  let penalty = 0
  for (const line of [...rows, ...columns]) {
    for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) penalty += run.length - 2
    penalty += 40 * [...line.matchAll(/(?=10111010000|00001011101)/g)].length
  }
  for (const y of all.slice(1)) {
    for (const x of all.slice(1)) {
      const block = isDark(x, y) + isDark(x - 1, y) + isDark(x, y - 1) + isDark(x - 1, y - 1)
      if (block === 0 || block === 4) penalty += 3
    }
  }
  const percent = (rows.join('').replaceAll('0', '').length * 100) / size ** 2
  return penalty + 10 * Math.ceil(Math.max(0, Math.abs(percent - 50) - 5) / 5)
}
