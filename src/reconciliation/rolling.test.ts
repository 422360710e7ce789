import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ManualClock, manualClock } from '../../test/support/clock.ts'
import { addMerchants, createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import type { BankPayment, BankPayout } from '../../test/support/generated-bank.ts'
import { type GeneratedDay, generateDay, generatedDay } from '../../test/support/generated-day.ts'
import { listDiscrepancies, type Reconciling, reconcilingWith } from '../../test/support/reconciling.ts'
import type { HttpResponse, Send } from '../acquirers/bacen/http.ts'
import { findMet } from '../alerts/conditions.ts'
import { type By, byService } from '../audit/record.ts'
import { sql } from '../db/sql.ts'
import { findPayoutFreeze } from '../ledger/store.ts'
import { settleTransaction } from '../transactions/settle.ts'
import { findBreaches } from '../verification.ts'
import { classNames } from './classes.ts'
import { confirmDiscrepancy } from './decide.ts'
import { observeReconciliation, reconciliationJobs } from './jobs.ts'
import { enqueueRun, keyOfRun, requestedRunJob, requestedRunJobs } from './requested-run.ts'
import { reconcile } from './run.ts'

const { from, to } = generatedDay
const minuteMs = 60_000
const never = new AbortController().signal

let database: TestDatabase
let made: GeneratedDay
let clock: ManualClock
let deps: Reconciling

beforeEach(async () => {
  database = await createTestDatabase()
  made = await generateDay(database.db, { seed: 7, agreeing: 150, each: 5 })
  clock = manualClock(new Date('2026-11-21T15:00:00.000Z'))
  deps = reconcilingWith({ db: database.db, clock, send: made.bank.send })
})
afterEach(async () => await database.drop())

const runWith = async (some: Reconciling, kind: 'daily' | 'manual' | 'rolling' = 'daily', window = { from, to }) =>
  await reconcile(some, { acquirer: some.acquirer, kind, window })
const listed = async (onlyOpen = false) => await listDiscrepancies(database.db, { acquirer: 'bank', onlyOpen })
const disturbed = (send: Send) => reconcilingWith({ db: database.db, clock, send })
const refused = { status: 503, headers: {}, body: '' }

it.each([
  ['before both sides are read', (path: string) => path === '/pix'],
  ['while it compares', (path: string) => path.startsWith('/pix/E')],
])('ends as interrupted when PostgreSQL crashes %s, and resolves nothing', async (_, isLast) => {
  await runWith(deps)
  const open = async () => (await listed(true)).map(({ id }) => id).toSorted()
  const before = await open()
  const crashing = disturbed(async (request) => {
    const answer = await made.bank.send(request)
    // A crash empties an unlogged table. No statement is in progress meanwhile.
    if (isLast(request.path)) await database.db.query(sql`truncate reconciliation_pairs`)
    return answer
  })
  await expect(runWith(crashing)).rejects.toThrow(/the database lost the rows/)
  expect(await open()).toEqual(before)
  const states = sql`select state from reconciliation_runs order by state`
  expect(await database.db.query(states)).toEqual([{ state: 'complete' }, { state: 'interrupted' }])
  expect((await runWith(deps)).resolvedCount).toBe(0)
})

it('leaves time for the service’s usual delay, in a window that trails behind and overlaps', async () => {
  // The next day, which has no discrepancies.
  clock.set(new Date('2026-11-22T15:00:00.000Z'))
  // The bank lists a payment, but refuses queries of single payments and charges: nothing can be posted yet.
  const jobs = reconciliationJobs(
    disturbed(async (request) => (/\/cob\/|\/pix\/E/.test(request.path) ? refused : await made.bank.send(request))),
  )
  const roll = async () => await jobs['reconciliation.rolling']?.({}, never)
  await roll()
  const [owner] = await database.db.query<{ id: string; merchant_id: string }>(sql`
    select id, merchant_id from transactions where status = 'PIX_QRCODE_GENERATED' order by id limit 1`)
  const ago = (minutes: number) => new Date(clock.now().getTime() - minutes * minuteMs)
  const at = ago(7)
  const endToEndId = 'E12345678202611221453justnowpaid'
  const txid = owner?.id.replaceAll('-', '') ?? null
  made.bank.payments.set(endToEndId, { endToEndId, txid, amount: 500, at, fee: null, returns: [] })
  const states = async () =>
    (await listed()).filter((row) => row.reference === endToEndId).map((row) => `${row.class} ${row.state}`)
  const lastWindow = async () =>
    (
      await database.db.query(sql`
        select starts_at, ends_at from reconciliation_runs order by started_at desc, ends_at desc limit 1`)
    )[0]
  await roll()
  expect(await states()).toEqual(['late open'])
  clock.advance(5 * minuteMs)
  await roll()
  expect(await states()).toEqual(['late open'])
  // Further back than a run reads when nothing is open.
  clock.advance(5 * minuteMs)
  await roll()
  expect((await states()).toSorted()).toEqual(['late resolved', 'missing_in_ledger open'])
  expect(await lastWindow()).toEqual({ starts_at: at, ends_at: ago(5) })
  // And no further than half an hour for an open discrepancy.
  clock.advance(40 * minuteMs)
  await roll()
  clock.advance(5 * minuteMs)
  await roll()
  expect(await lastWindow()).toEqual({ starts_at: ago(15), ends_at: ago(5) })
  // Settled a day later, when no rolling run reads that time any more.
  clock.advance(24 * 60 * minuteMs)
  await settleTransaction(deps, {
    merchantId: owner?.merchant_id ?? '',
    id: owner?.id ?? '',
    reported: { acquirer: 'bank', endToEndId },
  })
  await roll()
  expect((await states()).toSorted()).toEqual(['late resolved', 'missing_in_ledger resolved'])
})

it('settles what needs no decision as the service, and leaves corrections to a person', async () => {
  await runWith(deps)
  const before = await listed(true)
  const isSettleable = ({ proposal }: { proposal: { action: string } }) =>
    ['settle', 'suspend'].includes(proposal.action)
  expect(before.filter(isSettleable).length).toBeGreaterThan(10)
  await reconciliationJobs(deps)['reconciliation.rolling']?.({}, never)
  const after = new Map((await listed()).map((row) => [row.id, row]))
  for (const row of before) {
    const { state, decided_by: by } = after.get(row.id) ?? {}
    expect([row.class, row.proposal.action, state, by]).toEqual([
      row.class,
      row.proposal.action,
      ...(isSettleable(row) ? ['confirmed', 'service'] : ['open', null]),
    ])
  }
  const recorded = await database.db.query<{ actor: string; count: number }>(sql`
    select actor, count(*) as count from audit_log where action = 'reconcile.confirm' group by actor`)
  expect(recorded).toEqual([{ actor: 'service', count: before.filter(isSettleable).length }])
  expect(await findBreaches(database.db)).toEqual([])
})

it('leaves open what the acquirer does not confirm, and settles the rest', async () => {
  await runWith(deps)
  const [missing] = (await listed(true)).filter((row) => row.class === 'missing_in_ledger')
  const hidden = missing?.reference ?? ''
  const hiding = disturbed(async (request) =>
    request.path.includes(hidden) || request.path.includes((missing?.record_id ?? '').replaceAll('-', ''))
      ? refused
      : await made.bank.send(request),
  )
  await reconciliationJobs(hiding)['reconciliation.rolling']?.({}, never)
  const open = (await listed(true)).filter(({ proposal }) => ['settle', 'suspend'].includes(proposal.action))
  expect(open.map(({ reference }) => reference)).toContain(hidden)
  // Every open discrepancy is about that transaction.
  expect(new Set(open.map((row) => row.record_id))).toEqual(new Set([missing?.record_id]))
  await reconciliationJobs(deps)['reconciliation.rolling']?.({}, never)
  expect((await listed()).find(({ id }) => id === missing?.id)).toMatchObject({ state: 'confirmed' })
})

it('finds a payout that is carried out long after its request', async () => {
  clock.set(new Date('2026-11-22T15:00:00.000Z'))
  const jobs = reconciliationJobs(deps)
  const at = new Date(clock.now().getTime() - 6 * minuteMs)
  const endToEndId = 'E12345678202611221454takeslonger'
  const payout: BankPayout = { endToEndId, payoutId: null, amount: 123_456, at, status: 'EM_PROCESSAMENTO' }
  made.bank.payouts.set(endToEndId, payout)
  for (let minute = 0; minute < 20; minute += 5) {
    await jobs['reconciliation.rolling']?.({}, never)
    clock.advance(5 * minuteMs)
  }
  expect(await findPayoutFreeze(database.db)).toBeNull()
  made.bank.payouts.set(endToEndId, { ...payout, status: 'REALIZADO' })
  await jobs['reconciliation.rolling']?.({}, never)
  expect((await findPayoutFreeze(database.db))?.reason).toContain(endToEndId)
})

it('checks a late return again, with its payment', async () => {
  clock.set(new Date('2026-11-22T15:00:00.000Z'))
  const jobs = reconciliationJobs(deps)
  const [owner] = await database.db.query<{ id: string; merchant_id: string }>(sql`
    select id, merchant_id from transactions where status = 'PIX_QRCODE_GENERATED' order by id limit 1`)
  const ago = (minutes: number) => new Date(clock.now().getTime() - minutes * minuteMs)
  const endToEndId = 'E12345678202611221452wentbackmed'
  const txid = owner?.id.replaceAll('-', '') ?? null
  const payment: BankPayment = { endToEndId, txid, amount: 500, at: ago(8), fee: null, returns: [] }
  made.bank.payments.set(endToEndId, payment)
  await settleTransaction(deps, {
    merchantId: owner?.merchant_id ?? '',
    id: owner?.id ?? '',
    reported: { acquirer: 'bank', endToEndId },
  })
  payment.returns.push({ id: 'undermed', amount: 500, at: ago(6), nature: 'MED_FRAUDE' })
  const open = async () =>
    (await listed(true)).filter((row) => row.reference === endToEndId).map((row) => `${row.subject} ${row.class}`)
  await jobs['reconciliation.rolling']?.({}, never)
  expect(await open()).toEqual(['return late'])
  clock.advance(5 * minuteMs)
  await jobs['reconciliation.rolling']?.({}, never)
  clock.advance(5 * minuteMs)
  await jobs['reconciliation.rolling']?.({}, never)
  expect((await listed()).find((row) => row.reference === endToEndId && row.class === 'return')).toMatchObject({
    state: 'confirmed',
    decided_by: 'service',
  })
  expect(
    await database.db.query(sql`select state, amount from disputes where transaction_id = ${owner?.id ?? ''}`),
  ).toEqual([{ state: 'returned', amount: 500 }])
})

it('leaves out what moved on the account before Guichê first read its lists', async () => {
  const startAt = async (at: Date) => await database.db.query(sql`update acquirer_cursors set first_listed_at = ${at}`)
  const stolen = 'E12345678202611201200stolenstole'
  const noon = new Date('2026-11-20T15:00:00.000Z')
  made.bank.payouts.set(stolen, { endToEndId: stolen, payoutId: null, amount: 123_456, at: noon, status: 'REALIZADO' })
  await startAt(to)
  const { counts, totals } = await runWith(deps)
  expect(counts.unattributed).toBeUndefined()
  expect(counts.missing_in_ledger).toBe(5)
  const names = (await listed(true)).map(({ reference }) => reference)
  expect(names).not.toContain(stolen)
  // They are not in the totals of the acquirer either.
  await startAt(from)
  const whole = await runWith(deps)
  expect(whole.counts.unattributed).toBe(5)
  const sumOf = (subject: string, sums: typeof totals) => sums.find((one) => one.subject === subject)?.sum ?? 0
  expect(sumOf('payout', whole.totals) - sumOf('payout', totals)).toBeGreaterThanOrEqual(123_456)
  expect((await findPayoutFreeze(database.db))?.reason).toContain('no withdrawal has it (the first of 2 such payouts)')
  // Before the first poll nothing is Guichê's.
  await database.db.query(sql`delete from acquirer_cursors`)
  expect((await runWith(deps)).counts.unattributed).toBeUndefined()
})

it('posts a payment by a static code that no callback and no poll has found, as a PAID transaction', async () => {
  const [owner] = await database.db.query<{ merchant_id: string }>(sql`select merchant_id from transactions limit 1`)
  const merchantId = owner?.merchant_id ?? ''
  await addMerchants(database.db, [merchantId])
  await database.db.query(sql`
    insert into payment_links (merchant_id, id, slug, title, needs_customer, is_enabled, static_txid, static_uri, created_at, changed_at)
    values (${merchantId}, ${merchantId}, 'a', 'A link', false, true, 'static', 'code', ${from}, ${from})`)
  const endToEndId = 'E12345678202611201200atthecounter'
  const at = new Date('2026-11-20T15:00:00.000Z')
  made.bank.payments.set(endToEndId, { endToEndId, txid: 'static', amount: 500, at, fee: null, returns: [] })
  await runWith(deps)
  const found = (await listed(true)).find(({ reference }) => reference === endToEndId)
  await confirmDiscrepancy(deps, { id: found?.id ?? '', by: { actor: 'cli:test' } })
  expect(await database.db.query(sql`select status from transactions where end_to_end = ${endToEndId}`)).toEqual([
    { status: 'PAID' },
  ])
  expect(await database.db.query(sql`select from suspense_payments where end_to_end = ${endToEndId}`)).toEqual([])
})

it('repeats a requested run that a stop interrupted, and one of the service when the acquirer answers again', async () => {
  const away = disturbed(async () => refused)
  const request = async (by: By) => {
    const wanted = { acquirer: 'bank', window: { from, to }, by, now: clock.now() }
    const runId = await database.db.transaction(async (tx) => await enqueueRun(tx, wanted))
    const [job] = await database.db.query<{ payload: object }>(sql`
      select payload from jobs where key = ${keyOfRun(runId)}`)
    const run = async (some: Reconciling, stopping = never) =>
      await requestedRunJobs(some)[requestedRunJob]?.(job?.payload, stopping)
    const state = async () =>
      (await database.db.query<{ state: string }>(sql`select state from reconciliation_runs where id = ${runId}`))[0]
        ?.state
    return { run, state }
  }
  const ofPerson = await request({ actor: 'user:maria@loja.example' })
  await expect(ofPerson.run(deps, AbortSignal.abort())).rejects.toThrow('interrupted')
  await ofPerson.run(away)
  expect(await ofPerson.state()).toBe('interrupted')
  const ofService = await request(byService)
  await expect(ofService.run(away)).rejects.toThrow('interrupted')
  await ofService.run(deps)
  expect(await ofService.state()).toBe('complete')
})

it('leaves it to a person if the acquirer has sent a PENDING withdrawal, and freezes payouts', async () => {
  // A database that has lost its last commits has such a withdrawal.
  const id = '0198a1b2-c3d4-4e5f-8a9b-0c1d2e3f4a5b'
  const at = new Date('2026-11-20T15:00:00.000Z')
  await database.db.query(sql`
    insert into withdrawals (id, merchant_id, acquirer, amount, fee_amount, pix_key, pix_key_type, created_at, statuses, status_dates)
    select ${id}, merchant_id, 'bank', 700, 0, 'maria@example.com', 'EMAIL', ${from}, array['PENDING'], array[${from}::timestamptz]
    from transactions limit 1`)
  const payoutId = id.replaceAll('-', '')
  const endToEndId = 'E12345678202611201500sentbefore1'
  made.bank.payouts.set(endToEndId, { endToEndId, payoutId, amount: 700, at, status: 'REALIZADO' })
  await runWith(deps)
  const found = (await listed(true)).find(({ reference }) => reference === payoutId)
  expect(found).toMatchObject({ class: 'payout', proposal: { action: 'investigate' } })
  expect((await findPayoutFreeze(database.db))?.reason).toContain(
    `R$ 7,00 left under ${payoutId}, and withdrawal ${id} is PENDING`,
  )
})

it('continues after a machine whose clock was ahead has compared up to a moment in the future', async () => {
  const roll = async () => await reconciliationJobs(deps)['reconciliation.rolling']?.({}, never)
  const runs = async () => (await database.db.query(sql`select from reconciliation_runs`)).length
  clock.advance(60 * minuteMs)
  await roll()
  clock.advance(-60 * minuteMs)
  await roll()
  expect(await runs()).toBe(2)
})

it('code and database have the same classes of discrepancies', async () => {
  const [check] = await database.db.query<{ definition: string }>(sql`
    select pg_get_constraintdef(oid) as definition from pg_constraint where conname = 'differences_class_check'`)
  const inDatabase = [...(check?.definition.matchAll(/'(\w+)'/g) ?? [])].map(([, name]) => name)
  expect(inDatabase.toSorted()).toEqual(classNames.toSorted())
})

/** A bank without a list of payouts, which answers queries about them as `answer` decides; null: as usual. */
function withoutPayoutList(answer: (path: string) => HttpResponse | null): Reconciling {
  const some = disturbed(async (request) =>
    request.path.includes('/id-envio/') ? (answer(request.path) ?? made.bank.send(request)) : made.bank.send(request),
  )
  const { acquirer } = some
  return { ...some, acquirer: { ...acquirer, payouts: acquirer.payouts && { ...acquirer.payouts, list: null } } }
}

it('queries all payouts although the acquirer limits the queries, where it has no list of them', async () => {
  const refusedPaths = new Set<string>()
  let left = 3
  await database.db.query(sql`update withdrawals set acquirer_reference = id::text`)
  const some = withoutPayoutList((path) => {
    // The next minute begins when the first refused query is repeated.
    if (refusedPaths.has(path)) {
      refusedPaths.clear()
      left = 3
    }
    if (left-- > 0) return null
    refusedPaths.add(path)
    return { status: 429, headers: { 'retry-after': '1' }, body: '{}' }
  })
  const unlimited = await runWith(withoutPayoutList(() => null))
  expect(unlimited.compared.payout).toBeGreaterThan(3)
  const { state, error, compared, counts } = await runWith(some)
  expect([state, error]).toEqual(['complete', null])
  expect({ compared, counts }).toEqual({ compared: unlimited.compared, counts: unlimited.counts })
})

it('queries no payout that is known to be done in a rolling run, where there is no list of them', async () => {
  await database.db.query(sql`update withdrawals set acquirer_reference = id::text`)
  await runWith(withoutPayoutList(() => null))
  const openPayouts = async () =>
    (await listed(true)).filter(({ subject }) => subject === 'payout').map(({ reference }) => reference)
  const before = await openPayouts()
  expect(before.length).toBeGreaterThan(0)
  const queried: string[] = []
  const watched = withoutPayoutList((path) => {
    queried.push(path)
    return null
  })
  expect((await runWith(watched, 'rolling')).state).toBe('complete')
  const done = await database.db.query<{ key: string }>(sql`
    select replace(id::text, '-', '') as key from withdrawals where status in ('PROCESSED', 'REFUNDED')`)
  expect(queried.length).toBeGreaterThan(0)
  expect(queried.filter((path) => done.some(({ key }) => path.endsWith(key)))).toEqual([])
  // What the rolling run did not look at is not resolved.
  expect(await openPayouts()).toEqual(before)
})

it('stops waiting for an acquirer’s limit when the service stops', async () => {
  const stopping = new AbortController()
  const some = withoutPayoutList(() => {
    setImmediate(() => stopping.abort())
    return { status: 429, headers: { 'retry-after': '3600' }, body: '{}' }
  })
  const run = { acquirer: some.acquirer, kind: 'daily' as const, window: { from, to }, stopping: stopping.signal }
  expect(await reconcile(some, run)).toMatchObject({ state: 'interrupted' })
})

it('alerts when an acquirer was never compared completely, or not for an hour, and when its days are not closed', async () => {
  const registry = new Registry()
  observeReconciliation({ db: database.db, clock, registry, acquirers: [{ name: 'bank', readBalance: null }] })
  const overdue = async () =>
    (await findMet(registry)).met.filter(({ kind }) => kind.endsWith('overdue')).map(({ kind, value }) => [kind, value])
  clock.advance(60 * minuteMs)
  expect(await overdue()).toEqual([])
  // No run has begun: the age counts from the start of the process.
  clock.advance(minuteMs)
  expect(await overdue()).toEqual([['reconciliation_overdue', 61 * 60]])
  // As when the account lacks a permission: each run is interrupted.
  const broken = disturbed(async () => refused)
  for (const kind of ['rolling', 'daily'] as const) {
    await runWith(broken, kind)
    clock.advance(minuteMs)
    await runWith(broken, kind)
  }
  // What the process remembers of its start is lost; the first run is not.
  registry.clear()
  observeReconciliation({ db: database.db, clock, registry, acquirers: [{ name: 'bank', readBalance: null }] })
  expect(await overdue()).toEqual([])
  clock.advance(28 * 60 * minuteMs)
  expect(await overdue()).toEqual([
    ['reconciliation_overdue', (28 * 60 + 2) * 60],
    ['close_overdue', (28 * 60 + 1) * 60],
  ])
  await runWith(deps, 'rolling')
  await runWith(deps, 'daily')
  expect(await overdue()).toEqual([])
})
