import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { type Db, sql } from '../../src/db/sql.ts'
import { insertExchanges } from '../../src/exchanges/store.ts'
import type { Account, Balances } from '../../src/ledger/accounts.ts'
import { freezePayouts, releasePayouts } from '../../src/ledger/payout-freeze.ts'
import { post } from '../../src/ledger/post.ts'
import { findBalances } from '../../src/ledger/store.ts'
import { assert } from '../../src/lib/assert.ts'
import { findBreaches } from '../../src/verification.ts'
import { changeStatus } from '../../src/withdrawals/change.ts'
import { lockWithdrawal, updateReview } from '../../src/withdrawals/store.ts'
import type { Problem } from './requests.ts'
import { type Answer, fetchToken, type TestService } from './service.ts'
import { eventually } from './webhooks.ts'

export type Withdrawal = {
  id: string
  acquirer: string
  amount: number
  method: string
  status: string
  hold?: string
  statusHistory: { status: string; date: string; durationInMilliseconds: number | null }[]
  createdAt: string
  updatedAt: string
  amountWithdrawn?: number
  processedDate?: string
  errorMessage: string | null
  endToEnd?: string
  payer?: { name: string }
  receiver?: { name: string; pix: { key: string } }
  pixKey: { key: string; type: string }
  feeAmount?: number
  metadata?: unknown
}

type Json = Record<string, unknown>

/** A valid body, with a new Pix key and idempotency key. */
export function withdrawalBody(more: Json = {}): Json {
  return {
    amount: 1_000,
    method: 'PIX',
    pixKey: { key: randomUUID(), type: 'EVP' },
    idempotencyKey: randomUUID(),
    ...more,
  }
}

type Call = { token?: string; headers?: Record<string, string> }

export async function requestWithdrawal(service: TestService, more: Json = {}, call: Call = {}) {
  return await service.call<Withdrawal & Problem>('/withdrawal', { body: withdrawalBody(more), ...call })
}

/** Requests a withdrawal that must be accepted, and returns its id. */
export async function withdraw(service: TestService, more: Json = {}): Promise<string> {
  const { status, text, body } = await requestWithdrawal(service, more)
  expect(status, text.slice(0, 300)).toBe(201)
  return body.id
}

export async function fetchWithdrawal(service: TestService, id: string): Promise<Withdrawal> {
  return (await service.call<Withdrawal>(`/withdrawal/${id}`)).body
}

export async function untilWithdrawal(service: TestService, id: string, status: string): Promise<Withdrawal> {
  let latest: Withdrawal | null = null
  await eventually(
    async () => {
      latest = await fetchWithdrawal(service, id)
      return latest.status === status
    },
    () => `${id} is ${latest?.status}, not ${status}`,
  )
  return latest ?? (await fetchWithdrawal(service, id))
}

export async function act(service: TestService, id: string, verb: 'cancel' | 'confirm', call: Call = {}) {
  return await service.call<Withdrawal & Problem>(`/withdrawal/${id}/${verb}`, { method: 'POST', ...call })
}

/**
 * Puts a withdrawal that is pending review into the state in which only a person can determine its outcome, as when the
 * answer to a payout was lost and the PSP does not know the request. The simulated bank receives nothing, and the clock
 * moves by two hours.
 */
export async function loseOutcome(service: TestService, id: string): Promise<void> {
  const merchantId = await merchantOf(service)
  const sentAt = service.clock.now()
  await service.db.transaction(async (tx) => {
    const row = await lockWithdrawal(tx, merchantId, id)
    const free = row && (await updateReview(tx, row, { reviewReason: null, checkAt: null }))
    assert(free, 'the withdrawal is pending review')
    await changeStatus(tx, free, { to: 'PROCESSING', now: sentAt, checkAt: null, set: {} })
  })
  service.clock.advance(2 * 60 * 60_000)
  const at = new Date(sentAt.getTime() + 61 * 60_000)
  const about = { acquirer: 'simulator', operation: 'sendPayout', recordId: id, endToEndId: null, durationMs: 1 }
  await insertExchanges(service.db, [{ ...about, at, outcome: 'unknown', error: 'NeedsPerson' }])
}

/** The code of a refusal and those of its field errors. */
export function refusal(answer: Answer<unknown>): string[] {
  const { code, errors } = answer.body as Problem
  return [code, ...(errors ?? []).map((error) => `${error.field} ${error.code}`)]
}

/** The merchant of the service's sandbox client. */
export async function merchantOf(service: TestService): Promise<string> {
  const [row] = await service.db.query<{ merchant_id: string }>(sql`
    select merchant_id from clients order by created_at limit 1`)
  return row?.merchant_id ?? ''
}

/** Adds money to a merchant's available balance. */
export async function fund(service: TestService, amount: number, merchantId?: string): Promise<void> {
  await correct(service, merchantId ?? (await merchantOf(service)), amount)
}

/** Changes a merchant's available balance by a correction, as if an operator confirmed a discrepancy. */
export async function correct(service: TestService, merchantId: string, change: number): Promise<void> {
  const [recordId, runId, now] = [randomUUID(), randomUUID(), service.clock.now()]
  const [debit, credit] = change > 0 ? (['acquirer', 'available'] as const) : (['available', 'acquirer'] as const)
  const proposal = JSON.stringify({ action: 'correct', account: 'available', cents: change })
  await service.db.transaction(async (tx) => {
    await tx.query(sql`
      insert into reconciliation_runs (id, acquirer, kind, starts_at, ends_at, started_at, finished_at, state)
      values (${runId}, 'a test', 'manual', ${now}, ${now}::timestamptz + interval '1 minute', ${now}, ${now}, 'complete')`)
    await tx.query(sql`
      insert into differences (
        id, acquirer, class, subject, reference, merchant_id, at, is_timing, proposal, state, run_id, found_at, decided_at, decided_by)
      values (
        ${recordId}, 'simulator', 'amount', 'payment', ${recordId}, ${merchantId}, ${now}, false, ${proposal}, 'confirmed', ${runId},
        ${now}, ${now}, 'a test')`)
    await post(tx, {
      merchantId,
      eventKey: `correction:${recordId}`,
      recordType: 'correction',
      acquirer: 'simulator',
      recordId,
      now,
      transfers: () => [{ kind: 'correction', debit, credit, amount: Math.abs(change) }],
    })
  })
}

export async function balancesOf(service: TestService, merchantId?: string): Promise<Balances> {
  return await findBalances(service.db, merchantId ?? (await merchantOf(service)))
}

/** The changes of a merchant's balances that some work made. Unchanged accounts are left out. */
export async function balanceChanges(service: TestService, work: () => Promise<void>): Promise<Partial<Balances>> {
  const before = await balancesOf(service)
  await work()
  const after = await balancesOf(service)
  const changed = Object.entries(after)
    .map(([account, balance]) => [account, balance - before[account as Account]] as const)
    .filter(([, difference]) => difference !== 0)
  return Object.fromEntries(changed)
}

/** A withdrawal's transfers in order, such as `withdrawal_sent reserved>acquirer 1000`. */
export async function transfersOf(service: TestService, id: string): Promise<string[]> {
  const rows = await service.db.query<{ kind: string; debit: string; credit: string; amount: number }>(sql`
    select kind, split_part(debit, ':', 1) as debit, split_part(credit, ':', 1) as credit, amount from ledger_transfers where record_id = ${id} order by id`)
  return rows.map(({ kind, debit, credit, amount }) => `${kind} ${debit}>${credit} ${amount}`)
}

/** How many payouts the simulated bank made for a withdrawal's id. */
export async function countPayouts(db: Db, id: string): Promise<number> {
  const rows = await db.query(sql`select from simulator.payouts where id = ${id.replaceAll('-', '')}`)
  return rows.length
}

export async function freezeAllPayouts(service: TestService): Promise<void> {
  await freezePayouts(service.db, { reason: 'a test', now: service.clock.now() })
}

export async function releaseAllPayouts(service: TestService): Promise<void> {
  await releasePayouts(service, { reason: 'a test', by: { actor: 'cli:test' } })
}

/** Asserts that the ledger and every record agree. */
export async function expectLedgerConsistent(service: TestService): Promise<void> {
  expect(await findBreaches(service.db)).toEqual([])
}

/** The service with a token that is renewed when the clock has moved by more than ten minutes: tokens live for 15. */
export function withRenewedToken(service: TestService): TestService {
  let { token } = service
  let since = service.clock.now().getTime()
  return {
    ...service,
    async call(path, call) {
      const now = service.clock.now().getTime()
      // Backwards too: a token from the future is not valid.
      if (Math.abs(now - since) > 10 * 60_000) {
        token = await fetchToken(service.baseUrl, service.sandbox)
        since = now
      }
      return await service.call(path, { token, ...call })
    },
  }
}

const checkJobs = ['withdrawals.check', 'withdrawals.returns']

/** Advances the clock and runs the scheduled checks until a condition is true. */
export async function runChecksUntil(
  service: TestService,
  condition: () => Promise<boolean>,
  stepMs = 60_000,
): Promise<void> {
  for (let steps = 0; !(await condition()); steps++) {
    if (steps === 100) throw new Error('The condition is still false after a hundred checks')
    service.clock.advance(stepMs)
    for (const name of checkJobs) await service.runJob(name)
  }
}
