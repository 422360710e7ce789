import { randomUUID } from 'node:crypto'

/** The copy-and-paste code of a dynamic charge: fields of tag, length and value, and a CRC-16 at the end. */
export function createBrCode() {
  const location = `pix.example.com/qr/v2/${randomUUID().replaceAll('-', '')}`
  const account = field('00', 'br.gov.bcb.pix') + field('25', location)
  const text = [
    field('00', '01'),
    field('01', '12'),
    field('26', account),
    field('52', '0000'),
    field('53', '986'),
    field('58', 'BR'),
    field('59', 'LOJA EXEMPLO'),
    field('60', 'SAO PAULO'),
    field('62', field('05', '***')),
    '6304',
  ].join('')
  return text + crc16(text)
}

function field(tag, value) {
  return tag + String(value.length).padStart(2, '0') + value
}

function crc16(text) {
  let crc = 0xffff
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
    crc &= 0xffff
  }
  return crc.toString(16).toUpperCase().padStart(4, '0')
}
