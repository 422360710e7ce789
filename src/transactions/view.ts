import type { Reads } from '../db/sql.ts'
import { type Column, writeCsv } from '../http/csv.ts'
import { toStatusHistoryView } from '../http/schemas.ts'
import { assert } from '../lib/assert.ts'
import { qrCodeDataUrl } from '../pix/qrcode.ts'
import type { RecordVersion } from '../webhooks/payload.ts'
import { versionAt } from './change.ts'
import { type ExportedTransaction, type TransactionFilters, walkTransactions } from './list/store.ts'
import type { RefundRow } from './refund/store.ts'
import type { TransactionResponse } from './schema.ts'
import { failureCodeOf } from './status.ts'
import {
  type Changeable,
  findTransactions,
  type NewTransaction,
  type StoredCustomer,
  type TransactionRow,
} from './store.ts'

/** A transaction as in list, fetch and webhooks. The QR image is made here, never stored. */
export function toTransactionView(row: TransactionRow): TransactionResponse {
  return {
    id: row.id,
    acquirer: row.acquirer,
    amount: row.amount,
    paymentMethod: 'PIX',
    webhookUrl: row.webhook_url ?? undefined,
    returnUrl: row.return_url ?? undefined,
    externalCode: row.external_code ?? undefined,
    customer: row.customer ? toCustomerView(row.customer) : undefined,
    seller: row.seller ?? undefined,
    isInfoProduct: row.is_info_product,
    address: row.address ?? undefined,
    items: row.items ?? undefined,
    description: row.description ?? undefined,
    metadata: row.metadata ?? undefined,
    createdAt: row.created_at.toISOString(),
    status: row.status,
    statusHistory: toStatusHistoryView(row.statuses, row.status_dates),
    updatedAt: (row.status_dates.at(-1) ?? row.created_at).toISOString(),
    amountPaid: row.amount_paid ?? undefined,
    ...(row.amount_paid !== null && toRefundsView(row)),
    paymentDate: row.payment_date?.toISOString(),
    infractionDate: row.infraction_date?.toISOString() ?? null,
    pixResponse: toPixResponseView(row) ?? { uri: null, qrCodeBase64: null, expirationDate: null },
    errorMessage: row.error_message,
    failureCode: failureCodeOf(row),
    endToEnd: row.end_to_end ?? undefined,
    payer: row.payer ?? undefined,
    receiver: row.receiver ?? undefined,
    feeAmount: row.fee_amount ?? undefined,
  }
}

function toRefundsView({ refunds, amount_returned, disputes, returns }: TransactionRow) {
  const done = refunds.filter(({ status }) => status === 'REFUNDED')
  return {
    amountRefunded: done.reduce((sum, { amount }) => sum + amount, 0),
    refunds,
    amountReturned: amount_returned,
    disputes,
    returns,
  }
}

/** The response to a refund: made of its initial fields, so a replay returns the same bytes. */
export function toRefundCreatedView(refund: Pick<RefundRow, 'id' | 'transaction_id' | 'amount'>) {
  return {
    id: refund.id,
    transactionId: refund.transaction_id,
    amount: refund.amount,
    type: 'REFUND' as const,
    status: 'PROCESSING' as const,
  }
}

export type TransactionCreatedResponse = ReturnType<typeof toTransactionCreatedView>

/** The response to a create: made of its initial fields, so a replay returns the same bytes. */
export function toTransactionCreatedView(row: NewTransaction | TransactionRow, paymentUrl: string) {
  const pixResponse = toPixResponseView(row)
  assert(pixResponse, 'a transaction that was created has a code')
  return {
    id: row.id,
    externalCode: row.external_code ?? undefined,
    amount: row.amount,
    type: 'TRANSACTION' as const,
    status: 'PIX_QRCODE_GENERATED' as const,
    pixResponse,
    paymentUrl,
  }
}

function toPixResponseView(row: Pick<Changeable, 'pix_uri' | 'pix_expires_at'>) {
  if (row.pix_uri === null || row.pix_expires_at === null) return null
  return {
    uri: row.pix_uri,
    qrCodeBase64: qrCodeDataUrl(row.pix_uri),
    expirationDate: row.pix_expires_at.toISOString(),
  }
}

/** The birthdate is stored and not shown: the API does not return it. */
function toCustomerView({ birthdate: _, ...shown }: StoredCustomer) {
  return shown
}

export const exportColumns: Column<ExportedTransaction>[] = [
  ['id', (row) => row.id],
  ['created_at', (row) => row.created_at],
  ['status', (row) => row.status],
  ['amount_cents', (row) => row.amount],
  ['amount_paid_cents', (row) => row.amount_paid],
  ['amount_refunded_cents', (row) => row.amount_refunded],
  ['fee_cents', (row) => row.fee_amount],
  ['payment_date', (row) => row.payment_date],
  ['end_to_end', (row) => row.end_to_end],
  ['external_code', (row) => row.external_code],
  ['customer_name', (row) => row.customer_name],
  ['customer_document', (row) => row.customer_document],
  ['customer_email', (row) => row.customer_email],
  ['error_message', (row) => row.error_message],
  ['payer_name', (row) => row.payer_name],
  ['payer_document', (row) => row.payer_document],
  ['amount_returned_cents', (row) => (row.amount_paid === null ? null : row.amount_returned)],
  // What the payment brought after its fee. Refunds and returns are entries of their own, often of another month.
  ['net_cents', (row) => (row.amount_paid === null ? null : row.amount_paid - (row.fee_amount ?? 0))],
  ['posted_at', (row) => row.posted_at],
]

/** Writes all matching transactions as CSV, newest first, in chunks. */
export function writeTransactionsCsv(
  db: Reads,
  merchantId: string,
  filters: TransactionFilters,
): AsyncGenerator<string> {
  return writeCsv(exportColumns, walkTransactions(db, merchantId, filters))
}

/** What GET returned for each transaction at the moment of its event: the `data` of a webhook. */
export async function loadTransactionVersions(db: Reads, versions: RecordVersion[]): Promise<TransactionResponse[]> {
  const rows = new Map((await findTransactions(db, versions)).map((row) => [row.id, row]))
  return versions.map(({ recordId, snapshot }) => {
    const row = rows.get(recordId)
    assert(row, 'the transaction of an event exists')
    return toTransactionView(versionAt(row, snapshot))
  })
}
