import type { InfractionFound, Payment } from '../acquirers/acquirer.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { leftOf } from './after-refunds.ts'
import {
  acceptContest,
  type Contest,
  isUndecided,
  openContest,
  releaseContest,
  returnContest,
} from './infraction-steps.ts'
import { listInfractions, updateInfraction } from './infraction-store.ts'
import { findOwners } from './owner-store.ts'
import { listRefunds } from './refund-store.ts'
import { bookReturns } from './returns.ts'
import type { SettleDeps } from './settle.ts'
import { type LockedTransaction, lockTransaction } from './store.ts'

export type InfractionDeps = { db: Db; clock: Clock; nudgeDeliveries: () => void }

/**
 * A MED that the operator heard of: blocks the payment, or as much of it as is named.
 *
 * @throws {AppError} `not_found`, or `infraction_not_possible` with the reason
 */
export async function openInfraction(
  deps: InfractionDeps,
  input: { merchantId: string; transactionId: string; amount?: number; reason?: string },
): Promise<{ id: string }> {
  const contest = await deps.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, input.merchantId, input.transactionId)
    if (!row) throw unknown()
    if (!mayOpen(row))
      throw refuse(
        `A transaction that is ${row.status} cannot be contested: only one that is PAID or PROCESSING_REFUND.`,
      )
    const contestable = leftOf(row, await listRefunds(tx, row), 'REFUNDED')
    const amount = input.amount ?? contestable
    if (!Number.isSafeInteger(amount) || amount < 1 || amount > contestable)
      throw refuse(`The amount must be from 1 to the ${contestable} cents that are not refunded.`)
    const now = deps.clock.now()
    return await openContest(tx, row, { amount, reason: input.reason ?? null, reference: null, openedAt: now }, now)
  })
  deps.nudgeDeliveries()
  return { id: contest.infraction.id }
}

export type Decision = {
  transactionId: string
  /** The contest that was looked at, where one was: another may have been opened since. */
  infractionId?: string
  decision: 'accept' | 'reject'
}

/**
 * What the operator, or the bank that it asked, decided about the open contest of a transaction. Accepted, it stays blocked until the
 * acquirer tells of the return; rejected, it is released.
 *
 * @throws {AppError} `not_found`, or `infraction_not_possible` with the reason
 */
export async function decideInfraction(
  deps: InfractionDeps,
  { transactionId, infractionId, decision }: Decision,
): Promise<{ id: string }> {
  const [owner] = await findOwners(deps.db, [transactionId])
  if (!owner) throw unknown()
  const contest = await deps.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, owner.merchant_id, owner.id)
    if (!row) throw unknown()
    const infraction = (await listInfractions(tx, row)).find(isUndecided)
    if (!infraction || (infractionId !== undefined && infraction.id !== infractionId))
      throw refuse('The transaction has no contest that is to be decided.')
    const now = deps.clock.now()
    if (decision === 'reject') return await releaseContest(tx, { row, infraction }, 'rejected', now)
    if (infraction.state === 'accepted') throw refuse('The contest is accepted already, and waits for the return.')
    return await acceptContest(tx, { row, infraction }, now)
  })
  deps.nudgeDeliveries()
  return { id: contest.infraction.id }
}

type Told = { merchantId: string; id: string; found: InfractionFound; payment: Payment }

/** Brings a transaction to where the acquirer says that its contest is, however often it says so. */
export async function followInfraction(deps: SettleDeps, { merchantId, id, found, payment }: Told): Promise<void> {
  const isBooked = await deps.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, merchantId, id)
    if (row?.end_to_end !== found.endToEndId) return false
    const now = deps.clock.now()
    const contest = await findOrOpen(tx, row, found, now)
    if (contest && isUndecided(contest.infraction)) await follow(tx, contest, { found, payment }, now)
    // Whatever was thought of the contest: what went back to the payer is gone.
    else await bookReturns(tx, row, payment, now)
    return contest !== null
  })
  deps.nudgeDeliveries()
  // Refunded or returned before, contested twice at once, or a second payment of the transaction: somebody has to look.
  if (!isBooked && isUndecided(found))
    deps.log.error({ transactionId: id, reference: found.reference }, 'a contest could not be opened')
}

/** The contest under the acquirer's reference; or the one that the operator entered before the acquirer told; or a new one. */
async function findOrOpen(tx: Tx, row: LockedTransaction, found: InfractionFound, now: Date): Promise<Contest | null> {
  const infractions = await listInfractions(tx, row)
  const known = infractions.find(({ acquirer_reference }) => acquirer_reference === found.reference)
  if (known) return { row, infraction: known }
  const entered = infractions.find((one) => one.acquirer_reference === null && isUndecided(one))
  if (entered) {
    const infraction = { ...entered, acquirer_reference: found.reference }
    await updateInfraction(tx, infraction)
    return { row, infraction }
  }
  // One that came to nothing before we heard of it never blocked anything.
  if (!mayOpen(row) || found.state === 'rejected' || found.state === 'canceled') return null
  return await openContest(tx, row, found, now)
}

async function follow(
  tx: Tx,
  contest: Contest,
  { found, payment }: Pick<Told, 'found' | 'payment'>,
  now: Date,
): Promise<void> {
  if (found.state === 'rejected' || found.state === 'canceled') {
    await releaseContest(tx, contest, found.state, now)
    return
  }
  if (found.state === 'open') return
  const accepted = contest.infraction.state === 'open' ? await acceptContest(tx, contest, now) : contest
  if (found.state === 'accepted') return
  // What the payment tells of its return is more exact than the contest.
  const row = await bookReturns(tx, accepted.row, payment, now)
  if (row.status !== 'INFRACTION') await returnContest(tx, accepted, null, now)
}

function mayOpen(row: LockedTransaction): boolean {
  return row.status === 'PAID' || row.status === 'PROCESSING_REFUND'
}

function unknown(): AppError {
  return new AppError('not_found', { detail: 'There is no transaction with this id.' })
}

function refuse(detail: string): AppError {
  return new AppError('infraction_not_possible', { detail })
}
