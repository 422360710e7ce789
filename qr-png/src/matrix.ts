import { lowestPenaltyMask } from './penalty.ts'
import { writeErrorCorrection } from './reed-solomon.ts'
import { encodeText } from './segments.ts'
import { type Template, templateOf } from './template.ts'

/**
 * The dark modules of a QR code, as bits: column x of row y is bit x & 31 of `words[(x >> 5) * size + y]`.
 */
export type QrMatrix = { size: number; words: Int32Array }

/**
 * The QR code of a text at level M, in the smallest version up to 11, or null when it does not fit. A later call with
 * the same version reuses the array of words: read them before that.
 */
export function qrMatrix(text: string): QrMatrix | null {
  const version = encodeText(text, codewords)
  if (version === null) return null
  const template = templateOf(version)
  symbols[version] ??= new Int32Array(template.patterns.length)
  const words = symbols[version]
  for (const { from, to, errorCorrectionAt } of template.blocks) {
    const count = template.errorCorrectionPerBlock
    writeErrorCorrection(codewords, { from, to, count, out: codewords, at: errorCorrectionAt })
  }
  placeCodewords(template, words)
  const mask = lowestPenaltyMask(template, words)
  const masked = template.masks[mask] ?? template.patterns
  const information = template.information[mask] ?? template.patterns
  for (let i = 0; i < words.length; i++) words[i] = ((words[i] ?? 0) ^ (masked[i] ?? 0)) | (information[i] ?? 0)
  return { size: template.size, words }
}

// The number of codewords of version 11.
const codewords = new Uint8Array(404)
/** The words of the current symbol, for each version. */
const symbols: (Int32Array | undefined)[] = []

function placeCodewords({ patterns, pieces, ends }: Template, words: Int32Array): void {
  for (let word = 0, i = 0; word < words.length; word++) {
    let bits = patterns[word] ?? 0
    for (const end = ends[word] ?? 0; i < end; i++) {
      const piece = pieces[i] ?? 0
      bits |= (((codewords[piece >>> 10] ?? 0) >> ((piece >>> 7) & 7)) & piece & 3) << ((piece >>> 2) & 31)
    }
    words[word] = bits
  }
}
