import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Disturb } from '../../simulator/disturb.ts'
import { sql } from '../../src/db/sql.ts'
import { returnHeldJob } from '../../src/suspense/hold.ts'
import { sendRefundJob } from '../../src/transactions/refund.ts'
import { sendJob } from '../../src/withdrawals/send-job.ts'
import { type DistantBank, startDistantBank } from '../support/payouts.ts'
import { fetchRefundable, payOne, refund, returnsOf } from '../support/refunds.ts'
import { payAmiss } from '../support/suspense.ts'
import { eventually } from '../support/webhooks.ts'
import {
  balancesOf,
  countPayouts,
  expectBooksAgree,
  fetchWithdrawal,
  fund,
  runToEnd,
  withdraw,
} from '../support/withdrawals.ts'

// A PSP loses the answer to a payout or refund, then refuses the repeat with the same id, and denies knowing it.

let bank: DistantBank
beforeAll(async () => {
  bank = await startDistantBank()
  bank.tell(false)
  await fund(bank.service, 100_000)
})
beforeEach(() => bank.disturb(() => 'none'))
afterEach(async () => await expectBooksAgree(bank.service))
afterAll(async () => await bank.stop())

const minuteMs = 60_000

/** One kind of outgoing money: how to request it, its state in the service, and how many times it left the PSP. */
type Leaving = {
  path: string
  finds: string
  ask(): Promise<string>
  /** The job that sends it first, and the one that checks unknown outcomes. */
  sendJob: string
  job: string
  statusOf(id: string): Promise<string | undefined>
  leftOf(id: string): Promise<number>
  open: string
  done: string
  refused: string
}

const endToEnds = new Map<string, string>()
const leftOfPayment = async (id: string) => (await returnsOf(bank.db, endToEnds.get(id) ?? '')).length

const kinds: Record<string, Leaving> = {
  refund: {
    path: '/devolucao/',
    finds: '/devolucao/',
    sendJob: sendRefundJob,
    job: 'transactions.check',
    async ask() {
      const { id, endToEnd } = await payOne(bank.service)
      endToEnds.set(id, endToEnd)
      await refund(bank.service, id)
      return id
    },
    statusOf: async (id) => (await fetchRefundable(bank.service, id)).status,
    leftOf: leftOfPayment,
    open: 'PROCESSING_REFUND',
    done: 'REFUNDED',
    refused: 'PAID',
  },
  withdrawal: {
    path: '/gn/pix/',
    finds: '/enviados/',
    sendJob,
    job: 'withdrawals.check',
    ask: async () => await withdraw(bank.service),
    statusOf: async (id) => (await fetchWithdrawal(bank.service, id)).status,
    leftOf: async (id) => await countPayouts(bank.db, id),
    open: 'PROCESSING',
    done: 'PROCESSED',
    refused: 'FAILED',
  },
  'second payment that is sent back': {
    path: '/devolucao/',
    finds: '/devolucao/',
    sendJob: returnHeldJob,
    job: 'suspense.check',
    async ask() {
      const { id } = await payAmiss(bank.service, 'twice')
      await bank.service.runJob('transactions.poll')
      await eventually(async () => {
        const [held] = await bank.service.db.query<{ end_to_end: string }>(sql`
          select end_to_end from suspense_payments where transaction_id = ${id}`)
        if (held) endToEnds.set(id, held.end_to_end)
        return held !== undefined
      })
      return id
    },
    async statusOf(id) {
      const [held] = await bank.service.db.query<{ status: string }>(sql`
        select status from suspense_payments where transaction_id = ${id}`)
      return held?.status
    },
    leftOf: leftOfPayment,
    open: 'returning',
    done: 'returned',
    refused: 'held',
  },
}

/** The first request for money comes to `first`; later ones are refused while the PSP denies it, and it shows nothing. */
function deny(
  { path, finds }: Leaving,
  first: 'time_out_after' | 'time_out_before',
): { asked: () => number; end: () => void } {
  const state = { asked: 0, isOver: false }
  const disturb: Disturb = (request) => {
    if (request.method === 'PUT' && request.path.includes(path)) {
      state.asked += 1
      if (state.asked === 1) return first
      return state.isOver ? 'none' : 'refused'
    }
    return !state.isOver && request.path.includes(finds) ? 'not_found' : 'none'
  }
  bank.disturb(disturb)
  return {
    asked: () => state.asked,
    end: () => {
      state.isOver = true
    },
  }
}

/** The first request for money waits and is then refused, the second one takes effect without an answer, and the PSP shows nothing meanwhile. */
function refuseLate({ path, finds }: Leaving): { asked: () => number; refuse: () => void; end: () => void } {
  const state = { asked: 0, isOver: false, refuse: () => {} }
  const gate = new Promise<void>((resolve) => {
    state.refuse = resolve
  })
  bank.disturb(async (request) => {
    if (request.method !== 'PUT' || !request.path.includes(path))
      return !state.isOver && request.path.includes(finds) ? 'not_found' : 'none'
    state.asked += 1
    if (state.asked > 1) return 'time_out_after'
    await gate
    return 'refused'
  })
  return {
    asked: () => state.asked,
    refuse: state.refuse,
    end: () => {
      state.isOver = true
    },
  }
}

async function checkAfter({ job }: Leaving, ms: number): Promise<void> {
  bank.service.clock.advance(ms)
  await runToEnd(bank.service, job)
  await sleep(20)
}

describe.each(Object.entries(kinds))('a %s whose answer was lost, and whose repeat is refused', (_, kind) => {
  it('stays in process until its outcome is certain, and leaves once', { timeout: 300_000 }, async () => {
    const before = await balancesOf(bank.service)
    const psp = deny(kind, 'time_out_after')
    const id = await kind.ask()
    await eventually(() => psp.asked() === 1)
    await eventually(async () => {
      await checkAfter(kind, 2 * minuteMs)
      return psp.asked() >= 3
    })
    expect(await kind.statusOf(id)).toBe(kind.open)
    psp.end()
    await eventually(async () => {
      await checkAfter(kind, minuteMs)
      return (await kind.statusOf(id)) === kind.done
    })
    expect(await kind.leftOf(id)).toBe(1)
    expect((await balancesOf(bank.service)).reserved).toBe(before.reserved)
  })

  it('counts as refused after ten minutes without another answer', { timeout: 300_000 }, async () => {
    const psp = deny(kind, 'time_out_before')
    const id = await kind.ask()
    await eventually(() => psp.asked() === 1)
    const lostAt = bank.service.clock.now().getTime()
    await eventually(async () => {
      await checkAfter(kind, 2 * minuteMs)
      return (await kind.statusOf(id)) === kind.refused
    })
    expect(bank.service.clock.now().getTime() - lostAt).toBeGreaterThanOrEqual(10 * minuteMs)
    expect(psp.asked()).toBeGreaterThan(3)
    expect(await kind.leftOf(id)).toBe(0)
  })
})

describe.each(Object.entries(kinds))('a %s whose first request is refused after a second one was sent', (_, kind) => {
  it('stays in process until its outcome is certain, and leaves once', { timeout: 300_000 }, async () => {
    const before = await balancesOf(bank.service)
    const psp = refuseLate(kind)
    const id = await kind.ask()
    await eventually(() => psp.asked() === 1)
    await eventually(async () => {
      await checkAfter(kind, 2 * minuteMs)
      return psp.asked() === 2
    })
    psp.refuse()
    await eventually(async () => {
      const jobs = await bank.service.db.query(sql`
        select from graphile_worker.jobs where task_identifier = ${kind.sendJob}`)
      return jobs.length === 0
    })
    expect(await kind.statusOf(id)).toBe(kind.open)
    psp.end()
    await eventually(async () => {
      await checkAfter(kind, minuteMs)
      return (await kind.statusOf(id)) === kind.done
    })
    expect(await kind.leftOf(id)).toBe(1)
    expect((await balancesOf(bank.service)).reserved).toBe(before.reserved)
  })
})
