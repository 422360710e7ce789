import fc from 'fast-check'
import jsqr from 'jsqr'
import { PNG } from 'pngjs'
import { expect, it } from 'vitest'
import { encodeDynamicBrCode } from './brcode.ts'
import { qrCodeDataUrl } from './qrcode.ts'

// The small ones are tested in qr-png/.
it('a QR code is read back as exactly its text, also where it is long', { timeout: 300_000 }, () => {
  const alphabets = ['0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:', 'abcdefghijklmnopqrstuvwxyz_&@#']
  for (let length = 230; length <= 600; length += 37) {
    const alphabet = alphabets[length % alphabets.length] ?? ''
    const text = Array.from({ length }, (_, i) => alphabet.charAt((i * i * 31 + i * 7 + length) % alphabet.length))
    expect(read(qrCodeDataUrl(text.join(''))), `${length} characters`).toBe(text.join(''))
  }
})

it('a QR code is read back as exactly its BR code', { timeout: 300_000 }, () => {
  const path = fc.tuple(fc.stringMatching(/^[a-z]{3,30}$/), fc.uuid())
  fc.assert(
    fc.property(path, fc.stringMatching(/^[A-Z][a-zA-Z ]{1,24}$/), ([host, uuid], merchantName) => {
      const code = encodeDynamicBrCode({ location: `${host}.com/qr/${uuid}`, merchantName, merchantCity: 'Recife' })
      expect(read(qrCodeDataUrl(code))).toBe(code)
    }),
    { numRuns: 25 },
  )
})

it('the data URL of a BR code is short', () => {
  const location = 'pix.example.com/api/qr/v2/93598be0-1bd0-4997-8318-81776a1d8a99'
  const code = encodeDynamicBrCode({ location, merchantName: 'Loja do Zé', merchantCity: 'São Paulo' })
  expect(qrCodeDataUrl(code).length).toBeLessThan(1240)
})

it('accepts the longest text that fits, and no longer one', { timeout: 300_000 }, () => {
  expect(toImage(qrCodeDataUrl('x'.repeat(2331))).width).toBe((177 + 8) * 8)
  expect(() => qrCodeDataUrl('x'.repeat(2332))).toThrow()
})

function toImage(url: string) {
  return PNG.sync.read(Buffer.from(url.replace('data:image/png;base64,', ''), 'base64'), { checkCRC: true })
}

function read(url: string): string | undefined {
  const { data, width, height } = toImage(url)
  return jsqr.default(new Uint8ClampedArray(data), width, height, { inversionAttempts: 'dontInvert' })?.data
}
