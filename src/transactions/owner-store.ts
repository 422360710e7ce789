import { smallRowsParam } from '../db/rows-param.ts'
import { type Db, type Sql, sql, type Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { LockedTransaction } from './store.ts'

/** The key of a transaction that was found by its id or its payment alone, its acquirers, and that payment. */
export type Owner = Pick<LockedTransaction, 'id' | 'merchant_id' | 'acquirer' | 'other_acquirers' | 'end_to_end'>

const ownerColumns = sql`id, merchant_id, acquirer, other_acquirers, end_to_end`

/** The owners of transactions, when only their ids are known. */
export async function findOwners(db: Db | Tx, ids: string[]): Promise<Owner[]> {
  return await db.query<Owner>(selectByIds(ids, ownerColumns), 'find-owners')
}

/** An expression for other statements: the {@link Owner} of the transaction with this id as JSON, or null. */
export const ownerOf = (id: Sql): Sql => sql`
  (select row_to_json(owner) from (select ${ownerColumns} from transactions where id = ${id} limit 1) owner)`

const idsParam = smallRowsParam<{ id: string }>({ id: 'uuid' })

/**
 * Reads transactions of which only the id is known. Each is looked up separately: with `id = any(…)` PostgreSQL reads
 * the whole table while it has no statistics, in the first minute of a new database, because it expects a hundred ids
 * to match half of the rows.
 */
export function selectByIds(ids: string[], columns: Sql): Sql {
  return sql`
    select found.* from ${idsParam(ids.map((id) => ({ id })))},
      lateral (select ${columns} from transactions where id = input.id limit 1) as found`
}

export async function findMerchantName(db: Db, merchantId: string): Promise<string> {
  const [client] = await db.query<{ name: string }>(sql`select name from clients where merchant_id = ${merchantId}`)
  assert(client, 'the merchant of a transaction exists')
  return client.name
}

/** The owner of a payment, when only the endToEndId is known. */
export async function findPaidBy(db: Db | Tx, endToEndId: string): Promise<Owner | null> {
  const [owner] = await db.query<Owner>(selectPaidBy([endToEndId]))
  return owner ?? null
}

/** The same for several payments. */
export async function listPaidBy(db: Db, endToEndIds: string[]): Promise<Owner[]> {
  return await db.query<Owner>(selectPaidBy(endToEndIds))
}

/**
 * The same for several payments, which are locked until the commit. Callers must pass them in the same order: otherwise
 * two of them may deadlock.
 */
export async function lockPaidBy(tx: Tx, endToEndIds: string[]): Promise<Owner[]> {
  await tx.query(sql`
    select pg_advisory_xact_lock(hashtextextended(input, 0)) from unnest(${endToEndIds}::text[]) as input`)
  return await tx.query<Owner>(selectPaidBy(endToEndIds))
}

/** One lookup per merchant of the operator, because the index starts with the merchant. */
function selectPaidBy(endToEndIds: string[]): Sql {
  return sql`
    select ${ownerColumns} from transactions
    where merchant_id = any(array(select distinct merchant_id from clients))
      and end_to_end = any(${endToEndIds}) and attribution_reversed_at is null`
}
