import type { Reads } from '../db/sql.ts'
import { AppError } from '../lib/errors.ts'
import * as store from './customer-store.ts'
import type { CustomerView } from './schema.ts'

const perPage = 20
/** The pages of the transactions that the totals cover. */
export const customerPagesMax = store.totaledMax / perPage

/**
 * The customer of a transaction: all transactions of the merchant with the same document or e-mail address. The
 * transaction names the customer, so that no document is in an address (docs/privacy.md).
 *
 * @throws {AppError} `not_found` if there is no such transaction
 */
export async function findCustomer(
  db: Reads,
  { id, merchantId, by, page }: { id: string; merchantId: string | null; by: store.CustomerKey; page: number },
): Promise<CustomerView> {
  const row = await store.findCustomer(db, { id, merchantId })
  if (!row) throw new AppError('not_found', { detail: 'There is no transaction with this id.' })
  const { client_id: clientId, name, shown_email: email } = row
  // After an erasure the document is a hash, by which the person's other transactions are still counted.
  const isErased = row.document?.startsWith('hash:') ?? false
  const known = { clientId, name, email, document: isErased ? null : row.document, isErased }
  const value = row[by]
  if (value === null) return { ...known, totals: null, total: 0, totalPages: 0, data: [] }
  const customer = { merchantId: row.merchant_id, by, value }
  const [sums, transactions] = await Promise.all([
    store.sumTransactions(db, customer),
    store.listTransactions(db, customer, { limit: perPage, offset: (page - 1) * perPage }),
  ])
  return {
    ...known,
    totals: {
      ...{ paid: sums.paid, amountPaid: sums.amount_paid, amountRefunded: sums.amount_refunded },
      ...{ amountReturned: sums.amount_returned, coversOnlyNewest: sums.covers_only_newest },
      firstAt: sums.first_at?.toISOString() ?? null,
      lastAt: sums.last_at?.toISOString() ?? null,
    },
    total: sums.count,
    totalPages: Math.ceil(sums.count / perPage),
    data: transactions.map(({ createdAt, ...one }) => ({ ...one, createdAt: createdAt.toISOString() })),
  }
}
