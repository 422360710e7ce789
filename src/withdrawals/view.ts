import { toStatusHistoryView } from '../http/history.ts'
import type { WithdrawalResponse } from './schema.ts'
import type { WithdrawalRow } from './store.ts'

/** A withdrawal as in list, fetch and webhooks. */
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
    hold: row.hold ?? undefined,
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

/** The response to a create: made of its initial fields, so a replay returns the same bytes. */
export function toWithdrawalCreatedView(row: WithdrawalRow) {
  return {
    id: row.id,
    externalCode: row.external_code ?? undefined,
    amount: row.amount,
    type: 'WITHDRAWAL' as const,
    status: 'PENDING' as const,
    hold: row.hold_at_birth ?? undefined,
  }
}
