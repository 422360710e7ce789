/** The kinds of record about which an acquirer's list and the ledger can differ. */
export const correctedSubjects = ['payment', 'return', 'payout'] as const
export type CorrectedSubject = (typeof correctedSubjects)[number]

/** The description of a correction, in the statement, its exports and its files for accounting programs. */
export const correctionTexts: Record<'en' | 'pt', Record<CorrectedSubject, (reference: string) => string>> = {
  en: { payment: inEnglish('payment'), return: inEnglish('return'), payout: inEnglish('payout') },
  pt: {
    payment: inPortuguese('o pagamento'),
    return: inPortuguese('a devolução'),
    payout: inPortuguese('o saque'),
  },
}

function inEnglish(subject: string) {
  return (reference: string) =>
    `The operator corrected the balance: the acquirer's list and the ledger differed about the ${subject} ${reference}.`
}

function inPortuguese(subject: string) {
  return (reference: string) =>
    `O operador corrigiu o saldo: a lista do PSP e o razão divergiam sobre ${subject} ${reference}.`
}
