import {
  type Acquirer,
  AcquirerUnavailable,
  type Payment,
  UnreadableAnswer,
  type UnreadableEntry,
} from '../acquirers/acquirer.ts'
import { enqueueJob } from '../jobs/jobs.ts'
import { forEachConcurrent } from '../lib/concurrent.ts'
import { fromTxid } from '../pix/ids.ts'
import { takeOtherCells } from '../suspense/other-cell.ts'
import { findFirstListedAt, findListedUntil, saveListedUntil } from './cursor-store.ts'
import { settleReturnsInOrder } from './dispute/poll.ts'
import { type CheckReturnsPayload, checkReturnsJob } from './dispute/returns.ts'
import { findOwners, type Owner } from './owner-store.ts'
import { mayHaveCharge, type ReportedPayment, type SettleDeps, settleTransaction } from './settle.ts'
import { enqueueUnattributed } from './settle-unattributed.ts'

/** The job that settles one transaction. */
export const settleJob = 'transactions.settle'
export type SettlePayload = { merchantId: string; id: string; reported: ReportedPayment }

/** Each poll starts this long before the end of the last one. */
const overlapMs = 5_000
/**
 * A payment may appear in the acquirer's list up to this long after its own time, so every range is read again this
 * much later.
 */
const lateMs = 2 * 60_000
/** How far back a poll reads at most: the first one, or one after a long stop. */
const reachMs = 7 * 24 * 60 * 60_000
const chunkMax = 100
/** After this many failures in a row the acquirer counts as unavailable: an outage makes no job for each payment. */
const failuresMax = 20

/**
 * Reads each acquirer's list of payments since the last poll, and settles those that no callback announced. An
 * acquirer that hangs delays no other.
 */
export async function pollPayments(deps: SettleDeps, stopping: AbortSignal): Promise<void> {
  await forEachConcurrent(deps.acquirers.all, stopping, async (acquirer) => {
    try {
      await pollAcquirer(deps, acquirer, stopping)
    } catch (error) {
      if (stopping.aborted) return
      if (error instanceof UnreadableAnswer)
        deps.log.error(
          { acquirer: acquirer.name, reason: error.message },
          'payments in an acquirer’s list cannot be read: look them up at the acquirer',
        )
      else if (error instanceof AcquirerUnavailable)
        deps.log.warn(
          { acquirer: acquirer.name, reason: error.message },
          'the payments of an acquirer could not all be read and confirmed: the next poll tries again',
        )
      else
        deps.log.error(
          { err: error, acquirer: acquirer.name },
          'the poll of an acquirer’s payments failed: the next one tries again',
        )
    }
  })
}

async function pollAcquirer(deps: SettleDeps, acquirer: Acquirer, stopping: AbortSignal): Promise<void> {
  const to = deps.clock.now()
  const listedUntil = await findListedUntil(deps.db, acquirer.name)
  const from = new Date(
    Math.max(to.getTime() - reachMs, Math.min(to.getTime(), listedUntil?.getTime() ?? 0) - overlapMs),
  )
  const poll = { acquirer, firstListedAt: await findFirstListedAt(deps.db, acquirer.name), stopping, failures: 0 }
  // The reconciliation keeps the entry as a discrepancy (reconciliation/run.ts).
  const onUnreadable = ({ reference }: UnreadableEntry) =>
    deps.log.warn(
      { acquirer: acquirer.name, reference },
      'a payment in an acquirer’s list cannot be read: the others are processed',
    )
  await settleListed(deps, poll, acquirer.listPayments({ ...toLate({ from, to }), onUnreadable }))
  await settleListed(deps, poll, acquirer.listPayments({ from, to, onUnreadable }))
  // Not after a stop in between: the next poll then starts where this one did.
  if (!stopping.aborted) await saveListedUntil(deps.db, acquirer.name, { before: listedUntil, to })
}

/**
 * The range to read a second time. It begins `lateMs` before the new range, shortly before the point at which the
 * second reading of the last poll ended. It ends `lateMs` before now, or at the start of the new range if that is
 * earlier. With regular polls it is as long as the new range.
 */
function toLate({ from, to }: { from: Date; to: Date }): { from: Date; to: Date } {
  const until = Math.min(from.getTime(), to.getTime() - lateMs)
  return { from: new Date(from.getTime() - lateMs), to: new Date(until) }
}

/**
 * `firstListedAt`: null in the first poll. Money that arrived in the account before that is none of our business.
 * `failures`: the payments in a row that the acquirer could not confirm.
 */
type Poll = { acquirer: Acquirer; firstListedAt: Date | null; stopping: AbortSignal; failures: number }

async function settleListed(deps: SettleDeps, poll: Poll, payments: AsyncIterable<Payment>): Promise<void> {
  const chunk: Payment[] = []
  try {
    for await (const payment of payments) {
      chunk.push(payment)
      if (poll.stopping.aborted) break
      if (chunk.length < chunkMax) continue
      await settleMissing(deps, poll, chunk.splice(0))
    }
  } catch (error) {
    // Payments read before the list was interrupted are settled. If that fails too, the first error is still thrown.
    await settleMissing(deps, poll, chunk).catch((err: unknown) =>
      deps.log.warn(
        { err, acquirer: poll.acquirer.name },
        'payments read before an acquirer’s list was interrupted could not be settled: the next poll tries again',
      ),
    )
    throw error
  }
  await settleMissing(deps, poll, chunk)
}

/** Settles those of them that are not recorded yet. */
async function settleMissing(deps: SettleDeps, poll: Poll, payments: Payment[]): Promise<void> {
  const ids = payments.flatMap(({ txid }) => toId(txid) ?? [])
  const owners = new Map<string, Owner>()
  if (ids.length > 0) for (const owner of await findOwners(deps.db, ids)) owners.set(owner.id, owner)
  const acquirer = poll.acquirer.name
  const ownerOf = ({ txid }: Payment) => {
    const owner = owners.get(toId(txid) ?? '')
    return owner && mayHaveCharge(owner, acquirer) ? owner : null
  }
  await forEachConcurrent(payments, poll.stopping, async (payment) => {
    const { endToEndId } = payment
    const owner = ownerOf(payment)
    if (!owner) return
    const key = { merchantId: owner.merchant_id, id: owner.id }
    if (owner.end_to_end === endToEndId) return await settleReturned(deps, key, payment)
    await settle(deps, poll, { ...key, reported: { acquirer, endToEndId } })
  })
  const unattributed = await takeOtherCells(
    deps,
    acquirer,
    payments.filter((payment) => !ownerOf(payment)),
  )
  const { firstListedAt } = poll
  if (firstListedAt === null) return
  await enqueueUnattributed(
    deps,
    acquirer,
    unattributed.filter(({ paidAt }) => paidAt >= firstListedAt),
  )
}

function toId(txid: string | null): string | null {
  return txid === null ? null : fromTxid(txid)
}

async function settle(deps: SettleDeps, poll: Poll, payload: SettlePayload): Promise<void> {
  try {
    await settleListedPayment(deps, payload)
    poll.failures = 0
  } catch (error) {
    // A single payment that fails must not keep all later ones waiting: it gets its own job.
    if (error instanceof AcquirerUnavailable) {
      if (!(error instanceof ListedOnly)) poll.failures += 1
      if (!poll.acquirer.isAvailable() || poll.failures >= failuresMax) throw error
      deps.log.warn(
        { transactionId: payload.id, reason: error.message },
        'a payment in an acquirer’s list could not be confirmed and will be tried again',
      )
    } else
      deps.log.error(
        { err: error, transactionId: payload.id },
        'a payment could not be recorded and will be tried again',
      )
    await enqueueJob(deps.db, {
      name: settleJob,
      payload,
      key: `${settleJob} ${payload.reported.endToEndId}`,
      ifQueued: 'keep',
    })
  }
}

/**
 * Settles a payment of an acquirer's list. The acquirer may not return it individually yet, and by the time it does
 * the payment may be out of the list's range: it must not count as unpaid.
 *
 * @throws {AcquirerUnavailable} when it cannot be confirmed now
 */
export async function settleListedPayment(deps: SettleDeps, payload: SettlePayload): Promise<void> {
  if ((await settleTransaction(deps, payload)) === 'unpaid') throw new ListedOnly()
}

class ListedOnly extends AcquirerUnavailable {
  constructor() {
    super('a payment is in the acquirer’s list and cannot be fetched individually yet')
  }
}

/** A return that cannot be recorded must not keep the others waiting either. */
export async function settleReturned(deps: SettleDeps, key: CheckReturnsPayload, payment: Payment): Promise<void> {
  try {
    await settleReturnsInOrder(deps, { ...key, payment })
  } catch (error) {
    deps.log.error({ err: error, transactionId: key.id }, 'a return could not be recorded and will be tried again')
    await enqueueJob(deps.db, {
      name: checkReturnsJob,
      payload: key,
      key: `${checkReturnsJob} ${key.id}`,
      ifQueued: 'keep',
    })
  }
}
