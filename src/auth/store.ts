import { type Db, raw, type Sql, sql, type Tx } from '../db/sql.ts'
import type { Scope } from './scopes.ts'

export type ClientRow = {
  merchant_id: string
  client_id: string
  name: string
  scopes: Scope[]
  not_before: Date | null
  created_at: Date
  /** Both null unless the merchant has moved to another cell (a separate installation, see lib/cell.ts). */
  moved_to_cell: string | null
  moved_to_address: string | null
}

const clientColumns = sql`
  merchant_id, client_id, name, scopes, not_before, created_at, moved_to_cell, moved_to_address`

/** A client, and whether it has a valid secret. A revoked client has none, and all its tokens are refused. */
export type KnownClient = ClientRow & { has_secret: boolean }

/** False if another client has the same id. */
export async function insertClient(
  tx: Tx,
  client: Omit<ClientRow, 'not_before' | 'moved_to_cell' | 'moved_to_address'>,
): Promise<boolean> {
  const rows = await tx.query(sql`
    insert into clients (merchant_id, client_id, name, scopes, created_at)
    values (${client.merchant_id}, ${client.client_id}, ${client.name}, ${client.scopes}, ${client.created_at})
    on conflict (client_id) do nothing returning client_id`)
  return rows.length > 0
}

export async function listClients(db: Db | Tx, now: Date): Promise<KnownClient[]> {
  return await db.query<KnownClient>(sql`
    select ${clientColumns}, ${hasSecret(now)} as has_secret
    from clients order by created_at, client_id`)
}

export async function findClient(db: Db | Tx, clientId: string, now: Date): Promise<KnownClient | null> {
  const [client] = await findClients(db, [clientId], now)
  return client ?? null
}

/** A subquery: if PostgreSQL knew the number of ids, it would plan the statement again for each call. */
export async function findClients(db: Db | Tx, clientIds: string[], now: Date): Promise<KnownClient[]> {
  return await db.query<KnownClient>(
    sql`
      select ${clientColumns}, ${hasSecret(now)} as has_secret
      from clients where client_id = any((select ${clientIds}::text[])::text[])`,
    'find-clients',
  )
}

function hasSecret(now: Date): Sql {
  return sql`exists (
    select from client_secrets
    where client_secrets.merchant_id = clients.merchant_id and (expires_at is null or expires_at > ${now}))`
}

/** Locks the client, so that concurrent changes of it run one after the other. */
export async function lockClient(tx: Tx, clientId: string): Promise<ClientRow | null> {
  const rows = await tx.query<ClientRow>(sql`
    select ${clientColumns} from clients
    where client_id = ${clientId} for no key update`)
  return rows[0] ?? null
}

/** Unix seconds; tokens issued before are refused. 0 when none was revoked. */
export function notBeforeOf(client: ClientRow): number {
  return client.not_before ? client.not_before.getTime() / 1000 : 0
}

/**
 * Refuses tokens issued before this time, and those of the second in which the previous revocation ended: since then,
 * tokens were issued in it. It may be later than `notBefore`, after a revocation by a machine whose clock was ahead.
 */
export async function updateNotBefore(tx: Tx, merchantId: string, notBefore: Date): Promise<void> {
  await tx.query(sql`
    update clients set not_before = greatest(not_before + interval '1 second', ${notBefore}::timestamptz)
    where merchant_id = ${merchantId}`)
}

export async function updateScopes(tx: Tx, merchantId: string, scopes: Scope[]): Promise<void> {
  await tx.query(sql`update clients set scopes = ${scopes} where merchant_id = ${merchantId}`)
}

export async function updateMovedTo(
  tx: Tx,
  merchantId: string,
  { cell, address }: { cell: string | null; address: string | null },
): Promise<void> {
  await tx.query(sql`
    update clients set moved_to_cell = ${cell}, moved_to_address = ${address} where merchant_id = ${merchantId}`)
}

export async function insertClientSecret(
  tx: Tx,
  secret: { merchantId: string; id: string; hash: Buffer; createdAt: Date; madeBy: string | null },
): Promise<void> {
  await tx.query(sql`
    insert into client_secrets (merchant_id, id, hash, created_at, made_by)
    values (${secret.merchantId}, ${secret.id}, ${secret.hash}, ${secret.createdAt}, ${secret.madeBy})`)
}

/**
 * Who created the secrets that a request at this time may have used. A token can stay valid for a day after its secret
 * has expired, so secrets that expired within the last day count too.
 */
export async function listSecretCreators(tx: Db | Tx, merchantId: string, at: Date): Promise<string[]> {
  const rows = await tx.query<{ made_by: string }>(sql`
    select distinct made_by from client_secrets
    where merchant_id = ${merchantId} and made_by is not null and created_at <= ${at}
      and (expires_at is null or expires_at > ${at}::timestamptz - interval '1 day')`)
  return rows.map((row) => row.made_by)
}

/** Ends all of a client's secrets at the given time, unless they end earlier. */
export async function expireClientSecrets(tx: Tx, merchantId: string, at: Date): Promise<void> {
  await tx.query(sql`
    update client_secrets set expires_at = least(expires_at, ${at}) where merchant_id = ${merchantId}`)
}

export const clientSecrets = (merchantId: string) => ({
  table: sql`client_secrets`,
  owner: sql`merchant_id = ${merchantId}`,
  merchantId,
})

/** When each valid secret was created and ends, newest first. */
export async function listValidSecrets(db: Db | Tx, merchantId: string, now: Date): Promise<ValidSecret[]> {
  return await db.query<ValidSecret>(sql`
    select id, created_at as "createdAt", expires_at as "expiresAt" from client_secrets
    where merchant_id = ${merchantId} and (expires_at is null or expires_at > ${now})
    order by expires_at desc nulls first, created_at desc`)
}

/** `expiresAt` is null until the next secret is created. */
export type ValidSecret = { id: string; createdAt: Date; expiresAt: Date | null }

export async function findSecretHashes(db: Db, merchantId: string, now: Date): Promise<Buffer[]> {
  const rows = await db.query<{ hash: Buffer }>(sql`
    select hash from client_secrets
    where merchant_id = ${merchantId} and (expires_at is null or expires_at > ${now})
    order by created_at desc`)
  return rows.map((row) => row.hash)
}

export async function replaceSecretHash(
  db: Db,
  merchantId: string,
  { from, to }: { from: Buffer; to: Buffer },
): Promise<void> {
  await db.query(sql`update client_secrets set hash = ${to} where merchant_id = ${merchantId} and hash = ${from}`)
}

export type SigningKeyRow = {
  kid: string
  public_jwk: Record<string, unknown>
  sealed_private_jwk: Buffer
  created_at: Date
}

/**
 * The keys that still verify, the one that signs first. It is the one without `retires_at`, whatever the clocks of the
 * processes that created the others.
 */
export async function listSigningKeys(db: Db | Tx, now: Date): Promise<SigningKeyRow[]> {
  return await db.query<SigningKeyRow>(sql`
    select kid, public_jwk, sealed_private_jwk, created_at from signing_keys
    where retires_at is null or retires_at > ${now}
    order by retires_at desc nulls first, created_at desc, kid`)
}

/** Blocks others until this transaction ends: one process creates the first key, or the next. */
export async function lockSigningKeys(tx: Tx): Promise<void> {
  await tx.query(sql`lock table signing_keys in exclusive mode`)
}

export async function retireSigningKeys(tx: Tx, at: Date): Promise<void> {
  await tx.query(sql`update signing_keys set retires_at = ${at} where retires_at is null`)
}

export async function insertSigningKey(tx: Tx, key: SigningKeyRow): Promise<void> {
  await tx.query(sql`
    insert into signing_keys (kid, public_jwk, sealed_private_jwk, created_at)
    values (${key.kid}, ${JSON.stringify(key.public_jwk)}, ${key.sealed_private_jwk}, ${key.created_at})`)
}

export async function findSetting(db: Db | Tx, name: string): Promise<string | null> {
  const rows = await db.query<{ value: string }>(sql`select value from settings where name = ${name}`)
  return rows[0]?.value ?? null
}

/** Writes a setting if it does not exist yet; an existing one is unchanged. */
export async function insertSetting(db: Db | Tx, name: string, value: string): Promise<void> {
  await db.query(sql`insert into settings (name, value) values (${name}, ${value}) on conflict do nothing`)
}

export async function saveSetting(db: Db | Tx, name: string, value: string): Promise<void> {
  await db.query(sql`
    insert into settings (name, value) values (${name}, ${value}) on conflict (name) do update set value = excluded.value`)
}

/** Locks a setting, so that processes change it one after the other. */
export async function lockSetting(tx: Tx, name: string): Promise<string | null> {
  const rows = await tx.query<{ value: string }>(sql`select value from settings where name = ${name} for update`)
  return rows[0]?.value ?? null
}

export async function deleteSetting(tx: Tx, name: string): Promise<void> {
  await tx.query(sql`delete from settings where name = ${name}`)
}

/** Every column with encrypted values, and the purpose for which they are encrypted. */
export const sealedColumns = [
  { table: 'webhook_secrets', column: 'sealed', purpose: 'webhook-secret' },
  { table: 'signing_keys', column: 'sealed_private_jwk', purpose: 'signing-key' },
  { table: 'statement_keys', column: 'sealed_private_jwk', purpose: 'statement-key' },
  { table: 'users', column: 'sealed_totp', purpose: 'second-factor' },
] as const

type SealedColumn = (typeof sealedColumns)[number]

/** Locks and lists all encrypted values of a column, each with the location of its row. */
export async function lockSealed(
  tx: Tx,
  { table, column }: SealedColumn,
): Promise<{ place: string; sealed: Buffer }[]> {
  return await tx.query(
    raw(`select ctid::text as place, ${column} as sealed from ${table} where ${column} is not null for no key update`),
  )
}

export async function updateSealed(
  tx: Tx,
  { table, column }: SealedColumn,
  { place, sealed }: { place: string; sealed: Buffer },
): Promise<void> {
  await tx.query(sql`update ${raw(table)} set ${raw(column)} = ${sealed} where ctid = ${place}::tid`)
}

/** True only for the one process that first marks something as done. */
export async function claimSetting(tx: Tx, name: string): Promise<boolean> {
  const rows = await tx.query(
    sql`insert into settings (name, value) values (${name}, 'yes') on conflict do nothing returning name`,
  )
  return rows.length > 0
}
