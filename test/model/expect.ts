import { sql } from '../../src/db/sql.ts'
import { feeBy, feeReturnedBy, type Requested } from './memory.ts'
import { readAll, sum } from './read.ts'
import type { World } from './world.ts'

/**
 * The answer that a request must get while nothing else runs: the code of its refusal, or null; for a withdrawal also
 * the reason why it must be pending review, or null.
 */
export type Expected = { code: string | null; reviewReason: string | null }

const refundableMs = 90 * 86_400_000
const duplicateWindowMs = 600_000
/** Above this amount withdrawals of both merchants need an approval. */
export const approvalAbove = 50_000

const yes: Expected = { code: null, reviewReason: null }
const no = (code: string): Expected => ({ code, reviewReason: null })

export async function expectRefund(
  { db, clock, memory }: World,
  { merchantId, transactionId, input }: Extract<Requested, { kind: 'refund' }>,
): Promise<Expected> {
  const now = clock.now()
  const seen = await readAll(db, now)
  const row = seen.transactions.find(({ id }) => id === transactionId)
  if (memory.isFrozen) return no('payouts_stopped')
  if (!row || !/^(?:PAID|INFRACTION)$/.test(row.status)) return no('refund_not_possible')
  if (now.getTime() - (row.payment_date?.getTime() ?? 0) > refundableMs) return no('refund_not_possible')
  const given = seen.refunds.filter((one) => one.transaction_id === row.id && one.status === 'REFUNDED')
  const disputes = seen.disputes.filter((one) => one.transaction_id === row.id)
  const left = (row.amount_paid ?? 0) - sum(given, ({ amount }) => amount) - sum(disputes, (one) => one.returned_amount)
  if (left <= 0) return no('refund_not_possible')
  const amount = input.amount ?? left
  if (amount > left) return no('refund_not_possible')
  const fee = feeBy(memory.rules, merchantId, 'refund', amount, now)
  const returned = feeReturnedBy(memory.rules, row, { amount, before: sum(given, (one) => one.amount), at: now })
  return (await findAvailable(db, merchantId)) + returned < amount + fee ? no('insufficient_balance') : yes
}

export async function expectWithdrawal(
  { db, clock, memory }: World,
  { merchantId, input }: Extract<Requested, { kind: 'withdrawal' }>,
): Promise<Expected> {
  if (memory.isFrozen) return no('payouts_stopped')
  const now = clock.now()
  const { amount } = input
  const fee = feeBy(memory.rules, merchantId, 'withdrawal', amount, now)
  if ((await findAvailable(db, merchantId)) < amount + fee) return no('insufficient_balance')
  const { withdrawals, balances } = await readAll(db, now)
  const open = withdrawals.filter(({ status }) => status === 'PENDING' || status === 'PROCESSING')
  const clearing = balances.filter(({ account }) => account === 'acquirer')
  // A merchant can own money that is not in the account at the PSP: another merchant or the operator owes it.
  const available = 0 - sum(clearing, ({ balance }) => balance) - sum(open, (one) => one.amount)
  if (amount > available) return no('withdrawal_not_possible')
  const isAlike = withdrawals.some(
    (one) =>
      one.merchant_id === merchantId &&
      one.pix_key === input.pixKey.key &&
      one.amount === amount &&
      now.getTime() - one.created_at.getTime() < duplicateWindowMs &&
      /^(?:PENDING|PROCESSING|PROCESSED)$/.test(one.status),
  )
  if (isAlike) return { code: null, reviewReason: 'duplicate' }
  return { code: null, reviewReason: amount > approvalAbove ? 'approval' : null }
}

export async function findAvailable(db: World['db'], merchantId: string): Promise<number> {
  const [row] = await db.query<{ balance: number }>(sql`
    select balance from ledger_accounts where merchant_id = ${merchantId} and account = 'available'`)
  return row?.balance ?? 0
}
