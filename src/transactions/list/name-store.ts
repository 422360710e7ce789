import type { FoundRows } from '../../db/page.ts'
import { type Db, type Sql, sql, type Tx } from '../../db/sql.ts'

/** Transactions that a list reads one by one in an index, 0.1 µs each, rather than writing them to customer_names. */
export const uncountedMax = 1_000
/** Transactions per statement: about 60 ms. */
export const countedAtOnce = 5_000
/**
 * The most documents that are stored for one name. With more, the new version of an updated row would not fit into the
 * page of the old one.
 */
const documentsMax = 64
/** A name is searched by every three characters of it. */
const gramLength = 3

/** The merchants with enough transactions that are not counted in customer_names, and were created before a moment. */
export async function listUncounted(db: Db, before: Date): Promise<string[]> {
  const rows = await db.query<{ merchant_id: string }>(sql`
    select merchant_id from clients where exists (
      select from transactions
      where transactions.merchant_id = clients.merchant_id and created_at < ${before} and created_at >= coalesce(
        (select until from customer_names_counted counted where counted.merchant_id = clients.merchant_id), '-infinity')
      order by created_at, id offset ${uncountedMax - 1} limit 1)
    order by merchant_id`)
  return rows.map((row) => row.merchant_id)
}

/**
 * Counts the next transactions of a merchant, in the order of their creation, up to a moment. Returns whether some
 * before that moment may be left to count. The lock excludes other processes that count, and those that erase names.
 */
export async function countNames(db: Db, merchantId: string, before: Date, atOnce = countedAtOnce): Promise<boolean> {
  return await db.transaction(async (tx) => {
    await lock(tx, merchantId)
    await tx.query(sql`
      insert into customer_names_counted (merchant_id, until, transactions) values (${merchantId}, '-infinity', 0)
      on conflict do nothing`)
    const [row] = await tx.query<{ is_more: boolean }>(sql`
      with span as materialized (
        select until as since, least(${before}, (
          -- All transactions of one millisecond are counted by the same call.
          select greatest(created_at, until + interval '1 millisecond') from transactions
          where merchant_id = ${merchantId} and created_at >= until order by created_at, id offset ${atOnce} limit 1)) as until
        from customer_names_counted where merchant_id = ${merchantId} and until < ${before}
      ), read as materialized (
        select customer_search_name as search_name, customer_document as document from transactions
        where merchant_id = ${merchantId}
          and created_at >= (select since from span) and created_at < (select until from span)
      ), named as (
        insert into customer_names (merchant_id, search_name, count, documents)
        select ${merchantId}, search_name, count(*),
          case when bool_and(document is not null) and count(distinct document) <= ${documentsMax}
            then array_agg(distinct document) end
        from read where search_name is not null group by search_name order by search_name
        on conflict (merchant_id, search_name) do update set count = customer_names.count + excluded.count, documents = case
          when customer_names.documents @> excluded.documents then customer_names.documents
          when cardinality(customer_names.documents) + cardinality(excluded.documents) <= ${documentsMax}
            then array(select unnest(customer_names.documents) union select unnest(excluded.documents)) end
      )
      update customer_names_counted counted
      set until = span.until, transactions = transactions + (select count(*) from read)
      from span where merchant_id = ${merchantId}
      returning span.until < ${before} as is_more`)
    return row?.is_more ?? false
  })
}

/** The same as in the trigger of erased names. */
async function lock(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended(${`customer names ${merchantId}`}, 0))`)
}

/** Forgets the names of a merchant: they are counted again from the first transaction on. */
export async function forgetNames(db: Db, merchantId: string): Promise<void> {
  await db.transaction(async (tx) => {
    await lock(tx, merchantId)
    await tx.query(sql`delete from customer_names where merchant_id = ${merchantId}`)
    await tx.query(sql`delete from customer_names_counted where merchant_id = ${merchantId}`)
  })
}

/**
 * How a list by a part of a name is read; null if the part is too short. In one statement, and so from one snapshot.
 * `conditions` are all conditions of the list, the name included. `isAlone`: the name is the only one.
 */
export function findByName(
  merchantId: string,
  { name, pattern, conditions, isAlone }: { name: string; pattern: string; conditions: Sql; isAlone: boolean },
): FoundRows | null {
  if ([...name].length < gramLength) return null
  const positions = sql`select created_at, id from transactions where merchant_id = ${merchantId} ${conditions}`
  const total = sql`(select total from known)`
  return {
    prepared: sql`known as materialized (select * from find_names(${merchantId}, ${name}, ${pattern}, ${isAlone}))`,
    rows: sql`
      ${positions} and customer_document = any((select documents from known)::text[]) and created_at < (select until from known)
      union all
      ${positions} and created_at >= (select since from known)`,
    ...(isAlone && { tooMany: { condition: sql`${total} is not null`, total } }),
  }
}

/** The differences between customer_names and a merchant's transactions: of each name, and of some names' customers. */
export async function findWrongNames(tx: Tx, merchantId: string): Promise<string[]> {
  const rows = await tx.query<{ wrong: string }>(sql`
    with counted as materialized (
      select until, transactions from customer_names_counted where merchant_id = ${merchantId}
    ), names as materialized (
      select search_name, count, documents from customer_names where merchant_id = ${merchantId}
    )
    select 'transactions' as wrong from counted where transactions <> (
      select count(*) from transactions where merchant_id = ${merchantId} and created_at < counted.until)
    union all
    select 'names' where exists (
      select from names full join (
        select customer_search_name as search_name, count(*) as count from transactions
        where merchant_id = ${merchantId} and created_at < (select until from counted) and customer_search_name is not null
        group by 1
      ) present using (search_name)
      where names.count is distinct from present.count)
    union all
    select 'documents' where exists (
      select from (select * from names where documents is not null order by random() limit ${checkedNames}) checked
      where count <> (
        select count(*) from transactions where merchant_id = ${merchantId} and customer_document = any(documents)
          and customer_search_name = search_name and created_at < (select until from counted)))`)
  return rows.map((row) => row.wrong)
}

const checkedNames = 200

export async function listCounted(db: Db): Promise<string[]> {
  const rows = await db.query<{ merchant_id: string }>(sql`
    select merchant_id from customer_names_counted order by merchant_id`)
  return rows.map((row) => row.merchant_id)
}
