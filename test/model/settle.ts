import { recordDecision } from '../../src/transactions/dispute/dispute.ts'
import { attempt } from './attempt.ts'
import { findFaults } from './invariants.ts'
import { workUntilQuiet } from './queue.ts'
import { readAll, type Seen, sum } from './read.ts'
import { sendAllCallbacks } from './steps-bank.ts'
import { releasePayoutFreeze } from './steps-process.ts'
import type { World } from './world.ts'

const minute = 60_000
const day = 24 * 60 * minute
/**
 * Each is longer than the service pauses between two polls at that time: minutes for what is open, then days for
 * returned withdrawals, where the service pauses for a week at most.
 */
const pauses = [
  0,
  minute,
  6 * minute,
  11 * minute,
  31 * minute,
  2 * 60 * minute,
  day,
  day,
  2 * day,
  8 * day,
  8 * day,
  16 * day,
]

/**
 * Settles everything that is open, while no request is lost any more. Returns what is still open or has ended wrongly.
 */
export async function settleAllOpen(world: World): Promise<string[]> {
  world.process.injector.disarm()
  await world.restartProcess()
  world.setLosses(0)
  await releasePayoutFreeze(world)
  world.clock.advance(minute)
  await sendAllCallbacks(world)
  await workUntilQuiet(world)
  const unknown = findUnknownDisputes(await readAll(world.db, world.clock.now()))
  await decideDisputes(world)
  for (const pause of pauses) {
    world.clock.advance(pause)
    // A PSP repeats a callback until it is accepted.
    await sendAllCallbacks(world)
    await workUntilQuiet(world)
  }
  // A dispute that the PSP reopened may be read only in the last pauses, and then waits for a return of the rest that
  // nobody makes.
  await endDisputes(world)
  await workUntilQuiet(world)
  return [...unknown, ...(await findFaults(world)), ...findOpen(await readAll(world.db, world.clock.now()))]
}

/**
 * Whatever happened before, the service must know each open dispute of the bank, with at least the amount that is left
 * to dispute. A dispute that the operator has decided is not checked.
 */
function findUnknownDisputes({ transactions, refunds, disputes, bank }: Seen): string[] {
  return bank.disputes.flatMap((dispute) => {
    const row = transactions.find(({ end_to_end }) => end_to_end === dispute.end_to_end_id)
    if (dispute.state !== 'open' || !row) return []
    const known = disputes.find(({ acquirer_reference }) => acquirer_reference === dispute.id)
    if (!known) return [`the dispute ${dispute.id} of transaction ${row.id} is not known`]
    if (known.state !== 'open' && known.state !== 'accepted') return []
    const ofTransaction = <One extends { transaction_id: string }>(all: One[]) =>
      all.filter((one) => one.transaction_id === row.id)
    const refunded = sum(ofTransaction(refunds), ({ status, amount }) => (status === 'REFUNDED' ? amount : 0))
    const elsewhere = sum(ofTransaction(disputes), (one) => (one.id === known.id ? 0 : one.returned_amount))
    const expected = Math.min(dispute.amount, (row.amount_paid ?? 0) - refunded - elsewhere)
    return known.amount >= expected
      ? []
      : [`of the dispute ${dispute.id} of ${expected} cents only ${known.amount} are known`]
  })
}

/**
 * The bank decides its open disputes. Those that are still open or accepted in the gateway afterwards, such as those
 * that only the operator entered, are rejected.
 */
async function decideDisputes(world: World): Promise<void> {
  const { random, clock, db } = world
  const { bank } = await readAll(db, clock.now())
  for (const { id, state } of bank.disputes) {
    const decision = random.pick(['accept', 'reject', 'cancel'] as const) ?? 'reject'
    if (state === 'open') await world.bank.decideDispute({ reference: id, decision })
  }
  clock.advance(minute)
  await sendAllCallbacks(world)
  await workUntilQuiet(world)
  await endDisputes(world)
}

async function endDisputes(world: World): Promise<void> {
  const { disputes } = await readAll(world.db, world.clock.now())
  for (const one of disputes.filter(({ state }) => state === 'open' || state === 'accepted')) {
    const input = {
      transactionId: one.transaction_id,
      disputeId: one.id,
      decision: 'reject',
      by: { actor: 'cli:model' },
    } as const
    await attempt(async () => await recordDecision(world.process.deps, input))
  }
}

function findOpen({ transactions, refunds, disputes, withdrawals, bank }: Seen): string[] {
  const settledStatus = /^(?:PAID|REFUNDED|INFRACTION|FAILED)$/
  const paid = new Set(bank.pix.map(({ txid }) => txid))
  return [
    ...transactions.flatMap(({ id, txid, status, end_to_end }) => [
      ...(settledStatus.test(status) ? [] : [`transaction ${id} is still ${status}`]),
      ...(paid.has(txid) === (end_to_end !== null)
        ? []
        : [`transaction ${id} is ${status} and its payment is not posted`]),
    ]),
    ...refunds.flatMap(({ id, status }) => (status === 'PROCESSING' ? [`refund ${id} is still PROCESSING`] : [])),
    ...disputes.flatMap(({ id, state }) =>
      state === 'open' || state === 'accepted' ? [`dispute ${id} is still ${state}`] : [],
    ),
    ...withdrawals.flatMap(({ id, payout, status, review_reason, returned }) => [
      ...(status === 'PROCESSING' || (status === 'PENDING' && review_reason === null)
        ? [`withdrawal ${id} is still ${status}`]
        : []),
      ...((bank.payouts.find((one) => one.id === payout)?.returned ?? 0) === returned
        ? []
        : [`withdrawal ${id} has not posted all that was sent back`]),
    ]),
    ...findMissingReturns({ transactions, disputes, bank }),
  ]
}

function findMissingReturns({ transactions, disputes, bank }: Pick<Seen, 'transactions' | 'disputes' | 'bank'>) {
  return transactions.flatMap(({ id, end_to_end }) => {
    const posted = disputes.filter((one) => one.transaction_id === id)
    const returned = bank.returns.filter((one) => one.end_to_end_id === end_to_end && one.nature !== 'ORIGINAL')
    const isSame = sum(posted, (one) => one.returned_amount) === sum(returned, ({ amount }) => amount)
    return isSame ? [] : [`transaction ${id} has not posted all that was returned under MED`]
  })
}
