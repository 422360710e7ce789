import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type GeneratedDay, generateDay, generatedDay } from '../../test/support/generated-day.ts'
import { lengthOf } from '../../test/support/random.ts'
import {
  listDiscrepancies,
  meanwhileAfterComparison,
  type Reconciling,
  reconcilingWith,
} from '../../test/support/reconciling.ts'
import { byText, findByRecord } from '../../test/support/verification.ts'
import type { Send } from '../acquirers/bacen/http.ts'
import { countDiscrepancies } from '../dashboard/attention-store.ts'
import { raw, sql } from '../db/sql.ts'
import { postEntry } from '../entries/post.ts'
import { sumFees } from '../entries/store.ts'
import { findBalances } from '../ledger/store.ts'
import { assert } from '../lib/assert.ts'
import { forEachConcurrent } from '../lib/concurrent.ts'
import { findListedDiscrepancy } from '../operator/reconciliation-store.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import { findBreaches } from '../verification.ts'
import { classNames } from './classes.ts'
import { closeDay } from './close.ts'
import { confirmDiscrepancy, dismissDiscrepancy } from './decide.ts'
import { type RunResult, reconcile } from './run.ts'
import type { DiscrepancyRow } from './store.ts'
import { correctionVerification } from './verify-store.ts'

const seeds = Array.from({ length: lengthOf({ short: 1, long: 5 }) }, (_, index) => index + 1)
const each = lengthOf({ short: 100, long: 1_000 })
/** A generated day has all classes but this one: its bank sends no unreadable entry. */
const generated = classNames.filter((name) => name !== 'unreadable')
/**
 * How many of each class in the tests that confirm them: each confirmation is a commit of its own, so they are fewer.
 */
const fewer = 40
const { from, to } = generatedDay
const never = new AbortController().signal

type Day = { made: GeneratedDay; deps: Reconciling; drop(): Promise<void> }

async function openDay(seed: number, count: number): Promise<Day> {
  const database: TestDatabase = await createTestDatabase()
  const made = await generateDay(database.db, { seed, agreeing: 10 * count, each: count })
  // The next day at noon in Brasília.
  const clock = manualClock(new Date('2026-11-21T15:00:00.000Z'))
  return { made, deps: reconcilingWith({ db: database.db, clock, send: made.bank.send }), drop: database.drop }
}

const run = async ({ deps }: Day) =>
  await reconcile(deps, { acquirer: deps.acquirer, kind: 'daily', window: { from, to } })
const listed = async ({ deps }: Day, onlyOpen = false) =>
  await listDiscrepancies(deps.db, { acquirer: 'bank', onlyOpen })
const namesOf = (rows: DiscrepancyRow[]) => rows.map((row) => `${row.class} ${row.reference}`).toSorted()

describe.each(seeds)(`the discrepancies of a day, ${each} of each class (seed %s)`, (seed) => {
  let day: Day
  beforeAll(async () => {
    day = await openDay(seed, each)
  })
  afterAll(async () => await day.drop())

  it('are all found, in their classes, and no others', async () => {
    const { state, newCount, counts } = await run(day)
    expect({ state, newCount }).toEqual({ state: 'complete', newCount: generated.length * each })
    expect(counts).toEqual(Object.fromEntries(generated.map((name) => [name, each])))
    expect(namesOf(await listed(day))).toEqual([...day.made.expected].toSorted())
  })

  it('are not found again by a second run', async () => {
    const { newCount, resolvedCount } = await run(day)
    expect({ newCount, resolvedCount }).toEqual({ newCount: 0, resolvedCount: 0 })
    expect(namesOf(await listed(day, true))).toEqual([...day.made.expected].toSorted())
  })
})

describe.each(seeds)(`the proposals for a day with ${fewer} of each class (seed %s)`, (seed) => {
  let day: Day
  beforeAll(async () => {
    day = await openDay(seed, fewer)
    await run(day)
  })
  afterAll(async () => await day.drop())

  it('leave no discrepancy once they are confirmed, and a consistent ledger', async () => {
    const { deps } = day
    await forEachConcurrent(await listed(day, true), never, async ({ id, proposal }) => {
      const decision = { id, by: { actor: 'cli:test' } }
      if (proposal.action === 'investigate') await dismissDiscrepancy(deps, { ...decision, reason: 'looked at' })
      else if (proposal.action !== 'none') await confirmDiscrepancy(deps, decision)
    })
    expect(await findBreaches(deps.db)).toEqual([])
    // The `missing_in_ledger` payments are posted only now, on the day after they were paid: each is a new discrepancy
    // of the class `late`.
    const { newCount } = await run(day)
    expect(newCount).toBe(fewer)
    expect((await run(day)).newCount).toBe(0)
    // Only timing differences are left (paid and posted on different days). The close of the next day resolves them.
    const open = await listed(day, true)
    expect([...new Set(open.map((row) => row.class))].toSorted()).toEqual(['cut_off', 'late'])
    expect(open.every((row) => row.is_timing)).toBe(true)
    const next = { from: to, to: new Date(to.getTime() + 10 * 3_600_000) }
    await reconcile(deps, { acquirer: deps.acquirer, kind: 'daily', window: next })
    expect(await listed(day, true)).toEqual([])
  })

  it('are checked against the ledger: a correction that differs from what was confirmed is a breach', async () => {
    const { db } = day.deps
    await db.query(sql`
      update differences set proposal = jsonb_set(proposal, '{cents}', to_jsonb((proposal ->> 'cents')::int - 1))
      where id = (select id from differences where state = 'confirmed' and class = 'missing_at_acquirer' limit 1)`)
    await db.query(sql`
      update differences set state = 'open'
      where id = (select id from differences where state = 'confirmed' and class = 'fee' limit 1)`)
    await db.transaction(async (tx) => {
      await tx.query(raw('grant update on ledger_transfers to current_user'))
      await tx.query(raw('alter table ledger_transfers disable trigger ledger_transfers_are_kept'))
      await tx.query(sql`
        update ledger_transfers set event_key = 'another'
        where record_id = (select id from differences where state = 'confirmed' and class = 'amount' limit 1)`)
    })
    const breaches = await findBreaches(db)
    expect(breaches.map(({ rule, detail }) => `${rule}: ${detail}`).toSorted()).toEqual([
      expect.stringMatching(/^correction_transfers: .* by -?\d+ cents, but changed it by -?\d+ cents$/),
      expect.stringMatching(/^correction_transfers: .* by nothing, but changed it by -?\d+ cents$/),
      expect.stringMatching(/^correction_transfers: .* have other accounts, .* or another event key/),
    ])
    expect(byText(await findByRecord(db, correctionVerification))).toEqual(byText(breaches))
  })
})

it('posts nothing and says so when the acquirer does not answer a confirmation', async () => {
  const day = await openDay(1, 1)
  await run(day)
  const silent = reconcilingWith({ ...day.deps, send: async () => ({ status: 503, headers: {}, body: '' }) })
  const before = await listed(day, true)
  const confirmable = before.filter(({ proposal: { action } }) => action !== 'none' && action !== 'investigate')
  expect(new Set(confirmable.map(({ proposal }) => proposal.action))).toEqual(new Set(['correct', 'settle', 'suspend']))
  for (const { id, proposal } of confirmable)
    await expect(
      confirmDiscrepancy(silent, { id, by: { actor: 'cli:test' } }),
      JSON.stringify(proposal),
    ).rejects.toMatchObject({
      code: 'difference_not_possible',
      message: expect.stringMatching(
        /^bank could not be queried \(The acquirer answered 503[^)]*\), .* confirm it again when the PSP answers\./,
      ),
      details: { fields: [{ code: 'no_answer' }] },
    })
  expect(await listed(day, true)).toEqual(before)
  await day.drop()
})

it('a run leaves open what it has found, also if another run finds it too and ends first', async () => {
  const day = await openDay(1, 1)
  const others: RunResult[] = []
  const overtaken = meanwhileAfterComparison(day.deps, async () => void others.push(await run(day)))
  expect(await run({ ...day, deps: overtaken })).toMatchObject({ state: 'complete', resolvedCount: 0 })
  expect(others).toMatchObject([{ state: 'complete', resolvedCount: 0 }])
  expect(namesOf(await listed(day, true))).toEqual([...day.made.expected].toSorted())
  await day.drop()
})

it('compares everything else when one payout cannot be queried, and stops when the acquirer does not answer', async () => {
  const day = await openDay(1, 2)
  const { made, deps } = day
  let broken: string | null = null
  const send: Send = async (request) =>
    broken !== null && request.path.endsWith(broken)
      ? { status: 400, headers: {}, body: '{"title":"Recusado"}' }
      : await made.bank.send(request)
  const breakable = reconcilingWith({ ...deps, send })
  const { payouts } = breakable.acquirer
  // Without a list each payout is queried.
  const acquirerWithoutList = { ...breakable.acquirer, payouts: payouts && { ...payouts, list: null } }
  const runOn = async (acquirer = acquirerWithoutList) =>
    await reconcile(breakable, { acquirer, kind: 'daily', window: { from, to } })
  const found = async () => (await listed(day)).filter((row) => row.class === 'unreadable')
  // Without a list, a finished payout is compared only if the acquirer gave it a reference.
  await deps.db.query(sql`update withdrawals set acquirer_reference = id::text`)
  const { compared, counts } = await runOn()
  const agreeing = [...made.bank.payouts.values()].find(
    ({ payoutId, status }) =>
      payoutId !== null && status === 'REALIZADO' && ![...made.expected].some((name) => name.endsWith(payoutId)),
  )
  broken = agreeing?.payoutId ?? ''
  expect(await runOn()).toMatchObject({ state: 'complete', compared, counts: { ...counts, unreadable: 1 } })
  const [entry] = await found()
  expect(entry).toMatchObject({ subject: 'payout', reference: broken, state: 'open', at_acquirer: { amount: 0 } })
  // Later runs do not report it again, and the dismissal stays.
  await dismissDiscrepancy(deps, { id: entry?.id ?? '', by: { actor: 'cli:test' }, reason: 'looked at' })
  expect((await runOn()).newCount).toBe(0)
  expect((await found()).map(({ state }) => state)).toEqual(['dismissed'])
  const interrupted = await runOn({ ...acquirerWithoutList, isAvailable: () => false })
  expect(interrupted).toMatchObject({ state: 'interrupted', error: expect.stringContaining('Recusado') })
  broken = null
  expect((await runOn()).counts).toEqual(counts)
  await day.drop()
})

it('an unreadable entry without a time is in the statement of a run that found it, and is not reported again after a decision', async () => {
  const day = await openDay(1, 1)
  const { deps, made } = day
  const send: Send = async (request) => {
    const answer = await made.bank.send(request)
    if (request.path !== '/pix') return answer
    return { ...answer, body: JSON.stringify({ pix: [{ txid: 'semhora' }] }) }
  }
  const unreadable = reconcilingWith({ ...deps, send })
  const found = async (window: { from: Date; to: Date }) => {
    await reconcile(unreadable, { acquirer: unreadable.acquirer, kind: 'manual', window })
    return (await listed(day)).filter((row) => row.class === 'unreadable')
  }
  const [entry] = await found({ from, to })
  // A statement names it, also if a run of another window has found it since.
  const after = { from: to, to: new Date(to.getTime() + 3_600_000) }
  let taken: DiscrepancyRow[] = []
  const overtaken = meanwhileAfterComparison(unreadable, async () => {
    taken = await found(after)
  })
  const closed = await closeDay(overtaken, { acquirer: unreadable.acquirer, day: generatedDay.day })
  expect(taken.map(({ id, at }) => ({ id, at }))).toEqual([{ id: entry?.id, at: to }])
  expect(closed.state === 'closed' && closed.statement.differences.map(({ id }) => id)).toContain(entry?.id)
  await dismissDiscrepancy(deps, { id: entry?.id ?? '', by: { actor: 'cli:test' }, reason: 'looked at' })
  const later = { from: new Date(from.getTime() + 3_600_000), to }
  expect((await found(later)).map(({ state }) => state)).toEqual(['dismissed'])
  await day.drop()
})

const by = { actor: 'cli:test' }
const enteredAt = new Date('2026-11-20T12:00:00.000Z')

/** Posts an entry of the operator's own money. */
async function enter({ deps }: Day, type: 'pay_in' | 'fee_draw', amount: number, reference: string | null = null) {
  const entry = { type, amount, reference, merchantId: null, acquirer: 'bank', description: 'a test', by }
  const clock = { now: () => enteredAt }
  await postEntry({ db: deps.db, clock }, { ...entry, idempotencyKey: `${type} ${amount}` })
}

it('corrects the operator’s own account where the payout of a draw of fees had another amount', async () => {
  const day = await openDay(1, 1)
  const { made, deps } = day
  const { db } = deps
  await enter(day, 'pay_in', 10_000)
  for (const [endToEndId, drawn, amount] of [
    ['E12345678202611201200moreleftthan', 1_000, 1_300],
    ['E12345678202611201200lessleftthan', 2_000, 1_800],
  ] as const) {
    await enter(day, 'fee_draw', drawn, endToEndId)
    made.bank.payouts.set(endToEndId, { endToEndId, payoutId: null, amount, at: enteredAt, status: 'REALIZADO' })
  }
  await run(day)
  const found = (await listed(day, true)).filter(({ reference }) => reference.endsWith('leftthan'))
  const before = await sumFees(db)
  for (const { id } of found) {
    // An entry has no page of its own to link to.
    expect(await findListedDiscrepancy(db, id)).toMatchObject({ class: 'payout', record_type: null })
    await confirmDiscrepancy(deps, { id, by })
  }
  expect(await sumFees(db)).toBe(before - 300 + 200)
  expect(await findBalances(db, operatorMerchantId)).toMatchObject({ available: 0, debt: 0 })
  expect((await run(day)).newCount).toBe(0)
  expect(await findBreaches(db)).toEqual([])
  await day.drop()
})

it('a payment that is not posted yet needs no attention until it is missing', async () => {
  const day = await openDay(1, 1)
  const { made, deps } = day
  const missing = [...made.expected].find((name) => name.startsWith('missing_in_ledger '))?.split(' ')[1] ?? ''
  const payment = made.bank.payments.get(missing)
  assert(payment, 'a payment is missing in the ledger')
  payment.at = deps.clock.now()
  deps.clock.advance(14 * 60_000)
  const compare = async () => {
    const window = { from: payment.at, to: deps.clock.now() }
    await reconcile(deps, { acquirer: deps.acquirer, kind: 'manual', window })
    return [namesOf(await listed(day, true)), (await countDiscrepancies(deps.db, 10)).count]
  }
  expect(await compare()).toEqual([[`late ${missing}`], 0])
  deps.clock.advance(60_000)
  expect(await compare()).toEqual([[`missing_in_ledger ${missing}`], 1])
  await day.drop()
})

it('posts no correction of a payout that a draw of fees explains meanwhile by its amount', async () => {
  const day = await openDay(1, 1)
  const endToEndId = 'E12345678202611201200drawnbyhand'
  await enter(day, 'pay_in', 10_000)
  day.made.bank.payouts.set(endToEndId, {
    endToEndId,
    payoutId: null,
    amount: 2_500,
    at: enteredAt,
    status: 'REALIZADO',
  })
  await run(day)
  const [found] = (await listed(day, true)).filter(({ reference }) => reference === endToEndId)
  await enter(day, 'fee_draw', 2_500)
  await expect(confirmDiscrepancy(day.deps, { id: found?.id ?? '', by })).rejects.toThrow(/has changed for/)
  await run(day)
  expect((await listed(day)).find(({ id }) => id === found?.id)).toMatchObject({ state: 'resolved' })
  await day.drop()
})
