import { crc32, inflateSync } from 'node:zlib'

/** The payment page stays below 30 kB with a logo of this size. */
export const logoBytesMax = 12 * 1024
/** Four times the width in which the page shows it: enough for sharp screens. */
export const logoSideMax = 800

const signature = Buffer.from('89504e470d0a1a0a', 'hex')
/** Samples of a pixel, by the color type of the header. */
const samples: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }
/** The highest filter type. The first byte of each line is its filter type. */
const filterMax = 4
/**
 * The chunks that are kept, with the most bytes that a decoder uses of each. Others may hold text, dates or a place.
 */
const kept = new Map([
  ['IHDR', 13],
  ['PLTE', 768],
  ['tRNS', 256],
  ['IDAT', Number.POSITIVE_INFINITY],
  ['IEND', 0],
])

type Chunk = { type: string; data: Buffer; whole: Buffer }

/**
 * Checks that a file is a complete PNG of few pixels and returns it without metadata, so that nothing else is ever
 * served from our address. Null for any other file, and for forms that not every reader knows (16 bits, interlaced) or
 * that the receipt's PDF cannot show (transparency of fewer than 8 bits).
 */
export function cleanPng(file: Buffer): Buffer | null {
  const chunks = readChunks(file)
  const header = chunks?.[0]
  if (!chunks || header?.type !== 'IHDR' || chunks.findIndex(({ type }) => type === 'IEND') !== chunks.length - 1)
    return null
  const form = readForm(header.data)
  const count = (name: string) => chunks.filter(({ type }) => type === name).length
  if (form === null || count('IHDR') !== 1 || (count('tRNS') > 0 && form.depth < 8)) return null
  if (count('PLTE') > 1 || count('tRNS') > 1 || (form.hasPalette && count('PLTE') === 0)) return null
  if (chunks.some(({ type, data }) => data.length > (kept.get(type) ?? Number.POSITIVE_INFINITY))) return null
  const pixels = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data))
  if (!isWhole(pixels, form)) return null
  return Buffer.concat([signature, ...chunks.filter(({ type }) => kept.has(type)).map(({ whole }) => whole)])
}

type Form = { depth: number; hasPalette: boolean; height: number; lineBytes: number }

/** Whether the data are exactly as many lines as the header says, each with a filter type that exists. */
function isWhole(pixels: Buffer, { height, lineBytes }: Form): boolean {
  try {
    // With `info`, Node returns an object, which its types do not declare.
    const options = { maxOutputLength: height * lineBytes, info: true }
    const { buffer, engine } = inflateSync(pixels, options) as unknown as Inflated
    if (buffer.length !== height * lineBytes || engine.bytesWritten !== pixels.length) return false
    return Array.from({ length: height }).every((_, line) => (buffer[line * lineBytes] ?? 0) <= filterMax)
  } catch {
    return false
  }
}

type Inflated = { buffer: Buffer; engine: { bytesWritten: number } }

/** Reads the header. Null if it is invalid, too large an image, or a form that not every reader knows. */
function readForm(header: Buffer): Form | null {
  if (header.length !== 13) return null
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const [depth = 0, type = -1, compression, filter, interlace] = header.subarray(8)
  const perPixel = samples[type]
  if (width < 1 || height < 1 || width > logoSideMax || height > logoSideMax || perPixel === undefined) return null
  if (![1, 2, 4, 8].includes(depth) || (depth !== 8 && perPixel !== 1)) return null
  if (compression !== 0 || filter !== 0 || interlace !== 0) return null
  return { depth, hasPalette: type === 3, height, lineBytes: 1 + Math.ceil((width * depth * perPixel) / 8) }
}

function readChunks(file: Buffer): Chunk[] | null {
  if (!file.subarray(0, 8).equals(signature)) return null
  const chunks: Chunk[] = []
  for (let at = 8; at < file.length; ) {
    if (at + 12 > file.length) return null
    const end = at + 12 + file.readUInt32BE(at)
    if (end > file.length || crc32(file.subarray(at + 4, end - 4)) !== file.readUInt32BE(end - 4)) return null
    const type = file.toString('latin1', at + 4, at + 8)
    chunks.push({ type, data: file.subarray(at + 8, end - 4), whole: file.subarray(at, end) })
    at = end
  }
  return chunks
}
