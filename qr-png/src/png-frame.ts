import { crc32 } from 'node:zlib'

/**
 * The parts of a QR code's PNG that do not depend on its modules, made once for each size: the chunks around the image,
 * the Huffman codes, the margins, the sums of known bytes. png.ts explains how a row of modules is written.
 *
 * Bits to write are stored as `count << 16 | bits`, least significant bit first, at most 16 of them.
 */
export type PngFrame = {
  /**
   * From the signature to the first literal of the first row of modules; `headBits` are the bits after the last whole
   * byte.
   */
  head: Buffer
  headBits: number
  /** The offset of the IDAT chunk's data in `head`. */
  dataAt: number
  /**
   * For 8 modules of a row (the first is bit 0, dark is 1): their bits; at bit 16 the count of bits (5 bits); at bit 21
   * the number of light modules (4 bits); at bit 25 the sum of the positions of these, 0 to 7.
   */
  eightModules: Int32Array
  /** The same for the rest of a row after its last whole eight. */
  lastModules: Int32Array
  /** The back-reference after the literals of each row. */
  rowEnd: Int32Array
  /** The margin at the bottom and the end of the stream. */
  end: Int32Array
  /** Adler-32 of the lines of the top margin. */
  adlerOfTop: Adler
  /** What the lines of the bottom margin add to an Adler-32, without `bytes` times its low half. */
  bottom: Adler & { bytes: number }
  /** The chunk that ends the file. */
  imageEnd: Buffer
}

type Adler = { low: number; high: number }

export function pngFrameOf(size: number): PngFrame {
  let frame = frames[size]
  if (!frame) {
    frame = makeFrame(size)
    frames[size] = frame
  }
  return frame
}

const frames: (PngFrame | undefined)[] = []
const pixelsPerModule = 8
const quietZone = 4
const marginLines = quietZone * pixelsPerModule

const dark = 0x00
const light = 0xff
const endOfBlock = 256

function makeFrame(size: number): PngFrame {
  const lineLength = size + 2 * quietZone + 1
  const top = [
    ...referTo(size + 2 * quietZone - 1, 1),
    ...referTo((marginLines - 1) * lineLength + 1 + quietZone, lineLength),
  ]
  const rowEnd = referTo(quietZone + (pixelsPerModule - 1) * lineLength + 1 + quietZone, lineLength)
  const bottom = [...referTo(size + quietZone, 1), ...referTo((marginLines - 1) * lineLength, lineLength)]
  // The most frequent symbol first.
  const code = huffmanCode([dark, light, ...[...rowEnd, ...top, ...bottom].map(({ symbol }) => symbol), endOfBlock])
  const distances = distanceCode(lineLength)
  const write = ({ symbol, extra, distance }: Reference) => [
    ...bitsOf(code, symbol),
    ...extra,
    ...(distance === 1 ? [0] : distances.bits),
  ]
  const headBits = [
    ...blockHeader(code, distances.symbol),
    ...bitsOf(code, 0), // the filter byte of the first line
    ...bitsOf(code, light),
    ...top.flatMap(write),
  ]
  const whole = headBits.length >> 3
  const blank = linesOfMargin(lineLength)
  const start = Buffer.concat([signature, chunk('IHDR', header(size)), Buffer.from('\0\0\0\0IDAT', 'latin1')])
  // The zlib header: a window of 32 KiB, and a check that makes the two bytes a multiple of 31.
  const head = Buffer.concat([start, Buffer.from([0x78, 0x01]), toBytes(headBits.slice(0, whole * 8))])
  return {
    head,
    headBits: pack(headBits.slice(whole * 8))[0] ?? 0,
    dataAt: start.length,
    eightModules: modulesTable(code, 8),
    lastModules: modulesTable(code, size & 7),
    rowEnd: pack(rowEnd.flatMap(write)),
    end: pack([...bottom.flatMap(write), ...bitsOf(code, endOfBlock)]),
    adlerOfTop: { low: (1 + blank.low) % 65521, high: (blank.bytes + blank.high) % 65521 },
    bottom: blank,
    imageEnd: chunk('IEND', Buffer.alloc(0)),
  }
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const around = Buffer.alloc(8)
  around.writeUInt32BE(data.length, 0)
  around.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)])
}

function header(size: number): Buffer {
  const data = Buffer.alloc(13)
  const pixels = (size + 2 * quietZone) * pixelsPerModule
  data.writeUInt32BE(pixels, 0)
  data.writeUInt32BE(pixels, 4)
  // 1 bit a pixel. The zeros after it mean greyscale, the only compression and filter methods, and no interlacing.
  data[8] = 1
  return data
}

/** One length symbol of deflate with its extra bits, and a distance of 1 or of a line. */
type Reference = { symbol: number; extra: number[]; distance: number }

/** A reference covers 3 to 258 bytes, so a longer one becomes several. */
function referTo(length: number, distance: number): Reference[] {
  const references: Reference[] = []
  for (let rest = length; rest > 0; ) {
    // The rest must not be too short for the next reference.
    const part = rest > 258 && rest < 261 ? 255 : Math.min(rest, 258)
    references.push({ ...lengthSymbol(part), distance })
    rest -= part
  }
  return references
}

/** RFC 1951, 3.2.5: from 11 on, four symbols share each number of extra bits; 258 has its own symbol. */
function lengthSymbol(length: number): { symbol: number; extra: number[] } {
  if (length === 258) return { symbol: 285, extra: [] }
  if (length < 11) return { symbol: 254 + length, extra: [] }
  const extraBits = 29 - Math.clz32(length - 3)
  const group = (length - 3) >> extraBits // 4 to 7
  return { symbol: 257 + 4 * extraBits + group, extra: lowestFirst(length - 3, extraBits) }
}

/** Two codes of one bit: 0 for a distance of 1, and 1 with extra bits for the distance of a line. */
function distanceCode(lineLength: number): { symbol: number; bits: number[] } {
  const extraBits = 30 - Math.clz32(lineLength - 1)
  const symbol = 2 * extraBits + ((lineLength - 1) >> extraBits)
  return { symbol, bits: [1, ...lowestFirst(lineLength - 1, extraBits)] }
}

/** Code lengths 1, 2, 3, … in the order of the given symbols; the last two are equal: 0, 10, 110, … */
function huffmanCode(symbols: number[]): Map<number, number> {
  const distinct = [...new Set(symbols)]
  return new Map(distinct.map((symbol, i) => [symbol, Math.min(i + 1, distinct.length - 1)]))
}

function bitsOf(code: Map<number, number>, symbol: number): number[] {
  const length = code.get(symbol) ?? 0
  const ones = Array<number>(length).fill(1)
  // The two longest codes differ only in their last bit: the smaller symbol has the 0.
  const isLast = length === code.size - 1 && [...code].every(([other, its]) => its < length || other <= symbol)
  return isLast ? ones : [...ones.slice(1), 0]
}

/** RFC 1951, 3.2.7: the last block, with dynamic codes, which are described by their lengths. */
function blockHeader(code: Map<number, number>, lineSymbol: number): number[] {
  const symbols = 1 + Math.max(...code.keys())
  const lengths = Array.from({ length: symbols }, (_, symbol) => code.get(symbol) ?? 0)
  lengths.push(
    ...Array.from({ length: lineSymbol + 1 }, (_, symbol) => (symbol === 0 || symbol === lineSymbol ? 1 : 0)),
  )
  // The lengths 0 to 13 and two ways to repeat a 0 are 16 symbols: four bits each, in their order.
  const codedIn4Bits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 18]
  const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1]
  const encode = (symbol: number) => lowestFirst(codedIn4Bits.indexOf(symbol), 4).reverse()
  const bits = [
    1,
    0,
    1,
    ...lowestFirst(symbols - 257, 5),
    ...lowestFirst(lineSymbol, 5),
    ...lowestFirst(order.length - 4, 4),
  ]
  for (const symbol of order) bits.push(...lowestFirst(codedIn4Bits.includes(symbol) ? 4 : 0, 3))
  for (let i = 0; i < lengths.length; ) {
    let zeros = 0
    while (zeros < 138 && lengths[i + zeros] === 0) zeros++
    if (zeros < 3) bits.push(...encode(lengths[i] ?? 0))
    else if (zeros < 11) bits.push(...encode(17), ...lowestFirst(zeros - 3, 3))
    else bits.push(...encode(18), ...lowestFirst(zeros - 11, 7))
    i += zeros < 3 ? 1 : zeros
  }
  return bits
}

function modulesTable(code: Map<number, number>, count: number): Int32Array {
  return Int32Array.from({ length: 1 << count }, (_, modules) => {
    const bits: number[] = []
    let lightCount = 0
    let places = 0
    for (let i = 0; i < count; i++) {
      const isDark = (modules >> i) & 1
      bits.push(...bitsOf(code, isDark ? dark : light))
      if (isDark) continue
      lightCount++
      places += i
    }
    return (pack(bits)[0] ?? 0) | (lightCount << 21) | (places << 25)
  })
}

/** All bytes of the 32 light lines at the top or at the bottom. */
function linesOfMargin(lineLength: number): Adler & { bytes: number } {
  let low = 0
  let high = 0
  for (let i = 0; i < marginLines * lineLength; i++) {
    low = (low + (i % lineLength === 0 ? 0 : light)) % 65521
    high = (high + low) % 65521
  }
  return { low, high, bytes: marginLines * lineLength }
}

function lowestFirst(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, bit) => (value >> bit) & 1)
}

function toBytes(bits: number[]): Buffer {
  const bytes = Buffer.alloc(bits.length >> 3)
  for (const [i, bit] of bits.entries()) bytes[i >> 3] = (bytes[i >> 3] ?? 0) | (bit << (i & 7))
  return bytes
}

function pack(bits: number[]): Int32Array {
  return Int32Array.from({ length: Math.ceil(bits.length / 16) }, (_, i) => {
    const some = bits.slice(i * 16, i * 16 + 16)
    return some.reduce((packed, bit, place) => packed | (bit << place), some.length << 16)
  })
}
