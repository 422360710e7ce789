import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ManualClock, manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type GeneratedDay, generateDay, generatedDay } from '../../test/support/generated-day.ts'
import { createTestLog } from '../../test/support/logged-errors.ts'
import { listDiscrepancies, reconcilingWith } from '../../test/support/reconciling.ts'
import type { Send } from '../acquirers/bacen/http.ts'
import { sql } from '../db/sql.ts'
import { confirmDiscrepancy, dismissDiscrepancy } from './decide.ts'
import { reconcile } from './run.ts'
import { settleOpen } from './settle-open.ts'

let database: TestDatabase
let made: GeneratedDay
let clock: ManualClock
let logged: string[]

beforeEach(async () => {
  database = await createTestDatabase()
  made = await generateDay(database.db, { seed: 7, agreeing: 50, each: 5 })
  clock = manualClock(new Date('2026-11-21T15:00:00.000Z'))
  logged = []
  const deps = depsWith(made.bank.send)
  await reconcile(deps, { acquirer: deps.acquirer, kind: 'daily', window: generatedDay })
})
afterEach(async () => await database.drop())

const by = { actor: 'cli:test' }
const depsWith = (send: Send) =>
  reconcilingWith({ db: database.db, clock, send, log: createTestLog(({ msg }) => logged.push(msg)) })
const settle = async (send: Send) =>
  await settleOpen(depsWith(send), { acquirer: 'bank', stopping: new AbortController().signal })
const toSettle = async () =>
  (await listDiscrepancies(database.db, { acquirer: 'bank', onlyOpen: true })).filter(({ proposal }) =>
    ['settle', 'suspend'].includes(proposal.action),
  )
const returnToSettle = async ({ isMed }: { isMed: boolean }) =>
  (await toSettle()).find(
    ({ subject, at_acquirer }) => subject === 'return' && (at_acquirer?.med !== undefined) === isMed,
  )

it('leaves a return open while the acquirer does not confirm the refund, and confirms it once it is posted', async () => {
  const found = await returnToSettle({ isMed: false })
  const id = found?.id ?? ''
  const broken: Send = async (request) =>
    request.path.includes('/devolucao/') ? { status: 503, headers: {}, body: '' } : await made.bank.send(request)
  await settle(broken)
  expect(await returnToSettle({ isMed: false })).toMatchObject({ id, state: 'open' })
  expect(logged).toContain('a discrepancy could not be settled yet')
  await expect(confirmDiscrepancy(depsWith(broken), { id, by })).rejects.toThrow(/does not confirm/)
  await settle(made.bank.send)
  expect(await returnToSettle({ isMed: false })).toBeUndefined()
  expect(await database.db.query(sql`select status from refunds where transaction_id = ${found?.record_id}`)).toEqual([
    { status: 'REFUNDED' },
  ])
})

it('leaves a return open that the list has and the payment itself does not show', async () => {
  const found = await returnToSettle({ isMed: true })
  made.bank.payments.get(found?.reference ?? '')?.returns.splice(0)
  await settle(made.bank.send)
  expect(await returnToSettle({ isMed: true })).toMatchObject({ id: found?.id, state: 'open' })
})

it('does not log as still to be settled what a person has decided meanwhile', async () => {
  const deps = depsWith(made.bank.send)
  let dismissing: Promise<unknown> | null = null
  const dismissAll = async () => {
    for (const { id } of await toSettle()) await dismissDiscrepancy(deps, { id, by, reason: 'a test' })
  }
  logged = []
  await settle(async (request) => {
    dismissing ??= dismissAll()
    await dismissing
    return await made.bank.send(request)
  })
  expect(await toSettle()).toEqual([])
  expect(logged.filter((line) => line.startsWith('a discrepancy'))).toEqual([])
})

it('confirms nothing whose proposal changes while the acquirer is queried', async () => {
  const all = await listDiscrepancies(database.db, { acquirer: 'bank', onlyOpen: true })
  const id = all.find(({ proposal }) => proposal.action === 'correct')?.id ?? ''
  const changing: Send = async (request) => {
    await database.db.query(sql`update differences set proposal = '{"action":"investigate"}' where id = ${id}`)
    return await made.bank.send(request)
  }
  await expect(confirmDiscrepancy(depsWith(changing), { id, by })).rejects.toMatchObject({
    code: 'difference_not_possible',
    details: { fields: [{ code: 'changed' }] },
  })
  const [after] = await database.db.query(sql`select state, decided_by from differences where id = ${id}`)
  expect(after).toEqual({ state: 'open', decided_by: null })
})
