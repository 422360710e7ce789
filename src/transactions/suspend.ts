import type { Logger } from 'pino'
import type { Acquirer, Payment } from '../acquirers/acquirer.ts'
import type { AdvisoryLock, Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { placeInSuspense } from '../suspense/place.ts'
import { findPaidBy, lockPaidBy, type Owner } from './owner-store.ts'
import { lockTransaction } from './store.ts'

/**
 * A payment belongs to a transaction or to suspense, never both, and the two paths lock no row in common. So every
 * process that records payments takes this advisory lock in shared mode, and one that places an unattributed payment
 * in suspense takes it exclusively for a moment: each then sees what the other has committed.
 */
const paymentsLock = 0x67_75_69_63
export const recordingLock: AdvisoryLock = { number: paymentsLock, isShared: true }
const suspendingLock: AdvisoryLock = { number: paymentsLock, isShared: false }

type Deps = { db: Db; clock: Clock; log: Logger }
type Duplicate = { merchantId: string; id: string; acquirer: Pick<Acquirer, 'name' | 'receiver'>; payment: Payment }

/**
 * Places in suspense a confirmed payment of a transaction that another payment has already paid; from there it is sent
 * back. Places nothing if the payment has paid this transaction or another one. Safe to repeat. It uses a database
 * transaction of its own: the one that records payments has already locked accounts, and locking more of them
 * afterwards could deadlock.
 */
export async function suspendDuplicate(deps: Deps, { merchantId, id, acquirer, payment }: Duplicate): Promise<void> {
  const isPlaced = await deps.db.transaction(async (tx) => {
    // A PSP may list a payment without a txid in several charges, also in the one that it pays. `recordPayments`
    // (settle.ts) takes the same lock, so this reads whether the payment has already paid one of them.
    const [paid] = payment.txid === null ? await lockPaidBy(tx, [payment.endToEndId]) : []
    if (paid?.acquirer === acquirer.name && paid.id !== id) return false
    const row = await lockTransaction(tx, merchantId, id)
    assert(row?.end_to_end, 'a transaction with a second payment has a first')
    if (row.end_to_end === payment.endToEndId) return false
    const suspended = { acquirer, payment, kind: 'duplicate', merchantId, transactionId: id } as const
    await placeInSuspense(tx, [suspended], deps.clock.now())
    return true
  })
  if (!isPlaced) return
  const { endToEndId } = payment
  deps.log.warn({ transactionId: id, acquirer: acquirer.name, endToEndId }, 'a transaction was paid a second time')
}

/**
 * Places a confirmed payment that names no transaction of ours in suspense, with what was returned of it. Safe to
 * repeat. If the payment has paid a transaction after all, it places nothing and returns that transaction: a charge
 * may list a payment that names none itself, and an operator may have attributed it.
 */
export async function suspendUnattributed(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { acquirer, payment }: Pick<Duplicate, 'acquirer' | 'payment'>,
): Promise<Owner | null> {
  return await db.transaction(async (tx) => {
    const paid = await findPaidBy(tx, payment.endToEndId)
    if (paid?.acquirer === acquirer.name) return paid
    const suspended = { acquirer, payment, kind: 'unattributed', merchantId: null, transactionId: null } as const
    await placeInSuspense(tx, [suspended], clock.now())
    return null
  }, suspendingLock)
}
