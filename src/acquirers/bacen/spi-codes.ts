/** The rejection codes of the settlement system (SPI) and its banks, each as a sentence for a merchant. */
export const rejections = {
  AB03: 'The settlement system stopped the payment because it took too long.',
  AB09: 'The receiver’s bank had an error and stopped the payment.',
  AC03: 'The receiver’s account does not exist, or its number is wrong.',
  AC06: 'The receiver’s account is blocked.',
  AC07: 'The receiver’s account is closed.',
  AC14: 'The receiver’s account is not of the named type.',
  AG03: 'The receiver’s account does not accept payments of this kind.',
  AM02: 'The amount is over the limit of the receiver’s account.',
  AM04: 'The balance of the paying account or bank does not cover the amount.',
  AM09: 'The returns together would be more than the original payment.',
  BE01: 'The CPF or CNPJ is not that of the account’s holder.',
  BE17: 'The receiver’s bank refused the QR code.',
  CH11: 'The CPF or CNPJ of the receiver is not valid.',
  DS04: 'The receiver’s bank refused the payment.',
  DS27: 'The receiver’s bank does not take part in Pix, or not yet.',
  DT05: 'A payment can only be returned within 90 days.',
  DUPL: 'The identifier of the payment was used before.',
  ED05: 'The settlement system could not process the payment.',
  FF08: 'The end-to-end identifier of the payment is not valid.',
  FRAD: 'The payment was refused on suspicion of fraud.',
  RC09: 'The identification (ISPB) of the paying bank is not valid.',
  RC10: 'The identification (ISPB) of the receiver’s bank is not valid.',
  RR04: 'The payment is barred by a regulation or a sanction.',
  AG13: 'A return cannot be returned.',
} as const

export const rejectedWithoutReason = 'The acquirer rejected it without a reason.'

export type RejectionCode = keyof typeof rejections

const codeShape = /\b(?:[A-Z]{2}\d{2}|DUPL|FRAD)\b/g
const reasonLengthMax = 300

/**
 * The reason of a rejection for people: the sentence for the code with the code itself; else the PSP's own text; else
 * {@link rejectedWithoutReason}. The code may be alone or within the PSP's text.
 */
export function explainRejection({ code, description }: { code: string | null; description: string | null }): string {
  const known = isKnown(code) ? code : findCode(description)
  if (known) return writeRejection(known)
  const words = [code, description].filter((part) => part !== null).join(': ')
  const printable = words.replace(/[\p{Cc}\p{Cs}]+/gu, ' ').trim()
  return printable === '' ? rejectedWithoutReason : Array.from(printable).slice(0, reasonLengthMax).join('')
}

export function writeRejection(code: RejectionCode): string {
  return `${rejections[code]} (${code})`
}

/** The first known code in a PSP's text, which may contain the PSP's own codes, too. */
function findCode(text: string | null): RejectionCode | undefined {
  return text?.match(codeShape)?.find(isKnown)
}

function isKnown(code: string | null | undefined): code is RejectionCode {
  return typeof code === 'string' && Object.hasOwn(rejections, code)
}

/**
 * Time-outs and errors of the settlement system or the other bank, by the SPI's own catalogue; all other codes are
 * final.
 */
const temporaryCodes: ReadonlySet<string> = new Set(['AB03', 'AB09', 'ED05'])

/** Whether a request that was rejected with this text may succeed a little later. */
export function isTemporaryRejection(description: string | null): boolean {
  return temporaryCodes.has(findCode(description) ?? '')
}
