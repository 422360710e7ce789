import { empty, type Reads, type Sql, sql } from '../db/sql.ts'
import type { MerchantFilter } from './overview-store.ts'

export type RecordType = 'transaction' | 'withdrawal'
/** `matched`: what of the record the search found. */
export type Found = { type: RecordType; id: string; matched: Matched }
export type Matched = 'id' | 'code' | 'amount' | 'document' | 'email' | 'pixKey' | 'name'

export type Hit = {
  type: RecordType
  id: string
  clientId: string
  status: string
  amount: number
  createdAt: Date
  externalCode: string | null
  customerName: string | null
  customerDocument: string | null
  customerEmail: string | null
}

export type SearchFilter = MerchantFilter & {
  /** Whether withdrawals are searched too. */
  seesWithdrawals: boolean
}

/** More results of one search are not useful. */
const hitsMax = 20
/** A search of all merchants by code, amount or name finds at most this many transactions of each. */
const hitsOfEachMax = 5
/** Withdrawals have no index of amounts: a search reads the newest ones of one merchant, or fewer of each merchant. */
const withdrawalsRead = 10_000
const withdrawalsOfEachRead = 100
/**
 * Names are read in the index of a merchant's newest transactions: 0.1 µs each, so these take less than 50 ms. Of all
 * merchants together the same number is read, merchant by merchant.
 */
const namesRead = 300_000
/** Greater than any character that a code can contain: the end of the range of a prefix. */
const lastCharacter = '\u{10FFFF}'

export async function findById(db: Reads, { merchantId, seesWithdrawals }: SearchFilter, id: string): Promise<Found[]> {
  return await db.query<Found>(sql`
    select 'transaction' as type, id, 'id' as matched from transactions where id = ${id} ${ofMerchant(merchantId)}
    union all
    select 'withdrawal', id, 'id' from withdrawals where id = ${id} and ${seesWithdrawals} ${ofMerchant(merchantId)}`)
}

/** Finds records by an end-to-end id: of a payment, a refund, a return or a withdrawal. */
export async function findByEndToEnd(db: Reads, filter: SearchFilter, endToEnd: string): Promise<Found[]> {
  return await ofMerchants(
    db,
    filter,
    'id',
    sql`
      (select 'transaction' as type, id, created_at from transactions
       where merchant_id = clients.merchant_id and end_to_end = ${endToEnd})
      union all
      (select 'transaction', transaction_id, created_at from refunds
       where merchant_id = clients.merchant_id and end_to_end = ${endToEnd})
      union all
      (select 'transaction', transaction_id, posted_at from transaction_returns
       where merchant_id = clients.merchant_id and end_to_end = ${endToEnd})
      union all
      (select 'withdrawal', id, created_at from withdrawals
       where merchant_id = clients.merchant_id and end_to_end = ${endToEnd})
      union all
      (select 'withdrawal', id, created_at from withdrawals
       where merchant_id = clients.merchant_id
         and (end_to_end_refund = ${endToEnd} or earlier_end_to_end_refunds @> ${[endToEnd]}::text[]))`,
  )
}

/** Finds records whose external code begins with the text. The highest codes are usually the newest. */
export async function findByCode(db: Reads, filter: SearchFilter, prefix: string): Promise<Found[]> {
  // The range lets PostgreSQL use the index in any collation.
  const isCode = sql`merchant_id = clients.merchant_id and external_code >= ${prefix}
    and external_code < ${prefix + lastCharacter} and external_code like ${toPattern(prefix)}`
  const each = filter.merchantId === null ? hitsOfEachMax : hitsMax
  return await ofMerchants(
    db,
    filter,
    'code',
    sql`
      (select 'transaction' as type, id, created_at from transactions
       where ${isCode} order by external_code desc limit ${each})
      union all
      (select 'withdrawal', id, created_at from withdrawals where ${isCode} order by external_code desc limit ${each})`,
  )
}

/**
 * Finds records of an amount. With a range instead of an equality, PostgreSQL reads the index backwards: of equal
 * amounts, the rows that were written last come first.
 */
export async function findByAmount(db: Reads, filter: SearchFilter, amount: number): Promise<Found[]> {
  const isAll = filter.merchantId === null
  return await ofMerchants(
    db,
    filter,
    'amount',
    sql`
      (select 'transaction' as type, id, created_at from transactions
       where merchant_id = clients.merchant_id and amount between ${amount} and ${amount}
       order by amount desc limit ${isAll ? hitsOfEachMax : hitsMax * 10})
      union all
      (select 'withdrawal', id, created_at from (
         select id, created_at, amount from withdrawals where merchant_id = clients.merchant_id
         order by created_at desc, id desc limit ${isAll ? withdrawalsOfEachRead : withdrawalsRead}) newest
       where amount = ${amount} limit ${hitsMax})`,
  )
}

export async function findByDocument(db: Reads, filter: SearchFilter, document: string): Promise<Found[]> {
  return await ofMerchants(
    db,
    filter,
    'document',
    sql`
      select 'transaction' as type, id, created_at from transactions
      where merchant_id = clients.merchant_id and customer_document = ${document}
      order by created_at desc limit ${hitsMax}`,
  )
}

/** Finds transactions of customers whose e-mail address begins with the text. */
export async function findByEmail(db: Reads, filter: SearchFilter, prefix: string): Promise<Found[]> {
  return await ofMerchants(
    db,
    filter,
    'email',
    sql`
      select 'transaction' as type, id, created_at from transactions
      where merchant_id = clients.merchant_id and customer_search_email >= ${prefix}
        and customer_search_email < ${prefix + lastCharacter} and customer_search_email like ${toPattern(prefix)}
      order by customer_search_email desc, created_at desc limit ${hitsMax}`,
  )
}

/** Finds withdrawals to a PIX key. */
export async function findByPixKey(db: Reads, filter: SearchFilter, pixKey: string): Promise<Found[]> {
  return await ofMerchants(
    db,
    filter,
    'pixKey',
    sql`
      select 'withdrawal' as type, id, created_at from withdrawals
      where merchant_id = clients.merchant_id and pix_key = ${pixKey} order by created_at desc limit ${hitsMax}`,
  )
}

/** Finds transactions whose customer's name contains each of the words, as `toSearchText` writes them. */
export async function findByName(db: Reads, filter: SearchFilter, words: string[]): Promise<Found[]> {
  const patterns = words.map((word) => `%${toPattern(word)}`)
  const each = filter.merchantId === null ? hitsOfEachMax : hitsMax
  return await ofMerchants(
    db,
    filter,
    'name',
    sql`
      select 'transaction' as type, id, created_at from (
        select id, created_at, customer_search_name from transactions where merchant_id = clients.merchant_id
        order by created_at desc, id desc limit ${namesReadOfEach(filter)}) newest
      where customer_search_name like all(${patterns}::text[]) limit ${each}`,
  )
}

/**
 * Whether a search by name leaves out transactions. It reads one row of each merchant, the number of its transactions
 * some minutes ago (`countAllNames`). Merchants with few transactions have no such row, so a search of all merchants
 * also reads the number of all transactions, as `vacuum` estimated it.
 */
export async function leavesOutOlderNames(db: Reads, filter: MerchantFilter): Promise<boolean> {
  const areAllLimited = sql`
    union all select from pg_class where oid = 'transactions'::regclass and reltuples > ${namesRead}`
  const [limited] = await db.query(sql`
    select from customer_names_counted
    where transactions > ${namesReadOfEach(filter)} ${ofMerchant(filter.merchantId)}
    ${filter.merchantId === null ? areAllLimited : empty} limit 1`)
  return limited !== undefined
}

/** How many transactions of each merchant a search by name reads. */
function namesReadOfEach({ merchantId }: MerchantFilter): Sql {
  return merchantId === null
    ? sql`(select ${namesRead}::bigint / greatest(count(*), 1) from clients)`
    : sql`${namesRead}`
}

/** What is shown of records that were found, newest first. */
export async function listHits(db: Reads, found: Found[]): Promise<Hit[]> {
  const ids = (type: RecordType) => found.filter((one) => one.type === type).map(({ id }) => id)
  return await db.query<Hit>(sql`
    select 'transaction' as type, id, client_id as "clientId", status, amount, transactions.created_at as "createdAt",
      external_code as "externalCode", customer->>'name' as "customerName",
      customer_document as "customerDocument", customer->>'email' as "customerEmail"
    from transactions join clients using (merchant_id) where id = any(${ids('transaction')}::uuid[])
    union all
    select 'withdrawal', id, client_id, status, amount, withdrawals.created_at, external_code, null, null, null
    from withdrawals join clients using (merchant_id) where id = any(${ids('withdrawal')}::uuid[])
    order by "createdAt" desc`)
}

/** Runs a search in one merchant's indexes, or in those of each merchant in turn. */
async function ofMerchants(
  db: Reads,
  { merchantId, seesWithdrawals }: SearchFilter,
  matched: Matched,
  rows: Sql,
): Promise<Found[]> {
  return await db.query<Found>(sql`
    select type, id, ${matched}::text as matched from clients, lateral (${rows}) found
    where (${seesWithdrawals} or type = 'transaction') ${ofMerchant(merchantId)}
    order by found.created_at desc limit ${hitsMax}`)
}

const ofMerchant = (merchantId: string | null) => (merchantId === null ? empty : sql`and merchant_id = ${merchantId}`)

const toPattern = (prefix: string) => `${prefix.replace(/[\\%_]/g, '\\$&')}%`
