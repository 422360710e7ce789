import type { DiscrepancyClass } from './classes.ts'

/** The classes of discrepancies as people read them, and what each means. */
export const discrepancyClassLabels: Record<'en' | 'pt', Record<DiscrepancyClass, [name: string, meaning: string]>> = {
  en: {
    late: ['Late', 'posted on a later day than it was paid, or not posted yet; resolves automatically'],
    missing_in_ledger: ['Missing in the ledger', 'the PSP lists one of our payments that the ledger does not have'],
    missing_at_acquirer: ['Missing at the PSP', 'the ledger has a payment that the PSP does not list'],
    amount: ['Amount', 'both sides have the payment, with different amounts'],
    fee: ['Fee', 'the PSP kept a different fee than agreed'],
    duplicate: ['Duplicate payment', 'a charge was paid twice, and the second payment is not in suspense yet'],
    unattributed: ['Unattributed payment', 'it names none of our charges and is not in suspense yet'],
    cut_off: ['Around midnight', 'the two sides date it on different days, minutes apart'],
    return: ['Return', 'money was returned on one side only, or in a different amount'],
    unreadable: [
      'Unreadable',
      'an entry in the PSP’s list cannot be read, or one of our records cannot be queried: ask the PSP about it',
    ],
    payout: ['Payout', 'it is on one side only, or its amount or outcome differs'],
  },
  pt: {
    late: ['Atrasado', 'lançado em dia posterior ao do pagamento, ou ainda não lançado; resolve-se automaticamente'],
    missing_in_ledger: ['Falta no razão', 'o PSP lista um pagamento nosso que o razão não tem'],
    missing_at_acquirer: ['Falta no PSP', 'o razão tem um pagamento que o PSP não lista'],
    amount: ['Valor', 'os dois lados têm o pagamento, com valores diferentes'],
    fee: ['Tarifa', 'o PSP reteve uma tarifa diferente da combinada'],
    duplicate: [
      'Pagamento em duplicidade',
      'uma cobrança foi paga duas vezes, e o segundo pagamento ainda não está na conta transitória',
    ],
    unattributed: [
      'Pagamento não identificado',
      'não indica nenhuma cobrança nossa e ainda não está na conta transitória',
    ],
    cut_off: ['Virada do dia', 'os dois lados registram em dias diferentes, por questão de minutos'],
    return: ['Devolução', 'houve devolução só de um lado, ou em outro valor'],
    unreadable: [
      'Ilegível',
      'um item da lista do PSP não pôde ser lido, ou um registro nosso não pôde ser consultado: fale com o PSP',
    ],
    payout: ['Saque', 'está só de um lado, ou o valor ou o resultado é diferente'],
  },
}
