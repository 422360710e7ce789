import { findPage, walkList } from '../db/page.ts'
import { empty, join, type Reads, type Sql, sql } from '../db/sql.ts'
import type { Page, Slice } from '../http/page.ts'
import type { WithdrawalStatus } from './status.ts'
import { type WithdrawalRow, withdrawalColumns } from './store.ts'

export type WithdrawalFilters = {
  startDate?: Date
  endDate?: Date
  statuses?: WithdrawalStatus[]
  id?: string
  /** In normal form. */
  pixKey?: string
  endToEnd?: string
  endToEndRefund?: string
  externalCode?: string
  minAmount?: number
  maxAmount?: number
}

export async function listWithdrawals(
  db: Reads,
  merchantId: string,
  filters: WithdrawalFilters,
  slice: Slice,
): Promise<Page<WithdrawalRow>> {
  const { id, pixKey, endToEnd, endToEndRefund, externalCode } = filters
  return await findPage<WithdrawalRow>(db, {
    table: sql`withdrawals`,
    columns: withdrawalColumns,
    merchantId,
    where: toConditions(filters),
    ...slice,
    matchesFew: [id, pixKey, endToEnd, endToEndRefund, externalCode].some((filter) => filter !== undefined),
  })
}

/** All matching withdrawals, newest first, in chunks. */
export function walkWithdrawals(
  db: Reads,
  merchantId: string,
  filters: WithdrawalFilters,
): AsyncGenerator<WithdrawalRow[]> {
  const where = toConditions(filters)
  return walkList<WithdrawalRow>(db, { table: sql`withdrawals`, columns: withdrawalColumns, merchantId, where })
}

export function toConditions(filters: WithdrawalFilters): Sql {
  const { startDate, endDate, statuses, id, pixKey, endToEnd, endToEndRefund, externalCode, minAmount, maxAmount } =
    filters
  const conditions = [
    startDate && sql`created_at >= ${startDate}`,
    endDate && sql`created_at <= ${endDate}`,
    statuses && sql`status = any(${statuses})`,
    id && sql`id = ${id}`,
    pixKey && sql`pix_key = ${pixKey}`,
    endToEnd && sql`end_to_end = ${endToEnd}`,
    endToEndRefund &&
      sql`(end_to_end_refund = ${endToEndRefund} or earlier_end_to_end_refunds @> ${[endToEndRefund]}::text[])`,
    externalCode && sql`external_code = ${externalCode}`,
    minAmount !== undefined && sql`amount >= ${minAmount}`,
    maxAmount !== undefined && sql`amount <= ${maxAmount}`,
  ].filter((condition) => typeof condition === 'object')
  return conditions.length === 0 ? empty : join(conditions, ' and ', ' and ')
}
