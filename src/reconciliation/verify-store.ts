import { type Db, sql, type Tx } from '../db/sql.ts'
import { type Among, isAmong, isWithin, type RecordKey, type Window } from '../ledger/among-store.ts'

/** What was confirmed, and whose books it changes. */
const corrections = sql`
  select id as record_id, decided_at, (proposal ->> 'cents')::bigint as change, case
      when proposal ->> 'account' = 'house' or merchant_id is null then '00000000-0000-8000-8000-000000000001'::uuid
      else merchant_id
    end as merchant_id
  from differences where state = 'confirmed' and proposal ->> 'action' = 'correct'`

export type UnequalCorrection = {
  merchant_id: string
  record_id: string
  expected: number | null
  posted: number | null
}

/**
 * Corrections that are not what was confirmed: transfers of none, of one that nobody has confirmed or of another merchant, confirmed ones
 * without theirs, another amount, or other accounts.
 */
export async function findUnequalCorrections(db: Db | Tx, among: Among): Promise<UnequalCorrection[]> {
  return await db.query<UnequalCorrection>(sql`
    with expected as (
      select record_id, change, merchant_id from (${corrections}) confirmed where ${isAmong(among, 'merchant_id', 'record_id')}
    ), posted as (
      select merchant_id, record_id,
        sum(case when debit = 'acquirer' then amount when credit = 'acquirer' then -amount else 0 end) as change,
        bool_and(record_type = 'correction' and event_key = 'correction:' || record_id and (
          (kind = 'correction' and 'acquirer' in (debit, credit) and (debit in ('available', 'debt', 'fees') or credit in ('available', 'debt', 'fees')))
          or (kind = 'debt_repaid' and debit = 'available' and credit = 'debt'))) as is_shaped
      from ledger_transfers where (record_type = 'correction' or kind = 'correction') and ${isAmong(among, 'merchant_id', 'record_id')}
      group by merchant_id, record_id
    )
    select merchant_id, record_id, expected.change as expected, posted.change as posted
    from expected full join posted using (merchant_id, record_id)
    where expected.change is distinct from posted.change or not coalesce(is_shaped, false)`)
}

/** Corrections that were confirmed in the window. */
export async function findTouched(db: Db | Tx, window: Window): Promise<RecordKey[]> {
  return await db.query<RecordKey>(sql`
    select merchant_id as "merchantId", record_id as id from (${corrections}) confirmed where ${isWithin(window, 'decided_at')}`)
}
