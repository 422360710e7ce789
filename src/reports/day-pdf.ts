import type { Language } from '../lib/alert-settings.ts'
import { makePdf, type PdfColumn } from '../lib/pdf.ts'
import { qrCodeDataUrl } from '../pix/qrcode.ts'
import { readStatement } from '../reconciliation/close.ts'
import type { StatementRow } from '../reconciliation/close-store.ts'
import { closedDayLabels } from '../reconciliation/closed-day-labels.ts'
import { discrepancyClassLabels } from '../reconciliation/discrepancy-class-labels.ts'
import type { Amount, StatementDiscrepancy } from '../reconciliation/statement.ts'
import { pdfFormats } from './fees-pdf.ts'

/** The most discrepancies that the document lists. The signed statement lists all of them. */
const discrepanciesMax = 100
const qrSize = 110

const words = {
  en: {
    ...closedDayLabels.en,
    title: 'Closed day',
    account: 'Account at the PSP',
    day: 'Day (Brasília)',
    signed: (version: number, at: string) => `${version}, signed on ${at}`,
    columns: ['', 'Number', 'By the PSP', 'Number', 'By the ledger'],
    discrepancyColumns: ['Class', 'Reference', 'State', 'Decided by'],
    states: { open: 'open', confirmed: 'confirmed', dismissed: 'dismissed', resolved: 'resolved' } as Record<
      string,
      string
    >,
    signature: 'Signature and verification',
    transfers: 'Transfers of the day, all merchants',
    transfersOf: (count: string) => `${count}, SHA-256:`,
    file: 'SHA-256 of the signed statement (JWS, ES256)',
    how: 'This document shows what the signed statement says. The signature is in the statement itself, which the dashboard offers at the address below with the public keys. Whoever has both can verify it without this service:',
    command: 'npx guiche close verify statement.jws --keys statement-keys.json',
    compare: 'The SHA-256 of that file (sha256sum statement.jws) must be the one above.',
  },
  pt: {
    ...closedDayLabels.pt,
    title: 'Dia fechado',
    account: 'Conta no PSP',
    day: 'Dia (Brasília)',
    signed: (version: number, at: string) => `${version}, assinada em ${at}`,
    columns: ['', 'Quantidade', 'Segundo o PSP', 'Quantidade', 'Segundo o razão'],
    discrepancyColumns: ['Classe', 'Referência', 'Situação', 'Decidida por'],
    states: { open: 'aberta', confirmed: 'confirmada', dismissed: 'ignorada', resolved: 'resolvida' } as Record<
      string,
      string
    >,
    signature: 'Assinatura e conferência',
    transfers: 'Lançamentos do dia, de todos os lojistas',
    transfersOf: (count: string) => `${count}, SHA-256:`,
    file: 'SHA-256 do fechamento assinado (JWS, ES256)',
    how: 'Este documento mostra o que está no fechamento assinado. A assinatura está no próprio fechamento, que o painel oferece no endereço abaixo junto com as chaves públicas. Quem tem os dois confere sem este serviço:',
    command: 'npx guiche close verify statement.jws --keys statement-keys.json',
    compare: 'O SHA-256 desse arquivo (sha256sum statement.jws) deve ser o que está acima.',
  },
}

/** A closed day as a document: its totals, its discrepancies, the hash of the signed statement, and how to verify it. */
export async function writeDayPdf(
  row: StatementRow,
  { language, baseUrl }: { language: Language; baseUrl: string },
): Promise<Buffer> {
  const t = words[language]
  const format = pdfFormats(language)
  const statement = readStatement(row)
  const { transfers, differences } = statement
  const address = `${baseUrl}/dashboard/reconciliation/days/${encodeURIComponent(row.acquirer)}/${row.day}?version=${row.version}`
  const day = format.day(row.day)
  const footer = `${row.acquirer} · ${day} · v${row.version} · ${row.sha256.slice(0, 16)}…`
  // Dated by the signature, so that every download of a version is the same document.
  const about = { title: `${t.title}: ${row.acquirer}, ${day}`, author: 'Guichê', language, now: row.signed_at, footer }
  return await makePdf(about, (page) => {
    page.title(t.title)
    page.space(10)
    page.facts([
      [t.account, row.acquirer],
      [t.day, day],
      [t.version, t.signed(row.version, format.moment(row.signed_at))],
    ])
    page.heading(t.totals)
    page.table(named(totalColumns, t.columns), toTotals(statement, language), { hasTotal: true })
    page.heading(t.differences)
    if (differences.length === 0) page.paragraph(t.noDiscrepancies)
    else {
      page.table(
        named(discrepancyColumns, t.discrepancyColumns),
        differences.slice(0, discrepanciesMax).map((one) => toCells(one, language)),
      )
      if (differences.length > discrepanciesMax)
        page.paragraph(t.more(format.number(differences.length - discrepanciesMax)))
    }
    page.heading(t.signature)
    if (transfers) {
      page.paragraph(`${t.transfers}: ${t.transfersOf(format.number(transfers.count))}`)
      page.code(transfers.sha256)
      page.space(6)
    }
    page.paragraph(t.file)
    page.code(row.sha256)
    page.space(6)
    page.paragraph(t.how)
    page.code(t.command)
    page.paragraph(t.compare)
    page.space(6)
    page.link(address)
    page.space(6)
    page.image(Buffer.from(qrCodeDataUrl(address).replace(/^data:image\/png;base64,/, ''), 'base64'), qrSize)
  })
}

type Shown = ReturnType<typeof readStatement>

function toTotals({ acquirerSide, ledgerSide }: Shown, language: Language): string[][] {
  const t = words[language]
  const { money, number } = pdfFormats(language)
  const counted = (amount: Amount | null) => (amount === null ? ['', ''] : [number(amount.count), money(amount.sum)])
  const balance = (cents: number | null) => ['', cents === null ? '' : money(cents)]
  return [
    [t.opening, ...balance(acquirerSide.opening), ...balance(ledgerSide.opening)],
    [t.in, ...counted(acquirerSide.in), ...counted(ledgerSide.in)],
    [t.returned, ...counted(acquirerSide.returned), ...counted(ledgerSide.returned)],
    [t.paidOut, ...counted(acquirerSide.paidOut), ...counted(ledgerSide.paidOut)],
    [t.payoutsReturned, ...counted(null), ...counted(ledgerSide.payoutsReturned)],
    [t.fees, ...balance(acquirerSide.fees), ...balance(null)],
    [t.corrections, ...counted(null), ...counted(ledgerSide.corrections)],
    [t.closing, ...balance(acquirerSide.closing), ...balance(ledgerSide.closing)],
  ]
}

const totalColumns: Omit<PdfColumn, 'name'>[] = [
  { width: 0.24 },
  { width: 0.14, isAmount: true },
  { width: 0.24, isAmount: true },
  { width: 0.14, isAmount: true },
  { width: 0.24, isAmount: true },
]

const discrepancyColumns: Omit<PdfColumn, 'name'>[] = [{ width: 0.2 }, { width: 0.4 }, { width: 0.16 }, { width: 0.24 }]

function named(columns: Omit<PdfColumn, 'name'>[], names: string[]): PdfColumn[] {
  return columns.map((column, index) => ({ ...column, name: names[index] ?? '' }))
}

function toCells({ class: name, reference, state, decidedBy }: StatementDiscrepancy, language: Language): string[] {
  const names: Record<string, [name: string, meaning: string]> = discrepancyClassLabels[language]
  return [names[name]?.[0] ?? name, reference, words[language].states[state] ?? state, decidedBy ?? '']
}
