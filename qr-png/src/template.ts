import { dataCodewordsOfVersion } from './segments.ts'

/**
 * The common parts of all QR codes of one version (ISO/IEC 18004, 6.3 and 7.7 to 7.10), made once: the function
 * patterns, the place of each bit of each codeword, the eight masks, the format information of level M.
 *
 * Modules are bits, dark is 1. Every array of modules below has the same layout: the module in column x of row y is bit
 * `x & 31` of the element, or word, at `(x >> 5) * size + y`. So the words of the same 32 columns follow each other, in
 * the order in which they are read.
 */
export type Template = {
  size: number
  blocks: Block[]
  errorCorrectionPerBlock: number
  /** Finder, alignment and timing patterns; all other modules are light. */
  patterns: Int32Array
  /**
   * Which bits of which codewords go into each word, sorted by word. A piece is one bit of a codeword, or two adjacent
   * ones that are also adjacent in the word. makeTemplate says how a piece is packed.
   */
  pieces: Int32Array
  /** The index after the last piece of each word. */
  ends: Int32Array
  /** The eight masks, limited to the modules of codewords. */
  masks: Int32Array[]
  /** The format information for each mask, and the version information. */
  information: Int32Array[]
}

/** Data codewords [from, to) and the index where their error correction begins. */
export type Block = { from: number; to: number; errorCorrectionAt: number }

export function templateOf(version: number): Template {
  let template = templates[version]
  if (!template) {
    template = makeTemplate(version)
    templates[version] = template
  }
  return template
}

const templates: (Template | undefined)[] = []

// Level M, versions 1 to 11 (table 9).
const errorCorrectionPerBlock = [0, 10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30]
const blockCount = [0, 1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5]
/** Centres of alignment patterns besides 6 (annex E). */
const alignment = [[], [], [18], [22], [26], [30], [34], [22, 38], [24, 42], [26, 46], [28, 50], [30, 54]]

function makeTemplate(version: number): Template {
  const size = 17 + 4 * version
  const words = (size + 31) >> 5
  const perBlock = errorCorrectionPerBlock[version] ?? 0
  const blocks = blocksOf(version)
  const grid = drawPatterns(version)
  const free = codewordModules(size, grid)

  const pieces: number[][] = Array.from({ length: words * size }, () => [])
  for (const [sequence, codeword] of sequenceOf(blocks, perBlock).entries()) {
    for (let bit = 0; bit < 8; bit++) {
      const module = free[sequence * 8 + bit] ?? { x: 0, y: 0 }
      const next = bit < 7 ? free[sequence * 8 + bit + 1] : undefined
      const isPair = next?.y === module.y && next.x === module.x - 1 && wordOf(next, size) === wordOf(module, size)
      if (isPair) bit++
      // Packed, from the high bits down: the index of the codeword (data first, then error correction), the lowest of
      // its bits in the piece (3 bits), the position of that bit in the word (5), and a mask of one or two ones (2).
      const [lowest, to, ones] = [7 - bit, (module.x & 31) - (isPair ? 1 : 0), isPair ? 3 : 1]
      pieces[wordOf(module, size)]?.push((codeword << 10) | (lowest << 7) | (to << 2) | ones)
    }
  }
  const patterns = new Int32Array(words * size)
  for (const module of grid.dark) setBit(patterns, size, module)
  const masks = maskConditions.map((applies) => {
    const mask = new Int32Array(words * size)
    for (const module of free) if (applies(module.x, module.y)) setBit(mask, size, module)
    return mask
  })
  const information = maskConditions.map((_, mask) => {
    const bits = new Int32Array(words * size)
    for (const module of informationModules(version, mask)) if (module.dark) setBit(bits, size, module)
    return bits
  })
  return {
    size,
    blocks,
    errorCorrectionPerBlock: perBlock,
    patterns,
    pieces: Int32Array.from(pieces.flat()),
    ends: Int32Array.from(pieces, (_, word) => pieces.slice(0, word + 1).flat().length),
    masks,
    information,
  }
}

type Module = { x: number; y: number }

function wordOf({ x, y }: Module, size: number): number {
  return (x >> 5) * size + y
}

function setBit(words: Int32Array, size: number, module: Module): void {
  const word = wordOf(module, size)
  words[word] = (words[word] ?? 0) | (1 << (module.x & 31))
}

/** The data in nearly equal blocks, the shorter ones first (7.5.1). */
function blocksOf(version: number): Block[] {
  const data = dataCodewordsOfVersion[version] ?? 0
  const count = blockCount[version] ?? 1
  const short = Math.floor(data / count)
  const shortCount = count - (data % count)
  return Array.from({ length: count }, (_, i) => {
    const from = i * short + Math.max(0, i - shortCount)
    return {
      from,
      to: from + short + (i < shortCount ? 0 : 1),
      errorCorrectionAt: data + i * (errorCorrectionPerBlock[version] ?? 0),
    }
  })
}

/**
 * The order of codewords: the first of each block, the second of each, …, then error correction in the same way (7.6).
 */
function sequenceOf(blocks: Block[], perBlock: number): number[] {
  const sequence: number[] = []
  const longest = Math.max(...blocks.map((block) => block.to - block.from))
  for (let i = 0; i < longest; i++) {
    for (const block of blocks) if (block.from + i < block.to) sequence.push(block.from + i)
  }
  for (let i = 0; i < perBlock; i++) for (const block of blocks) sequence.push(block.errorCorrectionAt + i)
  return sequence
}

type Grid = { dark: Module[]; taken: (module: Module) => boolean }

/**
 * 6.3.3 to 6.3.6, and the space for the format and version information. Their values are added later, because the
 * format information depends on the mask.
 */
function drawPatterns(version: number): Grid {
  const size = 17 + 4 * version
  const modules = new Map<number, boolean>()
  const set = (x: number, y: number, dark: boolean) => {
    if (x >= 0 && y >= 0 && x < size && y < size) modules.set(y * size + x, dark)
  }
  for (const { x, y } of informationModules(version, 0)) set(x, y, false)
  for (let i = 8; i < size - 8; i++) {
    set(i, 6, i % 2 === 0)
    set(6, i, i % 2 === 0)
  }
  const centres = [6, ...(alignment[version] ?? [])]
  const last = size - 7
  for (const cx of version > 1 ? centres : []) {
    for (const cy of centres) {
      // The three corners belong to the finder patterns.
      if ((cx === 6 && cy === 6) || (cx === 6 && cy === last) || (cx === last && cy === 6)) continue
      drawSquares(set, cx, cy, 2, (ring) => ring !== 1)
    }
  }
  // The light separator is the fourth ring around the centre.
  for (const [cx, cy] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    drawSquares(set, cx, cy, 4, (ring) => ring !== 2 && ring !== 4)
  }
  const dark = [...modules].filter(([, isDark]) => isDark).map(([at]) => ({ x: at % size, y: Math.floor(at / size) }))
  return { dark, taken: ({ x, y }) => modules.has(y * size + x) }
}

function drawSquares(
  set: (x: number, y: number, dark: boolean) => void,
  cx: number,
  cy: number,
  rings: number,
  isDark: (ring: number) => boolean,
): void {
  for (let dy = -rings; dy <= rings; dy++) {
    for (let dx = -rings; dx <= rings; dx++) set(cx + dx, cy + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))))
  }
}

/** The modules that carry codewords, in their order: up and down in pairs of columns from the right (7.7.3). */
function codewordModules(size: number, grid: Grid): Module[] {
  const modules: Module[] = []
  let upwards = true
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5 // column 6 has only the vertical timing pattern
    for (let i = 0; i < size; i++) {
      const y = upwards ? size - 1 - i : i
      for (const x of [right, right - 1]) if (!grid.taken({ x, y })) modules.push({ x, y })
    }
    upwards = !upwards
  }
  return modules
}

/** Table 10, x being the column j and y the row i. */
const maskConditions: ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
]

/** The modules of the format (7.9) and version (7.10) information, each twice, and the module that is always dark. */
function informationModules(version: number, mask: number): (Module & { dark: boolean })[] {
  const size = 17 + 4 * version
  const modules = [{ x: 8, y: size - 8, dark: true }]
  // Level M is 00, so the data is only the mask.
  const format = ((mask << 10) | remainder(mask << 10, 0x537)) ^ 0x5412
  for (let i = 0; i < 15; i++) {
    const dark = ((format >> i) & 1) === 1
    modules.push(i < 8 ? { x: 8, y: i < 6 ? i : i + 1, dark } : { x: i < 9 ? 7 : 14 - i, y: 8, dark })
    modules.push(i < 8 ? { x: size - 1 - i, y: 8, dark } : { x: 8, y: size - 15 + i, dark })
  }
  const bits = (version << 12) | remainder(version << 12, 0x1f25)
  for (let i = 0; version >= 7 && i < 18; i++) {
    const dark = ((bits >> i) & 1) === 1
    const a = size - 11 + (i % 3)
    const b = Math.floor(i / 3)
    modules.push({ x: a, y: b, dark }, { x: b, y: a, dark })
  }
  return modules
}

/**
 * The remainder of a division of polynomials over GF(2), each a number whose bits are the coefficients (annexes C and
 * D).
 */
function remainder(dividend: number, divisor: number): number {
  let rest = dividend
  while (Math.clz32(rest) <= Math.clz32(divisor)) rest ^= divisor << (Math.clz32(divisor) - Math.clz32(rest))
  return rest
}
