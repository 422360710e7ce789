import type { Acquirer, Payment } from '../acquirers/acquirer.ts'
import { AcquirerUnavailable } from '../acquirers/acquirer.ts'
import { fromTxid } from '../pix/ids.ts'
import { type SettleDeps, settleTransaction } from './settle.ts'
import { findListedUntil, findOwners, saveListedUntil } from './store.ts'

/** A payment may appear in the acquirer's list a little after its own time. */
const overlapMs = 2 * 60_000
/** How far back the first reading goes, and one after a long stop at most. */
const reachMs = 7 * 24 * 60 * 60_000
const chunkMax = 100

/** Reads each acquirer's list of payments since the last time and settles those that no callback told of. */
export async function pollPayments(deps: SettleDeps): Promise<void> {
  for (const acquirer of deps.acquirers.all) {
    try {
      await pollAcquirer(deps, acquirer)
    } catch (error) {
      if (!(error instanceof AcquirerUnavailable)) throw error
      deps.log.warn({ acquirer: acquirer.name }, 'the acquirer does not list its payments now')
    }
  }
}

async function pollAcquirer(deps: SettleDeps, acquirer: Acquirer): Promise<void> {
  const to = deps.clock.now()
  const listedUntil = await findListedUntil(deps.db, acquirer.name)
  const from = new Date(Math.max(to.getTime() - reachMs, (listedUntil?.getTime() ?? 0) - overlapMs))
  const chunk: Payment[] = []
  for await (const payment of acquirer.listPayments({ from, to })) {
    chunk.push(payment)
    if (chunk.length === chunkMax) await settleMissing(deps, chunk.splice(0))
  }
  await settleMissing(deps, chunk)
  await saveListedUntil(deps.db, acquirer.name, to)
}

async function settleMissing(deps: SettleDeps, payments: Payment[]): Promise<void> {
  const named = payments.flatMap(({ txid, endToEndId }) => {
    const id = txid === null ? null : fromTxid(txid)
    return id === null ? [] : [{ id, endToEndId }]
  })
  if (named.length === 0) return
  const owners = new Map(
    (
      await findOwners(
        deps.db,
        named.map(({ id }) => id),
      )
    ).map((owner) => [owner.id, owner]),
  )
  for (const { id, endToEndId } of named) {
    const owner = owners.get(id)
    // A second payment of one transaction is not settled again each time it is listed.
    if (owner && owner.end_to_end === null)
      await settleTransaction(deps, { merchantId: owner.merchant_id, id, hint: endToEndId })
  }
}
