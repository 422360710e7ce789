import { smallRowsParam } from '../db/rows-param.ts'
import { type Db, type Sql, sql, type Tx } from '../db/sql.ts'
import type { LockedTransaction } from './store.ts'

export type Owner = Pick<LockedTransaction, 'id' | 'merchant_id' | 'acquirer' | 'other_acquirers' | 'end_to_end'>

const ownerColumns = sql`id, merchant_id, acquirer, other_acquirers, end_to_end`

/** Whose these transactions are, where all that is known is a txid. */
export async function findOwners(db: Db, ids: string[]): Promise<Owner[]> {
  return await db.query<Owner>(selectByIds(ids, ownerColumns), 'find-owners')
}

const idsParam = smallRowsParam<{ id: string }>({ id: 'uuid' })

/**
 * Of transactions of which nothing but the id is known. Each is looked up by itself: asked for `id = any(…)`, PostgreSQL reads the whole
 * table while it has no statistics of it, in the first minute of a new database, for it takes a hundred ids for half of the rows.
 */
export function selectByIds(ids: string[], columns: Sql): Sql {
  return sql`
    select found.* from ${idsParam(ids.map((id) => ({ id })))},
      lateral (select ${columns} from transactions where id = input.id limit 1) as found`
}

/** Whose payment it is, where all that is known is an endToEndId. */
export async function findPaidBy(db: Db | Tx, endToEndId: string): Promise<Owner | null> {
  const [owner] = await db.query<Owner>(selectPaidBy([endToEndId]))
  return owner ?? null
}

/** The same of several. */
export async function listPaidBy(db: Db, endToEndIds: string[]): Promise<Owner[]> {
  return await db.query<Owner>(selectPaidBy(endToEndIds))
}

/** The same of several, each of which is the caller's alone until the commit. Give them in one order for everyone. */
export async function lockPaidBy(tx: Tx, endToEndIds: string[]): Promise<Owner[]> {
  await tx.query(sql`
    select pg_advisory_xact_lock(hashtextextended(input, 0)) from unnest(${endToEndIds}::text[]) as input`)
  return await tx.query<Owner>(selectPaidBy(endToEndIds))
}

/** Of the operator's merchants, one by one: the index begins with the merchant. */
function selectPaidBy(endToEndIds: string[]): Sql {
  return sql`
    select ${ownerColumns} from transactions
    where merchant_id = any(array(select distinct merchant_id from clients))
      and end_to_end = any(${endToEndIds}) and match_undone_at is null`
}
