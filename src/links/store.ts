import pg from 'pg'
import { type Db, type Reads, raw, sql, type Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'

export type LinkRow = {
  merchant_id: string
  id: string
  slug: string
  title: string
  description: string | null
  /** Null: the customer enters it. */
  amount: number | null
  amount_min: number | null
  amount_max: number | null
  stock: number | null
  expires_at: Date | null
  needs_customer: boolean
  webhook_url: string | null
  is_enabled: boolean
  static_txid: string | null
  static_uri: string | null
  created_at: Date
  changed_at: Date
}

/**
 * How long a charge that has no transaction yet counts against the stock. An older one has none because its request
 * failed.
 */
const reservedMs = 10 * 60_000
const isReserving = (now: Date) => sql`c.created_at > ${new Date(now.getTime() - reservedMs)}`

const columns = raw(`
  merchant_id, id, slug, title, description, amount, amount_min, amount_max, stock, expires_at, needs_customer, webhook_url,
  is_enabled, static_txid, static_uri, created_at, changed_at`)

/** An operator's user finds a link by its id alone. */
export async function isIdOfOther(tx: Tx, { merchant_id, id }: LinkKey): Promise<boolean> {
  const rows = await tx.query(sql`select from payment_links where id = ${id} and merchant_id <> ${merchant_id}`)
  return rows.length > 0
}

/** False if a link of the merchant has its id, or any link its slug. */
export async function insertLink(tx: Tx, row: LinkRow): Promise<boolean> {
  const rows = await tx.query(sql`
    insert into payment_links (${columns})
    values (
      ${row.merchant_id}, ${row.id}, ${row.slug}, ${row.title}, ${row.description}, ${row.amount}, ${row.amount_min},
      ${row.amount_max}, ${row.stock}, ${row.expires_at}, ${row.needs_customer}, ${row.webhook_url}, ${row.is_enabled},
      ${row.static_txid}, ${row.static_uri}, ${row.created_at}, ${row.changed_at})
    on conflict do nothing returning id`)
  return rows.length > 0
}

/** False if another link has its slug. */
export async function updateLink(tx: Tx, row: LinkRow): Promise<boolean> {
  const update = tx.query(sql`
    update payment_links set
      slug = ${row.slug}, title = ${row.title}, description = ${row.description}, amount = ${row.amount},
      amount_min = ${row.amount_min}, amount_max = ${row.amount_max}, stock = ${row.stock}, expires_at = ${row.expires_at},
      needs_customer = ${row.needs_customer}, webhook_url = ${row.webhook_url}, is_enabled = ${row.is_enabled},
      static_txid = ${row.static_txid}, static_uri = ${row.static_uri}, changed_at = ${row.changed_at}
    where merchant_id = ${row.merchant_id} and id = ${row.id}
      and not exists (select from payment_links other where other.slug = ${row.slug} and other.id <> ${row.id})
    returning id`)
  try {
    return (await update).length === 1
  } catch (error) {
    // Another link got it at the same moment.
    if (error instanceof pg.DatabaseError && error.constraint === 'payment_links_slug') return false
    throw error
  }
}

export async function findMerchant(tx: Tx, merchantId: string): Promise<{ client_id: string; name: string }> {
  const [client] = await tx.query<{ client_id: string; name: string }>(sql`
    select client_id, name from clients where merchant_id = ${merchantId}`)
  assert(client, 'the merchant of a payment link exists')
  return client
}

type LinkKey = Pick<LinkRow, 'merchant_id' | 'id'>

export async function findLink(db: Db | Tx, { merchant_id, id }: LinkKey): Promise<LinkRow | null> {
  const rows = await db.query<LinkRow>(sql`
    select ${columns} from payment_links where merchant_id = ${merchant_id} and id = ${id}`)
  return rows[0] ?? null
}

export async function lockLink(tx: Tx, { merchant_id, id }: LinkKey): Promise<LinkRow | null> {
  const rows = await tx.query<LinkRow>(sql`
    select ${columns} from payment_links where merchant_id = ${merchant_id} and id = ${id} for no key update`)
  return rows[0] ?? null
}

/** The link whose static code has this txid. Some PSPs return a txid in another case. */
export async function findLinkByTxid(db: Db, txid: string): Promise<LinkRow | null> {
  const rows = await db.query<LinkRow>(sql`
    select ${columns} from payment_links where static_txid = ${txid.toLowerCase()}`)
  return rows[0] ?? null
}

/** `paid` and `amount_paid`: what was paid, even if it was refunded since. `live`: what counts against the stock. */
export type LinkTotals = { paid: number; amount_paid: number; live: number }
export type LinkWithTotals = LinkRow & LinkTotals & { merchant_name: string; client_id: string }

/** Excludes a payment that went back to suspense: it may have paid another transaction since. */
const isKept = raw('t.attribution_reversed_at is null')

/** A charge counts from its request on, until it is certain that it was not paid. What was refunded still counts. */
const totals = (now: Date) => sql`
  select count(t.amount_paid) filter (where ${isKept}) as paid,
    coalesce(sum(t.amount_paid) filter (where ${isKept}), 0)::bigint as amount_paid,
    count(*) filter (where (t.status <> 'FAILED' and ${isKept}) or (t.id is null and ${isReserving(now)})) as live
  from payment_link_charges c left join transactions t on t.merchant_id = c.merchant_id and t.idempotency_key = c.key
  where c.merchant_id = payment_links.merchant_id and c.link_id = payment_links.id`

const withTotals = (now: Date) => sql`
  select payment_links.*, clients.name as merchant_name, client_id, totals.*
  from payment_links join clients using (merchant_id) cross join lateral (${totals(now)}) totals`

export async function listLinks(
  db: Db | Reads,
  { merchantId, limit, offset, now }: { merchantId: string | null; limit: number; offset: number; now: Date },
): Promise<{ total: number; rows: LinkWithTotals[] }> {
  const seen = merchantId === null ? sql`true` : sql`payment_links.merchant_id = ${merchantId}`
  const [count] = await db.query<{ total: number }>(sql`select count(*) as total from payment_links where ${seen}`)
  const rows = await db.query<LinkWithTotals>(sql`
    ${withTotals(now)} where ${seen}
    order by payment_links.created_at desc, payment_links.id desc limit ${limit} offset ${offset}`)
  return { total: count?.total ?? 0, rows }
}

/** `merchantId` null: of any merchant, for the operator's users. */
export async function findLinkWithTotals(
  db: Db | Tx,
  { merchantId, id, now }: { merchantId: string | null; id: string; now: Date },
): Promise<LinkWithTotals | null> {
  const seen = merchantId === null ? sql`true` : sql`payment_links.merchant_id = ${merchantId}`
  const rows = await db.query<LinkWithTotals>(sql`${withTotals(now)} where payment_links.id = ${id} and ${seen}`)
  return rows[0] ?? null
}

export async function countLinks(tx: Tx, merchantId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(sql`
    select count(*) as count from payment_links where merchant_id = ${merchantId}`)
  return row?.count ?? 0
}

export type LinkPaymentRow = {
  id: string
  status: string
  amount: number
  created_at: Date
  payment_date: Date | null
  payer_name: string | null
  is_static: boolean
}

/** The charges of a link that were paid or may still be. */
export async function listLinkPayments(
  db: Db | Reads,
  { merchant_id, id, limit, offset }: LinkKey & { limit: number; offset: number },
): Promise<{ total: number; rows: LinkPaymentRow[] }> {
  const paid = sql`
    payment_link_charges c join transactions t on t.merchant_id = c.merchant_id and t.idempotency_key = c.key
    where c.merchant_id = ${merchant_id} and c.link_id = ${id} and t.status <> 'FAILED' and ${isKept}`
  const [count] = await db.query<{ total: number }>(sql`select count(*) as total from ${paid}`)
  const rows = await db.query<LinkPaymentRow>(sql`
    select t.id, t.status, coalesce(t.amount_paid, t.amount) as amount, t.created_at, t.payment_date,
      coalesce(t.payer ->> 'name', t.customer ->> 'name') as payer_name, c.key like 'static:%' as is_static
    from ${paid}
    order by c.created_at desc, c.key limit ${limit} offset ${offset}`)
  return { total: count?.total ?? 0, rows }
}

export type LinkName = { id: string; title: string }

/** The link by which a transaction was created, if any. */
export async function findLinkOfTransaction(
  db: Db,
  { merchantId, id }: { merchantId: string; id: string },
): Promise<LinkName | null> {
  const [row] = await db.query<LinkName>(sql`
    select link.id, link.title
    from transactions t
    join payment_link_charges c on c.merchant_id = t.merchant_id and c.key = t.idempotency_key
    join payment_links link on link.merchant_id = c.merchant_id and link.id = c.link_id
    where t.merchant_id = ${merchantId} and t.id = ${id}`)
  return row ?? null
}

type ChargeKey = { merchantId: string; key: string }

/**
 * If the charge exists and has no transaction yet, its reservation starts again. If it has one, the request is a
 * repeat, and nothing changes.
 */
export async function insertLinkCharge(
  tx: Db | Tx,
  { merchantId, linkId, key, now }: ChargeKey & { linkId: string; now: Date },
): Promise<void> {
  await tx.query(sql`
    insert into payment_link_charges (merchant_id, link_id, key, created_at)
    values (${merchantId}, ${linkId}, ${key}, ${now})
    on conflict (merchant_id, key) do update set created_at = excluded.created_at
      where not exists (select from transactions where merchant_id = ${merchantId} and idempotency_key = ${key})`)
}

/** Whether a request has its transaction already, or a reservation that is still valid. */
export async function hasLinkCharge(tx: Tx, { merchantId, key, now }: ChargeKey & { now: Date }): Promise<boolean> {
  const rows = await tx.query(sql`
    select c.key from payment_link_charges c
      left join transactions t on t.merchant_id = c.merchant_id and t.idempotency_key = c.key
    where c.merchant_id = ${merchantId} and c.key = ${key} and (t.id is not null or ${isReserving(now)})`)
  return rows.length > 0
}

/** Frees what a charge has reserved, once it was refused: a refused transaction has no idempotency key. */
export async function deleteLinkCharge(db: Db, { merchantId, key }: ChargeKey): Promise<void> {
  await db.query(sql`
    delete from payment_link_charges where merchant_id = ${merchantId} and key = ${key}
      and not exists (select from transactions where merchant_id = ${merchantId} and idempotency_key = ${key})`)
}

/** How many charges of a locked link count against its stock. */
export async function countLive(tx: Tx, row: LinkKey, now: Date): Promise<number> {
  const found = await findLinkWithTotals(tx, { merchantId: row.merchant_id, id: row.id, now })
  return found?.live ?? 0
}
