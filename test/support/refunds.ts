import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Disturbance } from '../../simulator/disturb.ts'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator } from '../../simulator/simulator.ts'
import { type Db, sql } from '../../src/db/sql.ts'
import { post } from '../../src/ledger/post.ts'
import { type FeeOperation, insertFeeRule } from '../../src/ledger/store.ts'
import { released, reserved } from '../../src/ledger/transfers.ts'
import { manualClock } from './clock.ts'
import { createTestDatabase } from './database.ts'
import type { Transaction } from './payments.ts'
import type { Problem } from './requests.ts'
import { type Answer, smallestTransaction, startTestService, type TestService } from './service.ts'
import { eventually } from './webhooks.ts'
import { correct, merchantOf } from './withdrawals.ts'

type Refund = {
  id: string
  amount: number
  status: string
  endToEndRefund: string | null
  reason: string | null
  createdAt: string
}

export type Refundable = Transaction & {
  amountRefunded: number
  refunds: Refund[]
  infractionDate: string | null
  feeAmount: number
}

export type RefundAnswer = Answer<
  Problem & { id: string; transactionId: string; amount: number; status: string; amountLeft?: number }
>

type PayOptions = { token?: string; more?: Record<string, unknown> }

/** A paid transaction, and its payment's endToEndId. */
export async function payOne(
  service: TestService,
  amount = 1000,
  { token = service.token, more = {} }: PayOptions = {},
): Promise<{ id: string; endToEnd: string }> {
  const body = smallestTransaction({ amount, ...more })
  const created = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', { body, token })
  expect(created.status, created.text.slice(0, 300)).toBe(201)
  const { id, pixResponse } = created.body
  const paid = await service.call<{ endToEndId: string }>('/sandbox/payment', { body: { uri: pixResponse.uri }, token })
  expect(paid.status, paid.text.slice(0, 300)).toBe(200)
  // The bank of `startOnFaultyNetwork` sends no callback, so the payment is found by polling.
  await service.runJob('transactions.poll')
  await eventually(
    async () => (await service.call(`/transaction/${id}`, { token })).body.status !== 'PIX_QRCODE_GENERATED',
  )
  return { id, endToEnd: paid.body.endToEndId }
}

export async function setFixedFee(
  service: TestService,
  operation: FeeOperation,
  fixed: number,
  more: { returns_payment_fee?: boolean } = {},
): Promise<void> {
  const rule = { operation, fixed, basis_points: 0, minimum: 0, maximum: null, validFrom: service.clock.now(), ...more }
  const merchantId = await merchantOf(service)
  await service.db.transaction(async (tx) => await insertFeeRule(tx, { ...rule, merchantId }))
}

export type FaultyNetwork = {
  service: TestService
  /** The simulated bank's separate database. */
  bank: Db
  /** Sets the faults of the next requests, by method and part of the path. Those after them are answered normally. */
  disturb(method: string, path: string, ...disturbances: Disturbance[]): void
  /** How many requests so far had this method and this text in the path. */
  countRequests(method: string, path: string): number
  stop(): Promise<void>
}

/** A service whose bank is a server that sends no callbacks. A test can make its answers get lost. */
export async function startOnFaultyNetwork({
  onLog,
}: {
  onLog?: (line: Record<string, unknown>) => void
} = {}): Promise<FaultyNetwork> {
  const clock = manualClock()
  const database = await createTestDatabase()
  const requests: string[] = []
  let faults: { method: string; path: string; disturbances: Disturbance[] }[] = []
  const simulator = await createSimulator({
    pool: database.db.pool,
    clock,
    publicBaseUrl: 'http://127.0.0.1:3999',
    sendCallback: async () => 200,
    log: { warn: () => {} },
    disturb: ({ method, path }) => {
      requests.push(`${method} ${path}`)
      const fault = faults.find((one) => one.method === method && path.includes(one.path))
      return fault?.disturbances.shift() ?? 'none'
    },
  })
  const server = await startSimulatorServer({ simulator, host: '127.0.0.1', port: 0 })
  const service = await startTestService({
    clock,
    onLog,
    environment: { SIMULATOR_URL: server.url, TOKEN_LIFETIME_SECONDS: '86400' },
  })
  return {
    service,
    bank: database.db,
    disturb: (method, path, ...disturbances) => {
      faults = [...faults.filter((one) => one.method !== method || one.path !== path), { method, path, disturbances }]
    },
    countRequests: (method, path) => requests.filter((one) => one.startsWith(method) && one.includes(path)).length,
    stop: async () => {
      await service.stop()
      await server.close()
      await simulator.close()
      await database.drop()
    },
  }
}

export async function requestRefund(
  service: TestService,
  id: string,
  more: Record<string, unknown> = {},
  call: { token?: string; headers?: Record<string, string> } = {},
): Promise<RefundAnswer> {
  return await service.call(`/transaction/${id}/refund`, { body: { idempotencyKey: randomUUID(), ...more }, ...call })
}

/** Requests a refund that must be accepted, and returns its id. */
export async function refund(service: TestService, id: string, more: Record<string, unknown> = {}): Promise<string> {
  const { status, text, body } = await requestRefund(service, id, more)
  expect(status, text.slice(0, 300)).toBe(201)
  return body.id
}

export async function fetchRefundable(service: TestService, id: string): Promise<Refundable> {
  return (await service.call<Refundable>(`/transaction/${id}`)).body
}

/** Waits until a refund has the status. */
export async function untilRefund(
  service: TestService,
  transactionId: string,
  refundId: string,
  status: string,
): Promise<Refundable> {
  let now: Refundable | null = null
  await eventually(
    async () => {
      now = await fetchRefundable(service, transactionId)
      return now.refunds.some((one) => one.id === refundId && one.status === status)
    },
    () => `${refundId} is not ${status}: ${JSON.stringify(now?.refunds)}`,
  )
  return now ?? (await fetchRefundable(service, transactionId))
}

/** Waits until the simulated bank in this process has the refund. */
export async function untilSent(service: TestService, refundId: string): Promise<void> {
  await eventually(async () => {
    const id = refundId.replaceAll('-', '')
    return (await service.db.query(sql`select from simulator.returns where id = ${id}`)).length === 1
  })
}

/** The returns of a payment at the simulated bank, without those that it has rejected. */
export async function returnsOf(db: Db, endToEnd: string): Promise<{ id: string; amount: number; nature: string }[]> {
  return await db.query(sql`
    select id, amount, nature from simulator.returns
    where end_to_end_id = ${endToEnd} and rejection is null order by requested_at, amount`)
}

/** Takes money from a merchant's available balance by a correction. A negative amount adds money. */
export async function drain(service: TestService, amount: number, merchantId?: string): Promise<void> {
  if (amount === 0) return
  await correct(service, merchantId ?? (await merchantOf(service)), -amount)
}

/**
 * Waits for the first verification of the ledger. The next one is five minutes later. Until then a test may insert
 * refunds without transfers; the verification would report them and freeze payouts.
 */
export async function untilVerified({ db }: Pick<TestService, 'db'>): Promise<void> {
  await eventually(async () => (await db.query(sql`select from settings where name = 'books_verified'`)).length > 0)
}

/** Inserts a return at the simulated bank directly, so that no callback is sent. */
export async function forgeReturn(
  { db, clock }: TestService,
  endToEnd: string,
  amount: number,
  nature = 'MED_FRAUDE',
  id = 'forged',
): Promise<void> {
  await db.query(sql`
    insert into simulator.returns (end_to_end_id, id, return_id, amount, nature, requested_at, settles_at)
    values (${endToEnd}, ${id}, ${`D${randomUUID().replaceAll('-', '').slice(1)}`}, ${amount}, ${nature}, ${clock.now()}, ${clock.now()})`)
}

/** A refund that the acquirer has refused, with its transfers. Returns its id. */
export async function forgeFailedRefund(
  { db, clock }: TestService,
  { merchantId, transactionId, amount }: { merchantId: string; transactionId: string; amount: number },
): Promise<string> {
  const [id, now] = [randomUUID(), clock.now()]
  await db.transaction(async (tx) => {
    await tx.query(sql`
      insert into refunds (merchant_id, id, transaction_id, amount, fee_amount, status, created_at, finished_at, requested_at)
      values (${merchantId}, ${id}, ${transactionId}, ${amount}, 0, 'FAILED', ${now}, ${now}, ${now})`)
    const about = { merchantId, recordType: 'refund', recordId: id, acquirer: 'simulator', now } as const
    const [began, ended] = [reserved('refund_reserved', amount, 0), released('refund_released', amount, 0)]
    await post(tx, { ...about, eventKey: `refund:${id}:reserved`, transfers: began })
    await post(tx, { ...about, eventKey: `refund:${id}:released`, transfers: ended })
  })
  return id
}
