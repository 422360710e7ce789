import type { Reads } from '../db/sql.ts'
import { type Column, csvContentType, type StreamedFile, writeCsv } from '../http/csv.ts'
import { writeStatementCsv } from '../ledger/view.ts'
import type { Language } from '../lib/alert-settings.ts'
import type { Clock } from '../lib/clock.ts'
import { findExported } from '../transactions/list/store.ts'
import { exportColumns as transactionColumns, writeTransactionsCsv } from '../transactions/view.ts'
import { findWithdrawals, type WithdrawalRow } from '../withdrawals/store.ts'
import { exportColumns, writeWithdrawalsCsv } from '../withdrawals/view.ts'
import { makeFeeStatement, writeFeesCsv } from './fees.ts'
import { writeFeesPdf } from './fees-pdf.ts'
import { writeOfx } from './ofx.ts'
import { type Period, windowOfPeriod } from './period.ts'
import { walkPosted } from './posted.ts'
import { createSpreadsheet } from './spreadsheet.ts'

/** The reports of a merchant and the formats of each. csv is for programs; excel is a CSV for spreadsheets. */
export const reportFormats = {
  transactions: ['csv', 'excel'],
  withdrawals: ['csv', 'excel'],
  statement: ['csv', 'excel', 'ofx'],
  fees: ['csv', 'excel', 'pdf'],
} as const

export type ReportName = keyof typeof reportFormats
export type ReportFormat = (typeof reportFormats)[ReportName][number]
export const reportNames = ['transactions', 'withdrawals', 'statement', 'fees'] as const satisfies ReportName[]

/** What a person needs to read each. */
export const reportPermissions = {
  transactions: 'transaction.read',
  withdrawals: 'withdrawal.read',
  statement: 'balance.read',
  fees: 'balance.read',
} as const satisfies Record<ReportName, string>

/** The date that puts a payment or a withdrawal in a period: of its creation, payment, or posting in the ledger. */
export const reportDates = ['created', 'paid', 'posted'] as const
export type ReportDate = (typeof reportDates)[number]

export type ReportRequest = {
  merchant: { id: string; name: string }
  report: ReportName
  format: ReportFormat
  period: Period
  by: ReportDate
  language: Language
}

const types: Record<ReportFormat, string> = {
  csv: csvContentType,
  excel: csvContentType,
  // Without a charset: the head of the file names it.
  ofx: 'application/x-ofx',
  pdf: 'application/pdf',
}

export type WriteDeps = { reads: Reads; clock: Clock }

/** The file of a report. It is read from the database while it is sent. */
export function writeReport(deps: WriteDeps, request: ReportRequest): StreamedFile {
  const { report, format, period, language } = request
  const name = `${fileNames[language][report]}-${period.from}-${period.until}.${format === 'excel' ? 'csv' : format}`
  return { name, type: types[format], pieces: writePieces(deps, request) }
}

const fileNames: Record<Language, Record<ReportName, string>> = {
  en: { transactions: 'transactions', withdrawals: 'withdrawals', statement: 'statement', fees: 'fees' },
  pt: { transactions: 'transacoes', withdrawals: 'saques', statement: 'extrato', fees: 'tarifas' },
}

async function* writePieces({ reads, clock }: WriteDeps, request: ReportRequest): AsyncGenerator<string | Buffer> {
  const { merchant, format, period, language } = request
  if (format === 'ofx') yield* writeOfx(reads, { merchantId: merchant.id, period, language, now: clock.now() })
  else if (format === 'pdf') {
    const statement = await makeFeeStatement(reads, merchant.id, period)
    yield await writeFeesPdf({ merchant, statement, language, now: clock.now() })
  } else if (format === 'excel') yield* toSpreadsheet(writeRows(reads, request), language)
  else yield* writeRows(reads, request)
}

async function* toSpreadsheet(pieces: AsyncGenerator<string>, language: Language): AsyncGenerator<string> {
  const convert = createSpreadsheet(language)
  for await (const piece of pieces) yield convert(piece)
}

function writeRows(db: Reads, { merchant: { id }, report, period, by }: ReportRequest): AsyncGenerator<string> {
  const window = windowOfPeriod(period)
  const filters = { startDate: window.from, endDate: new Date(window.to.getTime() - 1) }
  switch (report) {
    case 'transactions':
      if (by === 'created') return writeTransactionsCsv(db, id, filters)
      return writeCsv(
        transactionColumns,
        walkPosted(db, id, {
          ...{ kind: 'payment', window, find: async (ids) => await findExported(db, id, ids) },
          paidAt: by === 'paid' ? ({ payment_date: at }) => at : null,
        }),
      )
    case 'withdrawals':
      if (by === 'created') return writeWithdrawalsCsv(db, id, filters)
      return writeCsv(
        withPostedAt(exportColumns),
        walkPosted(db, id, {
          ...{ kind: 'withdrawal_sent', window },
          find: async (ids) =>
            await findWithdrawals(
              db,
              ids.map((recordId) => ({ merchantId: id, recordId })),
            ),
          paidAt: by === 'paid' ? ({ processed_date: at }) => at : null,
        }),
      )
    case 'statement':
      return writeStatementCsv(db, id, filters)
    case 'fees':
      return writeFeesCsv(db, id, period)
  }
}

/** Gives the time of the ledger entry, which may be some milliseconds after that of the status. */
function withPostedAt(columns: Column<WithdrawalRow>[]): Column<WithdrawalRow & { posted_at: Date }>[] {
  return columns.map(([name, toValue]) => [name, name === 'posted_at' ? (row) => row.posted_at : toValue])
}
