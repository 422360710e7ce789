import { type Db, sql, type Tx } from '../db/sql.ts'
import type { ComparedBalance } from './balance.ts'

const prefix = 'acquirer_balance:'

/** Replaces the acquirer's last comparison. */
export async function saveComparedBalance(db: Db | Tx, { acquirer, ...compared }: ComparedBalance): Promise<void> {
  await db.query(sql`
    insert into settings (name, value) values (${prefix + acquirer}, ${JSON.stringify(compared)})
    on conflict (name) do update set value = excluded.value`)
}

/** Deletes the comparisons of all other acquirers. */
export async function keepComparedBalances(db: Db, acquirers: string[]): Promise<void> {
  const names = acquirers.map((acquirer) => prefix + acquirer)
  await db.query(sql`delete from settings where starts_with(name, ${prefix}) and name <> all(${names}::text[])`)
}

/** The last comparison of each acquirer. */
export async function listComparedBalances(db: Db | Tx): Promise<ComparedBalance[]> {
  const rows = await db.query<{ name: string; value: string }>(sql`
    select name, value from settings where starts_with(name, ${prefix}) order by name`)
  return rows.map(({ name, value }) => ({ ...JSON.parse(value), acquirer: name.slice(prefix.length) }))
}

/**
 * The amount that disputes of an acquirer's payments block until they end, by the ledger: of merchants' balances, and
 * of payments in suspense, which are not sent back meanwhile.
 */
export async function sumDisputed(db: Db | Tx, acquirer: string): Promise<number> {
  const [row] = await db.query<{ sum: number }>(sql`
    select coalesce(sum(blocked), 0)::bigint as sum from (
      select moved.blocked
      from disputes i
      join transactions t on t.id = i.transaction_id and t.merchant_id = i.merchant_id
      cross join lateral (
        select coalesce(sum(case when credit = 'blocked' then amount else -amount end), 0) as blocked from ledger_transfers l
        where l.merchant_id = i.merchant_id and l.record_id = i.id and 'blocked' in (debit, credit)
      ) moved
      where i.state in ('open', 'accepted') and t.acquirer = ${acquirer}
      union all
      select least(sum(u.amount), max(s.amount - s.taken_amount)) from unattributed_disputes u
      join suspense_payments s on s.acquirer = u.acquirer and s.end_to_end = u.end_to_end
      where u.acquirer = ${acquirer} and u.acquirer_state in ('open', 'accepted', 'unknown') and s.status in ('held', 'returning')
      group by u.end_to_end
    ) disputed`)
  return row?.sum ?? 0
}
