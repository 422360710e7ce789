import type { Db } from '../db/sql.ts'
import { type Case, type DisputeKey, notFound, readCase } from '../defences/case.ts'
import { findFile } from '../defences/store.ts'
import { toDeliveryFacts } from '../defences/text.ts'
import type { StreamedFile } from '../http/csv.ts'
import type { Language } from '../lib/alert-settings.ts'
import type { Clock } from '../lib/clock.ts'
import { makePdf } from '../lib/pdf.ts'
import { analysisEndsAt } from '../transactions/dispute/dispute.ts'
import { pdfFormats } from './fees-pdf.ts'
import { maskDocument } from './receipt.ts'
import { findReceipt, type ReceiptRow } from './receipt-store.ts'
import { zip } from './zip.ts'

const words = {
  en: {
    ...{ fileName: 'defence', folder: 'files', title: 'Defence against a dispute (MED)' },
    ...{
      payment: 'Payment',
      merchant: 'Merchant',
      amount: 'Amount',
      paidAt: 'Paid on',
      endToEnd: 'End-to-end id',
    },
    ...{
      transaction: 'Transaction',
      order: 'Order',
      payer: 'Payer',
      document: 'CPF or CNPJ',
      bank: 'Payer’s bank (ISPB)',
    },
    ...{ dispute: 'Dispute', reference: 'Number at the PSP', disputed: 'Disputed amount', reason: 'Bank’s reason' },
    ...{ openedAt: 'Opened on', deadline: 'Decision due', defence: 'Defence', delivery: 'Delivery' },
    ...{ files: 'Files', file: 'File', size: 'Bytes', none: 'None.' },
    madeAt: (at: string) => `Issued on ${at}, Brasília time`,
  },
  pt: {
    ...{ fileName: 'defesa', folder: 'arquivos', title: 'Defesa em contestação (MED)' },
    ...{
      payment: 'Pagamento',
      merchant: 'Lojista',
      amount: 'Valor',
      paidAt: 'Pago em',
      endToEnd: 'ID da transação Pix',
    },
    ...{
      transaction: 'Transação',
      order: 'Pedido',
      payer: 'Pagador',
      document: 'CPF ou CNPJ',
      bank: 'Banco do pagador (ISPB)',
    },
    ...{ dispute: 'Contestação', reference: 'Número no PSP', disputed: 'Valor contestado', reason: 'Motivo do banco' },
    ...{ openedAt: 'Aberta em', deadline: 'Prazo da decisão', defence: 'Defesa', delivery: 'Entrega' },
    ...{ files: 'Arquivos', file: 'Arquivo', size: 'Bytes', none: 'Nenhum.' },
    madeAt: (at: string) => `Emitido em ${at}, horário de Brasília`,
  },
}

/**
 * What a person hands in at a PSP whose API takes no defences: a document with all that is known, and the files as they
 * were uploaded, each read from the database when its turn comes.
 */
export async function zipDefence(
  { db, clock }: { db: Db; clock: Clock },
  key: DisputeKey,
  language: Language,
): Promise<StreamedFile> {
  const found = await readCase(db, key)
  const receipt = await findReceipt(db, { id: key.transactionId, merchantId: key.merchantId })
  if (!receipt) throw notFound()
  const t = words[language]
  const files = found.files.filter(({ is_erased }) => !is_erased)
  const named = files.map((file, index) => ({ file, name: `${String(index + 1).padStart(2, '0')}-${file.name}` }))
  const now = clock.now()
  const pieces = zip(
    [
      { name: `${t.fileName}.pdf`, pieces: once(async () => await writePdf(found, receipt, { language, now })) },
      ...named.map(({ file, name }) => ({
        name: `${t.folder}/${name}`,
        pieces: once(async () => {
          const stored = await findFile(db, file, file.id)
          // An empty file in its place would pass for the evidence.
          if (!stored) throw new Error('a file of the defence was deleted while the package was downloaded')
          return stored.content
        }),
      })),
    ],
    now,
  )
  return { name: `${t.fileName}-${receipt.end_to_end}.zip`, type: 'application/zip', pieces }
}

async function* once(read: () => Promise<Buffer>): AsyncGenerator<Buffer> {
  yield await read()
}

async function writePdf(
  { dispute, defence, files }: Case,
  receipt: ReceiptRow,
  { language, now }: { language: Language; now: Date },
): Promise<Buffer> {
  const t = words[language]
  const format = pdfFormats(language)
  const { payer } = receipt
  const known = (pairs: [string, string | null][]) =>
    pairs.filter((pair): pair is [string, string] => pair[1] !== null && pair[1] !== '')
  const facts = known([
    [t.merchant, receipt.merchant_name],
    [t.amount, format.money(receipt.amount)],
    [t.paidAt, format.moment(receipt.paid_at)],
    [t.endToEnd, receipt.end_to_end],
    [t.transaction, receipt.id],
    [t.order, receipt.external_code],
    [t.payer, payer?.name ?? null],
    [t.document, payer && maskDocument(payer.document)],
    [t.bank, payer?.bankAccount.ispb ?? null],
  ])
  const disputed = known([
    [t.reference, dispute.acquirer_reference],
    [t.disputed, format.money(dispute.amount)],
    [t.reason, dispute.reason],
    [t.openedAt, format.moment(dispute.opened_at)],
    [t.deadline, format.moment(analysisEndsAt(dispute))],
  ])
  const delivery = defence ? toDeliveryFacts(defence.delivery, language) : []
  const about = { title: t.title, author: receipt.merchant_name, language, now, footer: t.madeAt(format.moment(now)) }
  return await makePdf(about, (page) => {
    page.title(t.title)
    page.heading(t.payment)
    page.facts(facts)
    page.heading(t.dispute)
    page.facts(disputed)
    page.heading(t.defence)
    page.paragraph(defence?.text.trim() || t.none)
    if (delivery.length > 0) {
      page.heading(t.delivery)
      page.facts(delivery)
    }
    page.heading(t.files)
    const columns = [
      { name: t.file, width: 0.3 },
      { name: t.size, width: 0.12, isAmount: true },
      { name: 'SHA-256', width: 0.58 },
    ]
    const rows = files.map(({ name, size, sha256 }) => [name, format.number(size), sha256.toString('hex')])
    if (rows.length > 0) page.table(columns, rows)
    else page.paragraph(t.none)
  })
}
