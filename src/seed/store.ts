import type pg from 'pg'
import { copyFrom } from '../db/copy.ts'
import { type Db, raw, sql, type Tx } from '../db/sql.ts'
import { columnsOf, type Table, tables } from './sheets.ts'

/** Rows that are born frozen: vacuum has nothing left to do with them, and would else write each page once more. */
export async function copyPages(client: pg.PoolClient, table: Table, pages: Buffer[]): Promise<void> {
  await copyFrom(client, `copy ${table} (${columnsOf[table]}) from stdin (freeze, null '')`, pages)
}

/**
 * Begins the one transaction in which a connection fills its tables: emptied in it, they take frozen rows, since nobody has seen them
 * otherwise. No commit waits for the disk, and an index is sorted in memory as far as that goes.
 */
export async function beginFilling(client: pg.PoolClient, filled: Table[]): Promise<void> {
  await client.query(`
    set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; set synchronous_commit = off;
    set maintenance_work_mem = '512MB'; set max_parallel_maintenance_workers = 1`)
  await client.query('begin')
  await truncate(client, filled)
}

/** The service's role may only add to these. As their owner it may take the right to empty them, and gives it up again. */
const onlyAddedTo = ['ledger_transfers', 'closed_days']

async function truncate(client: pg.PoolClient | Tx, emptied: string[]): Promise<void> {
  const restricted = emptied.filter((table) => onlyAddedTo.includes(table)).join(', ')
  if (restricted) await run(client, `grant truncate on ${restricted} to current_user`)
  await run(client, `truncate ${emptied.join(', ')}`)
  if (restricted) await run(client, `revoke truncate on ${restricted} from current_user`)
}

/** A service that ran on the empty database may have closed days: their statements say that nothing happened. */
export async function deleteClosedDays(tx: Tx): Promise<void> {
  await truncate(tx, ['closed_days'])
}

/** Why a database is not to be filled; null when nothing but the sandbox is in it. */
export async function findForeign(tx: Tx, seedPrefix: string): Promise<string | null> {
  const [row] = await tx.query<{ clients: number; transactions: number; withdrawals: number }>(sql`
    with foreign_clients as (
      select merchant_id from clients where client_id not like ${`${seedPrefix}%`} and name <> 'Sandbox'
    ), seeded as (
      select merchant_id from clients where client_id like ${`${seedPrefix}%`}
    )
    select (select count(*) from foreign_clients) as clients,
      (select count(*) from (select from transactions where merchant_id not in (select merchant_id from seeded) limit 1) t) as transactions,
      (select count(*) from (select from withdrawals limit 1) w) as withdrawals`)
  if (row && row.clients > 0) return 'it has clients of its own'
  if (row && row.transactions > 0) return 'it has transactions that no seed made'
  return row && row.withdrawals > 0 ? 'it has withdrawals' : null
}

export type SeedState = { state: 'running' | 'done'; restore: string[] }

export async function findSeedState(tx: Tx): Promise<SeedState | null> {
  const rows = await tx.query<{ value: string }>(sql`select value from settings where name = 'seed'`)
  return rows[0] ? JSON.parse(rows[0].value) : null
}

export async function saveSeedState(db: Db | Tx, state: SeedState): Promise<void> {
  await db.query(sql`
    insert into settings (name, value) values ('seed', ${JSON.stringify(state)})
    on conflict (name) do update set value = excluded.value`)
}

/** Empties what a seed fills, and removes its clients. */
export async function deleteSeeded(tx: Tx, seedPrefix: string): Promise<void> {
  // With what refers to them.
  await truncate(tx, [...tables, 'suspense_payments'])
  await truncate(tx, ['transaction_counts', 'transaction_count_changes'])
  for (const table of ['client_secrets', 'webhook_secrets', 'fee_rules', 'clients']) {
    await tx.query(sql`
      delete from ${raw(table)} where merchant_id in (select merchant_id from clients where client_id like ${`${seedPrefix}%`})`)
  }
}

export type Part = { drop: string; make: string; isReference: boolean }

/**
 * What the tables that are filled do with each row, as statements that drop it and make it again: references, also those of other tables to
 * them, indexes, keys and triggers.
 * Keys that others refer to are dropped after those references, and made before them.
 */
export async function listIndexes(tx: Tx): Promise<Part[]> {
  return await tx.query<Part>(sql`
    with filled as (select unnest(${[...tables]}::text[])::regclass as id)
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
      format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(c.oid)) as make,
      contype = 'f' as "isReference", case contype when 'f' then 0 else 2 end as place
    from pg_constraint c
    where conrelid in (select id from filled) and contype in ('p', 'u', 'f', 'x')
      or confrelid in (select id from filled)
    union all
    select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid), false, 1
    from pg_index i
    where indrelid in (select id from filled) and not exists (select from pg_constraint where conindid = i.indexrelid)
    union all
    select distinct format('alter table %s disable trigger user', tgrelid::regclass),
      format('alter table %s enable trigger user', tgrelid::regclass), false, 3
    from pg_trigger where tgrelid in (select id from filled) and not tgisinternal
    union all
    -- Vacuum would come again and again meanwhile.
    select format('alter table %s set (autovacuum_enabled = false)', id), format('alter table %s reset (autovacuum_enabled)', id), false, -1
    from filled
    order by place, drop`)
}

/** What the triggers would have counted. */
export const countTransactions = `
  insert into transaction_counts (merchant_id, day, status, count, amount)
  select merchant_id, brazilian_day(created_at), status, count(*), sum(coalesce(amount_paid, amount))
  from transactions group by 1, 2, 3`

/** The connection that holds the lock waits for as long as it all takes. */
export async function waitForever(tx: Tx): Promise<void> {
  await tx.query(sql`set local idle_in_transaction_session_timeout = 0`)
}

export async function run(client: pg.PoolClient | Tx, statement: string): Promise<void> {
  await (client as Tx).query(raw(statement))
}

/** The first of so many numbers that no transfer of others will get. */
export async function reserveTransferIds(tx: Tx, count: number): Promise<number> {
  const [row] = await tx.query<{ first: number }>(sql`
    with sequence as (select pg_get_serial_sequence('ledger_transfers', 'id')::regclass as id), first as (
      select nextval(id) as first, id from sequence
    )
    select first, setval(id, first + ${count}) from first`)
  return row?.first ?? 1
}
