const NAME = /^[\p{L}\p{M}\p{Nd} '’\-.,&/()ºª]+$/u
// The ordinal signs are letters to Unicode, but a name is not made of them alone.
const LETTER_OR_DIGIT = /(?![ºª])[\p{L}\p{Nd}]/u

/**
 * "International alphanumeric" of the service interface: letters and marks of any script, digits, the space and the
 * punctuation of names, with at least one letter or digit. The length is not looked at.
 */
export function isInternationalName(text: string): boolean {
  return NAME.test(text) && LETTER_OR_DIGIT.test(text)
}

const FORBIDDEN = /[\p{Cc}\p{Cs}]/u
// Most texts, told in a quarter of the time.
const PLAIN = /^[\x20-\x7e]*$/

/**
 * True for control characters and lone surrogates: PostgreSQL refuses NUL, UTF-8 cannot carry half a pair, and one such
 * row would fail the whole batch that it is written with.
 */
export function hasForbiddenCharacters(text: string): boolean {
  return !PLAIN.test(text) && FORBIDDEN.test(text)
}

/**
 * The form under which texts are compared without regard to case or accents: `"JOSÉ"` and `"jose"` are one. The way
 * through upper case unites what lower case keeps apart (`ß`, `ẞ` and `SS`; `ı` and `I`); a final sigma depends on its
 * neighbours and would hide a part of a word from a search.
 */
export function toSearchText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase()
  // Each of these letters is folded by itself, whatever its neighbours: a third of the time.
  if (LATIN.test(text)) return text.toLowerCase().replace(ACCENTED, (letter) => folded[letter.charCodeAt(0)] ?? letter)
  return fold(text)
}

function fold(text: string): string {
  const oneCase = text.normalize('NFKD').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')
  return oneCase.normalize('NFKD').replace(/\p{M}/gu, '')
}

// What Western Europe writes.
const LATIN = /^[\x20-\x7e\xa0-\xff]*$/
const ACCENTED = /[\xa0-\xff]/g
const folded = Array.from({ length: 0x100 }, (_, unit) => fold(String.fromCharCode(unit)))
