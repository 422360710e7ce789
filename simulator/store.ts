import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type pg from 'pg'
import { type PixRecord, type PixRow, pixColumns, toPixRows } from './pix-store.ts'
import { inTransaction } from './transaction.ts'

/** A stored charge. `id` is 32 hexadecimal digits, derived from its txid (see location.ts). */
export type ChargeRow = {
  id: string
  txid: string
  amount: number
  expiresInSeconds: number
  createdAt: Date
  /** The network's base URL when the charge was created: a location never changes. */
  baseUrl: string
  /** Optional fields of the request, as JSON; null if there were none. */
  details: string | null
  /** When the receiver removed it: it cannot be paid any more. */
  removedAt: Date | null
}

export type ChargeWithPixes = ChargeRow & { pixes: PixRow[] }

/** The network's secrets, created once and shared by all processes on the database. */
export type NetworkSecrets = { tokenKey: KeyObject; locationKey: KeyObject; signingJwk: string }

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
    charge_id uuid not null references simulator.charges,
    amount bigint not null check (amount > 0),
    paid_at timestamptz(3) not null,
    payer json not null,
    -- False: it came without the txid of the charge that it pays.
    names_charge boolean not null default true,
    is_second boolean not null default false,
    -- When this PSP shows it: at once where it is null.
    shown_at timestamptz(3),
    -- Faults of the payer's bank or this one.
    behaviours text[] not null default '{}'
  );
  create index if not exists pix_paid_at on simulator.pix (paid_at, end_to_end_id);
  create index if not exists pix_charge_id on simulator.pix (charge_id);
  -- A charge is paid once, except by payments that are marked as second.
  create unique index if not exists pix_charge_once on simulator.pix (charge_id) where names_charge and not is_second;
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
    rejection text,
    reference text
  );
  create index if not exists payouts_requested_at on simulator.payouts (requested_at, id);
  create unique index if not exists payouts_reference on simulator.payouts (reference);
  create table if not exists simulator.payout_returns (
    return_id text primary key,
    payout_id text not null references simulator.payouts,
    amount bigint not null check (amount > 0),
    returned_at timestamptz(3) not null
  );
  create index if not exists payout_returns_payout_id on simulator.payout_returns (payout_id);
  create table if not exists simulator.disputes (
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
  create index if not exists disputes_opened_at on simulator.disputes (opened_at, id);
  create table if not exists simulator.settings (name text primary key, value text not null);
  create table if not exists simulator.payout_starts (
    end_to_end_id text primary key,
    pix_key text not null,
    started_at timestamptz(3) not null
  );
  -- Until when a bank has to decide, if time.ts has moved it: seven days after the opening where it is null.
  alter table simulator.disputes add column if not exists deadline_at timestamptz(3);
  -- When the receiver removed it.
  alter table simulator.charges add column if not exists removed_at timestamptz(3);
  -- What the receiver sent against disputes. A dispute has one defence; its files arrive first.
  create table if not exists simulator.defence_files (
    defence_id uuid not null,
    id uuid not null,
    name text not null,
    type text not null,
    content bytea not null,
    primary key (defence_id, id)
  );
  create table if not exists simulator.defences (
    id uuid primary key,
    dispute_id uuid not null unique references simulator.disputes,
    protocol bigint generated always as identity,
    text text not null,
    files text[] not null,
    received_at timestamptz(3) not null
  );
`

/**
 * Creates the schema if it is missing. Several processes may start at the same time, and `if not exists` alone does not
 * keep them from colliding: hence the lock. Existence is checked first, so that a role without the right to create
 * anything can use an existing schema. The check uses the latest addition: append later additions to `schema`, such
 * that it can run again, and name the latest here.
 */
export async function ensureSchema(pool: pg.Pool): Promise<void> {
  const found = await pool.query<{ found: boolean }>(`select to_regclass('simulator.defences') is not null as found`)
  if (found.rows[0]?.found) return
  const client = await pool.connect()
  try {
    await client.query(`select pg_advisory_lock(${schemaLock})`)
    // PostgreSQL runs one string of several statements as one transaction.
    await client.query(`set local client_min_messages = warning; ${schema}`)
  } finally {
    // Closing the connection releases the lock in any case.
    client.release(true)
  }
}

/** The secrets of the network. New ones are stored if there are none yet. */
export async function loadSecrets(pool: pg.Pool, signingJwk: string): Promise<NetworkSecrets> {
  const made = { token_key: newKey(), location_key: newKey(), signing_jwk: signingJwk }
  await pool.query({
    text: `insert into simulator.secrets (name, value) select * from unnest($1::text[], $2::text[]) on conflict do nothing`,
    values: [Object.keys(made), Object.values(made)],
  })
  const { rows } = await pool.query<{ name: string; value: string }>(`select name, value from simulator.secrets`)
  const kept = new Map(rows.map((row) => [row.name, row.value]))
  return {
    tokenKey: createSecretKey(kept.get('token_key') ?? '', 'base64url'),
    locationKey: createSecretKey(kept.get('location_key') ?? '', 'base64url'),
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
 * Inserts charges and returns the ids of the new ones.
 *
 * The commit does not wait for the disk (`set_config` with `true` is `set local`, in the same statement). That is safe
 * here, but would not be on a real PSP: the gateway's own transaction is committed to the same write-ahead log later,
 * and the log is flushed in order. If the gateway's transaction is on disk, the charge is too. Measured on two cores:
 * 6,800 charges a second one after the other, 38,000 with 64 concurrent requests.
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
  // Usually all are new: then the returned ids need not be converted.
  const isAll = inserted.rows.length === rows.length
  return new Set(isAll ? rows.map(({ id }) => id) : inserted.rows.map(({ id }) => id.replaceAll('-', '')))
}

/**
 * Finds charges by their ids, with the payments that name them. The subqueries hide the number of rows from PostgreSQL:
 * it plans this once and uses indexes, whatever its statistics say about tables that were just filled.
 */
export async function findCharges(pool: pg.Pool, ids: string[]): Promise<Map<string, ChargeWithPixes>> {
  const { rows } = await pool.query<ChargeRecord & Partial<PixRecord>>({
    name: 'simulator-find-charges',
    text: `
      select charge.id, charge.txid as charge_txid, charge.amount::text as charge_amount, charge.expires_in, charge.created_at,
        charge.base_url, charge.details::text as details, charge.removed_at, ${pixColumns}
      from (select * from unnest((select $1::uuid[])) input (id) limit (select null::bigint)) input
      cross join lateral (select * from simulator.charges where charges.id = input.id limit 1) charge
      left join lateral (
        select * from simulator.pix where pix.charge_id = charge.id and pix.names_charge limit (select null::bigint)
      ) pix on true
      order by pix.paid_at, pix.is_second`,
    values: [ids],
  })
  const charges = new Map<string, ChargeWithPixes>()
  for (const row of rows) {
    const id = row.id.replaceAll('-', '')
    const charge = charges.get(id) ?? { ...toChargeRow(row), pixes: [] }
    charges.set(id, { ...charge, pixes: [...charge.pixes, ...toPixRows(row)] })
  }
  return charges
}

/**
 * Removes an unpaid charge, and returns whether it did. The lock waits for a payment in progress, and a later payment
 * waits for the lock (pix-store.ts). A Pix that is still on its way does not count: it arrives all the same.
 */
export async function removeCharge(pool: pg.Pool, { id, now }: { id: string; now: Date }): Promise<boolean> {
  return await inTransaction(pool, async (client) => {
    await client.query({ text: `select from simulator.charges where id = $1 for update`, values: [id] })
    const removed = await client.query({
      text: `
        update simulator.charges set removed_at = $2
        where id = $1 and removed_at is null and not exists (
          select from simulator.pix where charge_id = $1 and names_charge and paid_at <= $2)`,
      values: [id, now.toISOString()],
    })
    return removed.rowCount === 1
  })
}

/** The txid of the charge after this one, in an unpredictable order; after the last, the first. Null if it is alone. */
export async function findNextTxid(pool: pg.Pool, id: string): Promise<string | null> {
  const { rows } = await pool.query<{ txid: string | null }>({
    text: `
      select coalesce(
        (select txid from simulator.charges where id > $1 order by id limit 1),
        (select txid from simulator.charges where id < $1 order by id limit 1)
      ) as txid`,
    values: [id],
  })
  return rows[0]?.txid ?? null
}

function toChargeRow(row: ChargeRecord): ChargeRow {
  return {
    id: row.id.replaceAll('-', ''),
    txid: row.charge_txid,
    amount: Number(row.charge_amount),
    expiresInSeconds: row.expires_in,
    createdAt: row.created_at,
    baseUrl: row.base_url,
    details: row.details,
    removedAt: row.removed_at,
  }
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

/** By the receiver's key, or by the key of the address for payouts (callbacks.ts). */
export async function findWebhook(pool: pg.Pool, chave: string): Promise<WebhookRow | null> {
  const { rows } = await pool.query<WebhookRow>({
    text: `select url, created_at as "createdAt" from simulator.webhooks where chave = $1`,
    values: [chave],
  })
  return rows[0] ?? null
}

// Amounts are read as text, independent of the pool's own parser for int8.
type ChargeRecord = {
  id: string
  charge_txid: string
  charge_amount: string
  expires_in: number
  created_at: Date
  base_url: string
  details: string | null
  removed_at: Date | null
}

/**
 * The account's balance: payments less the PSP's fees, less returns and payouts, plus what was returned of payouts. And
 * the sum in dispute.
 */
export async function sumAccount(
  pool: pg.Pool,
  { now, feeBasisPoints }: { now: Date; feeBasisPoints: number },
): Promise<{ held: number; disputed: number }> {
  const { rows } = await pool.query<{ held: string; disputed: string }>({
    text: `
      select (
        (select coalesce(sum(amount - (amount * $2::int + 5000) / 10000), 0) from simulator.pix where paid_at <= $1)
        - (select coalesce(sum(amount), 0) from simulator.returns where rejection is null and settles_at <= $1)
        - (select coalesce(sum(amount), 0) from simulator.payouts where rejection is null and settles_at <= $1)
        + (select coalesce(sum(amount), 0) from simulator.payout_returns where returned_at <= $1)
      )::text as held, (
        select coalesce(sum(amount), 0) from simulator.disputes
        where opened_at <= $1 and (state = 'open' or (state = 'accepted' and return_settles_at > $1))
      )::text as disputed`,
    values: [now.toISOString(), feeBasisPoints],
  })
  return { held: Number(rows[0]?.held), disputed: Number(rows[0]?.disputed) }
}
