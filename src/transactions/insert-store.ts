import { rowsParam } from '../db/rows-param.ts'
import { type Db, sql, type Tx } from '../db/sql.ts'
import type { FirstEvents } from '../webhooks/outbox.ts'
import { type LiveSecret, readLiveSecrets } from '../webhooks/store.ts'
import type { NewTransaction } from './store.ts'

const transactionsParam = rowsParam<NewTransaction>({
  id: 'uuid',
  merchant_id: 'uuid',
  acquirer: 'text',
  other_acquirers: 'text[]',
  amount: 'bigint',
  idempotency_key: 'text',
  external_code: 'text',
  webhook_url: 'text',
  return_url: 'text',
  is_info_product: 'boolean',
  customer: 'json',
  seller: 'json',
  address: 'json',
  items: 'json',
  description: 'text',
  metadata: 'json',
  customer_search_name: 'text',
  customer_search_email: 'text',
  customer_document: 'text',
  customer_landline_digits: 'text',
  customer_mobile_digits: 'text',
  pix_expiration_seconds: 'integer',
  pix_uri: 'text',
  pix_expires_at: 'timestamptz',
  created_at: 'timestamptz',
  statuses: 'text[]',
  status_dates: 'timestamptz[]',
  error_message: 'text',
  check_at: 'timestamptz',
})

/**
 * Inserts any number of transactions and the events of their creation in one statement, hence in one commit, and
 * returns the ids of the new ones. A missing id means that the transaction exists already, under its idempotency key
 * or id. `toEndpoints` is true if a registered endpoint receives one of the events.
 *
 * @param parts CTEs that insert the events and their `first_deliveries` (`insertForInserted` in webhooks/store.ts)
 * @param transactions sorted by merchant and idempotency key, or two statements may deadlock
 */
export async function insertTransactions(
  db: Db | Tx,
  transactions: NewTransaction[],
  { parts, secrets }: Pick<FirstEvents, 'parts' | 'secrets'>,
): Promise<{ inserted: Set<string>; toEndpoints: boolean; secrets: LiveSecret[] }> {
  const [row] = await db.query<InsertedRow>(
    sql`
      with inserted as (
        insert into transactions (
          id, merchant_id, acquirer, other_acquirers, amount, idempotency_key, external_code, webhook_url, return_url, is_info_product, customer,
          seller, address, items, description, metadata, customer_search_name, customer_search_email, customer_document, customer_landline_digits,
          customer_mobile_digits, pix_expiration_seconds, pix_uri, pix_expires_at, created_at, statuses, status_dates,
          error_message, check_at)
        select
          id, merchant_id, acquirer, other_acquirers::text[], amount, idempotency_key, external_code, webhook_url, return_url, is_info_product,
          customer, seller, address, items, description, metadata, customer_search_name, customer_search_email, customer_document, customer_landline_digits,
          customer_mobile_digits, pix_expiration_seconds, pix_uri, pix_expires_at, created_at, statuses::text[],
          status_dates::timestamptz[], error_message, check_at
        from ${transactionsParam(transactions)}
        on conflict do nothing
        returning id, merchant_id, webhook_url
      ), ${parts}
      select string_agg(id::text, ' ') as ids, case when count(*) > 0 then pg_current_xact_id()::text::bigint end as committed_xid,
        exists (select from first_deliveries where endpoint_id is not null) as to_endpoints, ${secrets} as secrets
      from inserted`,
    'insert-transactions',
  )
  const ids = row?.ids?.split(' ') ?? []
  return {
    inserted: new Set(ids),
    toEndpoints: row?.to_endpoints ?? false,
    secrets: readLiveSecrets(row?.secrets ?? null),
  }
}

type InsertedRow = {
  ids: string | null
  /** `Db.query` notes it (db/sql.ts). */
  committed_xid: number | null
  to_endpoints: boolean
  secrets: Parameters<typeof readLiveSecrets>[0]
}
