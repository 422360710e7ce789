/**
 * Encodes a text as the data codewords of a QR code (ISO/IEC 18004, 7.4). The text is cut into segments with a mode
 * each: numeric (3⅓ bits a character), alphanumeric (5½) or byte (8, UTF-8). Each change of mode costs a header, so
 * dynamic programming finds the cheapest cut. A BR code is full of digits: 215 characters fit version 9 instead of 11,
 * a smaller symbol that is easier to scan.
 */

/** Data codewords of versions 1 to 11 at level M (table 7), without error correction. */
export const dataCodewordsOfVersion = [0, 16, 28, 44, 64, 86, 108, 124, 154, 182, 216, 254] as const

/** Fills `out` and returns the smallest version in which the text fits, or null if it does not fit in version 11. */
export function encodeText(text: string, out: Uint8Array): number | null {
  if (text.length > lengthMax) return null
  const { written: length } = utf8.encodeInto(text, bytes)
  if (length > lengthMax) return null
  // Versions from 10 have longer headers, so they need another cut.
  for (const size of headerSizes) {
    const bits = cheapestCut(length, size)
    for (let version = size.first; version <= size.last; version++) {
      const capacity = dataCodewordsOfVersion[version] ?? 0
      if (bits > capacity * 8) continue
      out.fill(0, 0, capacity)
      writeSegments(length, size, capacity, out)
      return version
    }
  }
  return null
}

const byte = 0
const alphanumeric = 1
const numeric = 2
type Mode = typeof byte | typeof alphanumeric | typeof numeric

/** Width of the character counts (table 3); a header is the count and four bits of mode. */
type HeaderSize = { first: number; last: number; countBits: Record<Mode, number> }

const headerSizes: HeaderSize[] = [
  { first: 1, last: 9, countBits: { [byte]: 8, [alphanumeric]: 9, [numeric]: 10 } },
  { first: 10, last: 11, countBits: { [byte]: 16, [alphanumeric]: 11, [numeric]: 12 } },
]
const modeIndicator: Record<Mode, number> = { [byte]: 4, [alphanumeric]: 2, [numeric]: 1 }

/** The number of digits that fit version 11: no text of that version is longer. */
const lengthMax = 604
const utf8 = new TextEncoder()
// Room for lengthMax UTF-16 units of three bytes each. The buffers are shared: each call ends before the next begins.
const bytes = new Uint8Array(3 * lengthMax)
/**
 * While costs are computed: for each byte and each mode that it may have, the mode of the preceding byte, in two bits
 * per mode. Afterwards: the mode chosen for the byte.
 */
const modes = new Uint8Array(lengthMax)

/** The value of a byte in alphanumeric mode (table 5), 0 to 9 for digits; 255 when it has none. */
const alphanumericValue = new Uint8Array(256).fill(255)
for (const [value, character] of [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:'].entries()) {
  alphanumericValue[character.charCodeAt(0)] = value
}

/** Costs are in sixths of a bit, so that 3⅓ and 5½ are integers: 20, 33 and 48. `never` is more than any sum. */
const never = 1 << 28

/** Stores each byte's mode in `modes` and returns the total of bits. */
function cheapestCut(length: number, { countBits }: HeaderSize): number {
  const byteHeader = 6 * (4 + countBits[byte])
  const alphanumericHeader = 6 * (4 + countBits[alphanumeric])
  const numericHeader = 6 * (4 + countBits[numeric])
  // For each mode, the lowest cost of encoding all bytes so far with the last one in that mode, and in
  // `alphanumericRest` and `numericRest` what rounds this cost up to whole bits. An incomplete group takes 4 bits for one
  // digit, 7 for two digits and 6 for one alphanumeric character.
  let inByte = byteHeader
  let inAlphanumeric = alphanumericHeader
  let inNumeric = numericHeader
  let alphanumericRest = 0
  let numericRest = 0
  for (let i = 0; i < length; i++) {
    const value = alphanumericValue[bytes[i] ?? 0] ?? 255
    let best = inByte
    let from: Mode = byte
    if (inAlphanumeric + alphanumericRest < best) {
      best = inAlphanumeric + alphanumericRest
      from = alphanumeric
    }
    if (inNumeric + numericRest < best) {
      best = inNumeric + numericRest
      from = numeric
    }
    const change = i > 0 ? best : never
    let before = byte | (alphanumeric << 2) | (numeric << 4)
    if (change + byteHeader < inByte) {
      inByte = change + byteHeader
      before = (before & ~3) | from
    }
    if (change + alphanumericHeader < inAlphanumeric) {
      inAlphanumeric = change + alphanumericHeader
      alphanumericRest = 0
      before = (before & ~12) | (from << 2)
    }
    if (change + numericHeader < inNumeric) {
      inNumeric = change + numericHeader
      numericRest = 0
      before = (before & ~48) | (from << 4)
    }
    inByte += 48
    inAlphanumeric = value < 45 ? inAlphanumeric + 33 : never
    alphanumericRest = 3 - alphanumericRest
    inNumeric = value < 10 ? inNumeric + 20 : never
    numericRest = numericRest > 0 ? numericRest - 2 : 4
    modes[i] = before
  }
  const total = Math.min(inByte, inAlphanumeric + alphanumericRest, inNumeric + numericRest)
  let mode: number = total === inByte ? byte : total === inAlphanumeric + alphanumericRest ? alphanumeric : numeric
  for (let i = length - 1; i >= 0; i--) {
    const before = modes[i] ?? 0
    modes[i] = mode
    mode = (before >> (2 * mode)) & 3
  }
  return total / 6
}

/** Writes headers and characters, the terminator and the padding of 7.4.10. Unwritten parts of `out` are zero. */
function writeSegments(length: number, { countBits }: HeaderSize, capacity: number, out: Uint8Array): void {
  let pending = 0
  let pendingBits = 0
  let at = 0
  const put = (value: number, bits: number) => {
    pending = (pending << bits) | value
    pendingBits += bits
    while (pendingBits >= 8) {
      pendingBits -= 8
      out[at++] = pending >>> pendingBits
    }
  }
  for (let start = 0; start < length; ) {
    const mode = modes[start]
    let end = start + 1
    while (end < length && modes[end] === mode) end++
    if (mode === numeric) {
      put(modeIndicator[numeric], 4)
      put(end - start, countBits[numeric])
      for (; start + 2 < end; start += 3) put(digit(start) * 100 + digit(start + 1) * 10 + digit(start + 2), 10)
      if (end - start === 2) put(digit(start) * 10 + digit(start + 1), 7)
      else if (end - start === 1) put(digit(start), 4)
    } else if (mode === alphanumeric) {
      put(modeIndicator[alphanumeric], 4)
      put(end - start, countBits[alphanumeric])
      for (; start + 1 < end; start += 2) put(digit(start) * 45 + digit(start + 1), 11)
      if (start < end) put(digit(start), 6)
    } else {
      put(modeIndicator[byte], 4)
      put(end - start, countBits[byte])
      // Faster than `put`: each byte of the text completes exactly one byte of `out`, so no inner loop is needed. Most
      // of a BR code is written here.
      for (; start < end; start++) {
        pending = (pending << 8) | (bytes[start] ?? 0)
        out[at++] = pending >>> pendingBits
      }
    }
    start = end
  }
  const room = capacity * 8 - (at * 8 + pendingBits)
  put(0, Math.min(4, room))
  if (pendingBits > 0) put(0, 8 - pendingBits)
  for (let pad = 0xec; at < capacity; pad ^= 0xec ^ 0x11) out[at++] = pad
}

function digit(at: number): number {
  return alphanumericValue[bytes[at] ?? 0] ?? 0
}
