import { findPage } from '../db/page.ts'
import { type Db, empty, join, type Sql, sql } from '../db/sql.ts'
import type { Page, Slice } from '../http/page.ts'
import type { AccountHolder } from '../pix/holder.ts'
import type { PixKeyType } from '../pix/key.ts'
import type { WithdrawalStatus } from './status.ts'

export type WithdrawalRow = {
  id: string
  merchant_id: string
  acquirer: string
  amount: number
  webhook_url: string | null
  external_code: string | null
  pix_key: string
  pix_key_type: PixKeyType
  created_at: Date
  statuses: WithdrawalStatus[]
  status_dates: Date[]
  status: WithdrawalStatus
  amount_withdrawn: number | null
  processed_date: Date | null
  error_message: string | null
  end_to_end: string | null
  payer: AccountHolder | null
  receiver: AccountHolder | null
  fee_amount: number | null
}

export type WithdrawalFilters = {
  startDate?: Date
  endDate?: Date
  statuses?: WithdrawalStatus[]
  id?: string
  /** In its normal form. */
  pixKey?: string
  endToEnd?: string
  endToEndRefund?: string
  externalCode?: string
  minAmount?: number
  maxAmount?: number
}

const columns = sql`
  id, merchant_id, acquirer, amount, webhook_url, external_code, pix_key, pix_key_type, created_at, statuses, status_dates, status,
  amount_withdrawn, processed_date, error_message, end_to_end, payer, receiver, fee_amount`

export async function listWithdrawals(
  db: Db,
  merchantId: string,
  filters: WithdrawalFilters,
  slice: Slice,
): Promise<Page<WithdrawalRow>> {
  return await findPage<WithdrawalRow>(db, {
    table: sql`withdrawals`,
    columns,
    merchantId,
    where: toConditions(filters),
    ...slice,
  })
}

function toConditions(filters: WithdrawalFilters): Sql {
  const { startDate, endDate, statuses, id, pixKey, endToEnd, endToEndRefund, externalCode, minAmount, maxAmount } =
    filters
  const conditions = [
    startDate && sql`created_at >= ${startDate}`,
    endDate && sql`created_at <= ${endDate}`,
    statuses && sql`status = any(${statuses})`,
    id && sql`id = ${id}`,
    pixKey && sql`pix_key = ${pixKey}`,
    endToEnd && sql`end_to_end = ${endToEnd}`,
    endToEndRefund && sql`end_to_end_refund = ${endToEndRefund}`,
    externalCode && sql`external_code = ${externalCode}`,
    minAmount !== undefined && sql`amount >= ${minAmount}`,
    maxAmount !== undefined && sql`amount <= ${maxAmount}`,
  ].filter((condition) => typeof condition === 'object')
  return conditions.length === 0 ? empty : join(conditions, ' and ', ' and ')
}
