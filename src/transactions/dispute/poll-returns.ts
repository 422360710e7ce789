import { type Acquirer, AcquirerUnavailable, type Payment } from '../../acquirers/acquirer.ts'
import { forEachConcurrent } from '../../lib/concurrent.ts'
import { listBehind } from '../../suspense/store.ts'
import { findReturnsReadFrom, saveReturnsReadFrom } from '../cursor-store.ts'
import { listPaidBy } from '../owner-store.ts'
import { settleReturned } from '../poll.ts'
import type { SettleDeps } from '../settle.ts'
import { enqueueUnattributed } from '../settle-unattributed.ts'

const dayMs = 24 * 60 * 60_000
/** How long the Pix system accepts returns of a payment. */
const returnableMs = 90 * dayMs
/** Most returns under MED come within days of the payment: payments this recent are read each time. */
const recentMs = 3 * dayMs
/** How many entries of the older ones are read each time: 50 pages of most PSPs. The next time continues from there. */
const entriesMax = 5_000
/**
 * After a part with fewer entries than this, the next part covers twice the time: with little traffic, 90 days are
 * seven parts.
 */
const fewEntries = 50
const chunkMax = 100

/**
 * Reads each acquirer's list of payments that have a return, and records the returns that no callback announced:
 * money that a bank took back under MED must not stay available. Only the payment itself shows such a return, and by
 * then the polling of new payments is past it.
 */
export async function pollReturns(deps: SettleDeps, stopping: AbortSignal): Promise<void> {
  await forEachConcurrent(deps.acquirers.all, stopping, async (acquirer) => {
    try {
      await pollAcquirer(deps, acquirer, stopping)
    } catch (error) {
      if (stopping.aborted) return
      if (error instanceof AcquirerUnavailable)
        deps.log.warn(
          { acquirer: acquirer.name, reason: error.message },
          'the acquirer’s list of returns is unavailable at the moment',
        )
      else deps.log.error({ err: error, acquirer: acquirer.name }, 'the returns of an acquirer could not be read')
    }
  })
}

async function pollAcquirer(deps: SettleDeps, acquirer: Acquirer, stopping: AbortSignal): Promise<void> {
  const now = deps.clock.now().getTime()
  const [oldest, recent] = [now - returnableMs, now - recentMs]
  await readPart(deps, acquirer, { from: recent, to: now }, stopping)
  let saved = await findReturnsReadFrom(deps.db, acquirer.name)
  const savedFrom = saved?.getTime() ?? recent
  let to = savedFrom > oldest && savedFrom <= recent ? savedFrom : recent
  let lengthMs = dayMs
  for (let count = 0; count < entriesMax && to > oldest && !stopping.aborted; ) {
    const from = Math.max(oldest, to - lengthMs)
    const read = await readPart(deps, acquirer, { from, to }, stopping)
    count += read
    if (read < fewEntries) lengthMs *= 2
    else lengthMs = dayMs
    to = from
    // After the last part it starts again with the first.
    if (stopping.aborted) return
    const next = to > oldest ? new Date(to) : null
    await saveReturnsReadFrom(deps.db, acquirer.name, { before: saved, from: next })
    saved = next
  }
}

/** Returns how many entries the part had. */
async function readPart(
  deps: SettleDeps,
  acquirer: Acquirer,
  { from, to }: { from: number; to: number },
  stopping: AbortSignal,
): Promise<number> {
  // The daily reconciliation reads this list as well, and keeps entries that cannot be read.
  const range = { from: new Date(from), to: new Date(to), withReturns: true, onUnreadable: () => {} }
  const chunk: Payment[] = []
  let count = 0
  for await (const payment of acquirer.listPayments(range)) {
    if (stopping.aborted) return count
    count += 1
    chunk.push(payment)
    if (chunk.length < chunkMax) continue
    await follow(deps, acquirer, chunk.splice(0), stopping)
  }
  await follow(deps, acquirer, chunk, stopping)
  return count
}

async function follow(deps: SettleDeps, acquirer: Acquirer, payments: Payment[], stopping: AbortSignal): Promise<void> {
  const returned = payments.filter((payment) => payment.returns.some(({ isDone }) => isDone))
  if (returned.length === 0) return
  const underMed = returned.filter(({ returns }) =>
    returns.some(({ isDone, nature }) => isDone && nature.startsWith('MED')),
  )
  const ids = underMed.map(({ endToEndId }) => endToEndId)
  const owners = ids.length === 0 ? [] : await listPaidBy(deps.db, ids)
  const ownerOf = new Map(owners.map((owner) => [`${owner.acquirer} ${owner.end_to_end}`, owner]))
  await forEachConcurrent(underMed, stopping, async (payment) => {
    const owner = ownerOf.get(`${acquirer.name} ${payment.endToEndId}`)
    if (owner) await settleReturned(deps, { merchantId: owner.merchant_id, id: owner.id }, payment)
  })
  const sums = returned.map(({ endToEndId, returns }) => ({
    endToEndId,
    returned: returns.reduce((sum, { isDone, amount }) => sum + (isDone ? amount : 0), 0),
  }))
  const behind = new Set(await listBehind(deps.db, acquirer.name, sums))
  await enqueueUnattributed(
    deps,
    acquirer.name,
    returned.filter(({ endToEndId }) => behind.has(endToEndId)),
  )
}
