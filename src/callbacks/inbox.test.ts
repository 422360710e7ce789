import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { settleDepsWith } from '../../test/support/acquirer.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import {
  chargeMany,
  eventsOf,
  openQuietBank,
  type QuietBank,
  untilInbox,
  untilStatus,
} from '../../test/support/payments.ts'
import { startTestService, type TestService } from '../../test/support/service.ts'
import { eventually, suspendJob } from '../../test/support/webhooks.ts'
import { fund, withdraw } from '../../test/support/withdrawals.ts'
import { sql } from '../db/sql.ts'
import { findLedgerBreaches } from '../ledger/verify.ts'
import { toTxid } from '../pix/ids.ts'
import { startInbox } from './inbox.ts'
import { observeInbox } from './metrics.ts'
import { classifyNotice, createCheckWriter, createNoticeProcessor, type ProcessDeps } from './process.ts'
import { createNoticeWriter, leaseMs } from './receive.ts'
import { claimNotices, type NewNotice, type NoticeCheck } from './store.ts'

/** Another process, of which the service knows nothing. */
const instance = 1_000_000

let service: TestService
let bank: QuietBank
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  bank = await openQuietBank(service)
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

type Reported = { id: string; notices: NewNotice[] }

/** Paid transactions, each with what a callback reports about it. */
async function payMany(count: number): Promise<Reported[]> {
  const reported: Reported[] = []
  for (const { id, uri } of await chargeMany(service, count)) {
    const { endToEndId, txid } = await bank.payQuietly(uri)
    reported.push({ id, notices: [{ acquirer: 'simulator', eventKey: endToEndId, endToEndId, txid, payoutId: null }] })
  }
  return reported
}

/** Stores callbacks like a process that never works on them. */
async function keep(reported: Reported[]) {
  const write = createNoticeWriter({ ...service, instance })
  return (await Promise.all(reported.map(async ({ notices }) => await write(notices)))).flat()
}

/** Another process on the same database, whose queries to the bank wait for the gate. */
function depsWith({ gate }: { gate: Promise<void> }): ProcessDeps {
  const deps = settleDepsWith(service, async (request) => {
    await gate
    return await bank.handle(request)
  })
  return { ...deps, writeCheck: createCheckWriter(service.db) }
}

async function expectPaidOnce(reported: Reported[]): Promise<void> {
  for (const { id } of reported) {
    await untilStatus(service, id, 'PAID')
    expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated', 'transaction.paid'])
  }
  expect(await findLedgerBreaches(service.db)).toEqual([])
}

const stateOf = async (reported: Reported[]) =>
  await service.db.query<{ state: string; check_at: Date; last_error: string | null; commit: string }>(sql`
    select state, check_at, last_error, xmin::text as commit from callback_inbox
    where event_key = any(${reported.flatMap(({ notices }) => notices.map(({ eventKey }) => eventKey))})`)

it('stores concurrent callbacks in one commit, and returns a notice that two of them contain to only one', async () => {
  const reported = await payMany(10)
  const kept = await keep([...reported, ...reported])
  expect(kept).toHaveLength(10)
  expect(new Set((await stateOf(reported)).map(({ commit }) => commit)).size).toBe(1)
  expect(await keep(reported)).toEqual([])
  service.clock.advance(leaseMs)
  await expectPaidOnce(reported)
})

it('leaves a notice to the process that stored it, and takes it over when the lease has expired', async () => {
  const reported = await payMany(3)
  await keep(reported)
  service.clock.advance(leaseMs - 1)
  // Once this one is paid, the inbox has been searched.
  const next = await payMany(1)
  await keep(next)
  await service.db.query(sql`
    update callback_inbox set check_at = ${service.clock.now()} where event_key = ${next[0]?.notices[0]?.eventKey ?? ''}`)
  await expectPaidOnce(next)
  expect((await stateOf(reported)).map(({ state }) => state)).toEqual(['received', 'received', 'received'])
  service.clock.advance(1)
  await expectPaidOnce(reported)
})

it('takes over the last process’s notices at once when it starts alone', async () => {
  const database = await createTestDatabase()
  const first = await startTestService({ database })
  const quiet = await openQuietBank(first)
  const [{ id, uri } = { id: '', uri: '' }] = await chargeMany(first, 1)
  const { endToEndId, txid } = await quiet.payQuietly(uri)
  await quiet.close()
  await first.stop()
  await createNoticeWriter({ ...first, instance })([
    { acquirer: 'simulator', eventKey: endToEndId, endToEndId, txid, payoutId: null },
  ])
  const second = await startTestService({ database, clock: first.clock })
  await eventually(async () => {
    const [row] = await database.db.query<{ status: string }>(sql`select status from transactions where id = ${id}`)
    return row?.status === 'PAID'
  })
  await second.stop()
  await database.drop()
})

it('releases what it has not started when it stops, and finishes the rest', async () => {
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  // A payment that polling settles meanwhile needs no query, and its notice would not wait for the gate.
  const resumePolling = await suspendJob(service.db, 'transactions.poll')
  const reported = await payMany(70)
  const inbox = startInbox({ ...depsWith({ gate }), instance })
  // They have failed before: that is still known after the release.
  inbox.workOn((await keep(reported)).map((notice) => ({ ...notice, last_error: 'away' })))
  const stopped = inbox.stop()
  const now = service.clock.now()
  const released = async () => (await stateOf(reported)).filter(({ check_at }) => check_at <= now)
  await eventually(async () => (await released()).length === 6)
  expect(new Set((await released()).map(({ last_error }) => last_error))).toEqual(new Set(['away']))
  open()
  await stopped
  await expectPaidOnce(reported)
  await resumePolling()
})

it('records each payment once when two processes hold the same notices', async () => {
  const reported = await payMany(30)
  const kept = await keep(reported)
  const inboxes = [1, 2].map(() => startInbox({ ...depsWith({ gate: Promise.resolve() }), instance }))
  inboxes[0]?.workOn(kept)
  inboxes[1]?.workOn(kept.toReversed())
  await expectPaidOnce(reported)
  await Promise.all(inboxes.map(async (one) => await one.stop()))
  expect(new Set((await stateOf(reported)).map(({ state }) => state))).toEqual(new Set(['settled']))
})

it('claims no more than its limit and reads few rows, even with a plan made for an empty inbox', async () => {
  const database = await createTestDatabase()
  const now = service.clock.now()
  // A transaction uses one connection, which keeps its plan.
  await database.db.transaction(async (tx) => {
    const claim = async () =>
      await claimNotices(
        { ...database.db, ...tx },
        { now, leaseUntil: new Date(now.getTime() + leaseMs), limit: 10, instance },
      )
    for (let time = 0; time < 10; time += 1) expect(await claim()).toEqual([])
    await tx.query(sql`
      insert into callback_inbox (acquirer, event_key, end_to_end, received_at, state, check_at)
      select 'simulator', 'due ' || n, 'E', ${now}, 'received', ${now} from generate_series(1, 3000) n`)
    expect(await claim()).toHaveLength(10)
    const [read] = await tx.query<{ rows: number }>(sql`
      select seq_tup_read + idx_tup_fetch as rows from pg_stat_xact_user_tables where relname = 'callback_inbox'`)
    expect(read?.rows).toBeLessThan(3_000)
  })
  await database.drop()
})

it('processes due notices even while more arrive than it can handle', async () => {
  const database = await createTestDatabase()
  const { db } = database
  const write = createCheckWriter(db)
  const written: string[] = []
  const reportedWritten = () => written.filter((key) => key.startsWith('reported')).length
  let reportedBeforeLastDue = 0
  const deps = depsWith({ gate: Promise.resolve() })
  const inbox = startInbox({
    instance,
    ...deps,
    db,
    writeCheck: async (check) => {
      // With at most 256 notices at once, 640 a second.
      await sleep(400)
      written.push(check.event_key)
      if (check.event_key.startsWith('due')) reportedBeforeLastDue = reportedWritten()
      return await write(check)
    },
  })
  const notice = (event_key: string) => ({
    acquirer: 'simulator',
    event_key,
    end_to_end: 'E',
    txid: null,
    checks: 0,
    last_error: null,
  })
  const reported = Array.from({ length: 5_000 }, (_, index) => notice(`reported ${index}`))
  inbox.workOn(reported.map((one) => ({ ...one, received_at: service.clock.now() })))
  await db.query(sql`
    insert into callback_inbox (acquirer, event_key, end_to_end, received_at, state, check_at)
    select 'simulator', 'due ' || n, 'E', ${service.clock.now()}, 'received', ${service.clock.now()} from generate_series(1, 20) n`)
  const ofDue = () => written.filter((key) => key.startsWith('due'))
  await eventually(() => ofDue().length === 20)
  expect(reportedBeforeLastDue).toBeLessThan(4_900)
  expect(new Set(ofDue()).size).toBe(20)
  await inbox.stop()
  await database.drop()
})

it('reports due and failing notices in its metrics', async () => {
  const registry = new Registry()
  observeInbox({ db: service.db, clock: service.clock, registry })
  const value = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value
  const reported = await payMany(2)
  await keep(reported)
  const keys = reported.map(({ notices }) => notices[0]?.eventKey ?? '')
  await service.db.query(sql`update callback_inbox set last_error = 'away' where event_key = ${keys[0] ?? ''}`)
  // Locked by another connection, so that the service cannot take them while they are counted.
  const holder = await service.db.pool.connect()
  await holder.query('begin')
  await holder.query(`select from callback_inbox where event_key = any($1) for update`, [keys])
  service.clock.advance(leaseMs + 5_000)
  expect(await value('guiche_callbacks_due')).toBe(2)
  expect(await value('guiche_callbacks_oldest_due_seconds')).toBe(5)
  expect(await value('guiche_callbacks_failing')).toBe(1)
  await holder.query('commit')
  holder.release()
  await untilInbox(service, keys[0] ?? '', 'settled')
  await untilInbox(service, keys[1] ?? '', 'settled')
  expect(await value('guiche_callbacks_due')).toBe(0)
  expect(await value('guiche_callbacks_failing')).toBe(0)
})

it('decides what a notice is about by the id that the acquirer received from us', async () => {
  const [charge = { id: '' }] = await chargeMany(service, 1)
  await fund(service, 10_000)
  const payout = await withdraw(service)
  const { settlement } = settleDepsWith(service, bank.handle)
  const classify = async (id: string | null, acquirer = 'simulator') =>
    await classifyNotice({ db: service.db, settlement }, { acquirer, txid: id && toTxid(id) })
  expect(await classify(charge.id)).toMatchObject({ kind: 'charge', owner: { id: charge.id } })
  expect(await classify(charge.id, 'another-psp')).toEqual({ kind: 'unattributed' })
  expect(await classify(payout)).toMatchObject({ kind: 'payout', owner: { id: payout } })
  expect(await classify(randomUUID())).toEqual({ kind: 'unattributed' })
  expect(await classify(null)).toEqual({ kind: 'unattributed' })
  const notOurs = { acquirer: 'simulator', txid: 'an id that somebody else has made' }
  expect(await classifyNotice({ db: service.db, settlement }, notOurs)).toEqual({ kind: 'unattributed' })
})

const unknown = (index: number) => {
  const endToEndId = `E99999999202603021200${String(index).padStart(12, '0')}`
  const received_at = service.clock.now()
  return {
    acquirer: 'simulator',
    event_key: endToEndId,
    end_to_end: endToEndId,
    txid: null,
    checks: 0,
    last_error: null,
    received_at,
  }
}

it('limits the concurrent checks of unknown payments in each instance, not over all instances', async () => {
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const [first, second] = [gate, Promise.resolve()].map((one) => {
    const written: NoticeCheck[] = []
    const writeCheck = async (check: NoticeCheck) => {
      written.push(check)
      return null
    }
    return { written, process: createNoticeProcessor({ ...depsWith({ gate: one }), writeCheck }) }
  })
  const notices = Array.from({ length: 9 }, (_, index) => unknown(index))
  const works = notices.map(async (notice) => await first?.process(notice))
  // The ninth is put off, and the others wait.
  await works[8]
  expect(first?.written.map(({ event_key, checks }) => [event_key, checks])).toEqual([[unknown(8).event_key, 0]])
  await second?.process(unknown(9))
  expect(second?.written).toMatchObject([{ event_key: unknown(9).event_key, checks: 1 }])
  open()
  await Promise.all(works)
})

it('delays callbacks of unknown payments behind real ones, and checks few of them at once', async () => {
  const [reported] = await payMany(1)
  let [requested, most] = [0, 0]
  const deps = settleDepsWith(service, async (request) => {
    const isUnknown = request.path.startsWith('/pix/E99999999')
    if (isUnknown) {
      requested += 1
      most = Math.max(most, requested)
      await sleep(20)
      requested -= 1
    }
    return await bank.handle(request)
  })
  const checked: string[] = []
  const inbox = startInbox({
    instance,
    ...deps,
    writeCheck: async (check) => {
      checked.push(check.event_key)
      return null
    },
  })
  const known = reported?.notices[0]
  const genuine = {
    acquirer: 'simulator',
    event_key: known?.eventKey ?? '',
    end_to_end: known?.endToEndId ?? '',
    checks: 0,
    last_error: null,
  }
  inbox.workOn([
    ...Array.from({ length: 500 }, (_, index) => unknown(index)),
    { ...genuine, txid: known?.txid ?? null, received_at: service.clock.now() },
  ])
  await untilStatus(service, reported?.id ?? '', 'PAID')
  await eventually(() => new Set(checked).size === 501)
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThanOrEqual(8)
  await inbox.stop()
})
