import { inflateSync } from 'node:zlib'
import fc from 'fast-check'
import jsqr from 'jsqr'
import { PNG } from 'pngjs'
import encodeQR from 'qr'
import { describe, expect, it } from 'vitest'
import { qrMatrix, toPng, toPngDataUrl } from './index.ts'

const seconds = 1000
const ofDigits = '0123456789'
const ofAlphanumerics = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:'
const ofBytes = 'abcdefghijklmnopqrstuvwxyz_&@#'
// Runs of different kinds of characters, so that the mode changes within a text.
const run = fc
  .tuple(fc.constantFrom(ofDigits, ofAlphanumerics, ofBytes, 'ãé€漢😀'), fc.integer({ min: 1, max: 40 }))
  .chain(([units, length]) => fc.string({ unit: fc.constantFrom(...units), minLength: length, maxLength: length }))
const mixed = fc.array(run, { minLength: 1, maxLength: 9 }).map((runs) => runs.join(''))

describe('toPng', () => {
  it('is read back as exactly the text, for texts of many lengths', { timeout: 300 * seconds }, () => {
    const alphabets = [ofDigits, ofAlphanumerics, ofBytes, ofDigits + ofBytes]
    for (let length = 1; length <= 251; length += length < 60 ? 2 : 7) {
      const alphabet = alphabets[length % alphabets.length] ?? ofBytes
      const text = Array.from({ length }, (_, i) =>
        alphabet.charAt((i * i * 31 + i * 7 + length) % alphabet.length),
      ).join('')
      expect(read(pngOf(text)), `${length} characters`).toBe(text)
    }
  })

  it('is read back as exactly the text, whatever the modes', { timeout: 300 * seconds }, () => {
    fc.assert(
      fc.property(mixed, (text) => {
        fc.pre(qrMatrix(text) !== null)
        expect(read(pngOf(text))).toBe(text)
      }),
      { numRuns: 60 },
    )
  })

  it('has 8 pixels a module, a light margin of 4 modules and 1 bit a pixel', () => {
    const png = pngOf('x')
    const { width, height, data } = PNG.sync.read(png)
    expect([width, height]).toEqual([(21 + 8) * 8, (21 + 8) * 8])
    expect(png[24]).toBe(1) // bit depth, in IHDR
    const isLight = (x: number, y: number) => data[(y * width + x) * 4] === 255
    for (let i = 0; i < width; i++) {
      for (const edge of [0, 31, width - 32, width - 1]) expect(isLight(i, edge) && isLight(edge, i)).toBe(true)
    }
    expect([isLight(32, 32), isLight(39, 39), isLight(40, 40)]).toEqual([false, false, true])
  })

  it('has a valid zlib stream with the pixels that another decoder reads, in each of the versions 1 to 11', () => {
    for (const text of textsOfAllVersions()) {
      const { width, data } = PNG.sync.read(pngOf(text))
      expect(bitsOfImage(pngOf(text))).toEqual(bitsOfPixels(data, width))
    }
  })

  it('returns a separate file for each call', () => {
    const first = pngOf('first')
    pngOf('second')
    expect(read(first)).toBe('first')
  })
})

it('toPngDataUrl is the PNG', () => {
  const matrix = qrMatrix('a text') ?? expect.unreachable()
  expect(toPngDataUrl(matrix)).toBe(`data:image/png;base64,${pngOf('a text').toString('base64')}`)
})

// The `qr` package encodes the whole text in one mode. If that is also the shortest encoding, every module must be
// equal. So the mask, the error correction and its interleaving, and the format and version information are tested too.
describe('qrMatrix, against another encoder', () => {
  it.each([
    ['digits', ofDigits, 604],
    ['capitals', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:', 366],
    ['bytes', ofBytes, 251],
    ['two-byte characters', 'ãéçõü', 125],
  ])('has the same modules for %s', (_, units, longest) => {
    const text = fc.string({ unit: fc.constantFrom(...units), minLength: 1, maxLength: longest, size: 'max' })
    fc.assert(
      fc.property(text, (text) => {
        expect(rowsOf(text)).toEqual(reference(text))
      }),
      { numRuns: 150 },
    )
  })

  it('has the same modules in each of the versions 1 to 11', () => {
    const sizes = textsOfAllVersions().map((text) => {
      expect(rowsOf(text)).toEqual(reference(text))
      return qrMatrix(text)?.size
    })
    expect(sizes).toEqual([21, 25, 29, 33, 37, 41, 45, 49, 53, 57, 61])
  })

  it('chooses each of the eight masks for some text, as the other encoder does', () => {
    const masks = new Set<string>()
    for (let i = 0; i < 400; i++) {
      const text = Array.from({ length: 5 + (i % 120) }, (_, at) => ofBytes.charAt((i * i + at * at * 7) % 30)).join('')
      const rows = rowsOf(text)
      expect(rows).toEqual(reference(text))
      masks.add(rows?.[8]?.slice(2, 5) ?? '')
    }
    expect(masks.size).toBe(8)
  })

  it('is never larger, and smaller for mixed texts', () => {
    fc.assert(
      fc.property(mixed, (text) => {
        const rows = rowsOf(text)
        if (rows) expect(rows.length).toBeLessThanOrEqual(reference(text).length)
      }),
    )
    const code = `00020101021226850014br.gov.bcb.pix2563${'0123456789'.repeat(12)}520400005303986`
    expect(rowsOf(code)?.length).toBeLessThan(reference(code).length)
  })

  it('returns null above version 11', () => {
    expect(qrMatrix('x'.repeat(251))?.size).toBe(61)
    expect(qrMatrix('x'.repeat(252))).toBeNull()
    expect(qrMatrix('1'.repeat(5000))).toBeNull()
  })
})

function pngOf(text: string): Buffer {
  return toPng(qrMatrix(text) ?? expect.unreachable())
}

function read(png: Buffer): string | undefined {
  const { data, width, height } = PNG.sync.read(png, { checkCRC: true })
  return jsqr.default(new Uint8ClampedArray(data), width, height, { inversionAttempts: 'dontInvert' })?.data
}

/** One string for each row: a comparison is fast, which matters when fast-check shrinks a failure. */
function rowsOf(text: string): string[] | null {
  const matrix = qrMatrix(text)
  if (!matrix) return null
  const { size, words } = matrix
  const all = Array.from({ length: size }, (_, i) => i)
  return all.map((y) => all.map((x) => ((words[(x >> 5) * size + y] ?? 0) >>> (x & 31)) & 1).join(''))
}

function reference(text: string): string[] {
  // The package always adds a border of at least one module.
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: 1 })
  return rows.slice(1, -1).map((row) => row.slice(1, -1).map(Number).join(''))
}

/** A text for each of the versions 1 to 11, with as many bytes as fit at level M. */
function textsOfAllVersions(): string[] {
  return [14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251].map((length) => ofBytes.repeat(9).slice(0, length))
}

/** The lines without their filter bytes, through zlib, which also checks the Adler-32. */
function bitsOfImage(png: Buffer): string[] {
  const lines = inflateSync(png.subarray(41, 41 + png.readUInt32BE(33)))
  const width = png.readUInt32BE(16)
  return Array.from({ length: width }, (_, y) =>
    lines
      .subarray(y * (width / 8 + 1))
      .subarray(1, 1 + width / 8)
      .toString('hex'),
  )
}

function bitsOfPixels(data: Buffer, width: number): string[] {
  return Array.from({ length: width }, (_, y) => {
    const line = Buffer.alloc(width / 8)
    for (let x = 0; x < width; x++) {
      if (data[(y * width + x) * 4] === 255) line[x >> 3] = (line[x >> 3] ?? 0) | (0x80 >> (x & 7))
    }
    return line.toString('hex')
  })
}
