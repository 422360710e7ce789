/**
 * Error correction of QR codes (ISO/IEC 18004, 7.5 and annex A): the remainder of a block of data divided by a
 * generator polynomial over GF(2^8). The register of the division is in 32-bit words, four codewords each, and a table
 * has the effect of one data codeword on the whole register: the 124 codewords of version 7 take 1 µs.
 */

/** Writes `count` error correction codewords for `data[from, to)` into `out` at `at`. */
export function writeErrorCorrection(
  data: Uint8Array,
  { from, to, count, out, at }: { from: number; to: number; count: number; out: Uint8Array; at: number },
): void {
  const table = tableFor(count)
  // The register is in variables, always eight words: an array of only the needed words would take twice as long.
  let [r0, r1, r2, r3, r4, r5, r6, r7] = [0, 0, 0, 0, 0, 0, 0, 0]
  for (let i = from; i < to; i++) {
    // The codeword shifted out at the top decides which multiple of the generator is subtracted.
    const row = ((data[i] ?? 0) ^ (r0 >>> 24)) * 8
    r0 = ((r0 << 8) | (r1 >>> 24)) ^ (table[row] ?? 0)
    r1 = ((r1 << 8) | (r2 >>> 24)) ^ (table[row + 1] ?? 0)
    r2 = ((r2 << 8) | (r3 >>> 24)) ^ (table[row + 2] ?? 0)
    r3 = ((r3 << 8) | (r4 >>> 24)) ^ (table[row + 3] ?? 0)
    r4 = ((r4 << 8) | (r5 >>> 24)) ^ (table[row + 4] ?? 0)
    r5 = ((r5 << 8) | (r6 >>> 24)) ^ (table[row + 5] ?? 0)
    r6 = ((r6 << 8) | (r7 >>> 24)) ^ (table[row + 6] ?? 0)
    r7 = (r7 << 8) ^ (table[row + 7] ?? 0)
  }
  const register = [r0, r1, r2, r3, r4, r5, r6, r7]
  for (let i = 0; i < count; i++) out[at + i] = (register[i >> 2] ?? 0) >>> (24 - 8 * (i & 3))
}

/** Level M needs at most 30 codewords per block, and so eight words. */
const tables: (Int32Array | undefined)[] = []

/** The product of each of the 256 values of a leading codeword with the generator, packed into words. */
function tableFor(count: number): Int32Array {
  const known = tables[count]
  if (known) return known
  const table = new Int32Array(256 * 8)
  const generator = generatorOf(count)
  for (let factor = 0; factor < 256; factor++) {
    for (const [i, coefficient] of generator.entries()) {
      const word = factor * 8 + (i >> 2)
      table[word] = (table[word] ?? 0) | (multiply(coefficient, factor) << (24 - 8 * (i & 3)))
    }
  }
  tables[count] = table
  return table
}

/** (x - 1)(x - 2)(x - 4) … with `count` factors, without its leading coefficient, which is 1. */
function generatorOf(count: number): Uint8Array {
  const generator = new Uint8Array(count)
  generator[count - 1] = 1
  let root = 1
  for (let factor = 0; factor < count; factor++) {
    for (let i = 0; i < count; i++) {
      generator[i] = multiply(generator[i] ?? 0, root) ^ (generator[i + 1] ?? 0)
    }
    root = multiply(root, 2)
  }
  return generator
}

/** In GF(2^8) with the polynomial of the standard, x^8 + x^4 + x^3 + x^2 + 1. */
function multiply(a: number, b: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((b >>> bit) & 1) * a)
  return product
}
