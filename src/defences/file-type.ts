import { isUtf8 } from 'node:buffer'
import type { FileType } from './schema.ts'

const png = Buffer.from('89504e470d0a1a0a', 'hex')
const jpeg = Buffer.from('ffd8ff', 'hex')
/** Tab, line feed, form feed and carriage return. */
const spaces = new Set([0x09, 0x0a, 0x0c, 0x0d])
/** Markup whose scripts a browser would run: any tag at the beginning of the text, and these anywhere in it. */
const markup = /^[\ufeff\s]*<|<(?:!doctype|\?xml|html|head|body|script|svg|iframe|object|embed|meta)\b/i

/**
 * The type of a file by its content: its name and what the sender says count for nothing. Null for any other file.
 */
export function detectFileType(content: Buffer): FileType | null {
  if (content.subarray(0, 5).toString('latin1') === '%PDF-') return 'application/pdf'
  if (content.subarray(0, 8).equals(png)) return 'image/png'
  if (content.subarray(0, 3).equals(jpeg)) return 'image/jpeg'
  const isRiff = content.subarray(0, 4).toString('latin1') === 'RIFF'
  if (isRiff && content.subarray(8, 12).toString('latin1') === 'WEBP') return 'image/webp'
  return isPlainText(content) ? 'text/plain' : null
}

function isPlainText(content: Buffer): boolean {
  if (content.length === 0 || !isUtf8(content)) return false
  const text = content.toString('utf8')
  // Programs and archives contain other control characters.
  const hasControl = content.some((byte) => byte < 0x20 && !spaces.has(byte))
  return !hasControl && !markup.test(text)
}

const extensions: Record<FileType, string> = {
  'application/pdf': 'pdf',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'text/plain': 'txt',
}

/** Enough to recognize a file by. With the extension, the name is still shorter than the database allows. */
const nameMax = 80

/** A name that is safe in a header, in a ZIP and on every system, with the extension of the real type. */
export function toFileName(sent: string, type: FileType): string {
  const last = sent.normalize('NFC').split(/[/\\]/).at(-1) ?? ''
  const stem = last
    .replace(/\.[^.]{0,8}$/, '')
    // Control characters, marks that turn the direction of the text, and what file systems refuse.
    .replace(/[\p{C}\p{Zl}\p{Zp}<>:"|?*%;]+/gu, '_')
    .replace(/\s+/g, ' ')
    .replace(/^[. ]+|[. ]+$/g, '')
  const kept = [...stem].slice(0, nameMax).join('')
  return `${kept === '' || reserved.test(kept) ? 'file' : kept}.${extensions[type]}`
}

/** Names of devices, which Windows opens as such whatever follows their first dot. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i
