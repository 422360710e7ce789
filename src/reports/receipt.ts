import type { Language } from '../lib/alert-settings.ts'
import { makePdf } from '../lib/pdf.ts'
import type { AccountHolder } from '../pix/holder.ts'
import type { PixKey } from '../pix/key.ts'
import { pdfFormats } from './fees-pdf.ts'
import type { ReceiptRow, RefundReceiptRow, WithdrawalReceiptRow } from './receipt-store.ts'

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
    transfer: 'Pix transfer receipt',
    sentAt: 'Sent on',
    payingHolder: 'Paying account holder',
    toDocument: 'Receiver’s CPF or CNPJ',
    toBank: 'Receiver’s bank (ISPB)',
    key: 'Pix key',
    externalCode: 'External code',
    fee: 'Fee',
    returnedByReceiver: 'Returned by the receiver',
    transferNote: 'The receiver’s bank can find the transfer by its end-to-end id.',
    refund: 'Pix refund receipt',
    refundedTo: 'Returned to',
    paymentEndToEnd: 'End-to-end id of the payment',
    refundNote: 'The receiver’s bank can find the refund by its end-to-end id.',
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
    transfer: 'Comprovante de transferência Pix',
    sentAt: 'Enviado em',
    payingHolder: 'Titular da conta de origem',
    toDocument: 'CPF ou CNPJ do recebedor',
    toBank: 'Banco do recebedor (ISPB)',
    key: 'Chave Pix',
    externalCode: 'Código externo',
    fee: 'Tarifa',
    returnedByReceiver: 'Devolvido pelo recebedor',
    transferNote: 'O banco do recebedor encontra a transferência pelo ID da transação Pix.',
    refund: 'Comprovante de devolução Pix',
    refundedTo: 'Devolvido a',
    paymentEndToEnd: 'ID do pagamento devolvido',
    refundNote: 'O banco do recebedor encontra a devolução pelo ID da transação Pix.',
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

/** The name of an account's holder; null if it is the merchant's own name, or the holder is not known. */
export function holderName(holder: AccountHolder | null, merchant: string): string | null {
  return holder === null || holder.name === merchant ? null : holder.name
}

/**
 * The receipt of a payment as a document. Whoever has the link of the payment page gets one without the payer's name
 * and bank and the merchant's reference (`isPublic`).
 */
export async function writeReceipt(row: ReceiptRow, options: Options & { isPublic: boolean }): Promise<Buffer> {
  const { language, isPublic } = options
  const t = words[language]
  const format = pdfFormats(language)
  const { payer } = row
  const facts: Facts = [
    [t.amount, format.money(row.amount)],
    [t.paidAt, `${format.moment(row.paid_at)} (${t.brasilia})`],
    [t.to, row.merchant_name],
    [t.receiver, holderName(row.receiver, row.merchant_name)],
    [t.payer, isPublic ? null : (payer?.name ?? null)],
    [t.payerDocument, payer && maskDocument(payer.document)],
    [t.payerBank, isPublic ? null : (payer?.bankAccount.ispb ?? null)],
    [t.order, isPublic ? null : row.external_code],
    [t.endToEnd, row.end_to_end],
    [t.returned, row.returned > 0 ? format.money(Math.min(row.returned, row.amount)) : null],
  ]
  return await writeFacts({ ...row, title: t.title, facts, note: t.note }, options)
}

/** The receipt of a withdrawal. A returned one was sent as well. */
export async function writeWithdrawalReceipt(row: WithdrawalReceiptRow, options: Options): Promise<Buffer> {
  const t = words[options.language]
  const format = pdfFormats(options.language)
  const { receiver } = row
  const facts: Facts = [
    [t.amount, format.money(row.amount)],
    [t.sentAt, `${format.moment(row.sent_at)} (${t.brasilia})`],
    [t.payer, row.merchant_name],
    [t.payingHolder, holderName(row.payer, row.merchant_name)],
    [t.to, receiver && receiver.name],
    [t.toDocument, receiver && maskDocument(receiver.document)],
    [t.toBank, receiver && receiver.bankAccount.ispb],
    [t.key, row.key && maskKey(row.key)],
    [t.externalCode, row.external_code],
    [t.fee, format.money(row.fee)],
    [t.endToEnd, row.end_to_end],
    [t.returnedByReceiver, row.returned > 0 ? format.money(row.returned) : null],
  ]
  return await writeFacts({ ...row, title: t.transfer, facts, note: t.transferNote }, options)
}

/** The receipt of a refund, for the customer who got it. */
export async function writeRefundReceipt(row: RefundReceiptRow, options: Options): Promise<Buffer> {
  const t = words[options.language]
  const format = pdfFormats(options.language)
  const { payer } = row
  const facts: Facts = [
    [t.amount, format.money(row.amount)],
    [t.sentAt, `${format.moment(row.sent_at)} (${t.brasilia})`],
    [t.payer, row.merchant_name],
    [t.refundedTo, payer && payer.name],
    [t.toDocument, payer && maskDocument(payer.document)],
    [t.toBank, payer && payer.bankAccount.ispb],
    [t.order, row.external_code],
    [t.endToEnd, row.end_to_end],
    [t.paymentEndToEnd, row.end_to_end_paid],
  ]
  return await writeFacts({ ...row, title: t.refund, facts, note: t.refundNote }, options)
}

function maskKey({ key, type }: PixKey): string | null {
  return type === 'CPF' || type === 'CNPJ' ? maskDocument(key) : key
}

type Options = { language: Language; now: Date; isSimulated: boolean }
/** Those without a value are not shown. */
type Facts = [name: string, value: string | null][]

async function writeFacts(
  row: { title: string; merchant_name: string; logo: Buffer | null; facts: Facts; note: string },
  { language, now, isSimulated }: Options,
): Promise<Buffer> {
  const t = words[language]
  const footer = t.madeAt(pdfFormats(language).moment(now))
  return await makePdf({ title: row.title, author: row.merchant_name, language, now, footer }, (page) => {
    if (row.logo) {
      page.image(row.logo, logoSize.width, logoSize.height)
      page.space(18)
    }
    page.title(row.title)
    page.space(12)
    page.facts(row.facts.filter((fact): fact is [string, string] => fact[1] !== null))
    page.space(14)
    if (isSimulated) page.paragraph(t.simulated)
    page.paragraph(row.note)
  })
}

const logoSize = { width: 150, height: 48 }
