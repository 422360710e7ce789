import { empty, join, type Reads, type Sql, sql } from '../db/sql.ts'
import type { DefenceState } from '../defences/status.ts'
import { type DisputeOfClient, deadline, disputeColumns } from '../transactions/dispute/store.ts'
import { areAt, type ListPosition, type ListScope, type Matching } from './list-store.ts'

/**
 * to_answer: no defence is sent; answered: one is, and the banks decide; won: rejected or canceled; lost: accepted,
 * whether or not the money is returned.
 */
export const disputeTabs = ['to_answer', 'answered', 'won', 'lost'] as const
export type DisputeTab = (typeof disputeTabs)[number]

const tabs: Record<DisputeTab, Sql> = {
  to_answer: sql`state = 'open' and answered_at is null`,
  answered: sql`state = 'open' and answered_at is not null`,
  won: sql`state in ('rejected', 'canceled')`,
  lost: sql`state in ('accepted', 'returned')`,
}

const rows = sql`(
  select merchant_id, id, state, answered_at, amount, opened_at as created_at, ${deadline} as due_at,
    case ${join(
      disputeTabs.map((tab) => sql`when ${tabs[tab]} then ${tab}`),
      ' ',
    )} end as status
  from disputes
) disputes`

type Filters = {
  tab: DisputeTab | undefined
  openedFrom: Date | undefined
  openedBefore: Date | undefined
  /** Only open ones, with a deadline at or before this. */
  dueUntil: Date | undefined
}

export function matchingDisputes({ tab, openedFrom, openedBefore, dueUntil }: Filters, scope: ListScope): Matching {
  const where = sql`
    ${tab === undefined ? empty : sql`and ${tabs[tab]}`}
    ${openedFrom === undefined ? empty : sql`and created_at >= ${openedFrom}`}
    ${openedBefore === undefined ? empty : sql`and created_at < ${openedBefore}`}
    ${dueUntil === undefined ? empty : sql`and state = 'open' and due_at <= ${dueUntil}`}`
  // There are few in all, and no index has them in the order of a page.
  return { table: 'disputes', rows, where, matchesFew: true, ...scope }
}

export type ListedDispute = DisputeOfClient & {
  /** Null before anything was written. */
  defence: DefenceState | null
  payer_name: string | null
}

export async function findListedDisputes(db: Reads, positions: ListPosition[]): Promise<ListedDispute[]> {
  return await db.query<ListedDispute>(sql`
    select disputes.*, client_id, clients.name as client_name, payment.payer_name,
      coalesce(defence.state, case when exists (
        select from dispute_files
        where dispute_files.merchant_id = disputes.merchant_id and dispute_files.dispute_id = disputes.id
      ) then 'draft' end) as defence
    from (select ${disputeColumns} from disputes where ${areAt(positions)}) disputes
    join clients using (merchant_id)
    join lateral (
      select coalesce(payer ->> 'name', customer ->> 'name') as payer_name from transactions
      where transactions.merchant_id = disputes.merchant_id and transactions.id = disputes.transaction_id
    ) payment on true
    left join lateral (
      select dispute_defences.state from dispute_defences
      where dispute_defences.merchant_id = disputes.merchant_id and dispute_defences.dispute_id = disputes.id
    ) defence on true`)
}
