import { type Db, empty, sql, type Tx } from '../db/sql.ts'
import type { FeeOperation, FeeRule } from './store.ts'

export type LedgerCounts = { merchants: number; transfers: number }

/** The size of the ledger. */
export async function countLedger(db: Db): Promise<LedgerCounts> {
  const [counts] = await db.query<LedgerCounts>(sql`
    select (select count(distinct merchant_id) from ledger_accounts) as merchants, (select count(*) from ledger_transfers) as transfers`)
  return counts ?? { merchants: 0, transfers: 0 }
}

export type ListedFeeRule = FeeRule & {
  client_id: string
  operation: FeeOperation
  valid_from: Date
  in_force: boolean
}

/** The fee rules of all merchants or of one: those in force, or all that ever were. */
export async function listFeeRules(
  db: Db | Tx,
  { merchantId, now, isAll }: { merchantId: string | null; now: Date; isAll: boolean },
): Promise<ListedFeeRule[]> {
  return await db.query<ListedFeeRule>(sql`
    select * from (
      select client_id, operation, fixed, basis_points, minimum, maximum, returns_payment_fee, valid_from,
        valid_from <= ${now} and row_number() over (
          partition by merchant_id, operation, valid_from <= ${now} order by valid_from desc) = 1 as in_force
      from fee_rules join clients using (merchant_id)
      ${merchantId === null ? empty : sql`where merchant_id = ${merchantId}`}
    ) rules
    ${isAll ? empty : sql`where in_force`}
    order by client_id, operation, valid_from`)
}

/**
 * Since when the latest rule is valid, null without one: by the clock of another machine, that may be a moment to come.
 * Another change waits for the commit.
 */
export async function lockFeeRule(
  tx: Tx,
  { merchantId, operation }: { merchantId: string; operation: FeeOperation },
): Promise<Date | null> {
  await tx.query(sql`select from clients where merchant_id = ${merchantId} for no key update`)
  const [row] = await tx.query<{ valid_from: Date | null }>(sql`
    select max(valid_from) as valid_from from fee_rules
    where merchant_id = ${merchantId} and operation = ${operation}`)
  return row?.valid_from ?? null
}
