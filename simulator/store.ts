import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { AccountHolder } from '../src/pix/holder.ts'
import { type ReturnRecord, type ReturnRow, toReturnRow } from './returns-store.ts'

/** A charge as it is kept. `id` is 32 hexadecimal digits, told by its txid (see location.ts). */
export type ChargeRow = {
  id: string
  txid: string
  amount: number
  expiresInSeconds: number
  createdAt: Date
  /** Where the network was reached when the charge was made: a location never changes. */
  baseUrl: string
  /** What the request held beyond the usual, as JSON; null for most. */
  details: string | null
}

export type PixRow = {
  endToEndId: string
  txid: string
  amount: number
  paidAt: Date
  payer: AccountHolder
  returns: ReturnRow[]
}

export type ChargeWithPix = ChargeRow & { pix: PixRow | null }

export type PixFilter = {
  from: Date
  to: Date
  chargeId: string | null
  payerDocument: string | null
  hasReturn: boolean | null
}

/** What the network keeps to itself, made once and shared by all processes on the database. */
export type NetworkSecrets = { tokenKey: Buffer; locationKey: Buffer; signingJwk: string }

// Any constant that nothing else in the database locks: the bytes of "simulatr".
const schemaLock = '8316298538013258866'

const schema = `
  create schema if not exists simulator;
  create table if not exists simulator.secrets (name text primary key, value text not null);
  create table if not exists simulator.base_urls (url text primary key);
  create table if not exists simulator.webhooks (chave text primary key, url text not null, created_at timestamptz(3) not null);
  create table if not exists simulator.charges (
    id uuid primary key,
    txid text not null,
    amount bigint not null check (amount > 0),
    expires_in integer not null check (expires_in > 0),
    created_at timestamptz(3) not null,
    base_url text not null,
    details json
  );
  create table if not exists simulator.pix (
    end_to_end_id text primary key,
    -- Unique: a charge is paid once.
    charge_id uuid not null unique references simulator.charges,
    amount bigint not null check (amount > 0),
    paid_at timestamptz(3) not null,
    payer json not null
  );
  create index if not exists pix_paid_at on simulator.pix (paid_at, end_to_end_id);
  create table if not exists simulator.returns (
    end_to_end_id text not null references simulator.pix,
    id text not null,
    return_id text not null unique,
    amount bigint not null check (amount > 0),
    nature text not null,
    description text,
    requested_at timestamptz(3) not null,
    settles_at timestamptz(3) not null,
    rejection text,
    primary key (end_to_end_id, id)
  );
  create table if not exists simulator.payouts (
    id text primary key,
    end_to_end_id text not null unique,
    amount bigint not null check (amount > 0),
    pix_key text not null,
    info text,
    receiver json not null,
    requested_at timestamptz(3) not null,
    settles_at timestamptz(3) not null,
    rejection text
  );
  create table if not exists simulator.payout_returns (
    return_id text primary key,
    payout_id text not null references simulator.payouts,
    amount bigint not null check (amount > 0),
    returned_at timestamptz(3) not null
  );
  create index if not exists payout_returns_payout_id on simulator.payout_returns (payout_id);
  create table if not exists simulator.infractions (
    id uuid primary key,
    protocol bigint generated always as identity,
    end_to_end_id text not null references simulator.pix,
    amount bigint not null check (amount > 0),
    reason text not null,
    state text not null,
    opened_at timestamptz(3) not null,
    changed_at timestamptz(3) not null,
    -- When the money goes back, once it is accepted.
    return_settles_at timestamptz(3)
  );
  create index if not exists infractions_opened_at on simulator.infractions (opened_at, id);
`

/**
 * Makes the schema where it is missing. Several processes may start at once, and `if not exists` alone does not keep them
 * from colliding: hence the lock. It is looked for first, because a role that may not create needs no right to use it.
 * What is looked for is what was added last: a later addition goes to the end of `schema`, repeatable, and is named here.
 */
export async function ensureSchema(pool: pg.Pool): Promise<void> {
  const found = await pool.query<{ found: boolean }>(
    `select to_regclass('simulator.infractions_opened_at') is not null as found`,
  )
  if (found.rows[0]?.found) return
  const client = await pool.connect()
  try {
    // Taken before the transaction begins: within one, a process that waited would still believe that there is no schema.
    await client.query(`select pg_advisory_lock(${schemaLock})`)
    // One string of several statements is one transaction.
    await client.query(`set local client_min_messages = warning; ${schema}`)
  } finally {
    // The lock ends with the connection, whatever happened.
    client.release(true)
  }
}

/** The secrets of the network; `made` are used where none are kept yet. */
export async function loadSecrets(pool: pg.Pool, signingJwk: string): Promise<NetworkSecrets> {
  const made = { token_key: newKey(), location_key: newKey(), signing_jwk: signingJwk }
  await pool.query({
    text: `insert into simulator.secrets (name, value) select * from unnest($1::text[], $2::text[]) on conflict do nothing`,
    values: [Object.keys(made), Object.values(made)],
  })
  const { rows } = await pool.query<{ name: string; value: string }>(`select name, value from simulator.secrets`)
  const kept = new Map(rows.map((row) => [row.name, row.value]))
  return {
    tokenKey: Buffer.from(kept.get('token_key') ?? '', 'base64url'),
    locationKey: Buffer.from(kept.get('location_key') ?? '', 'base64url'),
    signingJwk: kept.get('signing_jwk') ?? '',
  }
}

function newKey(): string {
  return randomBytes(32).toString('base64url')
}

export async function insertBaseUrl(pool: pg.Pool, url: string): Promise<void> {
  await pool.query({ text: `insert into simulator.base_urls (url) values ($1) on conflict do nothing`, values: [url] })
}

export async function listBaseUrls(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ url: string }>(`select url from simulator.base_urls`)
  return rows.map((row) => row.url)
}

/**
 * Inserts charges and returns the ids of those that are new.
 *
 * The commit does not wait for the disk (`set_config` with `true` is `set local`, in the same statement). That is safe
 * here, and on a real PSP it would not be: the gateway's own transaction is committed to the same write-ahead log later,
 * and a log is flushed in order, so where the gateway's transaction is, the charge is too. Measured on two cores: 6,800
 * charges a second one after the other, 38,000 with 64 asked for at a time.
 */
export async function insertCharges(pool: pg.Pool, charges: ChargeRow[]): Promise<Set<string>> {
  // Sorted, because two processes that insert the same ids in opposite order would deadlock.
  const rows = charges.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const inserted = await pool.query<{ id: string }>({
    name: 'simulator-insert-charges',
    text: `
      insert into simulator.charges (id, txid, amount, expires_in, created_at, base_url, details)
      select charge.*
      from set_config('synchronous_commit', 'off', true),
        unnest($1::uuid[], $2::text[], $3::bigint[], $4::integer[], $5::timestamptz[], $6::text[], $7::json[]) charge
      on conflict do nothing
      returning id`,
    values: [
      rows.map((row) => row.id),
      rows.map((row) => row.txid),
      rows.map((row) => row.amount),
      rows.map((row) => row.expiresInSeconds),
      rows.map((row) => row.createdAt.toISOString()),
      rows.map((row) => row.baseUrl),
      rows.map((row) => row.details),
    ],
  })
  return new Set(inserted.rows.map((row) => row.id.replaceAll('-', '')))
}

// One row of JSON for each return of a Pix, null for none: most have none, and it costs no second statement.
const pixReturns = `
  (select json_agg(returned order by returned.requested_at, returned.id)
   from simulator.returns returned where returned.end_to_end_id = pix.end_to_end_id) as returns`

/** By their ids. */
export async function findCharges(pool: pg.Pool, ids: string[]): Promise<Map<string, ChargeWithPix>> {
  const { rows } = await pool.query<ChargeRecord & Partial<PixRecord>>({
    name: 'simulator-find-charges',
    text: `
      select charge.id, charge.txid, charge.amount::text as charge_amount, charge.expires_in, charge.created_at, charge.base_url,
        charge.details::text as details, pix.end_to_end_id, pix.amount::text as amount, pix.paid_at, pix.payer,
        ${pixReturns}
      from simulator.charges charge left join simulator.pix on pix.charge_id = charge.id
      where charge.id = any($1::uuid[])`,
    values: [ids],
  })
  return new Map(rows.map(toChargeWithPix).map((charge) => [charge.id, charge]))
}

function toChargeWithPix(row: ChargeRecord & Partial<PixRecord>): ChargeWithPix {
  const { end_to_end_id, amount, paid_at, payer, returns = null } = row
  return {
    id: row.id.replaceAll('-', ''),
    txid: row.txid,
    amount: Number(row.charge_amount),
    expiresInSeconds: row.expires_in,
    createdAt: row.created_at,
    baseUrl: row.base_url,
    details: row.details,
    pix:
      end_to_end_id && amount && paid_at && payer
        ? toPixRow({ end_to_end_id, amount, paid_at, payer, txid: row.txid, returns })
        : null,
  }
}

export type NewPix = PixRow & { chargeId: string }

/**
 * Marks charges as paid and returns the endToEndIds of those that were not yet. Of two at once the second waits for the first and is
 * told. This commit does wait for the disk: the payer is told that the money went, and nothing of ours need ever follow.
 */
export async function insertPixes(pool: pg.Pool, pixes: NewPix[]): Promise<Set<string>> {
  // Sorted, for the same reason as charges.
  const rows = pixes.toSorted((a, b) => (a.chargeId < b.chargeId ? -1 : 1))
  const inserted = await pool.query<{ end_to_end_id: string }>({
    name: 'simulator-insert-pixes',
    text: `
      insert into simulator.pix (end_to_end_id, charge_id, amount, paid_at, payer)
      select * from unnest($1::text[], $2::uuid[], $3::bigint[], $4::timestamptz[], $5::json[])
      on conflict (charge_id) do nothing
      returning end_to_end_id`,
    values: [
      rows.map((row) => row.endToEndId),
      rows.map((row) => row.chargeId),
      rows.map((row) => row.amount),
      rows.map((row) => row.paidAt.toISOString()),
      rows.map((row) => JSON.stringify(row.payer)),
    ],
  })
  return new Set(inserted.rows.map((row) => row.end_to_end_id))
}

const pixColumns = `pix.end_to_end_id, pix.amount::text as amount, pix.paid_at, pix.payer, charge.txid, ${pixReturns}`
const pixTables = `simulator.pix join simulator.charges charge on charge.id = pix.charge_id`

export async function findPix(pool: pg.Pool, endToEndId: string): Promise<PixRow | null> {
  const { rows } = await pool.query<PixRecord>({
    text: `select ${pixColumns} from ${pixTables} where pix.end_to_end_id = $1`,
    values: [endToEndId],
  })
  return rows[0] ? toPixRow(rows[0]) : null
}

const pixFilter = `
  pix.paid_at between $1 and $2
  and ($3::uuid is null or pix.charge_id = $3)
  and ($4::text is null or pix.payer ->> 'document' = $4)
  and ($5::boolean is null or $5 = exists (select from simulator.returns where end_to_end_id = pix.end_to_end_id))`

export async function countPix(pool: pg.Pool, filter: PixFilter): Promise<number> {
  const { rows } = await pool.query<{ count: string }>({
    text: `select count(*)::text as count from simulator.pix where ${pixFilter}`,
    values: toValues(filter),
  })
  return Number(rows[0]?.count)
}

export async function listPix(
  pool: pg.Pool,
  filter: PixFilter,
  page: { limit: number; offset: number },
): Promise<PixRow[]> {
  const { rows } = await pool.query<PixRecord>({
    text: `
      select ${pixColumns}
      from (
        select * from simulator.pix where ${pixFilter} order by paid_at, end_to_end_id limit $6 offset $7
      ) pix join simulator.charges charge on charge.id = pix.charge_id
      order by pix.paid_at, pix.end_to_end_id`,
    values: [...toValues(filter), page.limit, page.offset],
  })
  return rows.map(toPixRow)
}

export async function upsertWebhook(
  pool: pg.Pool,
  webhook: { chave: string; url: string; createdAt: Date },
): Promise<void> {
  await pool.query({
    text: `
      insert into simulator.webhooks (chave, url, created_at) values ($1, $2, $3)
      on conflict (chave) do update set url = excluded.url, created_at = excluded.created_at`,
    values: [webhook.chave, webhook.url, webhook.createdAt.toISOString()],
  })
}

export type WebhookRow = { url: string; createdAt: Date }

/** By the keys that they are about. */
export async function findWebhooks(pool: pg.Pool, chaves: string[]): Promise<Map<string, WebhookRow>> {
  const { rows } = await pool.query<{ chave: string; url: string; created_at: Date }>({
    name: 'simulator-find-webhooks',
    text: `select chave, url, created_at from simulator.webhooks where chave = any($1)`,
    values: [chaves],
  })
  return new Map(rows.map((row) => [row.chave, { url: row.url, createdAt: row.created_at }]))
}

// Amounts come as text, whatever the pool's own parser for int8 makes of them.
type ChargeRecord = {
  id: string
  txid: string
  charge_amount: string
  expires_in: number
  created_at: Date
  base_url: string
  details: string | null
}
type PixRecord = {
  end_to_end_id: string
  amount: string
  paid_at: Date
  payer: AccountHolder
  txid: string
  returns: ReturnRecord[] | null
}

function toPixRow(row: PixRecord): PixRow {
  const { end_to_end_id: endToEndId, amount, paid_at: paidAt, payer, txid } = row
  return { endToEndId, txid, amount: Number(amount), paidAt, payer, returns: (row.returns ?? []).map(toReturnRow) }
}

function toValues(filter: PixFilter): (string | boolean | null)[] {
  return [filter.from.toISOString(), filter.to.toISOString(), filter.chargeId, filter.payerDocument, filter.hasReturn]
}
