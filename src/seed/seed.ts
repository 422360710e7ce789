import { toChargeId, toLocation } from '../../simulator/location.ts'
import { newSigningJwk } from '../../simulator/payload.ts'
import { merchantCity, merchantName, receiverAccount } from '../../simulator/receiver-account.ts'
import { ensureSchema, insertBaseUrl, loadSecrets } from '../../simulator/store.ts'
import { type By, recordAction } from '../audit/record.ts'
import { scopes } from '../auth/scopes.ts'
import type { Db, Tx } from '../db/sql.ts'
import { enterEnvironment } from '../environment.ts'
import { whenAlone } from '../jobs/instances.ts'
import type { Account } from '../ledger/accounts.ts'
import { insertFeeRule } from '../ledger/store.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { createMerchant } from '../merchant.ts'
import { simulatorName } from '../network.ts'
import { crc16, encodeDynamicBrCode } from '../pix/brcode.ts'
import { toTxid } from '../pix/ids.ts'
import { saveListedUntil } from '../transactions/store.ts'
import { type Lanes, openLanes } from './lanes.ts'
import { nameOf, openLedger } from './ledger.ts'
import { type Merchant, makeMerchants } from './merchants.ts'
import { createRandom } from './random.ts'
import type { Scene } from './sale.ts'
import { createSheets, type Sheets, tables } from './sheets.ts'
import * as store from './store.ts'
import { runWorld } from './world.ts'

export type SeedOptions = { transactions: number; merchants: number; days: number; seed: number }

type Deps = {
  db: Db
  clock: Clock
  key: SecretKey
  /** Where the service will be reached: QR codes carry it. */
  baseUrl: string
  /** For the audit log. */
  by: By
  /** Told of the progress, for people. */
  report: (line: string) => void
}

export type SeededClient = {
  clientId: string
  clientSecret: string
  webhookSecret: string
  merchantId: string
  transactions: number
}

export type Seeded = SeedOptions & {
  seconds: number
  /** The client with exactly 1 % of the transactions, one that has just begun, and the largest. */
  onePercent: SeededClient
  small: SeededClient
  largest: SeededClient
}

/** What the clients of a seed are called by: nobody else's client is. */
const clientPrefix = 'seed-'
/** Transactions whose rows are written at once: some 10 MB. */
const batchTransactions = 4_000
const recentMs = 7 * 24 * 3_600_000
/** A transaction has four transfers at the most, and most have two. */
const transfersEach = 4

/**
 * Fills an empty database with merchants, transactions and all that belongs to them, as if the service had run for some time.
 *
 * @throws {Error} when the database has anything of its own, or a service runs on it
 */
export async function seedDatabase(deps: Deps, options: SeedOptions): Promise<Seeded> {
  let seeded: Seeded | null = null
  // No service may run meanwhile: without its indexes the database keeps nothing unique.
  await whenAlone(deps.db, async (tx) => {
    await store.waitForever(tx)
    seeded = await seedAlone(deps, options)
  })
  if (seeded === null)
    throw new Error('A Guichê runs on this database. Stop it first: its tables are about to be rebuilt.')
  return seeded
}

async function seedAlone(deps: Deps, options: SeedOptions): Promise<Seeded> {
  const { db, report } = deps
  const startedAt = performance.now()
  const now = Math.floor(deps.clock.now().getTime() / 60_000) * 60_000
  await ensureSchema(db.pool)
  const random = createRandom(options.seed)
  const merchants = makeMerchants(random, options)
  const { clients, firstTransferId, indexes } = await db.transaction(
    async (tx) => await prepare(tx, deps, options, merchants, now),
  )

  const secrets = await loadSecrets(db.pool, await newSigningJwk())
  await insertBaseUrl(db.pool, deps.baseUrl)
  const sheets = createSheets()
  const scene: Scene = {
    ...{ random, sheets, now, recently: now - recentMs, baseUrl: deps.baseUrl, acquirer: simulatorName },
    ...{ receiver: JSON.stringify(receiverAccount), receiverIspb: receiverAccount.bankAccount.ispb },
  }
  const makeCode = createCodes(deps.baseUrl, (id) => toChargeId({ secrets }, toTxid(id)))
  const ledger = openLedger(sheets, firstTransferId)
  const lanes = await openLanes(db)
  try {
    await write(lanes, deps, options, sheets, runWorld({ ...options, scene, ledger, merchants, makeCode }))
    for (const { id, balances } of merchants) {
      for (const [account, balance] of Object.entries(balances))
        sheets.add('ledger_accounts', [id, nameOf(account as Account), balance])
    }
    await lanes.copy(sheets)
    await lanes.commit()
    await rebuild(lanes, indexes, report)
    report('counts, vacuum and analyze')
    await lanes.run(store.countTransactions)
    await lanes.idle()
    for (const table of [...tables, 'transaction_counts']) await lanes.run(`vacuum (analyze) ${table}`)
    await lanes.idle()
  } finally {
    await lanes.close()
  }
  await db.transaction(async (tx) => {
    // What a poll would find has been found.
    await store.saveSeedState(tx, { state: 'done', restore: [] })
    await recordAction(tx, { by: deps.by, action: 'seed', details: options, now: deps.clock.now() })
  })
  for (const cursor of [simulatorName, `${simulatorName}:infractions`]) await saveListedUntil(db, cursor, new Date(now))

  const toClient = (place: number) => {
    const client = clients[place]
    const merchant = merchants[place]
    if (!client || !merchant) throw new Error('there are three merchants at least')
    return { ...client, transactions: merchant.transactions }
  }
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10
  return { ...options, seconds, onePercent: toClient(0), small: toClient(1), largest: toClient(2) }
}

type Prepared = { clients: Omit<SeededClient, 'transactions'>[]; firstTransferId: number; indexes: store.Part[] }

/** In one commit: the clients, and the tables without their indexes, with the statements that make them again. */
async function prepare(
  tx: Tx,
  deps: Deps,
  options: SeedOptions,
  merchants: Merchant[],
  now: number,
): Promise<Prepared> {
  const foreign = await store.findForeign(tx, clientPrefix)
  const instead = 'A seed fills an empty database: choose another DATA_DIR or DATABASE_URL.'
  if (foreign !== null) throw new Error(`This database is in use: ${foreign}. ${instead}`)
  // What is made up must never be paid out.
  await enterEnvironment(tx, 'simulated')
  const former = await store.findSeedState(tx)
  if (former?.state === 'done') throw new Error(`This database has been seeded already. ${instead}`)
  if (former) {
    deps.report('an earlier seed was cut short: what it left is thrown away')
    await store.deleteSeeded(tx, clientPrefix)
    // As far as they were made again, they would be in the way.
    for (const { drop } of await store.listIndexes(tx)) await store.run(tx, drop)
    for (const statement of former.restore) await store.run(tx, statement)
  }
  await store.deleteClosedDays(tx)
  const since = new Date(now - options.days * 24 * 3_600_000)
  const clients: Prepared['clients'] = []
  for (const { id, clientId, name, feeRule } of merchants) {
    clients.push(
      await createMerchant(
        tx,
        { ...deps, clock: { now: () => since } },
        { name, clientId, merchantId: id, scopes: [...scopes] },
      ),
    )
    await insertFeeRule(tx, { ...feeRule, merchantId: id, operation: 'transaction', validFrom: since })
  }
  const firstTransferId = await store.reserveTransferIds(tx, options.transactions * transfersEach)
  const indexes = await store.listIndexes(tx)
  await store.saveSeedState(tx, { state: 'running', restore: indexes.toReversed().map(({ make }) => make) })
  for (const { drop } of indexes) await store.run(tx, drop)
  return { clients, firstTransferId, indexes }
}

async function write(
  lanes: Lanes,
  { report }: Deps,
  options: SeedOptions,
  sheets: Sheets,
  world: Generator<void>,
): Promise<void> {
  const startedAt = performance.now()
  let reportedAt = startedAt
  let done = 0
  for (const _ of world) {
    done += 1
    if (done % batchTransactions !== 0) continue
    await lanes.copy(sheets)
    if (performance.now() - reportedAt < 2_000) continue
    reportedAt = performance.now()
    const rate = Math.round((done * 1000) / (reportedAt - startedAt))
    report(
      `${done.toLocaleString('en')} of ${options.transactions.toLocaleString('en')} transactions, ${rate.toLocaleString('en')} a second`,
    )
  }
}

/** Keys and indexes two at a time, then the references between the tables. */
async function rebuild(lanes: Lanes, indexes: store.Part[], report: Deps['report']): Promise<void> {
  // One is built in milliseconds in a small database, in minutes in a large one: a line every few seconds says how far it is.
  let reportedAt = performance.now()
  report(`${indexes.length} indexes and constraints`)
  for (const [place, { make, isReference }] of indexes.toReversed().entries()) {
    if (isReference) await lanes.idle()
    if (performance.now() - reportedAt > 2_000) {
      reportedAt = performance.now()
      report(`${place + 1} of ${indexes.length}: ${make.replace(/\s+/g, ' ').slice(0, 100)}`)
    }
    await lanes.run(make)
  }
  await lanes.idle()
}

/** A BR Code differs from the next in its location and in its checksum. */
function createCodes(baseUrl: string, toId: (id: string) => string) {
  const sampleId = '0'.repeat(32)
  const location = toLocation({ baseUrl, id: sampleId })
  const token = location.slice(-22)
  const [head = '', tail = ''] = encodeDynamicBrCode({ location, merchantName, merchantCity }).slice(0, -4).split(token)
  return (id: string) => {
    const chargeId = toId(id)
    const body = `${head}${Buffer.from(chargeId, 'hex').toString('base64url')}${tail}`
    return { chargeId, uri: body + crc16(body) }
  }
}
