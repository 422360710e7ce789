import { crc32, deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { PNG } from 'pngjs'
import { describe, expect, it } from 'vitest'
import { contrast, toShades } from './colors.ts'
import { cleanPng } from './png.ts'

describe('the shades of a color', () => {
  it('can be read in both themes, whatever the color', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffff }), (number) => {
        const { light, dark } = toShades(`#${number.toString(16).padStart(6, '0')}`)
        expect(contrast(light.color, '#ffffff')).toBeGreaterThanOrEqual(4.5)
        expect(contrast(dark.color, '#1a2220')).toBeGreaterThanOrEqual(4.5)
        for (const { color, on } of [light, dark]) expect(contrast(color, on)).toBeGreaterThanOrEqual(4.5)
      }),
    )
  })

  it('are the color itself where it can be read', () => {
    expect(toShades('#0055aa').light).toEqual({ color: '#0055aa', on: '#ffffff' })
    expect(toShades('#ffcc00').dark).toEqual({ color: '#ffcc00', on: '#04211c' })
  })

  it('are compared as WCAG defines it', () => {
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
    expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  })
})

describe('a logo', () => {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const make = (width = 4, height = 2) => PNG.sync.write(new PNG({ width, height }))
  /** A file one pixel wide and two high. */
  const pngOf = (
    { type, depth = 8, interlace = 0 }: { type: number; depth?: number; interlace?: number },
    pixels: Buffer,
    ...before: Buffer[]
  ) => {
    const header = chunk('IHDR', Buffer.from([0, 0, 0, 1, 0, 0, 0, 2, depth, type, 0, 0, interlace]))
    const parts = [header, ...before, chunk('IDAT', deflateSync(pixels)), chunk('IEND', Buffer.alloc(0))]
    return Buffer.concat([make().subarray(0, 8), ...parts])
  }
  const alpha = chunk('tRNS', Buffer.alloc(1))
  const transparency = Buffer.concat([chunk('PLTE', Buffer.alloc(3)), alpha])
  /** Before the end of a file, where further chunks may be. */
  const insert = (file: Buffer, more: Buffer) => Buffer.concat([file.subarray(0, -12), more, file.subarray(-12)])

  it('is kept as it is drawn, without its metadata', () => {
    const png = make()
    const cleaned = cleanPng(insert(png, chunk('tEXt', Buffer.from('Author\0Maria'))))
    expect(cleaned?.includes('Maria')).toBe(false)
    expect(cleaned && PNG.sync.read(cleaned).data).toEqual(PNG.sync.read(png).data)
  })

  it.each([
    ['its last filter', pngOf({ type: 6 }, Buffer.from([0, 0, 0, 0, 0, 4, 0, 0, 0, 0]))],
    ['transparency of 8 bits', pngOf({ type: 3 }, Buffer.alloc(4), transparency)],
    ['4 bits without transparency', pngOf({ type: 3, depth: 4 }, Buffer.alloc(4), transparency.subarray(0, 15))],
  ])('is kept with %s', (_, file) => {
    expect(cleanPng(file)).toEqual(file)
  })

  it.each([
    ['another format', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['one with another signature', Buffer.from(make().map((byte, index) => (index === 0 ? 0x8a : byte)))],
    ['nothing', Buffer.alloc(0)],
    ['half of one', make().subarray(0, 40)],
    ['one with something behind it', Buffer.concat([make(), Buffer.from('<script>')])],
    // Byte 29 is the first of the header's checksum.
    ['one with a wrong checksum', Buffer.from(make().map((byte, index) => (index === 29 ? byte ^ 1 : byte)))],
    ['one without its end', make().subarray(0, -12)],
    ['one too wide', make(801, 1)],
    ['one too high', make(1, 801)],
    ['one with 16 bits', pngOf({ type: 0, depth: 16 }, Buffer.alloc(6))],
    ['one that is interlaced', pngOf({ type: 6, interlace: 1 }, Buffer.alloc(10))],
    ['one with two headers', insert(make(), make().subarray(8, 33))],
    ['one with a filter that does not exist', pngOf({ type: 6 }, Buffer.from([0, 0, 0, 0, 0, 5, 0, 0, 0, 0]))],
    ['one with transparency of fewer than 8 bits', pngOf({ type: 3, depth: 4 }, Buffer.alloc(4), transparency)],
    ['one with two palettes', pngOf({ type: 3 }, Buffer.alloc(4), transparency, chunk('PLTE', Buffer.alloc(3)))],
    ['one with two transparencies', pngOf({ type: 3 }, Buffer.alloc(4), transparency, alpha)],
    ['one with more than a palette', pngOf({ type: 2 }, Buffer.alloc(8), chunk('PLTE', Buffer.alloc(769)))],
    ['one with something in its end', Buffer.concat([make().subarray(0, -12), chunk('IEND', Buffer.from('<script>'))])],
    ['one whose palette is missing', pngOf({ type: 3 }, Buffer.alloc(4))],
    ['one with fewer pixels than it says', pngOf({ type: 6 }, Buffer.alloc(5))],
    ['one with more pixels than it says', insert(make(), chunk('IDAT', deflateSync(Buffer.alloc(1000))))],
    [
      'one that would need much memory',
      Buffer.concat([make().subarray(0, 33), chunk('IDAT', deflateSync(Buffer.alloc(5e6))), make().subarray(-12)]),
    ],
  ])('is refused if it is %s', (_, file) => {
    expect(cleanPng(file)).toBeNull()
  })
})
