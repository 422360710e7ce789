import { crc32 } from 'node:zlib'
import type { QrMatrix } from './matrix.ts'
import { type PngFrame, pngFrameOf } from './png-frame.ts'

/**
 * Writes a QR code as PNG, 1 bit a pixel, directly as a deflate stream (RFC 1950, 1951) without a compressor: with 8
 * pixels a module, one module of a line is one byte, 0x00 or 0xff, so the repetitions are known in advance.
 *
 * A line is a filter byte (0), the light margin, the modules and the margin, and occurs 8 times. So a row of modules is
 * written as its literals and one back-reference to the line above, which covers the right margin, the 7 repetitions,
 * and the filter byte and left margin of the next line. The margins refer to the line above too. A dark module takes 1
 * bit and a light one 2. Everything but the literals is the same for every code of one size, and kept in its frame.
 *
 * Returns the length of the file in `out`, which must have room for 300 bytes and 3 bits a module.
 */
export function writePng({ size, words }: QrMatrix, out: Buffer): number {
  const view = new DataView(out.buffer, out.byteOffset, out.length)
  const frame = pngFrameOf(size)
  out.set(frame.head, 0)
  let at = frame.head.length
  let pending = frame.headBits & 0xffff
  let pendingBits = frame.headBits >>> 16
  let { low, high } = frame.adlerOfTop
  const lineLength = size + 9
  const lastEight = size >> 3

  for (let y = 0; y < size; y++) {
    let light = 0
    let weighted = 0
    for (let i = 0; i <= lastEight; i++) {
      const eight = ((words[(i >> 2) * size + y] ?? 0) >>> (8 * (i & 3))) & 0xff
      const entry = (i < lastEight ? frame.eightModules[eight] : frame.lastModules[eight]) ?? 0
      pending |= (entry & 0xffff) << pendingBits
      pendingBits += (entry >>> 16) & 31
      const lightOfEight = (entry >>> 21) & 15
      light += lightOfEight
      weighted += lightOfEight * (size + 4 - 8 * i) - (entry >>> 25)
      // Writes four bytes; the next write overwrites the incomplete ones. That is cheaper than an unpredictable branch.
      view.setInt32(at, pending, true)
      at += pendingBits >> 3
      pending >>>= pendingBits & ~7
      pendingBits &= 7
    }
    for (let i = 0; i < frame.rowEnd.length; i++) {
      const entry = frame.rowEnd[i] ?? 0
      pending |= (entry & 0xffff) << pendingBits
      pendingBits += entry >>> 16
      view.setInt32(at, pending, true)
      at += pendingBits >> 3
      pending >>>= pendingBits & ~7
      pendingBits &= 7
    }
    // Adler-32 of 8 equal lines, from two sums over one line. `low` is the sum of all bytes, `high` the sum of all
    // values of `low`: a byte counts there once for itself and once for each byte after it. Margins of 4 on both sides
    // weigh 4 lines together.
    const sum = 255 * (light + 8)
    const weightedSum = 255 * (weighted + 4 * lineLength)
    high = (high + 8 * (lineLength * low + weightedSum) + 28 * lineLength * sum) % 65521
    low = (low + 8 * sum) % 65521
  }
  return writeEnd(frame, out, { at, pending, pendingBits, low, high })
}

type State = { at: number; pending: number; pendingBits: number; low: number; high: number }

function writeEnd(frame: PngFrame, out: Buffer, state: State): number {
  let { at, pending, pendingBits } = state
  for (const entry of frame.end) {
    pending |= (entry & 0xffff) << pendingBits
    pendingBits += entry >>> 16
    while (pendingBits >= 8) {
      out[at++] = pending
      pending >>>= 8
      pendingBits -= 8
    }
  }
  if (pendingBits > 0) out[at++] = pending
  // Each byte of the light lines at the bottom adds the sum of all bytes before them to `high`.
  const { bytes, low: lowOfBottom, high: highOfBottom } = frame.bottom
  const high = (state.high + bytes * state.low + highOfBottom) % 65521
  at = out.writeUInt16BE(high, at)
  at = out.writeUInt16BE((state.low + lowOfBottom) % 65521, at)
  out.writeUInt32BE(at - frame.dataAt, frame.dataAt - 8)
  at = out.writeUInt32BE(crc32(out.subarray(frame.dataAt - 4, at)), at)
  out.set(frame.imageEnd, at)
  return at + frame.imageEnd.length
}
