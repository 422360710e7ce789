import type { Db } from '../db/sql.ts'
import { isDay } from '../lib/brasilia.ts'
import { AppError } from '../lib/errors.ts'
import { readStatement } from '../reconciliation/close.ts'
import { findStatement, type StatementRow } from '../reconciliation/close-store.ts'
import { listClosedDays, listVersions } from './reconciliation-store.ts'

/** How many discrepancies and changes of a day are shown; the signed statement has all. */
const shownMax = 200

/** Closed days, newest first: of all acquirers or of one. */
export async function listDays(
  db: Db,
  which: { acquirer: string | undefined; limit: number; offset: number },
): Promise<{ total: number; data: ListedDay[] }> {
  const { total, items } = await listClosedDays(db, which)
  return { total, data: items.map(toListedDay) }
}

/**
 * Finds the signed statement of a day: the named version, or the last one.
 *
 * @throws {AppError} `not_found`
 */
export async function findClosedDay(
  db: Db,
  sought: { acquirer: string; day: string; version: number | undefined },
): Promise<StatementRow> {
  const row = isDay(sought.day) ? await findStatement(db, sought) : null
  if (row) return row
  throw new AppError('not_found', {
    detail:
      sought.version === undefined
        ? `${sought.day} of ${sought.acquirer} is not closed. \`npx guiche close --date ${sought.day}\` closes a day that is over.`
        : `${sought.day} of ${sought.acquirer} has no version ${sought.version}.`,
  })
}

export async function showClosedDay(db: Db, row: StatementRow): Promise<ClosedDayView> {
  const versions = await listVersions(db, row)
  return {
    ...toDayView(row),
    versions: versions.map(({ version, signed_at }) => ({ version, signedAt: signed_at.toISOString() })),
  }
}

export type ListedDay = ReturnType<typeof toListedDay>

function toListedDay(row: StatementRow) {
  const { ledgerSide, acquirerSide, differences } = readStatement(row)
  return {
    acquirer: row.acquirer,
    day: row.day,
    version: row.version,
    signedAt: row.signed_at.toISOString(),
    in: { acquirer: acquirerSide.in, ledger: ledgerSide.in },
    closing: { acquirer: acquirerSide.closing, ledger: ledgerSide.closing },
    differences: differences.length,
    openDiscrepancies: differences.filter(({ state }) => state === 'open').length,
  }
}

export type ClosedDayView = ReturnType<typeof toDayView> & { versions: { version: number; signedAt: string }[] }

function toDayView(row: StatementRow) {
  const { ledgerSide, acquirerSide, dated, differences, changes, former, from, to } = readStatement(row)
  return {
    acquirer: row.acquirer,
    day: row.day,
    version: row.version,
    signedAt: row.signed_at.toISOString(),
    sha256: row.sha256,
    from,
    to,
    ledgerSide,
    acquirerSide,
    dated,
    former,
    changes: changes && {
      ...changes,
      totals: changes.totals.slice(0, shownMax),
      differences: changes.differences.slice(0, shownMax),
    },
    differenceCount: differences.length,
    differences: differences.slice(0, shownMax),
  }
}
