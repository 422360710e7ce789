import { randomUUID } from 'node:crypto'
import { cents } from '../../src/lib/money.ts'
import { cancelTransaction } from '../../src/transactions/cancel.ts'
import { approveWithdrawal } from '../../src/withdrawals/approve.ts'
import { cancelWithdrawal } from '../../src/withdrawals/cancel.ts'
import { confirmWithdrawal } from '../../src/withdrawals/confirm.ts'
import { rejectWithdrawal } from '../../src/withdrawals/reject.ts'
import { withdrawalAmountMin } from '../../src/withdrawals/schema.ts'
import { attempt, describe, Unexpected } from './attempt.ts'
import { approvalAbove, findAvailable } from './expect.ts'
import { feeBy, type Requested } from './memory.ts'
import { readAll, type TransactionSeen } from './read.ts'
import { repeatWithOtherAmount, sendAndCompare } from './request.ts'
import type { World } from './world.ts'

/**
 * isAlone: nothing else runs at the same time, so that the answer is predictable. Returns what was done, for the trail:
 * a text that begins with "nothing" if there was nothing to do.
 */
export type Step = (world: World, mode: { isAlone: boolean }) => Promise<string>

/** 4220422 is refused by the bank. The large ones are enough for the special refunds. */
const payments = [1, 99, 1_000, 2_590, 10_000, 60_000, 900_000, 1_700_000, 2_000_000, 2_500_000, 4_220_422]
/** Returns that the bank rejects, processes slowly and refuses. */
const oddRefunds = [800_001, 800_002, 800_004]
/** Payouts that the bank rejects with SPI's codes, refuses and processes slowly. */
const oddPayouts = [900_001, 900_005, 900_024, 900_090, 900_091]
const payoutAmounts = [10, 1_000, 2_590, 9_990, 50_001, 100_000]
const pixKeys = ['shop@example.com', 'supplier@example.com', '2f1c4b5e-7a0d-4a5b-9d3e-1f2a3b4c5d6e'] as const

export const create: Step = async (world, mode) => {
  const { random } = world
  const expirationSeconds = random.pick([60, 1_800, 86_400, 86_400]) ?? 60
  const input = {
    amount: random.pick(payments) ?? 1,
    paymentMethod: 'PIX' as const,
    isInfoProduct: true,
    pix: { expirationSeconds },
    idempotencyKey: randomUUID(),
  }
  return await requestNew(world, { kind: 'transaction', input }, mode)
}

export const pay: Step = async (world) => {
  const { random, bank } = world
  const { transactions } = await readAll(world.db, world.clock.now())
  // Sometimes any transaction, paid and expired ones too: the bank has to refuse those.
  const open = transactions.filter(({ status }) => status === 'PIX_QRCODE_GENERATED')
  const row = random.pick(random.percent(90) ? open : transactions)
  if (!row?.pix_uri) return 'nothing to pay'
  const amount = random.percent(15) ? cents(1 + random.below(100_000)) : undefined
  const paid = await bank.pay({ uri: row.pix_uri, ...(amount !== undefined && { amount }) })
  return `pay ${row.id}${amount === undefined ? '' : ` with ${amount}`}: ${paid.ok ? paid.endToEndId : paid.code}`
}

export const refund: Step = async (world, mode) => {
  const { random } = world
  const { transactions } = await readAll(world.db, world.clock.now())
  const row = pickPaid(world, transactions)
  if (!row) return 'nothing to refund'
  const paid = row.amount_paid ?? 1
  const amount = random.percent(40) ? undefined : random.percent(25) ? random.pick(oddRefunds) : 1 + random.below(paid)
  const input = { idempotencyKey: randomUUID(), ...(amount !== undefined && { amount }) }
  return await requestNew(world, { kind: 'refund', merchantId: row.merchant_id, transactionId: row.id, input }, mode)
}

/** Usually a PAID one; else any, to test the refusals in other statuses. */
export function pickPaid({ random }: World, transactions: TransactionSeen[]): TransactionSeen | undefined {
  const isPaid = ({ status }: TransactionSeen) => status === 'PAID'
  return random.pick(random.percent(85) ? transactions.filter(isPaid) : transactions)
}

/** The largest amount that a request accepts. */
const withdrawalMax = 10_000_000

export const withdraw: Step = async (world, mode) => {
  const { random, memory } = world
  const merchantId = random.pick(world.merchants) ?? ''
  const available = await findAvailable(world.db, merchantId)
  const all = available - feeBy(memory.rules, merchantId, 'withdrawal', available, world.clock.now())
  // The whole balance: a later dispute then becomes a debt.
  const isAll = all >= withdrawalAmountMin && random.percent(12)
  const amount = isAll
    ? Math.min(all, withdrawalMax)
    : (random.pick(random.percent(30) ? oddPayouts : payoutAmounts) ?? 10)
  const key = random.pick(pixKeys) ?? pixKeys[0]
  const pixKey = { key, type: key.includes('@') ? ('EMAIL' as const) : ('EVP' as const) }
  const input = { amount, method: 'PIX' as const, pixKey, idempotencyKey: randomUUID() }
  return await requestNew(world, { kind: 'withdrawal', merchantId, input }, mode)
}

/** Repeats an earlier request, unchanged or with other content. */
export const repeat: Step = async (world, mode) => {
  const { random, memory } = world
  const unknown = memory.requested.filter(({ id }) => id === null)
  const requested = random.pick(random.percent(50) ? unknown : memory.requested)
  if (!requested) return 'nothing to repeat'
  if (requested.id !== null && random.percent(30)) return await repeatWithOtherAmount(world, requested)
  return `again: ${await sendAndCompare(world, requested, mode)}`
}

/** Sends a new request, and then repeats it several times concurrently. */
export const sendConcurrently: Step = async (world) => {
  const before = world.memory.requested.length
  const first = await (world.random.pick([create, withdraw, refund]) ?? create)(world, { isAlone: true })
  const requested = world.memory.requested[before]
  if (!requested) return first
  const said = await Promise.all([1, 2, 3].map(async () => await sendAndCompare(world, requested, { isAlone: false })))
  return [first, ...said].join('; ')
}

type NewRequest = {
  [Kind in Requested['kind']]: Omit<Extract<Requested, { kind: Kind }>, 'merchantId' | 'id'>
}[Requested['kind']]

async function requestNew(
  world: World,
  request: NewRequest & { merchantId?: string },
  mode: { isAlone: boolean },
): Promise<string> {
  const merchantId = request.merchantId ?? world.random.pick(world.merchants) ?? ''
  const requested: Requested = { ...request, merchantId, id: null }
  world.memory.requested.push(requested)
  return await sendAndCompare(world, requested, mode)
}

export const cancel: Step = async (world) => {
  const row = await pickWaiting(world)
  if (!row) return 'nothing to cancel'
  const { deps } = world.process
  const done = await attempt(
    async () => await cancelWithdrawal(deps, { merchantId: row.merchant_id, id: row.id, by: null }),
  )
  return `cancel ${row.id}: ${describe(done)}`
}

/** Usually an open charge; else any, to test the refusals in other statuses. */
export const cancelCharge: Step = async (world, { isAlone }) => {
  const { random } = world
  const { transactions } = await readAll(world.db, world.clock.now())
  const open = transactions.filter(({ status }) => status === 'PENDING' || status === 'PIX_QRCODE_GENERATED')
  const row = random.pick(random.percent(85) ? open : transactions)
  if (!row) return 'nothing to cancel'
  const { deps } = world.process
  const done = await attempt(
    async () => await cancelTransaction(deps, { merchantId: row.merchant_id, id: row.id, by: null }),
  )
  const { bank } = await readAll(world.db, world.clock.now())
  const isPaid = bank.pix.some(({ txid }) => txid === row.txid)
  if (done.did === 'done' && isPaid) throw new Unexpected(`charge ${row.id} is canceled, and it was paid`)
  // While the bank does not answer the cancel, the charge may expire. Then the cancel is refused.
  const hasExpired = row.pix_expires_at !== null && row.pix_expires_at <= world.clock.now()
  const isOver = row.status === 'FAILED' || isPaid || hasExpired
  const isRefused = done.did === 'refused' && done.code === 'cancel_not_possible'
  if (isAlone && isRefused && !isOver)
    throw new Unexpected(`charge ${row.id} is open, and its cancel was refused: ${describe(done)}`)
  return `cancel charge ${row.id}: ${describe(done)}`
}

export const confirm: Step = async (world) => {
  const row = await pickWaiting(world)
  if (!row) return 'nothing to confirm'
  const { deps } = world.process
  const isReleased = row.review_reason === 'duplicate' && row.amount <= approvalAbove
  // Noted even if it is interrupted, as it may have taken effect, and before it runs, as a job may send at once.
  if (isReleased) world.memory.mayBeSent.add(row.id)
  const done = await attempt(
    async () => await confirmWithdrawal(deps, { merchantId: row.merchant_id, id: row.id, by: null }),
  )
  return `confirm ${row.id}, under review for ${row.review_reason}: ${describe(done)}`
}

export const approve: Step = async (world) => {
  const row = await pickWaiting(world)
  if (!row) return 'nothing to approve'
  world.memory.mayBeSent.add(row.id)
  const done = await attempt(
    async () => await approveWithdrawal(world.process.deps, { id: row.id, by: { actor: 'cli:maria' } }),
  )
  return `approve ${row.id}: ${describe(done)}`
}

export const reject: Step = async (world) => {
  const row = await pickWaiting(world)
  if (!row) return 'nothing to reject'
  const reason = 'Not today'
  return `reject ${row.id}: ${describe(await attempt(async () => await rejectWithdrawal(world.process.deps, { id: row.id, reason, by: { actor: 'cli:maria' } })))}`
}

/** Usually one that is pending review; else any. */
async function pickWaiting({ random, db, clock }: World) {
  const { withdrawals } = await readAll(db, clock.now())
  const waiting = withdrawals.filter(({ status }) => status === 'PENDING')
  const pendingReview = waiting.filter(({ review_reason }) => review_reason !== null)
  return random.pick(random.percent(60) ? pendingReview : random.percent(80) ? waiting : withdrawals)
}
