import encodeQR from 'qr'
import { type QrMatrix, qrMatrix, toPngDataUrl } from '../../qr-png/src/index.ts'
import { setNewest } from '../lib/newest.ts'

/** Enough for the time from a response to its webhook at thousands of creations a second; 2 MB in all. */
const recentMax = 1_000
const recent = new Map<string, string>()

/**
 * The image of a QR code as a data URL, which the response to every created transaction contains: the hot path of the
 * product. It is made from the text and never stored; the newest ones are kept in memory, because the webhook of a
 * creation has the same image as the response. Throws for more than 2,331 bytes.
 */
export function qrCodeDataUrl(text: string): string {
  const known = recent.get(text)
  if (known !== undefined) return known
  const made = toPngDataUrl(qrMatrix(text) ?? largeMatrix(text))
  setNewest(recent, text, made, recentMax)
  return made
}

/** For texts beyond version 11, longer than any BR code that we write. It takes 4 ms. */
function largeMatrix(text: string): QrMatrix {
  // The package always adds a border of at least one module.
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: 1 }).slice(1, -1)
  const size = rows.length
  const words = new Int32Array(size * ((size + 31) >> 5))
  for (const [y, row] of rows.entries()) {
    for (const [x, isDark] of row.slice(1, -1).entries()) {
      const word = (x >> 5) * size + y
      if (isDark) words[word] = (words[word] ?? 0) | (1 << (x & 31))
    }
  }
  return { size, words }
}
