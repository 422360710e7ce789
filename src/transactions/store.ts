import { findPage } from '../db/page.ts'
import { type Db, empty, join, type Sql, sql, type Tx } from '../db/sql.ts'
import type { Page, Slice } from '../http/page.ts'
import type { AccountHolder } from '../pix/holder.ts'
import type { RefundStatus } from './refund-store.ts'
import type { TransactionStatus } from './status.ts'

type StoredDocument = { value: string; type: 'CPF' | 'CNPJ' }

export type StoredCustomer = {
  ip?: string
  name: string
  document: StoredDocument
  email: string
  landline?: string
  mobilePhone?: string
  birthdate?: string
}

type StoredAddress = {
  zipCode: string
  complement?: string
  number: string
  street: string
  neighborhood: string
  city: string
  state: string
  country: string
}

/** What a transaction is born with and keeps. */
type Birth = {
  id: string
  merchant_id: string
  acquirer: string
  amount: number
  idempotency_key: string | null
  external_code: string | null
  webhook_url: string | null
  is_info_product: boolean
  customer: StoredCustomer | null
  seller: { name: string; document: StoredDocument } | null
  address: StoredAddress | null
  items: { title: string; description?: string; unitPrice: number; quantity: number }[] | null
  metadata: Record<string, unknown> | null
  pix_expiration_seconds: number
  created_at: Date
}

/** What changes with its status. */
export type Changeable = {
  pix_uri: string | null
  pix_expires_at: Date | null
  statuses: TransactionStatus[]
  status_dates: Date[]
  amount_paid: number | null
  payment_date: Date | null
  end_to_end: string | null
  payer: AccountHolder | null
  receiver: AccountHolder | null
  fee_amount: number | null
  infraction_date: Date | null
  error_message: string | null
  /** In the order in which they were asked for. Read with the row, and never under a lock that was waited for. */
  refunds: ShownRefund[]
}

/** A refund as the transaction's view shows it. */
export type ShownRefund = {
  id: string
  amount: number
  status: RefundStatus
  endToEndRefund: string | null
  reason: string | null
  createdAt: string
}

/** A transaction as its own row has it. */
export type StoredTransaction = Birth & Omit<Changeable, 'refunds'> & { status: TransactionStatus }

export type TransactionRow = StoredTransaction & Pick<Changeable, 'refunds'>

export type NewTransaction = Birth &
  Pick<Changeable, 'pix_uri' | 'pix_expires_at' | 'statuses' | 'status_dates' | 'error_message'> & {
    check_at: Date | null
    customer_search_name: string | null
    customer_search_email: string | null
    customer_document: string | null
    customer_landline_digits: string | null
    customer_mobile_digits: string | null
  }

const ownColumns = sql`
  id, merchant_id, acquirer, amount, idempotency_key, external_code, webhook_url, is_info_product, customer, seller, address,
  items, metadata, pix_expiration_seconds, created_at, pix_uri, pix_expires_at, statuses, status_dates, status, amount_paid,
  payment_date, end_to_end, payer, receiver, fee_amount, infraction_date, error_message`

// Only what was paid can have any: the rest is spared the look.
const columns = sql`${ownColumns},
  case when end_to_end is null then '[]'::json else (
    select coalesce(json_agg(json_build_object(
      'id', refunds.id, 'amount', refunds.amount, 'status', refunds.status, 'endToEndRefund', refunds.end_to_end,
      'reason', refunds.reason,
      'createdAt', to_char(refunds.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
      order by refunds.created_at), '[]'::json)
    from refunds
    where refunds.merchant_id = transactions.merchant_id and refunds.transaction_id = transactions.id
  ) end as refunds`

/**
 * Inserts any number of transactions at once and returns the ids of those that are new. One that is missing there met its
 * idempotency key or id: it stands already. Give them sorted by merchant and key, or two statements may deadlock.
 */
export async function insertTransactions(tx: Tx, transactions: NewTransaction[]): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(sql`
    insert into transactions (
      id, merchant_id, acquirer, amount, idempotency_key, external_code, webhook_url, is_info_product, customer, seller, address,
      items, metadata, customer_search_name, customer_search_email, customer_document, customer_landline_digits,
      customer_mobile_digits, pix_expiration_seconds, pix_uri, pix_expires_at, created_at, statuses, status_dates, error_message,
      check_at)
    select
      id, merchant_id, acquirer, amount, idempotency_key, external_code, webhook_url, is_info_product, customer, seller, address,
      items, metadata, customer_search_name, customer_search_email, customer_document, customer_landline_digits,
      customer_mobile_digits, pix_expiration_seconds, pix_uri, pix_expires_at, created_at, statuses, status_dates, error_message,
      check_at
    from json_to_recordset(${JSON.stringify(transactions)}::json) as given (
      id uuid, merchant_id uuid, acquirer text, amount bigint, idempotency_key text, external_code text, webhook_url text,
      is_info_product boolean, customer json, seller json, address json, items json, metadata json, customer_search_name text,
      customer_search_email text, customer_document text, customer_landline_digits text, customer_mobile_digits text,
      pix_expiration_seconds integer, pix_uri text, pix_expires_at timestamptz, created_at timestamptz, statuses text[],
      status_dates timestamptz[], error_message text, check_at timestamptz)
    on conflict do nothing
    returning id`)
  return new Set(rows.map((row) => row.id))
}

export async function findTransaction(db: Db | Tx, merchantId: string, id: string): Promise<TransactionRow | null> {
  const rows = await db.query<TransactionRow>(sql`
    select ${columns} from transactions where id = ${id} and merchant_id = ${merchantId}`)
  return rows[0] ?? null
}

export async function findTransactions(
  db: Db,
  keys: { merchantId: string; recordId: string }[],
): Promise<TransactionRow[]> {
  return await db.query<TransactionRow>(sql`
    select ${columns} from transactions
    where (id, merchant_id) in (
      select "recordId", "merchantId"
      from json_to_recordset(${JSON.stringify(keys)}::json) as given ("recordId" uuid, "merchantId" uuid))`)
}

export async function findTransactionByKey(
  db: Db,
  merchantId: string,
  idempotencyKey: string,
): Promise<TransactionRow | null> {
  const rows = await db.query<TransactionRow>(sql`
    select ${columns} from transactions where merchant_id = ${merchantId} and idempotency_key = ${idempotencyKey}`)
  return rows[0] ?? null
}

/** Whose these transactions are, where all that is known is a txid. */
export async function findOwners(
  db: Db,
  ids: string[],
): Promise<{ id: string; merchant_id: string; end_to_end: string | null }[]> {
  return await db.query(sql`select id, merchant_id, end_to_end from transactions where id = any(${ids}::uuid[])`)
}

/**
 * Without its refunds: a statement that waited for the lock sees the row as it is by now, but other tables as they were before.
 */
export async function lockTransaction(tx: Tx, merchantId: string, id: string): Promise<StoredTransaction | null> {
  const rows = await tx.query<StoredTransaction>(sql`
    select ${ownColumns} from transactions where id = ${id} and merchant_id = ${merchantId} for no key update`)
  return rows[0] ?? null
}

/** Writes a new status with all that comes with it. The row must be locked and be as `row` says. */
export async function updateTransaction(
  tx: Tx,
  row: StoredTransaction,
  change: { to: TransactionStatus; at: Date; checkAt: Date | null; set: Partial<Changeable> },
): Promise<TransactionRow | null> {
  const next = { ...row, ...change.set }
  const rows = await tx.query<TransactionRow>(sql`
    update transactions set
      statuses = statuses || ${change.to}::text, status_dates = status_dates || ${change.at}::timestamptz,
      pix_uri = ${next.pix_uri}, pix_expires_at = ${next.pix_expires_at}, amount_paid = ${next.amount_paid},
      payment_date = ${next.payment_date}, end_to_end = ${next.end_to_end}, payer = ${next.payer}, receiver = ${next.receiver},
      fee_amount = ${next.fee_amount}, infraction_date = ${next.infraction_date}, error_message = ${next.error_message},
      check_at = ${change.checkAt}
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = ${row.status}
    returning ${columns}`)
  return rows[0] ?? null
}

/** Unless it has moved on meanwhile: the next check is then another's. */
export async function updateCheckAt(
  db: Db,
  row: Pick<StoredTransaction, 'id' | 'merchant_id' | 'status'>,
  checkAt: Date,
): Promise<void> {
  await db.query(sql`
    update transactions set check_at = ${checkAt}
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = ${row.status} and check_at is not null`)
}

/** Takes transactions whose check is due; until the lease ends nobody else is given them. */
export async function claimDueTransactions(
  db: Db,
  now: Date,
  leaseUntil: Date,
  limit: number,
): Promise<TransactionRow[]> {
  return await db.query<TransactionRow>(sql`
    update transactions set check_at = ${leaseUntil}
    where (id, merchant_id) in (
      select id, merchant_id from transactions where check_at <= ${now} order by check_at limit ${limit} for update skip locked)
    returning ${columns}`)
}

export type TransactionFilters = {
  startDate?: Date
  endDate?: Date
  statuses?: TransactionStatus[]
  customerEmail?: string
  /** In the form that lib/text's toSearchText gives. */
  customerName?: string
  customerDocument?: string
  phoneDigits?: string
  id?: string
  endToEnd?: string
  endToEndRefund?: string
  externalCode?: string
  minAmount?: number
  maxAmount?: number
}

export async function listTransactions(
  db: Db,
  merchantId: string,
  filters: TransactionFilters,
  slice: Slice,
): Promise<Page<TransactionRow>> {
  return await findPage<TransactionRow>(db, {
    table: sql`transactions`,
    columns,
    merchantId,
    where: toConditions(filters, merchantId),
    ...slice,
  })
}

/** Only the filters that are there: one statement for all of them would use none of the indexes. */
function toConditions(filters: TransactionFilters, merchantId: string): Sql {
  const { startDate, endDate, statuses, customerEmail, customerName, customerDocument, phoneDigits, id, endToEnd } =
    filters
  const { endToEndRefund, externalCode, minAmount, maxAmount } = filters
  const conditions = [
    startDate && sql`created_at >= ${startDate}`,
    endDate && sql`created_at <= ${endDate}`,
    statuses && sql`status = any(${statuses})`,
    customerEmail && sql`customer_search_email = ${customerEmail}`,
    // Of a name that is but an accent nothing is left to search for: it is a part of every name.
    customerName !== undefined && sql`customer_search_name like ${`%${escapeLike(customerName)}%`}`,
    customerDocument && sql`customer_document = ${customerDocument}`,
    phoneDigits && sql`(customer_landline_digits = ${phoneDigits} or customer_mobile_digits = ${phoneDigits})`,
    id && sql`id = ${id}`,
    endToEnd && sql`end_to_end = ${endToEnd}`,
    endToEndRefund &&
      sql`id in (select transaction_id from refunds where merchant_id = ${merchantId} and end_to_end = ${endToEndRefund})`,
    externalCode && sql`external_code = ${externalCode}`,
    minAmount !== undefined && sql`amount >= ${minAmount}`,
    maxAmount !== undefined && sql`amount <= ${maxAmount}`,
  ].filter((condition) => typeof condition === 'object')
  return conditions.length === 0 ? empty : join(conditions, ' and ', ' and ')
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** Up to when a list of an acquirer's has been read, or null before the first time. */
export async function findListedUntil(db: Db, acquirer: string): Promise<Date | null> {
  const rows = await db.query<{ listed_until: Date }>(sql`
    select listed_until from acquirer_cursors where acquirer = ${acquirer}`)
  return rows[0]?.listed_until ?? null
}

export async function saveListedUntil(db: Db, acquirer: string, listedUntil: Date): Promise<void> {
  await db.query(sql`
    insert into acquirer_cursors (acquirer, listed_until) values (${acquirer}, ${listedUntil})
    on conflict (acquirer) do update set listed_until = greatest(acquirer_cursors.listed_until, excluded.listed_until)`)
}
