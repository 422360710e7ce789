import type { Logger } from 'pino'
import type { Acquirer, Payment } from '../acquirers/acquirer.ts'
import type { Db, Gate } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { holdPayments } from '../suspense/hold.ts'
import { findPaidBy, lockPaidBy, type Owner } from './owner-store.ts'
import { lockTransaction } from './store.ts'

/**
 * A payment is a transaction's or in suspense, never both, and the two ways to it have no row in common. So who books payments shares this gate,
 * and who takes one of nobody's into suspense has it alone for a moment: what the one has committed the other sees.
 */
const paymentsGate = 0x67_75_69_63
export const bookingGate: Gate = { number: paymentsGate, isShared: true }
const holdingGate: Gate = { number: paymentsGate, isShared: false }

type Deps = { db: Db; clock: Clock; log: Logger }
type Surplus = { merchantId: string; id: string; acquirer: Pick<Acquirer, 'name' | 'receiver'>; payment: Payment }

/**
 * Takes a confirmed payment of a transaction that another one has paid into suspense, which sends it back. However often it is called. In a
 * commit of its own: to lock accounts for this after those of payments that are booked would be another order than theirs.
 */
export async function holdSurplus(deps: Deps, { merchantId, id, acquirer, payment }: Surplus): Promise<void> {
  await deps.db.transaction(async (tx) => {
    // Under the lock of who books it (settle.ts): a payment without txid may be listed in the charge that it pays as well.
    const [paid] = payment.txid === null ? await lockPaidBy(tx, [payment.endToEndId]) : []
    if (paid?.acquirer === acquirer.name && paid.id !== id) return
    const row = await lockTransaction(tx, merchantId, id)
    assert(row?.end_to_end, 'a transaction with a second payment has a first')
    if (row.end_to_end === payment.endToEndId) return
    const held = { acquirer, payment, kind: 'surplus', merchantId, transactionId: id } as const
    await holdPayments(tx, [held], deps.clock.now())
  })
  const { endToEndId } = payment
  deps.log.warn({ transactionId: id, acquirer: acquirer.name, endToEndId }, 'a transaction was paid a second time')
}

/**
 * Takes a confirmed payment that names no transaction of ours into suspense, with what went back of it. However often it is called. Gives the
 * transaction that it has paid after all, and then holds nothing: a charge may list a payment that names none itself, and an operator may
 * have matched it.
 */
export async function holdOrphan(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { acquirer, payment }: Pick<Surplus, 'acquirer' | 'payment'>,
): Promise<Owner | null> {
  return await db.transaction(async (tx) => {
    const paid = await findPaidBy(tx, payment.endToEndId)
    if (paid?.acquirer === acquirer.name) return paid
    const held = { acquirer, payment, kind: 'orphan', merchantId: null, transactionId: null } as const
    await holdPayments(tx, [held], clock.now())
    return null
  }, holdingGate)
}
