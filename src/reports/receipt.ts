import type { Language } from '../lib/alert-settings.ts'
import { makePdf } from '../lib/pdf.ts'
import type { AccountHolder } from '../pix/holder.ts'
import { pdfFormats } from './fees-pdf.ts'
import type { ReceiptRow } from './receipt-store.ts'

const words = {
  en: {
    title: 'Pix payment receipt',
    amount: 'Amount',
    paidAt: 'Paid on',
    brasilia: 'Brasília time',
    to: 'To',
    receiver: 'Account holder',
    payer: 'From',
    payerDocument: 'Payer’s CPF or CNPJ',
    payerBank: 'Payer’s bank (ISPB)',
    order: 'Order',
    endToEnd: 'End-to-end id',
    returned: 'Returned to the payer',
    note: 'The payer’s bank can find the payment by its end-to-end id. This receipt does not replace a tax invoice.',
    madeAt: (at: string) => `Issued on ${at}, Brasília time`,
    simulated: 'TEST: no real money was moved.',
  },
  pt: {
    title: 'Comprovante de pagamento Pix',
    amount: 'Valor',
    paidAt: 'Pago em',
    brasilia: 'horário de Brasília',
    to: 'Para',
    receiver: 'Titular da conta',
    payer: 'De',
    payerDocument: 'CPF ou CNPJ de quem pagou',
    payerBank: 'Banco de quem pagou (ISPB)',
    order: 'Pedido',
    endToEnd: 'ID da transação Pix (end-to-end)',
    returned: 'Devolvido a quem pagou',
    note: 'O banco de quem pagou encontra o pagamento pelo ID da transação Pix. Este comprovante não substitui a nota fiscal.',
    madeAt: (at: string) => `Emitido em ${at}, horário de Brasília`,
    simulated: 'TESTE: nenhum dinheiro de verdade foi movimentado.',
  },
}

/**
 * A tax number as banks print it on a receipt: of a CPF only the six digits in the middle, a CNPJ in full, because it
 * is public. What the acquirer has masked already stays as it is, and anything else is not shown.
 */
export function maskDocument(document: string): string | null {
  if (/^\d{11}$/.test(document)) return `***.${document.slice(3, 6)}.${document.slice(6, 9)}-**`
  const cnpj = /^([\dA-Z]{2})([\dA-Z]{3})([\dA-Z]{3})([\dA-Z]{4})(\d{2})$/.exec(document)
  if (cnpj) return `${cnpj[1]}.${cnpj[2]}.${cnpj[3]}/${cnpj[4]}-${cnpj[5]}`
  return /^\*{3}\.?\d{3}\.?\d{3}-?\*{2}$/.test(document) ? document : null
}

/** The holder of the account that received the money, if it is not simply the merchant. */
export function receiverName(receiver: AccountHolder | null, merchant: string): string | null {
  return receiver === null || receiver.name === merchant ? null : receiver.name
}

/**
 * The receipt of a payment as a document. Whoever has the link of the payment page gets one without the payer's name
 * and the merchant's reference (`isPublic`).
 */
export async function writeReceipt(
  row: ReceiptRow,
  options: { language: Language; now: Date; isPublic: boolean; isSimulated: boolean },
): Promise<Buffer> {
  const { language, now, isPublic, isSimulated } = options
  const t = words[language]
  const format = pdfFormats(language)
  const { payer } = row
  const facts: [string, string | null][] = [
    [t.amount, format.money(row.amount)],
    [t.paidAt, `${format.moment(row.paid_at)} (${t.brasilia})`],
    [t.to, row.merchant_name],
    [t.receiver, receiverName(row.receiver, row.merchant_name)],
    [t.payer, isPublic ? null : (payer?.name ?? null)],
    [t.payerDocument, payer && maskDocument(payer.document)],
    [t.payerBank, isPublic ? null : (payer?.bankAccount.ispb ?? null)],
    [t.order, isPublic ? null : row.external_code],
    [t.endToEnd, row.end_to_end],
    [t.returned, row.returned > 0 ? format.money(Math.min(row.returned, row.amount)) : null],
  ]
  const footer = t.madeAt(format.moment(now))
  return await makePdf({ title: t.title, author: row.merchant_name, language, now, footer }, (page) => {
    if (row.logo) {
      page.image(row.logo, logoSize.width, logoSize.height)
      page.space(18)
    }
    page.title(t.title)
    page.space(12)
    page.facts(facts.filter((fact): fact is [string, string] => fact[1] !== null))
    page.space(14)
    if (isSimulated) page.paragraph(t.simulated)
    page.paragraph(t.note)
  })
}

const logoSize = { width: 150, height: 48 }
