import { toStatusHistoryView } from '../http/history.ts'
import { assert } from '../lib/assert.ts'
import { qrCodeDataUrl } from '../pix/qrcode.ts'
import type { RefundRow } from './refund/store.ts'
import type { TransactionResponse } from './schema.ts'
import type { Changeable, NewTransaction, StoredCustomer, TransactionRow } from './store.ts'

/** A transaction as in list, fetch and webhooks. The QR image is made here, never stored. */
export function toTransactionView(row: TransactionRow): TransactionResponse {
  return {
    id: row.id,
    acquirer: row.acquirer,
    amount: row.amount,
    paymentMethod: 'PIX',
    webhookUrl: row.webhook_url ?? undefined,
    externalCode: row.external_code ?? undefined,
    customer: row.customer ? toCustomerView(row.customer) : undefined,
    seller: row.seller ?? undefined,
    isInfoProduct: row.is_info_product,
    address: row.address ?? undefined,
    items: row.items ?? undefined,
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

export type TransactionCreatedWire = ReturnType<typeof toTransactionCreatedView>

/** The response to a create: made of its initial fields, so a replay returns the same bytes. */
export function toTransactionCreatedView(row: NewTransaction | TransactionRow) {
  const pixResponse = toPixResponseView(row)
  assert(pixResponse, 'a transaction that was created has a code')
  return {
    id: row.id,
    externalCode: row.external_code ?? undefined,
    amount: row.amount,
    type: 'TRANSACTION' as const,
    status: 'PIX_QRCODE_GENERATED' as const,
    pixResponse,
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

/** The birthdate is stored and not shown: the service interface does not return it. */
function toCustomerView({ birthdate: _, ...shown }: StoredCustomer) {
  return shown
}
