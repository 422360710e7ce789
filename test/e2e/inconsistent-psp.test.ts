import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Disturb, Disturbance } from '../../simulator/disturb.ts'
import { raw, sql } from '../../src/db/sql.ts'
import { listUnconfigured } from '../../src/explain/unconfigured-store.ts'
import { sendBackJob } from '../../src/suspense/place.ts'
import { sendRefundJob } from '../../src/transactions/refund/refund.ts'
import { settleUnattributedJob } from '../../src/transactions/settle-unattributed.ts'
import { sendJob } from '../../src/withdrawals/send.ts'
import { type RemoteBank, startRemoteBank } from '../support/payouts.ts'
import { fetchRefundable, payOne, refund, returnsOf } from '../support/refunds.ts'
import { payWithFault } from '../support/suspense.ts'
import { eventually } from '../support/webhooks.ts'
import {
  balancesOf,
  countPayouts,
  expectLedgerConsistent,
  fetchWithdrawal,
  freezeAllPayouts,
  fund,
  releaseAllPayouts,
  withdraw,
} from '../support/withdrawals.ts'

// Every kind of outgoing money at a PSP that loses answers, refuses requests or contradicts itself. The worst PSP loses
// the answer to a request, then refuses the repeat with the same id, and denies knowing it.

let bank: RemoteBank
const logged: Record<string, unknown>[] = []
beforeAll(async () => {
  bank = await startRemoteBank({ onLog: (line) => logged.push(line) })
  bank.sendCallbacks(false)
  await fund(bank.service, 100_000)
})
beforeEach(() => bank.disturb(() => 'none'))
afterEach(async () => await expectLedgerConsistent(bank.service))
afterAll(async () => await bank.stop())

const minuteMs = 60_000

/** One kind of outgoing money: how to request it, its state in the service, and how many times the PSP sent it. */
type Outgoing = {
  /** Part of the path of its request, and of a query about it. */
  path: string
  query: string
  send(): Promise<string>
  /** The row that names its acquirer. */
  table: 'transactions' | 'withdrawals' | 'suspense_payments'
  key: 'id' | 'transaction_id'
  /** The job that sends it first, and the one that checks unknown outcomes. */
  sendJob: string
  job: string
  statusOf(id: string): Promise<string | undefined>
  countSent(id: string): Promise<number>
  open: string
  done: string
  refused: string
}

const endToEnds = new Map<string, string>()
const countReturns = async (id: string) => (await returnsOf(bank.db, endToEnds.get(id) ?? '')).length

const kinds: Record<string, Outgoing> = {
  refund: {
    path: '/devolucao/',
    query: '/devolucao/',
    table: 'transactions',
    key: 'id',
    sendJob: sendRefundJob,
    job: 'transactions.check-refunds',
    async send() {
      const { id, endToEnd } = await payOne(bank.service)
      endToEnds.set(id, endToEnd)
      await refund(bank.service, id)
      return id
    },
    statusOf: async (id) => (await fetchRefundable(bank.service, id)).status,
    countSent: countReturns,
    open: 'PROCESSING_REFUND',
    done: 'REFUNDED',
    refused: 'PAID',
  },
  withdrawal: {
    path: '/gn/pix/',
    query: '/enviados/',
    table: 'withdrawals',
    key: 'id',
    sendJob,
    job: 'withdrawals.check',
    send: async () => await withdraw(bank.service),
    statusOf: async (id) => (await fetchWithdrawal(bank.service, id)).status,
    countSent: async (id) => await countPayouts(bank.db, id),
    open: 'PROCESSING',
    done: 'PROCESSED',
    refused: 'FAILED',
  },
  'second payment that is sent back': {
    path: '/devolucao/',
    query: '/devolucao/',
    table: 'suspense_payments',
    key: 'transaction_id',
    sendJob: sendBackJob,
    job: 'suspense.check',
    async send() {
      const { id } = await payWithFault(bank.service, 'twice')
      await bank.service.runJob('transactions.poll')
      await eventually(async () => {
        const [suspended] = await bank.service.db.query<{ end_to_end: string }>(sql`
          select end_to_end from suspense_payments where transaction_id = ${id}`)
        if (suspended) endToEnds.set(id, suspended.end_to_end)
        return suspended !== undefined
      })
      return id
    },
    async statusOf(id) {
      const [suspended] = await bank.service.db.query<{ status: string }>(sql`
        select status from suspense_payments where transaction_id = ${id}`)
      return suspended?.status
    },
    countSent: countReturns,
    open: 'returning',
    done: 'returned',
    refused: 'held',
  },
}

/** The first request for money ends with `first`. Until `end`, later ones are refused and queries find nothing. */
function deny(
  { path, query }: Outgoing,
  first: 'time_out_after' | 'time_out_before',
): { countRequests: () => number; end: () => void } {
  const state = { requests: 0, isOver: false }
  const disturb: Disturb = (request) => {
    if (request.method === 'PUT' && request.path.includes(path)) {
      state.requests += 1
      if (state.requests === 1) return first
      return state.isOver ? 'none' : 'refused'
    }
    return !state.isOver && request.path.includes(query) ? 'not_found' : 'none'
  }
  bank.disturb(disturb)
  return {
    countRequests: () => state.requests,
    end: () => {
      state.isOver = true
    },
  }
}

/**
 * The first request for money waits until `refuse` and is then refused; later ones take effect without an answer. Until
 * `end`, queries find nothing.
 */
function refuseLate({ path, query }: Outgoing): { countRequests: () => number; refuse: () => void; end: () => void } {
  const state = { requests: 0, isOver: false, refuse: () => {} }
  const gate = new Promise<void>((resolve) => {
    state.refuse = resolve
  })
  bank.disturb(async (request) => {
    if (request.method !== 'PUT' || !request.path.includes(path))
      return !state.isOver && request.path.includes(query) ? 'not_found' : 'none'
    state.requests += 1
    if (state.requests > 1) return 'time_out_after'
    await gate
    return 'refused'
  })
  return {
    countRequests: () => state.requests,
    refuse: state.refuse,
    end: () => {
      state.isOver = true
    },
  }
}

/** Disturbs the first request for money, and no later one; `others` decides for other requests. Returns a counter. */
function disturbFirst({ path }: Outgoing, disturbance: Disturbance, others: Disturb = () => 'none'): () => number {
  let count = 0
  bank.disturb((request) => {
    if (request.method !== 'PUT' || !request.path.includes(path)) return others(request)
    count += 1
    return count === 1 ? disturbance : 'none'
  })
  return () => count
}

/** Waits until the first request has ended, answered or not. */
async function untilRequested({ sendJob: name }: Outgoing): Promise<void> {
  await eventually(async () => {
    const jobs = await bank.service.db.query(sql`select from jobs where name = ${name}`)
    return jobs.length === 0
  })
}

async function untilStatus(kind: Outgoing, id: string, status: string): Promise<void> {
  await eventually(async () => {
    await checkAfter(kind, minuteMs)
    return (await kind.statusOf(id)) === status
  })
}

async function checkAfter({ job }: Outgoing, ms: number): Promise<void> {
  bank.service.clock.advance(ms)
  await bank.service.runJob(job)
  await sleep(20)
}

describe.each(Object.entries(kinds))('a %s', (_, kind) => {
  it.each<[Disturbance, number]>([
    ['time_out_after', 1],
    ['time_out_before', 2],
    ['error_500', 2],
  ])('is sent once when its first request ends with %s, after %d requests', async (disturbance, requests) => {
    const countRequests = disturbFirst(kind, disturbance)
    const id = await kind.send()
    await eventually(() => countRequests() === 1)
    await untilRequested(kind)
    await untilStatus(kind, id, kind.done)
    expect(countRequests()).toBe(requests)
    expect(await kind.countSent(id)).toBe(1)
  })

  it('is not sent when its first request is refused', async () => {
    const countRequests = disturbFirst(kind, 'refused')
    const id = await kind.send()
    await eventually(async () => (await kind.statusOf(id)) === kind.refused)
    expect(countRequests()).toBe(1)
    expect(await kind.countSent(id)).toBe(0)
  })

  it.each<[Disturbance, string]>([
    ['time_out_before', 'is not sent again before the freeze ends'],
    ['time_out_after', 'is found'],
  ])('during a payout freeze, after %s, %s', async (disturbance) => {
    const countRequests = disturbFirst(kind, disturbance)
    const id = await kind.send()
    await eventually(() => countRequests() === 1)
    await untilRequested(kind)
    await freezeAllPayouts(bank.service)
    await checkAfter(kind, minuteMs)
    const isFound = disturbance === 'time_out_after'
    if (isFound) await untilStatus(kind, id, kind.done)
    else expect(await kind.statusOf(id)).toBe(kind.open)
    expect(countRequests()).toBe(1)
    await releaseAllPayouts(bank.service)
    await untilStatus(kind, id, kind.done)
    expect(await kind.countSent(id)).toBe(1)
  })

  it('is recorded once when two checks find its outcome at the same time', async () => {
    const state = { requests: 0, queries: 0, open: () => {} }
    const gate = new Promise<void>((resolve) => {
      state.open = resolve
    })
    bank.disturb(async ({ method, path }) => {
      if (method === 'PUT' && path.includes(kind.path)) {
        state.requests += 1
        return 'time_out_after'
      }
      if (!path.includes(kind.query)) return 'none'
      state.queries += 1
      await gate
      return 'none'
    })
    const id = await kind.send()
    await eventually(() => state.requests === 1)
    await untilRequested(kind)
    const jobs: Promise<void>[] = []
    for (const queries of [1, 2]) {
      // Longer than a lease: while the first check still waits for its answer, the second one begins.
      bank.service.clock.advance(3 * minuteMs)
      jobs.push(bank.service.runJob(kind.job))
      await eventually(() => state.queries === queries)
    }
    state.open()
    await Promise.all(jobs)
    await untilStatus(kind, id, kind.done)
    expect(state.requests).toBe(1)
    expect(await kind.countSent(id)).toBe(1)
  })

  it('waits for an acquirer that is not configured any more, and the log and the status say so', async () => {
    let areListsRefused = false
    const countRequests = disturbFirst(kind, 'time_out_before', ({ method, path }) =>
      areListsRefused && method === 'GET' && path.endsWith('/pix') ? 'refused' : 'none',
    )
    const id = await kind.send()
    await eventually(() => countRequests() === 1)
    await untilRequested(kind)
    const { db } = bank.service
    // While the row has another acquirer, a list of payments would record the payment a second time.
    areListsRefused = true
    const readers = ['transactions.poll', 'reconciliation.rolling', settleUnattributedJob]
    await eventually(async () => (await db.query(sql`select from jobs where name = any(${readers})`)).length === 0)
    const moveTo = async (acquirer: string) =>
      await db.query(sql`
        update ${raw(kind.table)} set acquirer = ${acquirer} where ${raw(kind.key)} = ${id}`)
    await moveTo('sold-psp')
    const message = 'an outgoing payment waits for an acquirer that is not configured'
    logged.splice(0)
    await eventually(async () => {
      await checkAfter(kind, minuteMs)
      return logged.some(({ msg, acquirer }) => msg === message && acquirer === 'sold-psp')
    })
    expect(await kind.statusOf(id)).toBe(kind.open)
    expect(countRequests()).toBe(1)
    expect(await listUnconfigured(db, ['simulator'])).toEqual([{ name: 'sold-psp', open: 1 }])
    await moveTo('simulator')
    areListsRefused = false
    await untilStatus(kind, id, kind.done)
    expect(await kind.countSent(id)).toBe(1)
  })
})

describe.each(Object.entries(kinds))('a %s whose answer was lost, and whose repeat is refused', (_, kind) => {
  it('stays in process until its outcome is certain, and is sent once', { timeout: 300_000 }, async () => {
    const before = await balancesOf(bank.service)
    const psp = deny(kind, 'time_out_after')
    const id = await kind.send()
    await eventually(() => psp.countRequests() === 1)
    await eventually(async () => {
      await checkAfter(kind, 2 * minuteMs)
      return psp.countRequests() >= 3
    })
    expect(await kind.statusOf(id)).toBe(kind.open)
    psp.end()
    await untilStatus(kind, id, kind.done)
    expect(await kind.countSent(id)).toBe(1)
    expect((await balancesOf(bank.service)).reserved).toBe(before.reserved)
  })

  it('counts as refused after ten minutes without another answer', { timeout: 300_000 }, async () => {
    const psp = deny(kind, 'time_out_before')
    const id = await kind.send()
    await eventually(() => psp.countRequests() === 1)
    const lostAt = bank.service.clock.now().getTime()
    await eventually(async () => {
      await checkAfter(kind, 2 * minuteMs)
      return (await kind.statusOf(id)) === kind.refused
    })
    expect(bank.service.clock.now().getTime() - lostAt).toBeGreaterThanOrEqual(10 * minuteMs)
    expect(psp.countRequests()).toBeGreaterThan(3)
    expect(await kind.countSent(id)).toBe(0)
  })
})

describe.each(Object.entries(kinds))('a %s whose first request is refused after a second one was sent', (_, kind) => {
  it('stays in process until its outcome is certain, and is sent once', { timeout: 300_000 }, async () => {
    const before = await balancesOf(bank.service)
    const psp = refuseLate(kind)
    const id = await kind.send()
    await eventually(() => psp.countRequests() === 1)
    await eventually(async () => {
      await checkAfter(kind, 2 * minuteMs)
      return psp.countRequests() >= 2
    })
    psp.refuse()
    await untilRequested(kind)
    expect(await kind.statusOf(id)).toBe(kind.open)
    psp.end()
    await untilStatus(kind, id, kind.done)
    expect(await kind.countSent(id)).toBe(1)
    expect((await balancesOf(bank.service)).reserved).toBe(before.reserved)
  })
})
