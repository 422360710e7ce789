import { inflateSync } from 'node:zlib'

/** The text of a PDF that pdfkit has made with the fonts of every reader: each line of it is a list of hex strings. */
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
  return lines.join('\n')
}
