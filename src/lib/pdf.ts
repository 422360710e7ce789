import type PDFDocument from 'pdfkit'
import type { Language } from './alert-settings.ts'

type PdfDocument = InstanceType<typeof PDFDocument>

const margin = 50
const ink = '#16211e'
const dim = '#5b6b67'
const line = '#d8e0dd'

/**
 * A PDF of A4 pages, written with `draw`. The file stays small, because it uses the fonts that every PDF viewer has.
 * They have the letters of Western Europe; any other becomes `?`.
 */
export async function makePdf(
  {
    title,
    author,
    language,
    now,
    footer,
  }: { title: string; author: string; language: Language; now: Date; footer: string },
  draw: (page: PdfPage) => void,
): Promise<Buffer> {
  // Loaded when it is needed: most processes write no PDF.
  const { default: Document } = await import('pdfkit')
  const doc = new Document({
    size: 'A4',
    margin,
    bufferPages: true,
    lang: language === 'pt' ? 'pt-BR' : 'en',
    info: { Title: title, Author: author, CreationDate: now, ModDate: now },
  })
  const chunks: Buffer[] = []
  const ended = new Promise<void>((resolve) => doc.on('end', resolve))
  doc.on('data', (chunk: Buffer) => chunks.push(chunk))
  draw(toPage(doc))
  writeFooters(doc, footer)
  doc.end()
  await ended
  return Buffer.concat(chunks)
}

/** What a document is made of, from top to bottom. A page ends where the next piece would not fit. */
type PdfPage = ReturnType<typeof toPage>

export type PdfColumn = { name: string; width: number; isAmount?: boolean }

function toPage(doc: PdfDocument) {
  const width = doc.page.width - 2 * margin
  const text = (words: string, size: number, options: { bold?: boolean; color?: string } = {}) =>
    doc
      .font(options.bold ? 'Helvetica-Bold' : 'Helvetica')
      .fontSize(size)
      .fillColor(options.color ?? ink)
      .text(toShown(words), margin, doc.y, { width })
  const space = (height: number) => {
    doc.y += height
  }
  const ensure = (height: number) => {
    if (doc.y + height > doc.page.height - margin - 20) doc.addPage()
  }
  function row(cells: string[], columns: PdfColumn[], { bold = false, color = ink } = {}): void {
    doc.font(bold ? 'Helvetica-Bold' : 'Helvetica').fontSize(9)
    const shown = cells.map(toShown)
    const widthOf = (index: number) => (columns[index]?.width ?? 0) * width - 8
    const height = Math.max(...shown.map((cell, index) => doc.heightOfString(cell, { width: widthOf(index) }))) + 8
    ensure(height)
    const top = doc.y
    let left = margin
    shown.forEach((cell, index) => {
      const align = columns[index]?.isAmount ? 'right' : 'left'
      doc.fillColor(color).text(cell, left + 4, top + 4, { width: widthOf(index), align })
      left += (columns[index]?.width ?? 0) * width
    })
    doc
      .moveTo(margin, top + height)
      .lineTo(margin + width, top + height)
      .lineWidth(0.5)
      .strokeColor(line)
      .stroke()
    doc.x = margin
    doc.y = top + height
  }
  return {
    title: (words: string) => text(words, 18, { bold: true }),
    heading: (words: string) => {
      ensure(60)
      space(14)
      text(words, 12, { bold: true })
      space(4)
    },
    paragraph: (words: string) => text(words, 9.5, { color: dim }),
    /** Text that a person copies: a hash, an address. */
    code: (words: string) =>
      doc.font('Courier').fontSize(8).fillColor(ink).text(toShown(words), margin, doc.y, { width }),
    space,
    /** `columns` have widths that add up to 1. With `hasTotal` the last row is bold. */
    table(columns: PdfColumn[], rows: string[][], { hasTotal = false } = {}): void {
      row(
        columns.map(({ name }) => name),
        columns,
        { color: dim },
      )
      for (const [index, cells] of rows.entries()) row(cells, columns, { bold: hasTotal && index === rows.length - 1 })
    },
    facts(pairs: [name: string, value: string][]): void {
      const columns = [
        { name: '', width: 0.35 },
        { name: '', width: 0.65 },
      ]
      for (const pair of pairs) row(pair, columns)
    },
    link: (address: string) =>
      doc
        .font('Helvetica')
        .fontSize(9)
        .fillColor('#0b7285')
        .text(toShown(address), margin, doc.y, { width, link: address }),
    image: (png: Buffer, width: number, height = width) => {
      ensure(height)
      doc.image(png, margin, doc.y, { fit: [width, height] })
      doc.y += height
    },
  }
}

function writeFooters(doc: PdfDocument, footer: string): void {
  const { start, count } = doc.bufferedPageRange()
  for (let index = start; index < start + count; index++) {
    doc.switchToPage(index)
    const { width, height } = doc.page
    // Below the margin, where text would begin another page.
    doc.page.margins.bottom = 0
    doc.font('Helvetica').fontSize(8).fillColor(dim)
    doc.text(toShown(footer), margin, height - margin + 8, { width: width - 2 * margin - 60, lineBreak: false })
    const number = `${index - start + 1} / ${count}`
    doc.text(number, width - margin - 60, height - margin + 8, { width: 60, align: 'right', lineBreak: false })
  }
}

/** The characters of the fonts: those of Windows-1252 that people write. Other spaces become plain ones. */
function toShown(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[^\S\n\xa0]/gu, ' ')
    .replace(/\u2212/g, '-')
    .replace(/[^\n\x20-\x7e\xa0-\xff–—‘’“”•…€]/gu, '?')
}
