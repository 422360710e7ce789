import { empty, type Reads, sql } from '../db/sql.ts'

export type Hit = {
  type: 'transaction' | 'withdrawal'
  id: string
  clientId: string
  status: string
  amount: number
  createdAt: Date
}

/** More results than these are not useful. */
const hitsMax = 20

/**
 * Finds records by an id or txid, an end-to-end id, or the merchant's own code. Searches one merchant or all of them;
 * each search uses the merchant's own indexes.
 *
 * @param id a UUID, if the text is one
 */
export async function findRecords(
  db: Reads,
  { text, id, merchantId }: { text: string; id: string | null; merchantId: string | null },
): Promise<Hit[]> {
  const ofMerchant = merchantId === null ? empty : sql`and merchant_id = ${merchantId}`
  if (id !== null) {
    return await db.query<Hit>(sql`
      select 'transaction' as type, id, client_id as "clientId", status, amount, transactions.created_at as "createdAt"
      from transactions join clients using (merchant_id) where id = ${id} ${ofMerchant}
      union all
      select 'withdrawal', id, client_id, status, amount, withdrawals.created_at
      from withdrawals join clients using (merchant_id) where id = ${id} ${ofMerchant}`)
  }
  return await db.query<Hit>(sql`
    select hits.* from clients, lateral (
      (select 'transaction' as type, id, clients.client_id as "clientId", status, amount, created_at as "createdAt"
       from transactions where merchant_id = clients.merchant_id and end_to_end = ${text})
      union all
      (select 'transaction', id, clients.client_id, status, amount, created_at
       from transactions where merchant_id = clients.merchant_id and external_code = ${text}
       order by created_at desc limit ${hitsMax})
      union all
      (select 'withdrawal', id, clients.client_id, status, amount, created_at
       from withdrawals where merchant_id = clients.merchant_id and (end_to_end = ${text} or external_code = ${text})
       limit ${hitsMax})
    ) hits
    where true ${ofMerchant} order by "createdAt" desc limit ${hitsMax}`)
}
