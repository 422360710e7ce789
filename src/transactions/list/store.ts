import { findPage, walkList } from '../../db/page.ts'
import { empty, join, type Reads, type Sql, sql } from '../../db/sql.ts'
import type { Page, Slice } from '../../http/page.ts'
import type { TransactionStatus } from '../status.ts'
import { type TransactionRow, transactionColumns } from '../store.ts'
import { countByDays, startOfPage } from './count-store.ts'
import { findByName } from './name-store.ts'

export type TransactionFilters = {
  startDate?: Date
  endDate?: Date
  statuses?: TransactionStatus[]
  customerEmail?: string
  /** In the form that `toSearchText` of lib/text returns. */
  customerName?: string
  customerDocument?: string
  phoneDigits?: string
  id?: string
  endToEnd?: string
  endToEndRefund?: string
  externalCode?: string
  minAmount?: number
  maxAmount?: number
  /** Of a payment link. */
  linkId?: string
}

export async function listTransactions(
  db: Reads,
  merchantId: string,
  filters: TransactionFilters,
  slice: Slice,
): Promise<Page<TransactionRow>> {
  const { customerName, ...others } = filters
  const { startDate, endDate, statuses, minAmount, maxAmount, ...selective } = others
  // A selective filter has an index and matches few rows. A name is searched through customer_names, unless another
  // selective filter is set. Totals of the other filters come from daily counts, except with amounts.
  const isSelective = isAnySet(selective)
  const matchesFew = isSelective || customerName !== undefined
  const isCounted = !matchesFew && minAmount === undefined && maxAmount === undefined
  const where = toConditions(filters, merchantId)
  return await findPage<TransactionRow>(db, {
    table: sql`transactions`,
    columns: transactionColumns,
    merchantId,
    where,
    ...slice,
    total: isCounted ? countByDays(merchantId, { startDate, endDate, statuses }) : undefined,
    start: isCounted && !startDate && !endDate ? (offset) => startOfPage(merchantId, statuses, offset) : undefined,
    matchesFew,
    found:
      customerName === undefined || isSelective
        ? null
        : findByName(merchantId, {
            name: customerName,
            pattern: toPattern(customerName),
            conditions: where,
            isAlone: !isAnySet(others),
          }),
  })
}

function isAnySet(filters: object): boolean {
  return Object.values(filters).some((value) => value !== undefined)
}

/** A transaction as exported. */
export type ExportedTransaction = Pick<
  TransactionRow,
  | 'id'
  | 'created_at'
  | 'status'
  | 'amount'
  | 'amount_paid'
  | 'fee_amount'
  | 'payment_date'
  | 'end_to_end'
  | 'external_code'
  | 'error_message'
  | 'amount_returned'
> & {
  /** When the payment was posted in the ledger; null until then. */
  posted_at: Date | null

  /** Null until it is paid. */
  amount_refunded: number | null
  customer_name: string | null
  customer_document: string | null
  customer_email: string | null
  /** Null unless the acquirer names the account holder in full: some mask the document or omit the account. */
  payer_name: string | null
  payer_document: string | null
}

const exportedColumns = sql`
  id, created_at, status, amount, amount_paid, fee_amount, payment_date, end_to_end, external_code, error_message,
  amount_returned, status_dates[array_position(statuses, 'PAID')] as posted_at,
  customer ->> 'name' as customer_name, customer_document, customer ->> 'email' as customer_email,
  payer ->> 'name' as payer_name, payer ->> 'document' as payer_document,
  case when end_to_end is not null then (
    select coalesce(sum(refunds.amount), 0) from refunds
    where refunds.merchant_id = transactions.merchant_id and refunds.transaction_id = transactions.id and refunds.status = 'REFUNDED'
  ) end as amount_refunded`

/** All matching transactions, newest first, in chunks. */
export function walkTransactions(
  db: Reads,
  merchantId: string,
  filters: TransactionFilters,
): AsyncGenerator<ExportedTransaction[]> {
  const where = toConditions(filters, merchantId)
  return walkList<ExportedTransaction>(db, { table: sql`transactions`, columns: exportedColumns, merchantId, where })
}

/** These transactions of a merchant, as exported. */
export async function findExported(db: Reads, merchantId: string, ids: string[]): Promise<ExportedTransaction[]> {
  return await db.query<ExportedTransaction>(sql`
    select ${exportedColumns} from transactions where merchant_id = ${merchantId} and id = any(${ids}::uuid[])`)
}

/** Conditions for the filters that are set. One fixed statement with optional filters could use none of the indexes. */
export function toConditions(filters: TransactionFilters, merchantId: string | Sql): Sql {
  const {
    startDate,
    endDate,
    statuses,
    customerEmail,
    customerName,
    customerDocument,
    phoneDigits,
    id,
    endToEnd,
    endToEndRefund,
    externalCode,
    minAmount,
    maxAmount,
    linkId,
  } = filters
  const conditions = [
    startDate && sql`created_at >= ${startDate}`,
    endDate && sql`created_at <= ${endDate}`,
    statuses && sql`status = any(${statuses})`,
    customerEmail && sql`customer_search_email = ${customerEmail}`,
    // Not a truthiness test: a name made only of accents becomes '', which must match every name.
    customerName !== undefined && sql`customer_search_name like ${toPattern(customerName)}`,
    customerDocument && sql`customer_document = ${customerDocument}`,
    phoneDigits && sql`(customer_landline_digits = ${phoneDigits} or customer_mobile_digits = ${phoneDigits})`,
    id && sql`id = ${id}`,
    endToEnd && sql`end_to_end = ${endToEnd}`,
    endToEndRefund &&
      sql`id in (
        select transaction_id from refunds where merchant_id = ${merchantId} and end_to_end = ${endToEndRefund}
        union all
        select transaction_id from transaction_returns where merchant_id = ${merchantId} and end_to_end = ${endToEndRefund})`,
    externalCode && sql`external_code = ${externalCode}`,
    linkId &&
      sql`idempotency_key in (
        select key from payment_link_charges where merchant_id = ${merchantId} and link_id = ${linkId})`,
    minAmount !== undefined && sql`amount >= ${minAmount}`,
    maxAmount !== undefined && sql`amount <= ${maxAmount}`,
  ].filter((condition) => typeof condition === 'object')
  return conditions.length === 0 ? empty : join(conditions, ' and ', ' and ')
}

/** The LIKE pattern of the texts that contain this one. */
function toPattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}
