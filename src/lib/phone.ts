import { createRequire } from 'node:module'
import type * as library from 'libphonenumber-js/max'

const require = createRequire(import.meta.url)

// What people write in a phone number. The library would also read letters, extensions and digits of other scripts.
const CUSTOMARY = /^\+?[\d ().-]+$/
// What nearly all customers' numbers look like, in the area codes that there are. The library takes 8 µs to say the same.
const BRAZILIAN_MOBILE =
  /^(?:\+?55 ?)?(?:\((?:[14689][1-9]|2[12478]|3[1-578]|5[1345]|7[134579])\)|(?:[14689][1-9]|2[12478]|3[1-578]|5[1345]|7[134579])) ?9\d{4}-?\d{4}$/
// Longer than any spelling of fifteen digits: the library's work is bounded.
const LENGTH_MAX = 40

/** True for what nearly all mobile numbers of Brazil look like, in an area code that exists. */
export function isBrazilianMobile(text: string): boolean {
  return BRAZILIAN_MOBILE.test(text)
}

/** True for a mobile phone's number, Brazilian (`(11) 98765-4321`) or `+` and any country's. */
export function isMobilePhone(text: string): boolean {
  if (BRAZILIAN_MOBILE.test(text)) return true
  const type = phoneType(text)
  return type === 'MOBILE' || type === 'FIXED_LINE_OR_MOBILE'
}

/** True for a landline's number, Brazilian (`(11) 3333-4444`) or `+` and any country's. */
export function isLandlinePhone(text: string): boolean {
  const type = phoneType(text)
  return type === 'FIXED_LINE' || type === 'FIXED_LINE_OR_MOBILE'
}

/**
 * The digits under which two spellings of one phone compare equal: the country code 55 and the trunk prefix 0 are
 * dropped when a Brazilian number of ten or eleven digits remains. 55 is an area code too (Santa Maria), so
 * `(55) 99999-9999` keeps it.
 */
export function phoneDigits(text: string): string {
  const digits = text.replace(/[^0-9]/g, '')
  return digits.replace(/^(?:55|0)(?=[1-9]\d{9,10}$)/, '')
}

function phoneType(text: string) {
  if (text.length > LENGTH_MAX || !CUSTOMARY.test(text)) return undefined
  // The full metadata ("max") is needed: the small one cannot tell a mobile from a landline. It is 2 MB of memory, and is loaded with the
  // first number that is not as nearly all are.
  const { parsePhoneNumberFromString }: typeof library = require('libphonenumber-js/max')
  return parsePhoneNumberFromString(text, { defaultCountry: 'BR', extract: false })?.getType()
}
