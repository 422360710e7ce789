import type { Logger } from 'pino'
import type { Acquirer, Payment } from '../acquirers/acquirer.ts'
import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { holdPayments } from '../suspense/hold.ts'
import { lockTransaction } from './store.ts'

type Deps = { db: Db; clock: Clock; log: Logger }
type Surplus = { merchantId: string; id: string; acquirer: Pick<Acquirer, 'name' | 'receiver'>; payment: Payment }

/**
 * Takes a confirmed payment of a transaction that another one has paid into suspense, which sends it back. However often it is called. In a
 * commit of its own: to lock accounts for this after those of payments that are booked would be another order than theirs.
 */
export async function holdSurplus(deps: Deps, { merchantId, id, acquirer, payment }: Surplus): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, merchantId, id)
    assert(row?.end_to_end, 'a transaction with a second payment has a first')
    if (row.end_to_end === payment.endToEndId) return
    const held = { acquirer, payment, kind: 'surplus', merchantId, transactionId: id } as const
    await holdPayments(tx, [held], deps.clock.now())
  })
  const { endToEndId } = payment
  deps.log.warn({ transactionId: id, acquirer: acquirer.name, endToEndId }, 'a transaction was paid a second time')
}
