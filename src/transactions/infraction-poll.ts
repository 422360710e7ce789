import { type Acquirer, AcquirerUnavailable, type InfractionFound, type Infractions } from '../acquirers/acquirer.ts'
import { eachAtOnce } from '../lib/at-once.ts'
import { fromTxid } from '../pix/ids.ts'
import { followInfraction } from './infraction.ts'
import { findOwners, findPaidBy } from './owner-store.ts'
import { type SettleDeps, settleTransaction, wasAsked } from './settle.ts'
import { findListedUntil, saveListedUntil } from './store.ts'

/** A change may appear in the acquirer's list a little after its own time. */
const overlapMs = 2 * 60_000
/** How far back the first reading goes: a contest may be opened 80 days after a payment, and runs for 18 at most. */
const reachMs = 100 * 24 * 60 * 60_000

/** Reads what has become of contests (MED) since the last time, where acquirers tell of them. */
export async function pollInfractions(deps: SettleDeps, stopping: AbortSignal): Promise<void> {
  await eachAtOnce(deps.acquirers.all, stopping, async (acquirer) => {
    if (!acquirer.infractions) return
    try {
      await pollAcquirer(deps, acquirer, acquirer.infractions, stopping)
    } catch (error) {
      if (error instanceof AcquirerUnavailable)
        deps.log.warn({ acquirer: acquirer.name, reason: error.message }, 'the acquirer does not list its contests now')
      else deps.log.error({ err: error, acquirer: acquirer.name }, 'the contests of an acquirer could not be read')
    }
  })
}

async function pollAcquirer(
  deps: SettleDeps,
  acquirer: Acquirer,
  infractions: Infractions,
  stopping: AbortSignal,
): Promise<void> {
  const cursor = `${acquirer.name}:infractions`
  const to = deps.clock.now()
  const listedUntil = await findListedUntil(deps.db, cursor)
  const from = new Date(Math.max(to.getTime() - reachMs, (listedUntil?.getTime() ?? 0) - overlapMs))
  let isWhole = true
  for await (const found of infractions.list({ from, to })) {
    if (stopping.aborted) return
    isWhole = (await settleInfraction(deps, acquirer, found)) && isWhole
  }
  // What could not be booked is read again the next time.
  if (isWhole) await saveListedUntil(deps.db, cursor, to)
}

/** False when one fails of its own: it must not keep the others waiting. */
async function settleInfraction(deps: SettleDeps, acquirer: Acquirer, found: InfractionFound): Promise<boolean> {
  try {
    await book(deps, acquirer, found)
    return true
  } catch (error) {
    if (error instanceof AcquirerUnavailable) throw error
    deps.log.error({ err: error, reference: found.reference }, 'a contest could not be booked and will be tried again')
    return false
  }
}

/** The payment tells whose it is, and what of it was really returned. */
async function book(deps: SettleDeps, acquirer: Acquirer, found: InfractionFound): Promise<void> {
  const payment = await acquirer.findPayment(found.endToEndId)
  const id = payment?.txid ? fromTxid(payment.txid) : null
  const [named] = id === null ? [] : await findOwners(deps.db, [id])
  // One that names no transaction, or one that was paid before, may have been matched to another.
  const isNamed = named?.end_to_end === found.endToEndId
  const owner = (isNamed ? null : await findPaidBy(deps.db, found.endToEndId)) ?? named
  if (!payment || !owner || !wasAsked(owner, acquirer.name)) {
    deps.log.warn({ acquirer: acquirer.name, reference: found.reference }, 'a contest of no payment of ours')
    return
  }
  const key = { merchantId: owner.merchant_id, id: owner.id }
  // Its callback is still on the way.
  if (owner.end_to_end === null)
    await settleTransaction(deps, { ...key, told: { acquirer: acquirer.name, endToEndId: found.endToEndId } })
  await followInfraction(deps, { ...key, found, payment })
}
