import { crc32, inflateSync } from 'node:zlib'

/** The page stays below 30 kB with it. */
export const logoBytesMax = 12 * 1024
/** Twice the size in which the page shows it, for sharp screens, and some room. */
export const logoSideMax = 800

const signature = Buffer.from('89504e470d0a1a0a', 'hex')
/** Samples of a pixel, by color type. */
const samples: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }
/** Everything else may hold text, dates or a place. */
const kept = new Set(['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND'])

type Chunk = { type: string; data: Buffer; whole: Buffer }

/**
 * Checks that a file is a complete, small PNG and returns it without metadata, so that nothing else is ever served from
 * our address. Null for any other file.
 */
export function cleanPng(file: Buffer): Buffer | null {
  const chunks = readChunks(file)
  const header = chunks?.[0]
  if (!chunks || header?.type !== 'IHDR' || chunks.findIndex(({ type }) => type === 'IEND') !== chunks.length - 1)
    return null
  const bytes = countBytes(header.data)
  if (bytes === null) return null
  const pixels = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data))
  if (!inflatesTo(pixels, bytes)) return null
  return Buffer.concat([signature, ...chunks.filter(({ type }) => kept.has(type)).map(({ whole }) => whole)])
}

/** Whether there are exactly so many bytes of pixels, and nothing behind them. */
function inflatesTo(pixels: Buffer, bytes: number): boolean {
  try {
    // The types of Node lack the answer to `info`.
    const { buffer, engine } = inflateSync(pixels, { maxOutputLength: bytes, info: true }) as unknown as Inflated
    return buffer.length === bytes && engine.bytesWritten === pixels.length
  } catch {
    return false
  }
}

type Inflated = { buffer: Buffer; engine: { bytesWritten: number } }

/** How many bytes the pixels have, with the filter byte of each line. Null for a form that not every reader knows. */
function countBytes(header: Buffer): number | null {
  if (header.length !== 13) return null
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const [depth = 0, type = -1, compression, filter, interlace] = header.subarray(8)
  const perPixel = samples[type]
  if (width < 1 || height < 1 || width > logoSideMax || height > logoSideMax || perPixel === undefined) return null
  if (![1, 2, 4, 8].includes(depth) || (depth !== 8 && perPixel !== 1)) return null
  if (compression !== 0 || filter !== 0 || interlace !== 0) return null
  return height * (1 + Math.ceil((width * depth * perPixel) / 8))
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
