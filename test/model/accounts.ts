import type { Account } from '../../src/ledger/accounts.ts'
import { operatorMerchantId } from '../../src/suspense/status.ts'
import type { Entered } from './memory.ts'
import { type Seen, sum } from './read.ts'
import type { World } from './world.ts'

/**
 * Computes each merchant's accounts again, to the cent, from its records and from what the bank holds. Returns the
 * differences.
 */
export function findAccountFaults(world: World, seen: Seen): string[] {
  const ofMerchants = world.merchants.flatMap((merchantId) => {
    const rows = seen.balances.filter(({ merchant_id }) => merchant_id === merchantId)
    const balances = new Map<string, number>(rows.map(({ account, balance }) => [account, balance]))
    const [available, debt] = [balances.get('available') ?? 0, balances.get('debt') ?? 0]
    const own = ofMerchant(seen, merchantId)
    const entered = enteredFor(world, seen, merchantId).clearing
    const posted = bankBalanceByRecords(own) + entered
    const { atBank, notPosted } = bankBalanceByBank(own, seen)
    const expected: Partial<Record<Account, number>> = {
      reserved: reservedBy(own),
      blocked: blockedBy(own),
      fees: feesOf(world, seen, merchantId),
      acquirer: 0 - posted,
      suspense: 0,
    }
    const rest = 0 - sum(Object.values(expected), (amount) => amount)
    const faults = compare(merchantId, balances, expected)
    if (available + debt !== rest)
      faults.push(`available and debt of ${merchantId} add up to ${available + debt}, not ${rest}`)
    if (available > 0 && debt < 0) faults.push(`${merchantId} owes while it has money`)
    const bankTotal = atBank + entered
    if (bankTotal - notPosted !== posted)
      faults.push(
        `the bank holds ${bankTotal} for ${merchantId}; without the ${notPosted} not posted yet, the records should add up to ${bankTotal - notPosted}, not ${posted}`,
      )
    return faults
  })
  return [...ofMerchants, ...findOperatorFaults(world, seen)]
}

/**
 * The operator's own accounts. In the model, which has no suspense and no corrections, only the operator's own entries
 * change them, and returned fees that it covers.
 */
function findOperatorFaults(world: World, seen: Seen): string[] {
  const rows = seen.balances.filter(({ merchant_id }) => merchant_id === operatorMerchantId)
  const { clearing, fees, debt } = enteredFor(world, seen, operatorMerchantId)
  const nothing = { available: 0, reserved: 0, blocked: 0, suspense: 0 }
  const balances = new Map(rows.map(({ account, balance }) => [account, balance]))
  return compare(operatorMerchantId, balances, { acquirer: 0 - clearing, fees, debt, ...nothing })
}

function compare(
  merchantId: string,
  balances: Map<string, number>,
  expected: Partial<Record<Account, number>>,
): string[] {
  return Object.entries(expected).flatMap(([account, amount]) => {
    const actual = balances.get(account) ?? 0
    return actual === amount ? [] : [`${account} of ${merchantId} is ${actual}, not ${amount}`]
  })
}

/**
 * What the operator's own entries changed in the accounts of a merchant or of the operator, and what the operator paid
 * of returned fees that it had already drawn.
 */
function enteredFor({ memory }: World, { refunds, covers }: Seen, merchantId: string): Omit<Entered, 'merchantId'> {
  const covered = refunds
    .filter((one) => one.merchant_id === merchantId)
    .map((one) => ({ clearing: one.covered, fees: one.covered, debt: 0 }))
  const ofOperator = covers.map(({ debit, amount }) => ({
    clearing: 0 - amount,
    fees: 0,
    debt: 0,
    [debit]: 0 - amount,
  }))
  const entered = memory.entered.filter((one) => one.merchantId === merchantId)
  const own = [...entered, ...(merchantId === operatorMerchantId ? ofOperator : covered)]
  return {
    clearing: sum(own, ({ clearing }) => clearing),
    fees: sum(own, ({ fees }) => fees),
    debt: sum(own, ({ debt }) => debt),
  }
}

/** The expected balance of the fees account of a merchant, or of the operator. */
export function feesOf(world: World, seen: Seen, merchantId: string): number {
  return feesBy(ofMerchant(seen, merchantId)) + enteredFor(world, seen, merchantId).fees
}

type Own = Pick<Seen, 'transactions' | 'refunds' | 'disputes' | 'withdrawals'>

function ofMerchant(seen: Seen, merchantId: string): Own {
  const isOwn = ({ merchant_id }: { merchant_id: string }) => merchant_id === merchantId
  return {
    transactions: seen.transactions.filter(isOwn),
    refunds: seen.refunds.filter(isOwn),
    disputes: seen.disputes.filter(isOwn),
    withdrawals: seen.withdrawals.filter(isOwn),
  }
}

const hasLeft = ({ status }: { status: string }) => status === 'PROCESSED' || status === 'REFUNDED'
const byReturned = ({ returned_amount }: { returned_amount: number }) => returned_amount
/** Whether a dispute is in a state in which it blocks what was not returned of it. */
export const blocksMoney = ({ state }: { state: string }) => state === 'open' || state === 'accepted'
const withFee = ({ amount, fee_amount }: { amount: number; fee_amount: number }) => amount + fee_amount

function reservedBy({ refunds, withdrawals }: Own): number {
  const open = withdrawals.filter(({ status }) => status === 'PENDING' || status === 'PROCESSING')
  return (
    sum(open, withFee) +
    sum(
      refunds.filter(({ status }) => status === 'PROCESSING'),
      withFee,
    )
  )
}

/**
 * The disputed money that has not gone back yet and is neither refunded nor being refunded: no cent of a payment is
 * blocked twice.
 */
function blockedBy({ transactions, refunds, disputes }: Own): number {
  return sum(transactions, ({ id, amount_paid }) => {
    const own = disputes.filter(({ transaction_id }) => transaction_id === id)
    const given = refunds.filter(({ transaction_id, status }) => transaction_id === id && status !== 'FAILED')
    const left = (amount_paid ?? 0) - sum(given, ({ amount }) => amount) - sum(own, byReturned)
    return Math.min(
      Math.max(0, left),
      sum(own.filter(blocksMoney), (dispute) => dispute.amount - dispute.returned_amount),
    )
  })
}

function feesBy({ transactions, refunds, withdrawals }: Own): number {
  return (
    sum(transactions, ({ fee_amount, amount_paid }) => (amount_paid === null ? 0 : (fee_amount ?? 0))) +
    sum(refunds, ({ fee_amount, status }) => (status === 'REFUNDED' ? fee_amount : 0)) -
    sum(refunds, ({ fee_returned, status }) => (status === 'FAILED' ? 0 : fee_returned)) +
    sum(withdrawals.filter(hasLeft), ({ fee_amount }) => fee_amount)
  )
}

function bankBalanceByRecords({ transactions, refunds, disputes, withdrawals }: Own): number {
  return (
    sum(transactions, ({ amount_paid }) => amount_paid ?? 0) -
    sum(refunds, ({ amount, status }) => (status === 'REFUNDED' ? amount : 0)) -
    sum(disputes, byReturned) -
    sum(withdrawals.filter(hasLeft), ({ amount }) => amount) +
    sum(withdrawals, ({ returned }) => returned)
  )
}

/**
 * What the bank really received minus what it sent for a merchant, and the part of it that the ledger has not posted
 * yet.
 */
function bankBalanceByBank({ transactions, refunds, disputes, withdrawals }: Own, { bank }: Seen) {
  const pix = transactions.flatMap((row) =>
    bank.pix.filter(({ txid }) => txid === row.txid).map((one) => ({ ...one, isPosted: row.end_to_end !== null })),
  )
  const endToEnds = new Map(pix.map((one) => [one.end_to_end_id, one]))
  const returns = bank.returns.filter(
    (one) => endToEnds.has(one.end_to_end_id) && one.is_settled && one.rejection === null,
  )
  const med = returns.filter(({ nature }) => nature !== 'ORIGINAL')
  const refunded = returns.filter(({ nature }) => nature === 'ORIGINAL')
  const sent = withdrawals.flatMap((row) => {
    const payout = bank.payouts.find(({ id }) => id === row.payout)
    return payout?.is_settled && payout.rejection === null ? [{ ...payout, row }] : []
  })
  const atBank =
    sum(pix, ({ amount }) => amount) -
    sum(returns, ({ amount }) => amount) -
    sum(sent, ({ amount, returned }) => amount - returned)
  const notPosted =
    sum(pix, ({ amount, isPosted }) => (isPosted ? 0 : amount)) -
    sum(refunded, ({ id, amount }) =>
      refunds.some((one) => one.payout === id && one.status === 'REFUNDED') ? 0 : amount,
    ) -
    (sum(med, ({ amount }) => amount) - sum(disputes, byReturned)) -
    sum(sent, ({ amount, row }) => (hasLeft(row) ? 0 : amount)) +
    sum(sent, ({ returned, row }) => returned - row.returned)
  return { atBank, notPosted }
}
