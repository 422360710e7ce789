import type { Window } from '../lib/brasilia.ts'
import { refusal } from '../lib/errors.ts'
import { canonicalJson } from '../lib/json.ts'
import { newUuid } from '../lib/secrets.ts'
import { findPayoutKey } from '../withdrawals/store.ts'
import type { Found } from './classes.ts'
import { compare } from './compare.ts'
import { toFoundPayout, toListedPayment, toListedPayout, toReturned } from './listing.ts'
import {
  addEntries,
  addNamedPayments,
  addPaidPayments,
  addPostedReturns,
  addWithdrawals,
  deletePairs,
  insertListed,
  type Listed,
  listPairs,
  nameEntries,
} from './pairs-store.ts'
import { type ReconcileDeps, rulesFor } from './run.ts'
import type { DiscrepancyRow } from './store.ts'

/**
 * Compares the subject of one discrepancy again: since it was found either side may have changed, and then its
 * correction would be wrong.
 *
 * @throws {AppError} `difference_not_possible` when the discrepancy no longer exists as it was found
 * @throws {AcquirerUnavailable} when the acquirer cannot be queried
 */
export async function assertStillDiffers(deps: ReconcileDeps, difference: DiscrepancyRow): Promise<void> {
  const { acquirer, reference, at } = difference
  const listed = await readAtAcquirer(deps, difference)
  const found = (await compareAgain(deps, difference, { listed, at })).find((one) => one.class === difference.class)
  if (found && canonicalJson(found.proposal) === canonicalJson(difference.proposal)) return
  throw refusal(
    'difference_not_possible',
    'changed',
    `${acquirer} or the ledger has changed for ${reference} meanwhile, so nothing was posted. Run \`npx guiche reconcile\` to compare again, then check it again.`,
  )
}

/**
 * Whether the acquirer shows returns of the payment of a discrepancy, and the service has posted all of them that it
 * can post without a correction.
 *
 * @throws {AcquirerUnavailable} when the acquirer cannot be queried
 */
export async function areReturnsSettled(deps: ReconcileDeps, difference: DiscrepancyRow): Promise<boolean> {
  const listed = await readAtAcquirer(deps, difference)
  if (!listed) return false
  const found = await compareAgain(deps, difference, { listed, at: listed.at })
  return found.every(({ proposal: { action } }) => action !== 'settle' && action !== 'none')
}

/** A separate run that compares one pair: one payment, return or payout at the acquirer and in the ledger. */
async function compareAgain(
  { db, acquirers, clock }: ReconcileDeps,
  { acquirer: name, subject, reference: key }: DiscrepancyRow,
  { listed, at }: { listed: Listed | null; at: Date },
): Promise<Found[]> {
  const acquirer = acquirers.named(name)
  const runId = newUuid()
  const scope = { runId, acquirer: name, ...millisecondOf(at) }
  try {
    if (listed) await insertListed(db, runId, [listed])
    if (subject === 'payment') {
      await addPaidPayments(db, scope)
      await addNamedPayments(db, scope)
    }
    if (subject === 'return') await addPostedReturns(db, scope)
    if (subject === 'payout') {
      const hasList = Boolean(acquirer.payouts?.list)
      await addWithdrawals(db, { ...scope, hasList, isRolling: false })
      await nameEntries(db, scope)
      await addEntries(db, scope)
    }
    const pairs = await listPairs(db, { runId, acquirer: name, subject, after: '', limit: pairsMax })
    const pair = pairs.find((one) => one.key === key)
    return pair ? compare(pair, rulesFor(acquirer, { window: scope, startedAt: clock.now(), kind: 'manual' })) : []
  } finally {
    await deletePairs(db, { runId, before: new Date(0) })
  }
}

function millisecondOf(at: Date): Window {
  return { from: at, to: new Date(at.getTime() + 1) }
}

/** More than the ledger can have within one millisecond. */
const pairsMax = 10_000

/** The range around the time of a listed payout: some PSPs' lists have whole seconds. */
const nearMs = 1_000

async function readAtAcquirer(
  { db, acquirers }: ReconcileDeps,
  { acquirer: name, subject, reference, at, in_ledger: inLedger, at_acquirer: atAcquirer }: DiscrepancyRow,
): Promise<Listed | null> {
  const acquirer = acquirers.named(name)
  const window = millisecondOf(at)
  if (subject !== 'payout') {
    const payment = await acquirer.findPayment(reference)
    if (!payment) return null
    return subject === 'payment' ? toListedPayment(payment, window) : toReturned(payment, window)
  }
  const list = acquirer.payouts?.list
  if (atAcquirer && list) {
    const range = { from: new Date(at.getTime() - nearMs), to: new Date(at.getTime() + nearMs) }
    for await (const payout of list(range)) {
      const listed = toListedPayout(payout, window)
      if (listed.key === reference) return listed
    }
    return null
  }
  const found = await acquirer.payouts?.find(await findPayoutKey(db, reference))
  if (!found || !inLedger) return null
  return { ...toFoundPayout(found, { amount: inLedger.amount, at }, window), subject, key: reference }
}
