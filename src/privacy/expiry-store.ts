import { type Db, sql, type Tx } from '../db/sql.ts'
import { isOpenSuspense, isOpenTransaction, isOpenWithdrawal } from './store.ts'

/** The position of a record among those of its kind, which are read by time. */
export type Position = { at: Date; id: string }

type Range = { after: Position; before: Date; limit: number }

/** Whether a defence against one of the transaction's disputes has a text or a file that is not erased. */
const hasDefence = sql`exists (
  select from disputes i
  where i.merchant_id = transactions.merchant_id and i.transaction_id = transactions.id and (
    exists (
      select from dispute_defences d where d.merchant_id = i.merchant_id and d.dispute_id = i.id and d.erased_at is null)
    or exists (
      select from dispute_files f where f.merchant_id = i.merchant_id and f.dispute_id = i.id and f.content is not null)))`

export async function listOldTransactions(
  tx: Tx,
  { merchantId, after, before, limit }: Range & { merchantId: string },
): Promise<Position[]> {
  return await tx.query<Position>(sql`
    select created_at as at, id from transactions
    where merchant_id = ${merchantId} and created_at < ${before} and (created_at, id) > (${after.at}::timestamptz, ${after.id}::uuid)
      and (num_nonnulls(customer, payer, seller, address, description, metadata, return_url) > 0 or ${hasDefence})
    order by created_at, id limit ${limit}`)
}

export async function listOldWithdrawals(
  tx: Tx,
  { merchantId, after, before, limit }: Range & { merchantId: string },
): Promise<Position[]> {
  return await tx.query<Position>(sql`
    select created_at as at, id from withdrawals
    where merchant_id = ${merchantId} and created_at < ${before} and (created_at, id) > (${after.at}::timestamptz, ${after.id}::uuid)
      and erased_at is null
    order by created_at, id limit ${limit}`)
}

export async function listOldSuspense(tx: Tx, { after, before, limit }: Range): Promise<Position[]> {
  return await tx.query<Position>(sql`
    select paid_at as at, id from suspense_payments
    where paid_at < ${before} and (paid_at, id) > (${after.at}::timestamptz, ${after.id}::uuid) and payer is not null
    order by paid_at, id limit ${limit}`)
}

type Expired = { ids: string[]; before: Date }

/**
 * Age counts from the last change. MED allows disputes for 80 days after a payment and refunds are possible for 90,
 * both less than the shortest period that can be configured: a record of this age can be neither disputed nor
 * refunded.
 */
const changedBefore = (before: Date) => sql`status_dates[cardinality(status_dates)] < ${before}`

/**
 * Of these records, locks those that are final. One that is locked by somebody else is still in use, and is skipped.
 */
export async function lockOldTransactions(
  tx: Tx,
  { ids, before }: Expired,
): Promise<{ id: string; customer_document: string | null }[]> {
  return await tx.query(sql`
    select id, customer_document from transactions
    where id = any(${ids}::uuid[]) and ${changedBefore(before)} and not ${isOpenTransaction}
    for update skip locked`)
}

export async function lockOldWithdrawals(
  tx: Tx,
  { ids, before }: Expired,
): Promise<{ id: string; pix_key: string; document: string | null }[]> {
  return await tx.query(sql`
    select id, pix_key,
      case when pix_key_type not in ('CPF', 'CNPJ') and receiver->>'document' not like '%*%' then receiver->>'document' end as document
    from withdrawals
    where id = any(${ids}::uuid[]) and ${changedBefore(before)} and not ${isOpenWithdrawal}
    for update skip locked`)
}

export async function lockOldSuspense(tx: Tx, { ids, before }: Expired): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(sql`
    select id from suspense_payments
    where id = any(${ids}::uuid[]) and ${changedBefore(before)} and not ${isOpenSuspense}
    for update skip locked`)
  return rows.map(({ id }) => id)
}

export type RecordType = 'transaction' | 'withdrawal'

/** Merchants that may have records that are too old, and the creation time from which to read. */
export async function listMerchantsToErase(
  db: Db,
  { recordType, before }: { recordType: RecordType; before: Date },
): Promise<{ merchantId: string; from: Date }[]> {
  return await db.query<{ merchantId: string; from: Date }>(sql`
    select merchant_id as "merchantId", "from" from (
      select merchant_id, coalesce(erased_until, clients.created_at - interval '1 day') as "from"
      from clients left join (
        select merchant_id, erased_until from personal_data_cursors where record_type = ${recordType}) cursors using (merchant_id)
    ) merchants
    where "from" < ${before} order by merchant_id`)
}

export async function saveErasedUntil(
  db: Db,
  { merchantId, recordType, until }: { merchantId: string; recordType: RecordType; until: Date },
): Promise<void> {
  await db.query(sql`
    insert into personal_data_cursors (merchant_id, record_type, erased_until) values (${merchantId}, ${recordType}, ${until})
    on conflict (merchant_id, record_type) do update set erased_until = excluded.erased_until`)
}
