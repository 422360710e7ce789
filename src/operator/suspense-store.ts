import { type Db, empty, sql } from '../db/sql.ts'
import type { SuspenseRow } from '../suspense/store.ts'

export type ListedPayment = {
  id: string
  kind: SuspenseRow['kind']
  status: SuspenseRow['status']
  client_id: string | null
  client_name: string | null
  acquirer: string
  amount: number
  paid_at: Date
  end_to_end: string
  attributed_transaction_id: string | null
  error_message: string | null
  payer_name: string | null
}

/**
 * Payments that are or were in suspense, the last paid first. `isOpen`: those that wait for a decision or for their
 * return.
 */
export async function listSuspensePayments(
  db: Db,
  { isOpen, limit, offset }: { isOpen: boolean; limit: number; offset: number },
): Promise<{ total: number; items: ListedPayment[] }> {
  const wanted = sql`suspense_payments ${isOpen ? sql`where status in ('held', 'returning')` : empty}`
  const [count] = await db.query<{ total: number }>(sql`select count(*) as total from ${wanted}`)
  const items = await db.query<ListedPayment>(sql`
    select id, kind, status, client_id, clients.name as client_name, acquirer, amount, paid_at, end_to_end,
      attributed_transaction_id, error_message, payer ->> 'name' as payer_name
    from (select * from ${wanted} order by paid_at desc, id limit ${limit} offset ${offset}) payment
    left join clients on clients.merchant_id = coalesce(attributed_merchant_id, payment.merchant_id)
    order by paid_at desc, id`)
  return { total: count?.total ?? 0, items }
}

export type ClientName = { merchant_id: string; client_id: string; name: string }

export async function findClientNames(db: Db, merchantIds: string[]): Promise<Map<string, ClientName>> {
  const rows = await db.query<ClientName>(sql`
    select merchant_id, client_id, name from clients where merchant_id = any(${[...new Set(merchantIds)]}::uuid[])`)
  return new Map(rows.map((row) => [row.merchant_id, row]))
}
