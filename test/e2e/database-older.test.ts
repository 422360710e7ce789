import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, expect, inject, it } from 'vitest'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator } from '../../simulator/simulator.ts'
import { keepDatabaseMark } from '../../src/database-mark.ts'
import { asAdministrator } from '../../src/db/embedded.ts'
import { connect, type Db, raw, sql } from '../../src/db/sql.ts'
import { showPayoutFreeze } from '../../src/ledger/payout-freeze.ts'
import { readListsAgain } from '../../src/transactions/cursor-store.ts'
import { pollDisputes } from '../../src/transactions/dispute/poll.ts'
import { pollReturns } from '../../src/transactions/dispute/poll-returns.ts'
import { pollPayments } from '../../src/transactions/poll.ts'
import { settleDepsWith } from '../support/acquirer.ts'
import { manualClock } from '../support/clock.ts'
import { openCommandLine } from '../support/command-line.ts'
import { createTestDatabase } from '../support/database.ts'
import { openDatabaseProxy } from '../support/database-proxy.ts'
import { charge, openQuietBank } from '../support/payments.ts'
import { fetchRefundable } from '../support/refunds.ts'
import { startTestService } from '../support/service.ts'
import { startPair } from '../support/standby.ts'
import { inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import { requestWithdrawal } from '../support/withdrawals.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function counterOf(db: Db): Promise<number> {
  const [row] = await db.query<{ counter: number }>(sql`select counter from database_mark`)
  return row?.counter ?? 0
}

it('freezes payouts and reads the lists again when the database becomes an older copy of itself', async () => {
  const clock = manualClock()
  const [database, bankDatabase] = [await createTestDatabase(), await createTestDatabase()]
  const admin = connect({
    connectionString: asAdministrator(inject('postgres')),
    connectionsMax: 1,
    waitMs: 60_000,
    onError: () => {},
  })
  const name = new URL(database.connectionString).pathname.slice(1)
  const [copy, lost] = [`${name}_copy`, `${name}_lost`]
  cleanups.push(async () => {
    await admin.query(raw(`drop database if exists ${lost} with (force)`))
    await admin.pool.end()
    await database.drop()
    await bankDatabase.drop()
  })
  const bank = await createSimulator({
    pool: bankDatabase.db.pool,
    clock,
    publicBaseUrl: 'http://127.0.0.1:3999',
    sendCallback: async () => 200,
    log: { warn: () => {} },
  })
  const server = await startSimulatorServer({ simulator: bank, host: '127.0.0.1', port: 0 })
  const proxy = await openDatabaseProxy(database.connectionString)
  cleanups.push(async () => {
    await proxy.stop()
    await server.close()
    await bank.close()
  })
  const lines: Record<string, unknown>[] = []
  const service = await startTestService({
    clock,
    database: { db: database.db, connectionString: proxy.connectionString },
    environment: { SIMULATOR_URL: server.url, TOKEN_LIFETIME_SECONDS: '86400' },
    onLog: (one) => lines.push(one),
  })
  cleanups.push(service.stop)
  const whileDown = async (...statements: string[]) => {
    proxy.setDown(true)
    await admin.query(sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`)
    for (const statement of statements) await admin.query(raw(statement))
    proxy.setDown(false)
  }

  const { id, uri } = await charge(service)
  await service.runJob('transactions.poll')
  await eventually(async () => (await database.db.query(sql`select from acquirer_cursors`)).length > 0)
  await whileDown(`create database ${copy} template ${name}`)
  // What is lost later: a payment, and a charge that was answered 201.
  await bank.pay({ uri })
  await eventually(async () => (await service.call('/health/ready')).status === 200)
  await service.runJob('transactions.poll')
  await eventually(async () => (await fetchRefundable(service, id)).status === 'PAID')
  const other = await charge(service)
  const before = await counterOf(database.db)
  // Waits until the mark of the database has been set after both.
  await eventually(async () => {
    await charge(service)
    return (await counterOf(database.db)) > before + 1
  })

  await whileDown(`alter database ${name} rename to ${lost}`, `alter database ${copy} rename to ${name}`)
  await eventually(async () => (await service.call('/health/ready')).status === 200)
  expect((await service.call(`/transaction/${other.id}`)).status).toBe(404)
  expect(await showPayoutFreeze(database.db)).toMatchObject({
    reason: expect.stringMatching(/^The database went back in time: it has lost what was committed after .*Z\. /),
  })
  expect(await database.db.query(sql`select actor, details from audit_log where action = 'payouts.freeze'`)).toEqual([
    { actor: 'service', details: { reason: expect.stringContaining('The database went back in time') } },
  ])
  expect(await requestWithdrawal(service)).toMatchObject({ status: 503, body: { code: 'payouts_stopped' } })
  expect((await service.call('/metrics')).text).toMatch(/^guiche_database_commits_lost_total 1$/m)
  expect(lines.filter(({ msg }) => String(msg).startsWith('the database went back in time'))).toHaveLength(1)
  expect(await database.db.query(sql`select from jobs where name = 'reconciliation.requested-run'`)).toHaveLength(1)
  // The payment is found again in the acquirer's list, although no callback announces it a second time.
  await service.runJob('transactions.poll')
  await eventually(async () => (await fetchRefundable(service, id)).status === 'PAID')

  const browser = await openBrowser(service, { email: await inviteUser(service, { role: 'admin' }), password })
  const release = async (body: object) => await browser.call('/dashboard/api/payout-freeze/release', { body })
  expect(await release({ reason: 'I did not read why' })).toMatchObject({
    status: 422,
    body: { code: 'release_not_possible', errors: [{ field: 'isChecked', code: 'not_checked' }] },
  })
  expect(await showPayoutFreeze(database.db)).toMatchObject({ needsDataLossChecks: true })
  expect((await release({ reason: 'All of it was checked', isChecked: true })).status).toBe(200)
  expect(await showPayoutFreeze(database.db)).toBeNull()
})

it('the lists are read again from the requested time, even if a poll is in progress when that is requested', async () => {
  const service = await startTestService()
  cleanups.push(service.stop)
  const bank = await openQuietBank(service)
  cleanups.push(bank.close)
  let whileListing = async () => {}
  const send: typeof bank.handle = async (request) => {
    await whileListing()
    return await bank.handle(request)
  }
  const deps = settleDepsWith(service, send, { name: 'another', profile: { offers: { disputes: true } } })
  const cursors = async () =>
    await service.db.query<{ acquirer: string; until: Date }>(sql`
      select acquirer, listed_until as until from acquirer_cursors
      where acquirer like 'another%' order by acquirer`)
  const stopping = new AbortController().signal
  const polls = [pollPayments, pollDisputes, pollReturns]
  const pollAll = async () => {
    for (const poll of polls) await poll(deps, stopping)
  }
  await pollAll()
  expect((await cursors()).map(({ acquirer }) => acquirer)).toEqual([
    'another',
    'another:disputes',
    'another:disputes:whole',
  ])
  service.clock.advance(3_600_000)
  const from = new Date(service.clock.now().getTime() - 7_200_000)
  whileListing = async () => await service.db.transaction(async (tx) => await readListsAgain(tx, from))
  for (const poll of polls) {
    await poll(deps, stopping)
    for (const { until } of await cursors()) expect(until <= from).toBe(true)
  }
  whileListing = async () => {}
  await pollAll()
  for (const { until } of await cursors()) expect(until).toEqual(service.clock.now())

  // The same while a poll of returns reads the first of its older parts, which it reads from newest to oldest.
  const ended = new AbortController()
  let lists = 0
  whileListing = async () => {
    lists += 1
    if (lists === 2) await service.db.transaction(async (tx) => await readListsAgain(tx, from))
    if (lists === 3) ended.abort()
  }
  await pollReturns(deps, ended.signal)
  const [row] = await service.db.query<{ from: Date | null }>(sql`
    select returns_read_from as from from acquirer_cursors where acquirer = 'another'`)
  expect(row?.from?.getTime() ?? 0, 'it starts again with the first part').toBeGreaterThan(
    service.clock.now().getTime(),
  )
})

it('notices at its start that the database is older than the file in DATA_DIR', async () => {
  const database = await createTestDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'guiche-mark-'))
  cleanups.push(async () => {
    await database.drop()
    await rm(dataDir, { recursive: true })
  })
  const { db } = database
  const start = async (log = pino({ level: 'silent' })) => {
    const acquirers = { all: [{ name: 'a-bank' }] }
    const kept = await keepDatabaseMark({ db, clock: manualClock(), log, registry: new Registry(), acquirers, dataDir })
    await kept.stop()
  }
  await start()
  const counter = await counterOf(db)
  expect(counter).toBeGreaterThan(0)
  await start()
  expect(await showPayoutFreeze(db)).toBeNull()
  const id = randomUUID()
  await db.query(sql`
    insert into withdrawals (
      id, merchant_id, acquirer, amount, fee_amount, pix_key, pix_key_type, created_at, statuses, status_dates, check_at, acquirer_reference)
    select case status when 'PENDING' then ${id}::uuid else gen_random_uuid() end, ${id}, 'a-bank', 700, 0, 'maria@example.com', 'EMAIL',
      now(), case status when 'PENDING' then array[status] else array['PENDING', status] end,
      case status when 'PENDING' then array[now()] else array[now(), now()] end, now(), reference
    from (values ('PENDING', null), ('PROCESSING', null), ('PROCESSING', 'E1')) as input (status, reference)`)
  await db.query(sql`update database_mark set counter = 0`)
  await start()
  expect(await showPayoutFreeze(db)).not.toBeNull()
  // The pending withdrawal may have been sent already, and not every acquirer can tell.
  expect(await db.query(sql`select review_reason, check_at from withdrawals where id = ${id}`)).toEqual([
    { review_reason: 'approval', check_at: null },
  ])
  expect(
    await db.query(sql`
      select acquirer_reference, commits_lost_at is not null as is_marked from withdrawals
      where status = 'PROCESSING' order by 1`),
  ).toEqual([
    { acquirer_reference: 'E1', is_marked: false },
    { acquirer_reference: null, is_marked: true },
  ])
  await db.query(sql`delete from withdrawals where merchant_id = ${id}`)
  expect(await counterOf(db)).toBeGreaterThan(counter)
  const guiche = await openCommandLine({ connectionString: database.connectionString })
  cleanups.push(guiche.stop)
  await guiche.expectFailure(['ledger', 'release'], /Nothing is released yet.*Check first:.*1\. .*--checked/s)
  expect(await guiche.read(['ledger', 'release', '--checked'])).toContain('The database went back in time')
  expect(await showPayoutFreeze(db)).toBeNull()
  // Of another database nothing is known.
  await db.query(sql`update database_mark set counter = 0, database_id = gen_random_uuid()`)
  await start()
  expect(await showPayoutFreeze(db)).toBeNull()
  const file = join(dataDir, 'database-mark.json')
  await writeFile(file, '{')
  await expect(start()).rejects.toThrow(/database-mark\.json is damaged/)
  await rm(file)
  await mkdir(file)
  const lines: string[] = []
  await start(pino({}, { write: (line) => lines.push(line) }))
  expect(lines.join('')).toContain('cannot be read: this start does not notice lost commits')
})

it('sets no further marks when it is stopped while the only connection has been in use for a long time', async () => {
  const database = await createTestDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'guiche-mark-'))
  const { connectionString } = database
  const db = connect({ connectionString, connectionsMax: 1, waitMs: 2_000, onError: () => {} })
  cleanups.push(async () => {
    await db.pool.end()
    await database.drop()
    await rm(dataDir, { recursive: true })
  })
  let failures = 0
  const log = pino({ level: 'debug' }, { write: (line) => (failures += line.includes('no mark was set') ? 1 : 0) })
  const [clock, registry, acquirers] = [manualClock(), new Registry(), { all: [] }]
  const kept = await keepDatabaseMark({ db, clock, log, registry, acquirers, dataDir })
  const only = await db.pool.connect()
  await eventually(() => failures === 2)
  await kept.stop()
  only.release()
  // The mark that was in progress.
  expect(failures).toBeLessThanOrEqual(3)
})

it('notices that the database lacks one of its transactions whose commit was acknowledged', async () => {
  const database = await createTestDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'guiche-mark-'))
  const { db } = database
  const clock = manualClock()
  const acquirers = { all: [] }
  const [log, registry] = [pino({ level: 'silent' }), new Registry()]
  const kept = await keepDatabaseMark({ db, clock, log, registry, acquirers, dataDir })
  cleanups.push(async () => {
    await kept.stop()
    await database.drop()
    await rm(dataDir, { recursive: true })
  })
  const openConnections = async () => {
    for (const client of await Promise.all([db.pool.connect(), db.pool.connect()])) client.release(true)
    await db.query(sql`select`)
  }
  await db.transaction(async (tx) => await tx.query(sql`insert into settings (name, value) values ('one', '1')`))
  expect(db.recentXids).toHaveLength(1)
  await openConnections()
  expect(await showPayoutFreeze(db)).toBeNull()

  const rolledBack = new Error()
  const lost = await new Promise<number>((resolve, reject) => {
    const work = db.transaction(async (tx) => {
      const [row] = await tx.query<{ xid: number }>(sql`select pg_current_xact_id()::text::bigint as xid`)
      resolve(row?.xid ?? 0)
      throw rolledBack
    })
    work.catch((error) => error === rolledBack || reject(error))
  })
  db.recentXids.push(lost)
  await openConnections()
  expect(await showPayoutFreeze(db)).not.toBeNull()
  expect(await registry.getSingleMetric('guiche_database_commits_lost_total')?.get()).toMatchObject({
    values: [{ value: 1 }],
  })
})

it('notices that one charge was lost when an asynchronous standby became the primary', async () => {
  const pair = await startPair()
  cleanups.push(pair.stop)
  const primary = await openDatabaseProxy(pair.primary)
  const standby = await openDatabaseProxy(pair.standby.connectionString)
  cleanups.push(primary.stop, standby.stop)
  const { host } = new URL(standby.connectionString)
  const connectionString = primary.connectionString.replace(/(?=\/[^/]*$)/, `,${host}`)
  const db = connect({ connectionString, connectionsMax: 2, waitMs: 60_000, onError: () => {} })
  cleanups.push(async () => await db.pool.end())
  const service = await startTestService({ database: { db, connectionString } })
  cleanups.push(service.stop)
  const first = await charge(service)
  // From here on no mark is set, so the counter cannot show the loss.
  const blocker = await db.pool.connect()
  blocker.on('error', () => {})
  await blocker.query('begin; select from database_mark for update')
  const isReplicated = `select from transactions where id = '${first.id}'`
  await eventually(async () => (await pair.standby.query(isReplicated)).length === 1)
  pair.disconnectStandby()
  const last = await charge(service)
  primary.setDown(true)
  blocker.release(true)
  await pair.standby.query('select pg_promote()')

  await eventually(async () => (await service.call('/health/ready')).status === 200)
  expect((await service.call(`/transaction/${first.id}`)).status).toBe(200)
  expect((await service.call(`/transaction/${last.id}`)).status).toBe(404)
  expect(await showPayoutFreeze(db)).toMatchObject({ reason: expect.stringMatching(/^The database went back in time/) })
  // The process counts it after the commit of the freeze.
  await eventually(async () => /^guiche_database_commits_lost_total 1$/m.test((await service.call('/metrics')).text))
})
