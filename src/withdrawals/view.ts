import type { Reads } from '../db/sql.ts'
import { type Column, writeCsv } from '../http/csv.ts'
import { toStatusHistoryView } from '../http/schemas.ts'
import { assert } from '../lib/assert.ts'
import type { RecordVersion } from '../webhooks/payload.ts'
import { versionAt } from './change.ts'
import { type WithdrawalFilters, walkWithdrawals } from './list-store.ts'
import type { WithdrawalResponse } from './schema.ts'
import { findWithdrawals, type WithdrawalRow } from './store.ts'

/** A withdrawal as in webhooks and in all responses but that to its creation. */
export function toWithdrawalView(row: WithdrawalRow): WithdrawalResponse {
  return {
    id: row.id,
    acquirer: row.acquirer,
    amount: row.amount,
    method: 'PIX',
    webhookUrl: row.webhook_url ?? undefined,
    externalCode: row.external_code ?? undefined,
    metadata: row.metadata ?? undefined,
    createdAt: row.created_at.toISOString(),
    status: row.status,
    hold: row.review_reason ?? undefined,
    statusHistory: toStatusHistoryView(row.statuses, row.status_dates),
    updatedAt: (row.status_dates.at(-1) ?? row.created_at).toISOString(),
    amountWithdrawn: row.amount_withdrawn ?? undefined,
    processedDate: row.processed_date?.toISOString(),
    errorMessage: row.error_message,
    endToEnd: row.end_to_end ?? undefined,
    payer: row.payer ?? undefined,
    receiver: row.receiver ?? undefined,
    pixKey: { key: row.pix_key, type: row.pix_key_type },
    feeAmount: row.fee_amount,
  }
}

/** The response to a creation: made of the initial fields, so a replay returns the same bytes. */
export function toWithdrawalCreatedView(row: WithdrawalRow) {
  return {
    id: row.id,
    externalCode: row.external_code ?? undefined,
    amount: row.amount,
    type: 'WITHDRAWAL' as const,
    status: 'PENDING' as const,
    hold: row.initial_review_reason ?? undefined,
  }
}

/** What GET returned for each withdrawal at the moment of its event: the `data` of a webhook. */
export async function loadWithdrawalVersions(db: Reads, versions: RecordVersion[]): Promise<WithdrawalResponse[]> {
  const rows = new Map((await findWithdrawals(db, versions)).map((row) => [row.id, row]))
  return versions.map(({ recordId, snapshot }) => {
    const row = rows.get(recordId)
    assert(row, 'the withdrawal of an event exists')
    return toWithdrawalView(versionAt(row, snapshot))
  })
}

export const exportColumns: Column<WithdrawalRow>[] = [
  ['id', (row) => row.id],
  ['created_at', (row) => row.created_at],
  ['status', (row) => row.status],
  ['amount_cents', (row) => row.amount],
  ['fee_cents', (row) => row.fee_amount],
  ['amount_withdrawn_cents', (row) => row.amount_withdrawn],
  ['processed_date', (row) => row.processed_date],
  ['pix_key', (row) => row.pix_key],
  ['pix_key_type', (row) => row.pix_key_type],
  ['end_to_end', (row) => row.end_to_end],
  ['end_to_end_refund', (row) => [...(row.earlier_end_to_end_refunds ?? []), row.end_to_end_refund].join(' ') || null],
  ['external_code', (row) => row.external_code],
  ['error_message', (row) => row.error_message],
  ['receiver_name', (row) => row.receiver?.name ?? null],
  ['receiver_document', (row) => row.receiver?.document ?? null],
  ['posted_at', (row) => row.status_dates[row.statuses.indexOf('PROCESSED')] ?? null],
]

/** Writes all matching withdrawals as CSV, newest first, in chunks. */
export function writeWithdrawalsCsv(db: Reads, merchantId: string, filters: WithdrawalFilters): AsyncGenerator<string> {
  return writeCsv(exportColumns, walkWithdrawals(db, merchantId, filters))
}
