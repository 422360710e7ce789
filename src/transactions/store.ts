import { smallRowsParam } from '../db/rows-param.ts'
import { type Db, type Reads, raw, type Sql, sql, type Tx } from '../db/sql.ts'
import { isAnyDue } from '../jobs/claim.ts'
import { type FeeRule, feeRuleOf } from '../ledger/store.ts'
import { assert } from '../lib/assert.ts'
import type { AccountHolder } from '../pix/holder.ts'
import {
  disputesAndReturns,
  type ShownDispute,
  type ShownRefund,
  type ShownReturn,
  shownRefunds,
} from './shown-store.ts'
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

/** The fields set at creation that never change. */
type CreatedFields = {
  id: string
  merchant_id: string
  amount: number
  idempotency_key: string | null
  external_code: string | null
  webhook_url: string | null
  return_url: string | null
  is_info_product: boolean
  customer: StoredCustomer | null
  seller: { name: string; document: StoredDocument } | null
  address: StoredAddress | null
  items: { title: string; description?: string; unitPrice: number; quantity: number }[] | null
  description: string | null
  metadata: Record<string, unknown> | null
  pix_expiration_seconds: number
  created_at: Date
}

/** The fields that change with the status. */
export type Changeable = {
  /** The acquirer that gave the code; once it is paid, the one that holds the money. */
  acquirer: string
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
  /** In the order of their requests; see {@link Listed}. */
  refunds: ShownRefund[]
  /** What was returned other than by refunds: under MED, or by the bank and confirmed by an operator. */
  amount_returned: number
  disputes: ShownDispute[]
  returns: ShownReturn[]
}

/**
 * A transaction under its lock: its owner, and the fields that change. `cancel_requested_at`: null unless a cancel was
 * requested and the acquirer did not refuse it.
 */
export type LockedTransaction = Pick<CreatedFields, 'id' | 'merchant_id' | 'webhook_url'> &
  OtherAcquirers &
  Omit<Changeable, Listed> & { status: TransactionStatus; cancel_requested_at: Date | null }

/**
 * Read in the same statement as the row, and never in a statement that locks the row: after a wait for the lock,
 * PostgreSQL shows the current row, but other tables as they were when the statement began.
 */
type Listed = 'refunds' | 'disputes' | 'returns'

/** Acquirers that may have a charge under its txid too: a payment there is credited. Merchants do not see them. */
type OtherAcquirers = { other_acquirers: string[] }

/** A transaction after a change of its status. */
export type ChangedTransaction = LockedTransaction & Pick<Changeable, Listed>

export type TransactionRow = CreatedFields & ChangedTransaction

export type NewTransaction = CreatedFields &
  OtherAcquirers &
  Pick<Changeable, 'acquirer' | 'pix_uri' | 'pix_expires_at' | 'statuses' | 'status_dates' | 'error_message'> & {
    check_at: Date | null
    customer_search_name: string | null
    customer_search_email: string | null
    customer_document: string | null
    customer_landline_digits: string | null
    customer_mobile_digits: string | null
  }

const lockedColumns = sql`
  id, merchant_id, acquirer, other_acquirers, webhook_url, pix_uri, pix_expires_at, statuses, status_dates, status, amount_paid, payment_date,
  end_to_end, payer, receiver, fee_amount, infraction_date, error_message, amount_returned, cancel_requested_at`

const createdColumns = sql`
  amount, idempotency_key, external_code, return_url, is_info_product, customer, seller, address, items, description, metadata, pix_expiration_seconds,
  created_at`

// Only a paid transaction can have refunds: the others need no subquery.
export const transactionColumns = sql`${lockedColumns}, ${disputesAndReturns}, ${createdColumns},
  case when end_to_end is null then '[]'::json else ${shownRefunds} end as refunds`

export async function findTransaction(db: Db | Tx, merchantId: string, id: string): Promise<TransactionRow | null> {
  const rows = await db.query<TransactionRow>(
    sql`select ${transactionColumns} from transactions where id = ${id} and merchant_id = ${merchantId}`,
    'find-transaction',
  )
  return rows[0] ?? null
}

export type TransactionKey = { merchantId: string; recordId: string }

const recordsParam = smallRowsParam<TransactionKey>({ merchantId: 'uuid', recordId: 'uuid' })

const selectByKeys = (columns: Sql, keys: TransactionKey[]) => sql`
  select ${columns} from transactions
  where (id, merchant_id) in (select "recordId", "merchantId" from ${recordsParam(keys)})`

export async function findTransactions(db: Reads, keys: TransactionKey[]): Promise<TransactionRow[]> {
  return await db.query(selectByKeys(transactionColumns, keys), 'find-transactions')
}

export type Versioned<Row> = Row & { version: string }

/**
 * A text that differs after each change of a row. It has the id of the database transaction that wrote the row (`xmin`)
 * and the row's physical location (`ctid`). A server that takes over without the last commits may use the same two for
 * another change: the times of the status and of the erasure distinguish those.
 */
const rowVersion = sql`concat_ws(' ', xmin, ctid, status_dates[cardinality(status_dates)], erased_at) as version`

export async function findVersionedTransactions(
  db: Reads,
  keys: TransactionKey[],
): Promise<Versioned<TransactionRow>[]> {
  return await db.query(selectByKeys(sql`${transactionColumns}, ${rowVersion}`, keys), 'find-versioned-transactions')
}

/** Only the versions, as {@link findVersionedTransactions} returns them. */
export async function findTransactionVersions(
  db: Reads,
  keys: TransactionKey[],
): Promise<Versioned<Pick<TransactionRow, 'id' | 'merchant_id'>>[]> {
  return await db.query(selectByKeys(sql`id, merchant_id, ${rowVersion}`, keys), 'find-transaction-versions')
}

/** A transaction to compare with a request that repeats its key. */
export type KeyedTransaction = TransactionRow & { erased_at: Date | null }

export async function findTransactionByKey(
  db: Db,
  merchantId: string,
  idempotencyKey: string,
): Promise<KeyedTransaction | null> {
  const rows = await db.query<KeyedTransaction>(
    sql`select ${transactionColumns}, erased_at from transactions where merchant_id = ${merchantId} and idempotency_key = ${idempotencyKey}`,
    'find-transaction-by-key',
  )
  return rows[0] ?? null
}

export async function lockTransaction(tx: Tx, merchantId: string, id: string): Promise<LockedTransaction | null> {
  const [row] = await lockTransactions(tx, [{ merchantId, id }])
  return row ?? null
}

const keysParam = smallRowsParam<{ merchantId: string; id: string }>({ merchantId: 'uuid', id: 'uuid' })

/**
 * Locks in the same order for everyone. Without refunds, disputes and returns: a statement that waited for a lock sees
 * the current row, but other tables as they were before.
 */
export async function lockTransactions(
  tx: Tx,
  keys: { merchantId: string; id: string }[],
): Promise<LockedTransaction[]> {
  return await tx.query<LockedTransaction>(
    sql`
      select ${lockedColumns} from transactions
      where (id, merchant_id) in (select input.id, "merchantId" from ${keysParam(keys)})
      order by id, merchant_id for no key update`,
    'lock-transactions',
  )
}

type Payment = { merchantId: string; id: string; acquirer: string; endToEndId: string }
const paymentsParam = smallRowsParam<Payment>({ merchantId: 'uuid', id: 'uuid', acquirer: 'text', endToEndId: 'text' })

/** A transaction under its lock, with all that its webhook shows. */
export type WholeTransaction = Omit<TransactionRow, Listed>

/**
 * `suspended`: which payments of the batch are or were in suspense; null for none. `fee_rule`: what its merchant pays
 * for a payment now.
 */
type ToBePaid = WholeTransaction & { suspended: string[] | null; fee_rule: FeeRule | null }

/** Locks transactions that are being paid, in the order of {@link lockTransactions}. */
export async function lockToBePaid(tx: Tx, payments: Payment[], now: Date): Promise<ToBePaid[]> {
  return await tx.query<ToBePaid>(
    sql`
      with input as materialized (select * from ${paymentsParam(payments)})
      select ${lockedColumns}, ${createdColumns}, (
        select array_agg(end_to_end) from suspense_payments
        where (acquirer, end_to_end) in (select input.acquirer, "endToEndId" from input)) as suspended,
        ${feeRuleOf({ merchantId: raw('transactions.merchant_id'), operation: 'transaction', now })} as fee_rule
      from transactions
      where (id, merchant_id) in (select input.id, "merchantId" from input)
      order by id, merchant_id for no key update of transactions`,
    'lock-to-be-paid',
  )
}

/** A change of status, and the columns that change with it. */
export type Change = {
  row: LockedTransaction
  to: TransactionStatus
  at: Date
  checkAt: Date | null
  set: Partial<Omit<Changeable, Listed | 'statuses' | 'status_dates' | 'amount_returned'> & OtherAcquirers>
}

type ChangeRow = Omit<LockedTransaction, 'status' | 'statuses' | 'status_dates' | 'amount_returned'> &
  Pick<Change, 'to' | 'at' | 'checkAt'> & { place: number; from: TransactionStatus; wasPaid: boolean }

const changesParam = smallRowsParam<ChangeRow>({
  place: 'integer',
  id: 'uuid',
  merchant_id: 'uuid',
  from: 'text',
  wasPaid: 'boolean',
  to: 'text',
  at: 'timestamptz',
  checkAt: 'timestamptz',
  acquirer: 'text',
  other_acquirers: 'text[]',
  pix_uri: 'text',
  pix_expires_at: 'timestamptz',
  amount_paid: 'bigint',
  payment_date: 'timestamptz',
  end_to_end: 'text',
  payer: 'json',
  receiver: 'json',
  fee_amount: 'bigint',
  infraction_date: 'timestamptz',
  error_message: 'text',
})

/**
 * Writes new statuses, and returns the updated rows in the order of the changes. Each row must be locked and current.
 */
export async function updateTransactions(tx: Tx, changes: Change[]): Promise<ChangedTransaction[]> {
  const rows = changes.map(({ row, to, at, checkAt, set }, place) => {
    return { ...row, ...set, place, from: row.status, wasPaid: row.end_to_end !== null, to, at, checkAt }
  })
  const updated = await tx.query<{ place: number } & Pick<Changeable, Listed>>(
    sql`
      update transactions set
        statuses = statuses || input."to", status_dates = status_dates || input.at, acquirer = input.acquirer,
        other_acquirers = input.other_acquirers::text[], pix_uri = input.pix_uri, pix_expires_at = input.pix_expires_at, amount_paid = input.amount_paid, payment_date = input.payment_date,
        end_to_end = input.end_to_end, payer = input.payer, receiver = input.receiver, fee_amount = input.fee_amount,
        infraction_date = input.infraction_date, error_message = input.error_message, check_at = input."checkAt"
      from ${changesParam(rows)}
      where transactions.id = input.id and transactions.merchant_id = input.merchant_id and status = input."from"
      returning place, case when "wasPaid" then ${shownRefunds} else '[]'::json end as refunds, ${disputesAndReturns}`,
    'update-transactions',
  )
  assert(updated.length === changes.length, 'a locked transaction is unchanged since it was read')
  const listedAt = new Map(updated.map(({ place, ...lists }) => [place, lists]))
  return changes.map((change, place) => toChanged(change, listedAt.get(place) ?? nothingListed))
}

/** The lists of a transaction that was never paid. */
export const nothingListed: Pick<Changeable, Listed> = { refunds: [], disputes: [], returns: [] }

/** What a transaction has before it is paid. */
export const nothingPaid = {
  amount_paid: null,
  payment_date: null,
  end_to_end: null,
  payer: null,
  receiver: null,
  fee_amount: null,
  infraction_date: null,
  amount_returned: 0,
  ...nothingListed,
} satisfies Partial<Changeable>

/** The row after a change. */
export function toChanged({ row, to, at, set }: Change, lists: Pick<Changeable, Listed>): ChangedTransaction {
  return {
    ...row,
    ...set,
    statuses: [...row.statuses, to],
    status_dates: [...row.status_dates, at],
    status: to,
    ...lists,
  }
}

/**
 * Does nothing if the status has changed or a cancel was requested meanwhile: that change has set the time of the next
 * check.
 */
export async function updateCheckAt(db: Db, row: TransactionRow, checkAt: Date): Promise<void> {
  await db.query(sql`
    update transactions set check_at = ${checkAt}
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = ${row.status} and check_at is not null
      and cancel_requested_at is not distinct from ${row.cancel_requested_at}`)
}

/** Those whose check is due, the oldest first. */
export async function findDueTransactions(
  db: Db,
  { now, limit }: { now: Date; limit: number },
): Promise<TransactionRow[]> {
  return await db.query<TransactionRow>(
    sql`select ${transactionColumns} from transactions where check_at <= ${now} order by check_at limit ${limit}`,
    'find-due-transactions',
  )
}

/**
 * Counts, up to `limit`, the open charges whose next check is more than an hour after their expiry. A charge without a
 * code, because no acquirer answered, expires `pix_expiration_seconds` after its creation. The index
 * `transactions_open_late` has the same condition.
 */
export async function countOpenLate(db: Db, limit: number): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    sql`
      select count(*) as count from (
        select from transactions
        where check_at - pix_expires_at > interval '1 hour'
          or (pix_expires_at is null and check_at - created_at > make_interval(secs => pix_expiration_seconds) + interval '1 hour')
        limit ${limit}
      ) late`,
    'count-open-late',
  )
  return row?.count ?? 0
}

const toCheck = { table: sql`transactions`, dueAt: sql`check_at` }

export async function isTransactionDue(db: Db, now: Date): Promise<boolean> {
  return await isAnyDue(db, toCheck, { now, name: 'is-transaction-due' })
}

/** Makes a transaction that waits for its payment due for a check now, instead of when its code expires. */
export async function checkNow(db: Db, row: { merchant_id: string; id: string }, now: Date): Promise<void> {
  await db.query(sql`
    update transactions set check_at = ${now}
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = 'PIX_QRCODE_GENERATED' and check_at > ${now}`)
}

/**
 * Marks an open transaction as to be canceled, and has it checked soon: only the acquirer knows whether it can still be
 * canceled.
 */
export async function requestCancel(
  tx: Tx,
  row: Pick<LockedTransaction, 'id' | 'merchant_id'>,
  { now, checkAt }: { now: Date; checkAt: Date },
): Promise<void> {
  await tx.query(sql`
    update transactions set cancel_requested_at = ${now}, check_at = least(check_at, ${checkAt})
    where id = ${row.id} and merchant_id = ${row.merchant_id}`)
}

/** Keeps an open transaction open, unless its cancel was requested again meanwhile. */
export async function withdrawCancel(db: Db, row: TransactionRow, checkAt: Date): Promise<void> {
  await db.query(sql`
    update transactions set cancel_requested_at = null, check_at = ${checkAt}
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = ${row.status}
      and cancel_requested_at = ${row.cancel_requested_at}`)
}
