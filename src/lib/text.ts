const NAME = /^[\p{L}\p{M}\p{Nd} '’\-.,&/()ºª]+$/u
// Unicode counts the ordinal signs as letters, but a name cannot consist of them alone.
const LETTER_OR_DIGIT = /(?![ºª])[\p{L}\p{Nd}]/u

/**
 * "International alphanumeric" of the API: letters and marks of any script, digits, the space and the
 * punctuation of names, with at least one letter or digit. Does not check the length.
 */
export function isInternationalName(text: string): boolean {
  return NAME.test(text) && LETTER_OR_DIGIT.test(text)
}

const FORBIDDEN = /[\p{Cc}\p{Cs}]/u
// Most texts match this, and the test takes a quarter of the time of FORBIDDEN.
const PLAIN = /^[\x20-\x7e]*$/

/**
 * True for control characters and lone surrogates: PostgreSQL refuses NUL, UTF-8 cannot carry half a pair, and one such
 * row would fail the whole batch that it is written with.
 */
export function hasForbiddenCharacters(text: string): boolean {
  return !PLAIN.test(text) && FORBIDDEN.test(text)
}

/**
 * The form in which texts are compared without case or accents: `"JOSÉ"` and `"jose"` are equal. Converting to upper
 * case and back makes letters equal that have different lower-case forms: `ß`, `ẞ` and `SS`; `ı` and `I`. A final sigma
 * depends on its neighbours, so it is replaced: otherwise a search for a part of a word would miss it.
 */
export function toSearchText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase()
  // These letters can be folded one at a time, whatever their neighbours, which takes a third of the time.
  if (LATIN.test(text)) return text.toLowerCase().replace(NON_ASCII, (letter) => folded[letter.charCodeAt(0)] ?? letter)
  return fold(text)
}

function fold(text: string): string {
  const oneCase = text.normalize('NFKD').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')
  return oneCase.normalize('NFKD').replace(/\p{M}/gu, '')
}

// ASCII and Latin-1, without control characters.
const LATIN = /^[\x20-\x7e\xa0-\xff]*$/
const NON_ASCII = /[\xa0-\xff]/g
const folded = Array.from({ length: 0x100 }, (_, unit) => fold(String.fromCharCode(unit)))
