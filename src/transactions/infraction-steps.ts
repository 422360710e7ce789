import type { Tx } from '../db/sql.ts'
import { type Posting, post } from '../ledger/post.ts'
import { contested, infractionReleased, infractionReturned, returnedUnannounced } from '../ledger/transfers.ts'
import { newUuid } from '../lib/secrets.ts'
import { leftOf, moveByRefunds } from './after-refunds.ts'
import { changeStatus } from './change.ts'
import { type InfractionRow, insertInfraction, listInfractions, updateInfraction } from './infraction-store.ts'
import { listRefunds, type RefundRow } from './refund-store.ts'
import type { LockedTransaction } from './store.ts'

/** The steps of a contest, each within the caller's commit and under the transaction's lock. */
export type Contest = { row: LockedTransaction; infraction: InfractionRow }

type Opening = { amount: number | null; reason: string | null; reference: string | null; openedAt: Date }

/** Blocks what is contested: of the payment, what is neither refunded nor on its way to be. */
export async function openContest(tx: Tx, row: LockedTransaction, opening: Opening, now: Date): Promise<Contest> {
  const refunds = await listRefunds(tx, row)
  const contestable = leftOf(row, refunds, 'REFUNDED')
  const infraction: InfractionRow = {
    merchant_id: row.merchant_id,
    id: newUuid(),
    transaction_id: row.id,
    acquirer_reference: opening.reference,
    // Where no amount is told, or nothing, it is the whole.
    amount: Math.min(contestable, opening.amount || contestable),
    reason: opening.reason,
    state: 'open',
    opened_at: opening.openedAt,
    decided_at: null,
    finished_at: null,
  }
  await insertInfraction(tx, infraction)
  const set = { infraction_date: opening.openedAt }
  const blocked = await changeStatus(tx, row, { to: 'BLOCKED', now, checkAt: null, set })
  await postContest(tx, row, infraction, 'blocked', now, contested(blockedBy(infraction, row, refunds)))
  return { row: blocked, infraction }
}

/** The payer is right: the money will be returned. */
export async function acceptContest(tx: Tx, { row, infraction }: Contest, now: Date): Promise<Contest> {
  const accepted: InfractionRow = { ...infraction, state: 'accepted', decided_at: now }
  await updateInfraction(tx, accepted)
  const moved = await changeStatus(tx, row, { to: 'PROCESSING_INFRACTION', now, checkAt: null, set: {} })
  return { row: moved, infraction: accepted }
}

/** The contest came to nothing: what was blocked is the merchant's again, and the transaction goes where its refunds say. */
export async function releaseContest(
  tx: Tx,
  { row, infraction }: Contest,
  state: 'rejected' | 'canceled',
  now: Date,
): Promise<Contest> {
  const released = { ...infraction, state, decided_at: infraction.decided_at ?? now, finished_at: now }
  await updateInfraction(tx, released)
  const amount = blockedBy(infraction, row, await listRefunds(tx, row))
  const moved = await moveByRefunds(tx, row, now)
  await postContest(tx, row, infraction, 'released', now, infractionReleased(amount))
  return { row: moved, infraction: released }
}

/**
 * The payment went back to the payer. Where the acquirer says how much, that counts: what was blocked beyond it is released, and what it
 * is beyond the blocked is taken from what is there, or owed.
 */
export async function returnContest(
  tx: Tx,
  { row, infraction }: Contest,
  told: number | null,
  now: Date,
): Promise<Contest> {
  const blocked = blockedBy(infraction, row, await listRefunds(tx, row))
  const amount = told ?? blocked
  // All of it had been refunded before: nothing was left to return.
  if (amount === 0) return await releaseContest(tx, { row, infraction }, 'canceled', now)
  const returned: InfractionRow = { ...infraction, amount, state: 'returned', finished_at: now }
  await updateInfraction(tx, returned)
  const moved = await changeStatus(tx, row, { to: 'INFRACTION', now, checkAt: null, set: {} })
  const ofBlocked = Math.min(blocked, amount)
  await postContest(tx, row, infraction, 'returned', now, (balances) => [
    ...infractionReturned(ofBlocked)(),
    ...returnedUnannounced(amount - ofBlocked)(balances),
  ])
  await postContest(tx, row, infraction, 'released', now, infractionReleased(blocked - ofBlocked))
  return { row: moved, infraction: returned }
}

/** A return under MED that nobody had announced. */
export async function returnUnannounced(
  tx: Tx,
  row: LockedTransaction,
  returned: { amount: number; reference: string | null; at: Date },
  now: Date,
): Promise<Contest> {
  const infraction: InfractionRow = {
    merchant_id: row.merchant_id,
    id: newUuid(),
    transaction_id: row.id,
    acquirer_reference: returned.reference,
    amount: returned.amount,
    reason: null,
    state: 'returned',
    opened_at: returned.at,
    decided_at: null,
    finished_at: now,
  }
  await insertInfraction(tx, infraction)
  const set = { infraction_date: row.infraction_date ?? returned.at }
  const moved =
    row.status === 'INFRACTION' ? row : await changeStatus(tx, row, { to: 'INFRACTION', now, checkAt: null, set })
  await postContest(tx, row, infraction, 'returned', now, returnedUnannounced(returned.amount))
  return { row: moved, infraction }
}

/** A refund was refused while its payment is contested: the contest takes hold of what it had spared for that refund. */
export async function blockWhatIsFree(tx: Tx, row: LockedTransaction, refund: RefundRow, now: Date): Promise<void> {
  const infraction = (await listInfractions(tx, row)).find(isUndecided)
  if (!infraction) return
  const refunds = await listRefunds(tx, row)
  const before = refunds.map((one) => (one.id === refund.id ? { ...one, status: refund.status } : one))
  const freed = blockedBy(infraction, row, refunds) - blockedBy(infraction, row, before)
  await postContest(tx, row, infraction, 'blocked_more', now, contested(freed))
}

export function isUndecided({ state }: Pick<InfractionRow, 'state'>): boolean {
  return state === 'open' || state === 'accepted'
}

/** What a contest that is not decided keeps blocked: no more than is neither refunded nor on its way to be. */
function blockedBy(
  infraction: InfractionRow,
  row: LockedTransaction,
  refunds: Pick<RefundRow, 'amount' | 'status'>[],
): number {
  return Math.min(infraction.amount, leftOf(row, refunds, 'REFUNDED', 'PROCESSING'))
}

async function postContest(
  tx: Tx,
  { acquirer }: LockedTransaction,
  infraction: InfractionRow,
  event: 'blocked' | 'blocked_more' | 'returned' | 'released',
  now: Date,
  transfers: Posting['transfers'],
): Promise<void> {
  await post(tx, {
    merchantId: infraction.merchant_id,
    eventKey: `infraction:${infraction.id}:${event}`,
    recordType: 'infraction',
    recordId: infraction.id,
    acquirer,
    now,
    transfers,
  })
}
