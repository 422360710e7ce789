import { empty, type Reads, type Sql, sql } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'

/** How the transactions of a customer are recognized. */
export type CustomerKey = 'document' | 'email'

export type CustomerRow = {
  merchant_id: string
  client_id: string
  document: string | null
  /** In lower case, for searching. */
  email: string | null
  name: string | null
  /** As it was sent. */
  shown_email: string | null
}

/**
 * The customer that a transaction names. The customer's fields are null if it names none. After an erasure only
 * `document` remains, as a hash.
 */
export async function findCustomer(
  db: Reads,
  { id, merchantId }: { id: string; merchantId: string | null },
): Promise<CustomerRow | null> {
  const [row] = await db.query<CustomerRow>(sql`
    select merchant_id, client_id, customer_document as document, customer_search_email as email,
      customer->>'name' as name, customer->>'email' as shown_email
    from transactions join clients using (merchant_id)
    where id = ${id} ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}`)
  return row ?? null
}

export type CustomerTotals = {
  count: number
  paid: number
  amount_paid: number
  amount_refunded: number
  amount_returned: number
  first_at: Date | null
  last_at: Date | null
  /** The customer has more than {@link totaledMax} transactions. */
  covers_only_newest: boolean
}

type Customer = { merchantId: string; by: CustomerKey; value: string }

/**
 * The totals cover at most this many of the customer's newest transactions; only `first_at` covers all of them. No real
 * person has more.
 */
export const totaledMax = 10_000

export async function sumTransactions(db: Reads, customer: Customer): Promise<CustomerTotals> {
  const [row] = await db.query<CustomerTotals>(sql`
    with newest as (
      select id, created_at, amount_paid, amount_returned from transactions
      where ${isOf(customer)} order by created_at desc limit ${totaledMax}
    )
    select count(*) as count, count(amount_paid) as paid, coalesce(sum(amount_paid), 0)::bigint as amount_paid,
      coalesce(sum(amount_returned), 0)::bigint as amount_returned,
      (select coalesce(sum(refunds.amount), 0)::bigint from newest join refunds
         on refunds.merchant_id = ${customer.merchantId} and refunds.transaction_id = newest.id
       where newest.amount_paid is not null and refunds.status = 'REFUNDED') as amount_refunded,
      (select created_at from transactions where ${isOf(customer)} order by created_at limit 1) as first_at,
      max(created_at) as last_at,
      exists (select from transactions where ${isOf(customer)} offset ${totaledMax}) as covers_only_newest
    from newest`)
  assert(row, 'an aggregate has one row')
  return row
}

export type CustomerTransaction = {
  id: string
  status: string
  amount: number
  createdAt: Date
  externalCode: string | null
}

export async function listTransactions(
  db: Reads,
  customer: Customer,
  { limit, offset }: { limit: number; offset: number },
): Promise<CustomerTransaction[]> {
  return await db.query<CustomerTransaction>(sql`
    select id, status, amount, created_at as "createdAt", external_code as "externalCode" from transactions
    where ${isOf(customer)} order by created_at desc, id desc limit ${limit} offset ${offset}`)
}

function isOf({ merchantId, by, value }: Customer): Sql {
  const isSame = by === 'document' ? sql`customer_document = ${value}` : sql`customer_search_email = ${value}`
  return sql`merchant_id = ${merchantId} and ${isSame}`
}
