import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toLocation } from '../../simulator/location.ts'
import { newSigningJwk } from '../../simulator/payload.ts'
import { merchantCity, merchantName, receiverAccount } from '../../simulator/receiver-account.ts'
import { ensureSchema, insertBaseUrl, loadSecrets } from '../../simulator/store.ts'
import { scopes } from '../../src/auth/scopes.ts'
import { packageFolder } from '../../src/db/migrate.ts'
import { type Db, raw, sql, type Tx } from '../../src/db/sql.ts'
import { enterEnvironment } from '../../src/environment.ts'
import { listLivingInstances } from '../../src/jobs/instances.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { SecretKey } from '../../src/lib/secrets.ts'
import { createMerchant } from '../../src/merchant.ts'
import { simulatorName } from '../../src/network.ts'
import { crc16, encodeDynamicBrCode } from '../../src/pix/brcode.ts'

export type SeedOptions = { transactions: number; merchants: number; days: number }

type Deps = {
  db: Db
  clock: Clock
  key: SecretKey
  /** Where the service will be reached: QR codes contain it. */
  baseUrl: string
}

export type SeededClient = { merchantId: string; clientId: string; clientSecret: string; transactions: number }

export type Seeded = SeedOptions & {
  seconds: number
  /** The client with exactly 1 % of the transactions, one with 100 at most, and the largest. */
  onePercent: SeededClient
  small: SeededClient
  largest: SeededClient
}

/**
 * Fills an empty database with merchants, transactions and everything that belongs to them, as if the service had run
 * for some time. All of it in one transaction: an interrupted run leaves only the simulator's schema,
 * with its keys and its base URL.
 *
 * @throws {Error} if the database is not empty or a service runs on it
 */
export async function seedDatabase({ db, clock, key, baseUrl }: Deps, options: SeedOptions): Promise<Seeded> {
  const startedAt = performance.now()
  const now = clock.now()
  if ((await listLivingInstances(db)).length > 0) throw new Error('Guichê is running on this database. Stop it first.')
  const [existing] = await db.query(sql`select from clients limit 1`)
  if (existing) throw new Error('This database is in use: choose another DATA_DIR or DATABASE_URL.')
  await ensureSchema(db.pool)
  await insertBaseUrl(db.pool, baseUrl)
  const { locationKey } = await loadSecrets(db.pool, await newSigningJwk())
  const [onePercent, small, largest] = await db.transaction(async (tx) => {
    await tx.query(sql`set local statement_timeout = 0`)
    // Generated money must never be paid out.
    await enterEnvironment(tx, 'simulated')
    const since = new Date(now.getTime() - options.days * 24 * 3_600_000)
    const secrets = new Map<string, string>()
    for (let number = 1; number <= options.merchants; number += 1) {
      const input = { name: `Merchant ${number}`, clientId: `seed-${number}`, scopes: [...scopes] }
      const { merchantId, clientSecret } = await createMerchant(tx, { clock: { now: () => since }, key }, input)
      secrets.set(merchantId, clientSecret)
    }
    await insertOptions(tx, { ...options, now, baseUrl, locationKey: locationKey.export() })
    await tx.query(raw(readFileSync(join(packageFolder(), 'bench/seed/seed.sql'), 'utf8')))
    const rows = await tx.query<Omit<SeededClient, 'clientSecret'>>(sql`
      select merchant_id as "merchantId", 'seed-' || number as "clientId", transactions from seeded_merchants
      where number <= 3 order by number`)
    return rows.map((row) => ({ ...row, clientSecret: secrets.get(row.merchantId) ?? '' }))
  })
  if (!onePercent || !small || !largest) throw new Error('There must be at least three merchants.')
  await vacuum(db)
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10
  return { ...options, seconds, onePercent, small, largest }
}

/** What seed.sql reads from the table `options`. */
async function insertOptions(
  tx: Tx,
  options: SeedOptions & { now: Date; baseUrl: string; locationKey: Buffer },
): Promise<void> {
  const { transactions, merchants, days, now, baseUrl, locationKey } = options
  const location = toLocation({ baseUrl, id: '0'.repeat(32) })
  const code = encodeDynamicBrCode({ location, merchantName, merchantCity }).slice(0, -4)
  const [head = '', tail = ''] = code.split(location.slice(-tokenLength))
  const keyBlock = Buffer.concat([locationKey], hmacBlockLength)
  await tx.query(sql`
    create temporary table options (
      transactions integer, merchants integer, days integer, now timestamptz, acquirer text, base_url text,
      account_ispb text, account json, head text, head_crc integer, tail text, ipad bytea, opad bytea
    ) on commit drop`)
  await tx.query(sql`
    insert into options
    values (${transactions}, ${merchants}, ${days}, ${now}, ${simulatorName}, ${baseUrl},
      ${receiverAccount.bankAccount.ispb}, ${JSON.stringify(receiverAccount)}, ${head}, ${Number.parseInt(crc16(head), 16)}, ${tail},
      ${keyBlock.map((byte) => byte ^ 0x36)}, ${keyBlock.map((byte) => byte ^ 0x5c)})`)
}

/** The characters at the end of a location, which {@link toLocation} makes of a charge's id. */
const tokenLength = 22
const hmacBlockLength = 64

async function vacuum({ pool }: Db): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('set statement_timeout = 0')
    await client.query('vacuum (analyze)')
  } finally {
    client.release(true)
  }
}
