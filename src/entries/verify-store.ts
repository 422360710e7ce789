import { type Db, sql, type Tx } from '../db/sql.ts'
import { isWithin, type RecordFilter, type RecordKey, tableOf, type Window } from '../ledger/record-filter-store.ts'
import { isEntryTransfer } from './store.ts'

export type UnequalEntry = {
  merchant_id: string
  record_id: string
  type: string | null
  amount: number | null
  posted: number | null
}

/**
 * Entries whose transfers do not match their type: other amounts, other accounts, another acquirer, or none; and such
 * transfers without an entry. An entry may post to the accounts of many merchants, so its transfers are summed by its
 * id alone.
 */
export async function findUnequalEntries(db: Db | Tx, filter: RecordFilter): Promise<UnequalEntry[]> {
  const isVerified = (column: 'id' | 'record_id') =>
    filter === null
      ? sql`true`
      : sql`${column === 'id' ? sql`id` : sql`record_id`} in (select id from (${tableOf(filter)}) touched)`
  return await db.query<UnequalEntry>(sql`
    with entries as (
      select * from operator_entries where ${isVerified('id')}
    ), sides as (
      select t.record_id, t.merchant_id, t.record_type, t.event_key, t.kind, t.amount,
        split_part(debit, ':', 1) as debit, split_part(credit, ':', 1) as credit,
        coalesce(nullif(split_part(debit, ':', 2), ''), nullif(split_part(credit, ':', 2), '')) as acquirer
      from ledger_transfers t
      where ${isEntryTransfer} and ${isVerified('record_id')}
    ), sums as (
      select s.record_id, min(s.merchant_id::text)::uuid as merchant_id,
        -- The change of the operator's money, or the amount received.
        sum(amount) filter (where kind in ('fees_drawn', 'psp_fee', 'pay_in', 'manual', 'moved_out', 'moved_in')) as moved,
        sum(amount) filter (where kind = 'debt_written_off' and credit = 'debt') as forgiven,
        coalesce(sum(amount) filter (where kind = 'debt_written_off' and debit = 'acquirer'), 0)
          - coalesce(sum(amount) filter (where kind = 'debt_written_off' and credit = 'acquirer'), 0) as unpaid
      from sides s group by s.record_id
    ), shapes as (
      select s.record_id, bool_and(
        s.record_type = e.type and s.event_key = case when e.type in ('move_out', 'move_in') then 'move' else e.type end || ':' || e.id and (s.acquirer is null or s.acquirer = e.acquirer)
        and case e.type
          when 'fee_draw' then (kind, s.debit, s.credit) = ('fees_drawn', 'fees', 'acquirer')
          when 'psp_fee' then kind = 'psp_fee' and s.debit in ('fees', 'debt') and s.credit = 'acquirer'
          when 'pay_in' then s.merchant_id = e.merchant_id and (
            (kind = 'pay_in' and s.debit = 'acquirer' and s.credit in ('available', 'fees', 'debt'))
            or (kind, s.debit, s.credit) = ('debt_repaid', 'available', 'debt'))
          when 'move_out' then
            (kind, s.debit, s.credit, s.merchant_id) = ('moved_out', 'available', 'acquirer', e.merchant_id)
          when 'move_in' then s.merchant_id = e.merchant_id and (
            (kind, s.debit, s.credit) = ('moved_in', 'acquirer', 'available')
            or (kind, s.debit, s.credit) = ('debt_repaid', 'available', 'debt'))
          when 'write_off' then kind = 'debt_written_off' and (
            (s.merchant_id = e.merchant_id and s.debit in ('fees', 'acquirer') and s.credit = 'debt')
            or (s.merchant_id <> e.merchant_id and s.debit in ('fees', 'debt') and s.credit = 'acquirer'))
          else (kind, s.debit, s.credit, s.merchant_id) = ('manual', e.debit, e.credit, e.merchant_id)
        end) as is_shaped
      from sides s join entries e on e.id = s.record_id
      group by s.record_id
    )
    select coalesce(e.merchant_id, sums.merchant_id) as merchant_id, coalesce(e.id, sums.record_id) as record_id, e.type, e.amount,
      coalesce(sums.forgiven, sums.moved) as posted
    from entries e
    full join sums on sums.record_id = e.id
    left join shapes on shapes.record_id = e.id
    where coalesce(sums.forgiven, sums.moved) is distinct from e.amount or sums.unpaid <> 0 or not coalesce(is_shaped, false)`)
}

/** Entries that were posted in the window. */
export async function findTouched(db: Db | Tx, window: Window): Promise<RecordKey[]> {
  return await db.query<RecordKey>(sql`
    select merchant_id as "merchantId", id from operator_entries where ${isWithin(window, 'created_at')}`)
}
