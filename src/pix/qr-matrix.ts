import { lowestPenaltyMask } from './qr-penalty.ts'
import { encodeText } from './qr-segments.ts'
import { type Template, templateOf } from './qr-template.ts'
import { writeErrorCorrection } from './reed-solomon.ts'

/**
 * The dark modules of a QR code, as bits: column x of row y is bit x & 31 of `words[(x >> 5) * size + y]`.
 */
export type QrMatrix = { size: number; words: Int32Array }

/**
 * The QR code of a text at level M, in the smallest version up to 11, or null when it does not fit. Its words are used
 * again by the next call: read them at once.
 */
export function qrMatrix(text: string): QrMatrix | null {
  const version = encodeText(text, codewords)
  if (version === null) return null
  const template = templateOf(version)
  const words = symbol.subarray(0, template.patterns.length)
  for (const { from, to, errorCorrectionAt } of template.blocks) {
    const count = template.errorCorrectionPerBlock
    writeErrorCorrection(codewords, { from, to, count, out: codewords, at: errorCorrectionAt })
  }
  words.set(template.patterns)
  placeCodewords(template, words)
  const mask = lowestPenaltyMask(template, words)
  const masked = template.masks[mask] ?? template.patterns
  const information = template.information[mask] ?? template.patterns
  for (let i = 0; i < words.length; i++) words[i] = ((words[i] ?? 0) ^ (masked[i] ?? 0)) | (information[i] ?? 0)
  return { size: template.size, words }
}

// Version 11: 404 codewords, and 61 rows of two words.
const codewords = new Uint8Array(404)
const symbol = new Int32Array(122)

function placeCodewords({ codewords: count, places }: Template, words: Int32Array): void {
  for (let i = 0, place = 0; i < count; i++) {
    const codeword = codewords[i] ?? 0
    for (let bit = 7; bit >= 0; bit--, place++) {
      const at = places[place] ?? 0
      words[at >> 5] = (words[at >> 5] ?? 0) | (((codeword >> bit) & 1) << (at & 31))
    }
  }
}
