import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ManualClock, manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type GeneratedDay, generateDay, generatedDay } from '../../test/support/generated-day.ts'
import { listDiscrepancies, type Reconciling, reconcilingWith } from '../../test/support/reconciling.ts'
import type { Send } from '../acquirers/bacen/http.ts'
import { listActions } from '../audit/store.ts'
import { sql } from '../db/sql.ts'
import { type NewEntry, postEntry } from '../entries/post.ts'
import { freezePayouts } from '../ledger/payout-freeze.ts'
import { findPayoutFreeze } from '../ledger/store.ts'
import { assert } from '../lib/assert.ts'
import { findBreaches } from '../verification.ts'
import { saveComparedBalance } from './balance-store.ts'
import { closeDay } from './close.ts'
import { confirmDiscrepancy, dismissDiscrepancy } from './decide.ts'
import { observeReconciliation, reconciliationJobs } from './jobs.ts'
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
const names = async (onlyOpen = false) => (await listed(onlyOpen)).map((row) => `${row.class} ${row.reference}`).sort()
const disturbed = (send: Send) => reconcilingWith({ db: database.db, clock, send })
const refused = { status: 503, headers: {}, body: '' }

it('reports nothing as missing from a list that breaks off, and completes once it can be read', async () => {
  const broken = disturbed(async (request) =>
    request.path === '/pix' && request.query['paginacao.paginaAtual'] === '1' ? refused : await made.bank.send(request),
  )
  const cut = await runWith(broken)
  expect(cut).toMatchObject({ state: 'interrupted', error: expect.any(String), newCount: 0, resolvedCount: 0 })
  expect(await listed()).toEqual([])
  await runWith(deps)
  const before = await names(true)
  expect(await runWith(broken)).toMatchObject({ state: 'interrupted', resolvedCount: 0 })
  expect(await names(true)).toEqual(before)
  expect(await database.db.query(sql`select run_id from reconciliation_pairs limit 1`)).toEqual([])
})

it('records who requested a run, also if it is interrupted', async () => {
  const broken = disturbed(async () => refused)
  const by = { actor: 'cli:maria' }
  const cut = await reconcile(broken, { acquirer: broken.acquirer, kind: 'manual', window: { from, to }, by })
  expect(cut.state).toBe('interrupted')
  const closed = await closeDay(broken, { acquirer: broken.acquirer, day: '2026-11-20', by })
  expect(closed.state).toBe('interrupted')
  await runWith(deps)
  expect(await listActions(database.db, { recordIds: null, limit: 10 })).toMatchObject([
    { actor: 'cli:maria', action: 'reconcile.run', details: { acquirer: 'bank', from: from.toISOString() } },
    { actor: 'cli:maria', action: 'close.run', details: { acquirer: 'bank', date: '2026-11-20' } },
    { actor: 'service', action: 'payouts.freeze', details: { reason: expect.stringContaining('R$ 26,04 left') } },
  ])
})

it('reports nothing as missing when it cannot query what a list omits, until it can', async () => {
  const broken = disturbed(async (request) =>
    request.path.startsWith('/pix/E') ? refused : await made.bank.send(request),
  )
  expect(await runWith(broken)).toMatchObject({ state: 'complete', resolvedCount: 0, counts: { unreadable: 6 } })
  expect((await listed()).filter((row) => row.class === 'missing_at_acquirer')).toEqual([])
  await runWith(deps, 'rolling')
  expect((await listed(true)).filter((row) => row.class === 'unreadable')).toEqual([])
})

it('does not report as missing what a list omits and an individual query finds', async () => {
  const agreed = [...made.bank.payments.values()].filter(
    ({ endToEndId, at, returns }) =>
      returns.length === 0 && at > from && !JSON.stringify([...made.expected]).includes(endToEndId),
  )
  const hidden = new Set(agreed.slice(0, 20).map(({ endToEndId }) => endToEndId))
  const lagging = disturbed(async (request) => {
    const answer = await made.bank.send(request)
    if (request.path !== '/pix') return answer
    const body = JSON.parse(answer.body)
    body.pix = body.pix.filter(({ endToEndId }: { endToEndId: string }) => !hidden.has(endToEndId))
    return { ...answer, body: JSON.stringify(body) }
  })
  await runWith(lagging)
  expect(hidden.size).toBe(20)
  expect(await names()).toEqual([...made.expected].toSorted())
})

it('stores each discrepancy once when several runs compare at the same time', async () => {
  const another = disturbed(made.bank.send)
  const runs = await Promise.all([runWith(deps), runWith(another), runWith(deps, 'manual')])
  expect(runs.map(({ state }) => state)).toEqual(['complete', 'complete', 'complete'])
  expect(await names()).toEqual([...made.expected].toSorted())
})

// The control: if this run found the same, the tests of the classes would prove nothing.
it('finds something else when its window is off by an hour', async () => {
  const hour = 60 * minuteMs
  await runWith(deps, 'daily', { from: new Date(from.getTime() + hour), to: new Date(to.getTime() + hour) })
  expect(await names()).not.toEqual([...made.expected].toSorted())
})

it('freezes payouts when money has left that is not in the ledger, and never for incoming money', async () => {
  for (const [key, payout] of made.bank.payouts) {
    if (payout.payoutId === null || made.expected.has(`payout ${payout.payoutId}`)) made.bank.payouts.delete(key)
  }
  await runWith(deps)
  expect(await findPayoutFreeze(database.db)).toBeNull()
  const at = new Date(from.getTime() + 12 * 60 * minuteMs)
  const stolen = 'E12345678202611201200stolenstole'
  made.bank.payouts.set(stolen, { endToEndId: stolen, payoutId: null, amount: 123_456, at, status: 'REALIZADO' })
  // Whoever releases this freeze must know of that money, too.
  await freezePayouts(database.db, { reason: 'a test.', now: clock.now() })
  await runWith(deps)
  await runWith(deps)
  expect((await findPayoutFreeze(database.db))?.reason).toMatch(
    /^a test\. reconciliation of bank: R\$ 1\.234,56 left under E12345678202611201200stolenstole, and no withdrawal has it\. `[^`]*` has it\.$/,
  )
})

it('recognizes drawn fees by their reference or their amount, and no other payout', async () => {
  for (const [key, payout] of made.bank.payouts) {
    if (payout.payoutId === null || made.expected.has(`payout ${payout.payoutId}`)) made.bank.payouts.delete(key)
  }
  const at = new Date(from.getTime() + 12 * 60 * minuteMs)
  const paidOut = (endToEndId: string, amount: number) =>
    made.bank.payouts.set(endToEndId, { endToEndId, payoutId: null, amount, at, status: 'REALIZADO' })
  const by = { actor: 'cli:test' }
  const operator = { type: 'pay_in', merchantId: null, acquirer: 'bank', description: 'a test', by } as const
  const enter = async (entry: Partial<NewEntry> & Pick<NewEntry, 'amount'>, when = at) =>
    await postEntry(
      { db: database.db, clock: { now: () => when } },
      { ...operator, idempotencyKey: `${entry.reference ?? entry.amount}`, ...entry },
    )
  await enter({ amount: 10_000 })
  await enter({ type: 'fee_draw', amount: 1_500, reference: 'E12345678202611201200namedbefore' })
  await enter({ type: 'fee_draw', amount: 2_500 })
  // By TED, a month before: no list of payouts has it.
  await enter({ type: 'fee_draw', amount: 2_500, idempotencyKey: 'ted' }, new Date('2026-10-20T12:00:00.000Z'))
  paidOut('E12345678202611201200namedbefore', 1_500)
  paidOut('E12345678202611201200byitsamount', 2_500)
  for (const _ of [1, 2]) await runWith(deps)
  expect(await findPayoutFreeze(database.db)).toBeNull()
  // The run has added the reference: the entry can still be repeated without one.
  expect(await enter({ type: 'fee_draw', amount: 2_500 })).toMatchObject({ isReplay: true })
  const references = (await listed()).map(({ reference }) => reference)
  expect(references.filter((reference) => /namedbefore|byitsamount/.test(reference))).toEqual([])
  // Another payout of the same amount belongs to no entry.
  const another = 'E12345678202611201201anotherofit'
  paidOut(another, 2_500)
  await runWith(deps)
  expect((await findPayoutFreeze(database.db))?.reason).toContain(another)
  // An entry names it before somebody confirms the correction, which would post the same money again.
  const found = (await listed(true)).find(({ reference }) => reference === another)
  await enter({ type: 'fee_draw', amount: 2_500, reference: another })
  await expect(confirmDiscrepancy(deps, { id: found?.id ?? '', by })).rejects.toThrow(/has changed for/)
})

it('keeps a discrepancy dismissed until the acquirer’s side changes', async () => {
  await runWith(deps)
  const amount = (await listed(true)).find((row) => row.class === 'amount')
  const payment = made.bank.payments.get(amount?.reference ?? '')
  if (!amount || !payment) throw new Error('an amount differs')
  await dismissDiscrepancy(deps, { id: amount.id, by: { actor: 'cli:test' }, reason: 'agreed with the bank' })
  const isOpen = async () => (await listed(true)).some(({ id }) => id === amount.id)
  expect((await runWith(deps)).newCount).toBe(0)
  expect(await isOpen()).toBe(false)
  payment.amount += 1
  expect((await runWith(deps)).newCount).toBe(1)
  expect(await isOpen()).toBe(true)
  // The former decision is not that of the new state.
  const undecided = { decided_at: null, decided_by: null, reason: null }
  expect((await listed(true)).find(({ id }) => id === amount.id)).toMatchObject(undecided)
})

it('leaves it to a person if the acquirer sent another amount than is still reserved for a payout', async () => {
  const open = await database.db.query<{ id: string; amount: number }>(sql`
    select id, amount from withdrawals where status = 'PROCESSING'`)
  const idOf = new Map(open.map(({ id }) => [id.replaceAll('-', ''), id]))
  const payout = [...made.bank.payouts.values()].find(
    ({ payoutId, status }) => status === 'REALIZADO' && idOf.has(payoutId ?? ''),
  )
  assert(payout?.payoutId, 'a withdrawal was sent, and its outcome is not posted')
  const alarm = `R$ 0,01 left under ${payout.payoutId}, more than the ledger has for it (record ${idOf.get(payout.payoutId)})`
  for (const [key, { payoutId }] of made.bank.payouts) if (payoutId !== payout.payoutId) made.bank.payouts.delete(key)
  await runWith(deps)
  expect(await findPayoutFreeze(database.db)).toBeNull()
  // The discrepancy is open already.
  payout.amount += 1
  await runWith(deps)
  const found = (await listed(true)).find(({ reference }) => reference === payout.payoutId)
  expect(found).toMatchObject({ class: 'payout', proposal: { action: 'investigate' } })
  expect((await findPayoutFreeze(database.db))?.reason).toContain(alarm)
})

it('posts no correction of what is no longer wrong', async () => {
  await runWith(deps)
  const ofClass = async (name: string) => (await listed(true)).filter((row) => row.class === name)
  const [amount] = await ofClass('amount')
  const payment = made.bank.payments.get(amount?.reference ?? '')
  const [recorded] = await database.db.query<{ amount_paid: number }>(sql`
    select amount_paid from transactions where id = ${amount?.record_id}`)
  if (!amount || !payment || !recorded) throw new Error('an amount differs')
  payment.amount = recorded.amount_paid
  const decision = { id: amount.id, by: { actor: 'cli:test' } }
  await expect(confirmDiscrepancy(deps, decision)).rejects.toThrow(/has changed for/)
  payment.amount += 5
  await expect(confirmDiscrepancy(deps, decision)).rejects.toThrow(/nothing was posted/)
  const [byHand] = (await ofClass('return')).filter(
    ({ proposal, at_acquirer }) => proposal.action === 'correct' && at_acquirer,
  )
  made.bank.payments.get(byHand?.reference ?? '')?.returns.splice(0)
  await expect(confirmDiscrepancy(deps, { ...decision, id: byHand?.id ?? '' })).rejects.toThrow(/nothing was posted/)
  const posted = await database.db.query(sql`select id from ledger_transfers where kind = 'correction'`)
  expect(posted).toEqual([])
  expect(await ofClass('amount')).toHaveLength(5)
})

it('gives back a return that the PSP no longer shows, also when the whole payment was returned', async () => {
  await runWith(deps)
  const [paid] = await database.db.query<{ id: string; end_to_end: string; merchant_id: string }>(sql`
    select t.id, t.end_to_end, t.merchant_id from transactions t
    where t.status = 'PAID' and exists (select from refunds where transaction_id = t.id and status = 'REFUNDED')
      and not exists (select from differences where reference = t.end_to_end)
    order by t.id limit 1`)
  const payment = made.bank.payments.get(paid?.end_to_end ?? '')
  const ours = payment?.returns[0]
  assert(paid && payment && ours, 'a transaction has a refund, which the bank has too')
  const balance = async () => {
    const [row] = await database.db.query<{ balance: number }>(sql`
      select balance from ledger_accounts where merchant_id = ${paid.merchant_id} and account = 'available'`)
    return row?.balance ?? 0
  }
  const before = await balance()
  const confirm = async () => {
    await runWith(deps)
    const found = (await listed(true)).find(({ reference }) => reference === payment.endToEndId)
    await confirmDiscrepancy(deps, { id: found?.id ?? '', by: { actor: 'cli:test' } })
    return await database.db.query(sql`select status from transactions where id = ${paid.id}`)
  }
  const rest = payment.amount - ours.amount
  const at = new Date(to.getTime() - 60 * minuteMs)
  payment.returns.push({ id: 'ofthebank', amount: rest, at, nature: 'ORIGINAL' })
  expect(await confirm()).toEqual([{ status: 'REFUNDED' }])
  payment.returns.shift()
  expect(await confirm()).toEqual([{ status: 'REFUNDED' }])
  expect(await balance()).toBe(before - rest + ours.amount)
  expect(await findBreaches(database.db)).toEqual([])
})

it('resolves what no longer differs', async () => {
  await runWith(deps)
  const [one] = (await listed(true)).filter((row) => row.class === 'unattributed')
  made.bank.payments.delete(one?.reference ?? '')
  expect((await runWith(deps)).resolvedCount).toBe(1)
  expect((await listed()).find(({ id }) => id === one?.id)).toMatchObject({ state: 'resolved' })
})

it('resolves nothing that another run has found since it began', async () => {
  await runWith(deps)
  const [unattributed] = (await listed(true)).filter((row) => row.class === 'unattributed')
  const payment = made.bank.payments.get(unattributed?.reference ?? '')
  if (!payment) throw new Error('an unattributed payment exists')
  // One run reads a list without the entry while another reads a list with it.
  let isFirst = true
  const hiding = disturbed(async (request) => {
    if (isFirst) {
      isFirst = false
      clock.advance(1_000)
      await runWith(deps, 'manual')
      made.bank.payments.delete(payment.endToEndId)
    }
    return await made.bank.send(request)
  })
  expect((await runWith(hiding)).resolvedCount).toBe(0)
  expect((await listed()).find(({ id }) => id === unattributed?.id)).toMatchObject({ state: 'open' })
  expect((await runWith(deps)).resolvedCount).toBe(1)
})

it('closes yesterday half an hour after midnight, once, and has discrepancies and closing in its metrics', async () => {
  clock.set(new Date(to.getTime() + 29 * minuteMs))
  const jobs = reconciliationJobs(deps)
  const close = async () => await jobs['reconciliation.close']?.({}, never)
  const days = async () => await database.db.query(sql`select day::text, version from closed_days`)
  await close()
  expect(await days()).toEqual([])
  clock.advance(2 * minuteMs)
  await close()
  await close()
  expect(await days()).toEqual([{ day: '2026-11-20', version: 1 }])

  // After two days without the service, both days are closed.
  clock.set(new Date(to.getTime() + 3 * 24 * 60 * minuteMs))
  await close()
  expect(await days()).toEqual(['20', '21', '22'].map((last) => ({ day: `2026-11-${last}`, version: 1 })))

  const registry = new Registry()
  observeReconciliation({ db: database.db, clock, registry, acquirers: [{ name: 'bank', readBalance: null }] })
  const metrics = await registry.metrics()
  expect(metrics).toContain('guiche_reconciliation_differences_open{acquirer="bank",class="unattributed"} 5')
  expect(metrics).toContain('guiche_reconciliation_age_seconds{acquirer="bank",kind="daily"} 0')

  // An acquirer that was taken out of the file: its last run and its balance would become older for ever.
  const balance = { at: to.toISOString(), available: 5, blocked: null, disputed: null, ledgerBalance: 0 }
  for (const acquirer of ['bank', 'former'])
    await saveComparedBalance(database.db, { ...balance, acquirer, ledgerDisputed: 0, difference: 5 })
  expect(await registry.metrics()).toContain('guiche_acquirer_balance_difference_cents{acquirer="bank"} 5')
  const later = new Registry()
  observeReconciliation({ db: database.db, clock, registry: later, acquirers: [{ name: 'other', readBalance: null }] })
  const without = await later.metrics()
  expect(without).not.toMatch(/^guiche_acquirer_balance\w*\{/m)
  expect(without).not.toMatch(/^guiche_reconciliation_age_seconds\{acquirer="bank"/m)
  expect(without).toContain('guiche_reconciliation_differences_open{acquirer="bank",class="unattributed"} 5')
})

it('stores an unreadable entry, closes the day, and posts the payment automatically once it can be read', async () => {
  const payment = [...made.bank.payments.values()].find(({ txid, at }) => txid !== null && at >= from && at < to)
  const { endToEndId } = payment ?? { endToEndId: '' }
  // A payment that the ledger does not have yet.
  const unknown = { endToEndId: 'E12345678202611201200unreadable1', txid: null, amount: 7777, fee: null, returns: [] }
  made.bank.payments.set(unknown.endToEndId, { ...unknown, at: new Date('2026-11-20T12:00:00.000Z') })
  let isBroken = true
  const breaking = disturbed(async (request) => {
    const answer = await made.bank.send(request)
    if (!isBroken || !request.path.startsWith('/pix')) return answer
    let body = answer.body
    for (const id of [unknown.endToEndId, endToEndId]) {
      const json = JSON.parse(body)
      const entries = Array.isArray(json.pix) ? json.pix : [json]
      for (const entry of entries) if (entry.endToEndId === id) entry.valor = '77.777'
      body = JSON.stringify(json)
    }
    return { ...answer, body }
  })
  const unreadable = async () => (await listed()).filter((row) => row.class === 'unreadable')
  const closed = await closeDay(breaking, { acquirer: breaking.acquirer, day: '2026-11-20' })
  if (closed.state !== 'closed') throw new Error(closed.error)
  expect(closed.statement.differences.filter((one) => one.class === 'unreadable')).toMatchObject([
    { reference: unknown.endToEndId, state: 'open', atAcquirer: { rawSha256: expect.any(String) } },
    { reference: endToEndId, state: 'open' },
  ])
  expect(JSON.stringify(closed.statement)).not.toContain('77.777')
  // Once, however often it is listed, and the posted payment does not count as missing.
  await runWith(breaking)
  await reconciliationJobs(breaking)['reconciliation.rolling']?.({}, never)
  expect((await unreadable()).map(({ state }) => state)).toEqual(['open', 'open'])
  expect(
    (await listed(true)).filter((row) => row.class === 'missing_at_acquirer' && row.reference === endToEndId),
  ).toEqual([])

  // What was dismissed is recognized without the entry.
  const [posted] = (await unreadable()).filter((row) => row.reference === endToEndId)
  await dismissDiscrepancy(deps, { id: posted?.id ?? '', by: { actor: 'cli:test' }, reason: 'known' })
  await runWith(breaking)
  const kept = (await unreadable()).map(({ state, at_acquirer: side }) => `${state} ${side?.raw !== undefined}`)
  expect(kept.toSorted()).toEqual(['dismissed false', 'open true'])

  isBroken = false
  await reconciliationJobs(breaking)['reconciliation.rolling']?.({}, never)
  const decided = (await unreadable()).map(({ state, decided_by: by, at_acquirer: side }) => [state, by, side?.raw])
  expect(decided.toSorted()).toEqual([
    ['confirmed', 'service', undefined],
    ['dismissed', 'cli:test', undefined],
  ])
  expect(
    await database.db.query(sql`select amount from suspense_payments where end_to_end = ${unknown.endToEndId}`),
  ).toEqual([{ amount: 7777 }])
  expect(await findBreaches(database.db)).toEqual([])
})

it('reads each transaction at most once, however many it has to look up', async () => {
  await generateDay(database.db, { seed: 8, agreeing: 3_000, each: 0, acquirer: 'other' })
  await database.db.query(sql`analyze transactions`)
  // One database transaction uses one connection, whose statistics count what it read.
  await database.db.transaction(async (tx) => {
    const db = {
      ...database.db,
      query: tx.query,
      transaction: async <Result>(work: (inner: typeof tx) => Promise<Result>) => await work(tx),
    }
    await runWith(reconcilingWith({ db, clock, send: made.bank.send }))
    const [read] = await tx.query<{ rows: number }>(sql`
      select seq_tup_read as rows from pg_stat_xact_user_tables where relname = 'transactions'`)
    const [all] = await tx.query<{ rows: number }>(sql`select count(*) as rows from transactions`)
    expect(read?.rows).toBeLessThanOrEqual(all?.rows ?? 0)
  })
})
