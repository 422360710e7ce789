import type { QrMatrix } from './matrix.ts'
import { writePng } from './png.ts'

export { type QrMatrix, qrMatrix } from './matrix.ts'

/** The image as PNG: 8 pixels a module, a quiet zone of 4 modules, 1 bit a pixel. */
export function toPng(matrix: QrMatrix): Buffer {
  return Buffer.from(scratch.subarray(0, writePng(matrix, scratch)))
}

/** The same as `data:image/png;base64,…`. */
export function toPngDataUrl(matrix: QrMatrix): string {
  return `data:image/png;base64,${scratch.toString('base64', 0, writePng(matrix, scratch))}`
}

// 300 bytes and 3 bits a module (png.ts): the largest symbol, of version 40, has 177 × 177 modules.
const scratch = Buffer.alloc(12_288)
