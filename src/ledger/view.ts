import type { Reads } from '../db/sql.ts'
import { type Column, writeCsv } from '../http/csv.ts'
import type { Language } from '../lib/alert-settings.ts'
import type { Balances } from './accounts.ts'
import { correctionTexts } from './correction-texts.ts'
import { type ExportedEntry, listStatementBefore } from './export-store.ts'
import type { StatementFilters, StatementRow } from './store.ts'

/** The balances that a merchant sees. */
export function toBalanceView(balances: Balances, at: Date) {
  const { available, reserved, blocked, debt } = balances
  // 0 - x, not -x: a debt of nothing is 0, not -0.
  return { available, reserved, blocked, debt: 0 - debt, at: at.toISOString() }
}

export function toStatementEntryView(row: StatementRow) {
  return {
    id: row.id,
    kind: row.kind,
    amount: row.amount,
    balance: row.balance,
    recordType: row.record_type,
    recordId: row.record_id,
    transactionId: row.transaction_id,
    description: describeEntry(row, 'en'),
    correctedSubject: row.corrected_subject,
    correctedReference: row.corrected_reference,
    createdAt: row.created_at.toISOString(),
  }
}

/** Describes an entry that has no record to look up: an entry of the operator, or a correction. Null for all others. */
export function describeEntry(row: StatementRow, language: Language): string | null {
  const { entry_description: description, corrected_subject: subject, corrected_reference: reference } = row
  return subject === null || reference === null ? description : correctionTexts[language][subject](reference)
}

const rowsAtOnce = 1000

const columns: Column<ExportedEntry>[] = [
  ['id', (row) => row.id],
  ['created_at', (row) => row.created_at],
  ['kind', (row) => row.kind],
  ['amount_cents', (row) => row.amount],
  ['balance_cents', (row) => row.balance],
  ['record_type', (row) => row.record_type],
  ['record_id', (row) => row.record_id],
  ['transaction_id', (row) => row.transaction_id],
  ['description', (row) => describeEntry(row, 'en')],
  ['end_to_end', (row) => row.end_to_end],
  ['external_code', (row) => row.external_code],
  ['corrected_subject', (row) => row.corrected_subject],
  ['corrected_reference', (row) => row.corrected_reference],
]

/** Writes all entries of a statement as CSV, newest first, in chunks. */
export function writeStatementCsv(db: Reads, merchantId: string, filters: StatementFilters): AsyncGenerator<string> {
  return writeCsv(columns, walkStatement(db, merchantId, filters))
}

/** All entries of a statement, newest first, in chunks. */
export async function* walkStatement(
  db: Reads,
  merchantId: string,
  filters: StatementFilters,
): AsyncGenerator<ExportedEntry[]> {
  for (let beforeId: number | null = null; ; ) {
    const rows = await listStatementBefore(db, merchantId, filters, { beforeId, limit: rowsAtOnce })
    yield rows
    if (rows.length < rowsAtOnce) return
    beforeId = rows.at(-1)?.id ?? null
  }
}
