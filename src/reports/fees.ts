import type { Reads } from '../db/sql.ts'
import { type Column, writeCsv } from '../http/csv.ts'
import type { FeeParts } from '../ledger/store.ts'
import { sumCharged, sumReturned } from './fee-store.ts'
import type { FeeLineOperation } from './names.ts'
import { type Period, windowOfPeriod } from './period.ts'

/**
 * One line: operations under one fee rule, or payment fees that were returned or charged again. Amounts are in cents; a
 * fee that was returned is below zero.
 */
export type FeeLine = {
  operation: FeeLineOperation
  /** Null: there was no rule, or the fees were returned or charged again. */
  rule: { fixed: number; basisPoints: number; minimum: number; maximum: number | null } | null
  count: number
  /** The amounts of the operations; null for payment fees that were returned or charged again. */
  volume: number | null
  fee: number
}

export type FeeStatement = Period & { lines: FeeLine[]; total: number }

/** What a merchant paid in fees in a period, by the ledger. Its lines add up to the total. */
export async function makeFeeStatement(db: Reads, merchantId: string, period: Period): Promise<FeeStatement> {
  const window = windowOfPeriod(period)
  const [charged, returned] = await Promise.all([
    sumCharged(db, merchantId, window),
    sumReturned(db, merchantId, window),
  ])
  const lines: FeeLine[] = [
    ...charged.map(({ rule, ...line }) => ({ ...line, rule: rule && toRule(rule) })),
    ...returned.map(({ kind, count, fee }) => ({
      ...{ operation: kind, rule: null, count, volume: null },
      fee: kind === 'fee_returned' ? -fee : fee,
    })),
  ]
  return { ...period, lines, total: lines.reduce((sum, { fee }) => sum + fee, 0) }
}

function toRule({ fixed, basis_points: basisPoints, minimum, maximum }: FeeParts) {
  return { fixed, basisPoints, minimum, maximum }
}

const columns: Column<FeeLine>[] = [
  ['operation', ({ operation }) => operation],
  ['fee_fixed_cents', ({ rule }) => rule?.fixed ?? null],
  ['fee_basis_points', ({ rule }) => rule?.basisPoints ?? null],
  ['fee_minimum_cents', ({ rule }) => rule?.minimum ?? null],
  ['fee_maximum_cents', ({ rule }) => rule?.maximum ?? null],
  ['count', ({ count }) => count],
  ['volume_cents', ({ volume }) => volume],
  ['fee_cents', ({ fee }) => fee],
]

export async function* writeFeesCsv(db: Reads, merchantId: string, period: Period): AsyncGenerator<string> {
  const { lines } = await makeFeeStatement(db, merchantId, period)
  yield* writeCsv(columns, toPieces([lines]))
}

async function* toPieces<Piece>(pieces: Piece[]): AsyncGenerator<Piece> {
  yield* pieces
}
