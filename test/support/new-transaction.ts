import { randomUUID } from 'node:crypto'
import type { NewTransaction } from '../../src/transactions/store.ts'

/** A transaction that was created with a code at `created_at`. Of the optional fields it has only a webhook URL. */
export function newTransactionRow(
  set: Partial<NewTransaction> & Pick<NewTransaction, 'merchant_id' | 'created_at'>,
): NewTransaction {
  const { created_at: now } = set
  return {
    id: randomUUID(),
    acquirer: 'simulator',
    other_acquirers: [],
    amount: 2590,
    idempotency_key: null,
    external_code: null,
    webhook_url: 'https://example.com/hook',
    return_url: null,
    is_info_product: false,
    customer: null,
    seller: null,
    address: null,
    items: null,
    description: null,
    metadata: null,
    pix_expiration_seconds: 1800,
    pix_uri: '00020101021226',
    pix_expires_at: now,
    statuses: ['PENDING', 'PIX_QRCODE_GENERATED'],
    status_dates: [now, now],
    error_message: null,
    check_at: null,
    customer_search_name: null,
    customer_search_email: null,
    customer_document: null,
    customer_landline_digits: null,
    customer_mobile_digits: null,
    ...set,
  }
}
