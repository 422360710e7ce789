import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ensureSchema } from '../../simulator/store.ts'
import { type Db, raw, sql } from '../../src/db/sql.ts'
import { parseDocument } from '../../src/lib/document.ts'
import { isLandlinePhone, isMobilePhone } from '../../src/lib/phone.ts'
import { newSecretKey, parseSecretKey } from '../../src/lib/secrets.ts'
import { isEndToEndId } from '../../src/pix/ids.ts'
import { toSnapshot } from '../../src/transactions/change.ts'
import { verifyNames } from '../../src/transactions/list/names.ts'
import { transactionStatuses } from '../../src/transactions/status.ts'
import { findTransaction } from '../../src/transactions/store.ts'
import { findBreaches } from '../../src/verification.ts'
import { attemptErrors } from '../../src/webhooks/attempt-errors.ts'
import { manualClock } from '../../test/support/clock.ts'
import { addMerchants, createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import type { Transaction } from '../../test/support/payments.ts'
import { fetchToken, startTestService, type TestService } from '../../test/support/service.ts'
import { eventually } from '../../test/support/webhooks.ts'
import { type Seeded, type SeedOptions, seedDatabase } from './seed.ts'

const secretKey = newSecretKey()
const key = parseSecretKey(secretKey) ?? expect.unreachable()
const dayMs = 24 * 60 * 60_000

async function seed(db: Db, more: Partial<SeedOptions> = {}): Promise<Seeded> {
  const options = { transactions: 3_000, merchants: 20, days: 30, ...more }
  return await seedDatabase({ db, clock: manualClock(), key, baseUrl: 'http://127.0.0.1:3000' }, options)
}

/** All constraints, indexes and triggers of the tables, as PostgreSQL describes them. */
async function describeTables(db: Db): Promise<unknown[]> {
  return await db.query(sql`
    select 'index' as kind, pg_get_indexdef(indexrelid) as made, indisvalid::text as state from pg_index
      join pg_class on pg_class.oid = indrelid where relnamespace in ('public'::regnamespace, 'simulator'::regnamespace)
    union all
    select 'constraint', conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid), convalidated::text
      from pg_constraint where connamespace in ('public'::regnamespace, 'simulator'::regnamespace)
    union all
    select 'trigger', pg_get_triggerdef(oid), tgenabled::text from pg_trigger where not tgisinternal
    union all
    select 'settings', oid::regclass::text, array_to_string(reloptions, ',') from pg_class where relkind = 'r' and reloptions <> '{}'
    order by 1, 2`)
}

describe('a seeded database', () => {
  let database: TestDatabase
  let before: unknown[]
  let seeded: Seeded
  let service: TestService
  /** Open codes, refunds in process and accepted disputes: read before a service runs, which completes them. */
  let underWay: Record<'open' | 'refunding' | 'accepted', { id: string; pix_uri: string }[]>
  beforeAll(async () => {
    database = await createTestDatabase()
    await ensureSchema(database.db.pool)
    before = await describeTables(database.db)
    seeded = await seed(database.db)
    underWay = {
      open: await inStatus('PIX_QRCODE_GENERATED', `pix_expires_at > '${manualClock().now().toISOString()}'`),
      refunding: await inStatus('PROCESSING_REFUND'),
      accepted: await inStatus('PROCESSING_INFRACTION'),
    }
  })
  afterAll(async () => {
    await service.stop()
    await database.drop()
  })

  const inStatus = async (status: string, more = 'true') =>
    await database.db.query<{ id: string; pix_uri: string }>(
      raw(`select id, pix_uri from transactions where status = '${status}' and ${more} order by created_at desc`),
    )

  const one = async <Row extends object>(statement: string): Promise<Row> => {
    const [row] = await database.db.query<Row>(raw(statement))
    if (!row) throw new Error(`nothing is found by ${statement}`)
    return row
  }

  it('has the requested number of transactions, one merchant with exactly 1 %, and a small one', async () => {
    const counts = await database.db.query<{ merchant_id: string; count: number }>(sql`
      select merchant_id, count(*) as count from transactions group by 1 order by 2 desc`)
    const countOf = ({ merchantId }: { merchantId: string }) =>
      counts.find((row) => row.merchant_id === merchantId)?.count
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(3_000)
    expect(counts).toHaveLength(20)
    expect([countOf(seeded.onePercent), seeded.onePercent.transactions]).toEqual([30, 30])
    expect([countOf(seeded.small), seeded.small.transactions]).toEqual([30, 30])
    expect([counts[0]?.merchant_id, countOf(seeded.largest)]).toEqual([
      seeded.largest.merchantId,
      seeded.largest.transactions,
    ])
  })

  it('has a consistent ledger', async () => {
    expect(await findBreaches(database.db)).toEqual([])
    expect(await one(`select count(*) > 4000 as is_full from ledger_transfers`)).toEqual({ is_full: true })
    // In order of time, so that past balances are complete.
    const disorder = await database.db.query(sql`
      select from (select created_at < lag(created_at) over (partition by merchant_id order by id) as is_back from ledger_transfers) t where is_back`)
    expect(disorder).toEqual([])
  })

  it('has delivery attempts that follow each other, with errors that the service stores', async () => {
    const attempts = await database.db.query<{ error: string | null; overlaps: boolean | null }>(sql`
      select error, started_at < lag(started_at + duration_ms * interval '1 ms')
        over (partition by delivery_id order by number) as overlaps from webhook_attempts`)
    expect(attempts.filter(({ overlaps }) => overlaps)).toEqual([])
    expect(attempts.filter(({ overlaps }) => overlaps === false).length).toBeGreaterThan(0)
    expect(new Set(attempts.map(({ error }) => error))).toEqual(new Set([null, attemptErrors.no_answer]))
  })

  it('has every index, key, trigger and setting that it had before', async () => {
    expect(await describeTables(database.db)).toEqual(before)
    expect(before.length).toBeGreaterThan(80)
  })

  it('has transactions in every status except the one that lasts only moments', async () => {
    const rows = await database.db.query<{ status: string }>(sql`select distinct status from transactions`)
    expect(rows.map(({ status }) => status).sort()).toEqual(
      transactionStatuses.filter((one) => one !== 'PENDING').toSorted(),
    )
  })

  it('counts its transactions in the tables with the totals of lists', async () => {
    const unequal = await database.db.query(sql`
      select * from (
        select merchant_id, brazilian_day(created_at) as day, status, count(*) as count, sum(coalesce(amount_paid, amount)) as amount
        from transactions group by 1, 2, 3
      ) real full join transaction_counts kept using (merchant_id, day, status)
      where (real.count, real.amount) is distinct from (kept.count, kept.amount)`)
    expect(unequal).toEqual([])
  })

  it('counts the names of customers', async () => {
    expect(await verifyNames(database.db, { error: () => {} })).toEqual([])
    expect(await one(`select count(*) = 20 as are_all from customer_names_counted`)).toEqual({ are_all: true })
  })

  it('has the same events as real changes', async () => {
    const events = await database.db.query<{
      merchant_id: string
      record_id: string
      snapshot: unknown
    }>(sql`
      select distinct on (t.status) e.merchant_id, e.record_id, e.snapshot
      from transactions t join events e on e.merchant_id = t.merchant_id and e.record_id = t.id and e.sequence = cardinality(t.statuses) - 1
      order by t.status, t.id`)
    expect(events).toHaveLength(8)
    for (const { merchant_id: merchantId, record_id: id, snapshot } of events) {
      const row = await findTransaction(database.db, merchantId, id)
      if (!row) throw new Error('the transaction of an event exists')
      if (row.status === 'PIX_QRCODE_GENERATED') expect(snapshot).toBeNull()
      else expect(JSON.stringify(snapshot)).toBe(JSON.stringify(toSnapshot(row)))
    }
    const { missing } = await one<{ missing: number }>(`
      select sum(cardinality(statuses) - 1) - (select count(*) from events) as missing from transactions`)
    expect(missing).toBe(0)
  })

  it('has people whose numbers are valid', async () => {
    const rows = await database.db.query<{
      customer: { document: { value: string; type: string }; mobilePhone?: string; landline?: string } | null
      end_to_end: string | null
      customer_document: string | null
    }>(sql`select customer, end_to_end, customer_document from transactions`)
    const customers = rows.flatMap((row) => (row.customer ? [{ ...row.customer, column: row.customer_document }] : []))
    expect(customers.length).toBeGreaterThan(2_000)
    for (const { document, mobilePhone, landline, column } of customers) {
      expect(parseDocument(document.value)).toEqual(document)
      expect(column).toBe(document.value)
      if (mobilePhone !== undefined) expect(isMobilePhone(mobilePhone), mobilePhone).toBe(true)
      if (landline !== undefined) expect(isLandlinePhone(landline), landline).toBe(true)
    }
    const ids = rows.flatMap(({ end_to_end: endToEnd }) => endToEnd ?? [])
    expect(ids.length).toBeGreaterThan(1_000)
    expect(ids.filter((id) => !isEndToEndId(id))).toEqual([])
  })

  it('is served: a client sees its own transactions, with the code, the events and the balance', async () => {
    service = await startTestService({
      database,
      clock: manualClock(),
      environment: { SECRET_KEY: secretKey, TOKEN_LIFETIME_SECONDS: '86400' },
    })
    const token = await fetchToken(service.baseUrl, seeded.largest)
    const listed = await service.call<{ total: number; data: Transaction[] }>('/transaction?perPage=100', { token })
    expect(listed.body.total).toBe(seeded.largest.transactions)
    const paid = listed.body.data.find(({ status }) => status === 'PAID')
    expect(paid?.pixResponse?.uri).toMatch(/^000201.*br\.gov\.bcb\.pix.*6304[\dA-F]{4}$/)
    const silvas = await service.call<{ total: number }>('/transaction?customerName=silva', { token })
    expect(silvas.body.total).toBeGreaterThan(10)
    expect(silvas.body.total).toBeLessThan(seeded.largest.transactions)
    const events = await service.call<{ data: { type: string }[] }>(`/transaction/${paid?.id}/event`, { token })
    expect(events.body.data.map(({ type }) => type).toSorted()).toEqual([
      'transaction.paid',
      'transaction.pix_qrcode_generated',
    ])
    expect((await service.call('/balance', { token })).status).toBe(200)
  })

  it('continues: codes are paid or expire, refunds and disputes end, and the ledger stays consistent', async () => {
    const statusOf = async (id: string) =>
      (await one<{ status: string }>(`select status from transactions where id = '${id}'`)).status
    const [open, ...expiring] = underWay.open
    const [refunding] = underWay.refunding
    const [accepted] = underWay.accepted
    if (!open || expiring.length === 0 || !refunding || !accepted) throw new Error('there is at least one of each')

    const token = await fetchToken(service.baseUrl, seeded.largest)
    const paid = await service.call('/sandbox/payment', { token, body: { uri: open.pix_uri } })
    expect(paid.status).toBe(200)
    await eventually(async () => (await statusOf(open.id)) === 'PAID')
    service.clock.advance(2 * dayMs)
    await service.runJob('transactions.check')
    await service.runJob('transactions.check-refunds')
    await eventually(async () => (await inStatus('PIX_QRCODE_GENERATED')).length === 0)
    for (const { id } of expiring) expect(await statusOf(id)).toBe('FAILED')
    await eventually(async () => ['REFUNDED', 'PAID'].includes(await statusOf(refunding.id)))
    service.clock.advance(4 * dayMs)
    await service.runJob('transactions.disputes')
    await eventually(async () => (await statusOf(accepted.id)) === 'INFRACTION')
    expect(await findBreaches(database.db)).toEqual([])
    // No webhook goes to receivers that do not exist.
    expect(await database.db.query(sql`select from webhook_deliveries where state <> 'delivered'`)).toEqual([])
  })

  it('is not seeded while a service runs on it, nor a second time', async () => {
    await expect(seed(database.db)).rejects.toThrow('Guichê is running on this database')
    await service.stop()
    await expect(seed(database.db)).rejects.toThrow('This database is in use')
  })
})

it('changes nothing in a database that is in use', async () => {
  const { db, drop } = await createTestDatabase()
  onTestFinished(drop)
  await addMerchants(db, [randomUUID()])
  // All rows of all tables.
  const readAll = async () =>
    await db.query(sql`
      select nspname, schema_to_xml(nspname, true, false, '')::text as rows from pg_namespace
      where nspname !~ '^pg_' and nspname <> 'information_schema' order by nspname`)
  const before = await readAll()
  await expect(seed(db)).rejects.toThrow('This database is in use')
  expect(await readAll()).toEqual(before)
})

it('makes the same amounts, times and outcomes for the same options', async () => {
  const rowsOf = async (days: number) => {
    const { db, drop } = await createTestDatabase()
    onTestFinished(drop)
    await seed(db, { transactions: 300, merchants: 5, days })
    const rows = await db.query(sql`
      select client_id, amount, customer::text, statuses, status_dates, payer::text, fee_amount
      from transactions join clients using (merchant_id)
      order by client_id, transactions.created_at, amount`)
    return JSON.stringify(rows)
  }
  const rows = await rowsOf(20)
  expect(await rowsOf(20)).toBe(rows)
  expect(await rowsOf(21)).not.toBe(rows)
})
