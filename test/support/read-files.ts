import { inflateRawSync, inflateSync } from 'node:zlib'

/** The text of a PDF made by pdfkit with the standard fonts, where each line is one `[<hex> …] TJ` operator. */
export function readPdf(file: Buffer): string {
  const raw = file.toString('latin1')
  if (!raw.startsWith('%PDF-1.') || !raw.trimEnd().endsWith('%%EOF')) throw new Error('Not a PDF')
  const streams = Array.from(raw.matchAll(/FlateDecode\s*>>\s*stream\n([\s\S]*?)\nendstream/g), ([, data = '']) =>
    inflateSync(Buffer.from(data, 'latin1')).toString('latin1'),
  )
  const lines = streams.flatMap((stream) =>
    Array.from(stream.matchAll(/\[([^\]]*)\] TJ/g), ([, parts = '']) =>
      Array.from(parts.matchAll(/<([0-9a-f]*)>/g), ([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1')).join(
        '',
      ),
    ),
  )
  return lines.join('\n').replaceAll('\xa0', ' ')
}

/** The files of a ZIP archive by name, as its central directory lists them. Expects deflate, without ZIP64. */
export function readZip(file: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  const end = file.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  let at = file.readUInt32LE(end + 16)
  for (let count = file.readUInt16LE(end + 10); count > 0; count--) {
    const [size, nameLength, extraLength] = [
      file.readUInt32LE(at + 20),
      file.readUInt16LE(at + 28),
      file.readUInt16LE(at + 30),
    ]
    const start = file.readUInt32LE(at + 42)
    const data = start + 30 + file.readUInt16LE(start + 26) + file.readUInt16LE(start + 28)
    const name = file.toString('utf8', at + 46, at + 46 + nameLength)
    files.set(name, inflateRawSync(file.subarray(data, data + size)))
    at += 46 + nameLength + extraLength + file.readUInt16LE(at + 32)
  }
  return files
}
