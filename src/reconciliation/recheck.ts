import type { Acquirer } from '../acquirers/acquirer.ts'
import type { Db } from '../db/sql.ts'
import type { Window } from '../lib/brasilia.ts'
import { refusal } from '../lib/errors.ts'
import { canonicalJson } from '../lib/json.ts'
import { newUuid } from '../lib/secrets.ts'
import { findPayoutKey } from '../withdrawals/store.ts'
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
  const { acquirer: name, subject, reference: key, at } = difference
  const acquirer = deps.acquirers.named(name)
  // A separate run that compares one pair: one payment, return or payout at the acquirer and in the ledger.
  const runId = newUuid()
  const scope = { runId, acquirer: name, from: at, to: new Date(at.getTime() + 1) }
  try {
    const listed = await readAtAcquirer(deps.db, acquirer, difference, scope)
    if (listed) await insertListed(deps.db, runId, [listed])
    if (subject === 'payment') {
      await addPaidPayments(deps.db, scope)
      await addNamedPayments(deps.db, scope)
    }
    if (subject === 'return') await addPostedReturns(deps.db, scope)
    if (subject === 'payout') {
      const hasList = Boolean(acquirer.payouts?.list)
      await addWithdrawals(deps.db, { ...scope, hasList, isRolling: false })
      await addEntries(deps.db, scope)
    }
    const pairs = await listPairs(deps.db, { runId, acquirer: name, subject, after: '', limit: pairsMax })
    const pair = pairs.find((one) => one.key === key)
    const rules = rulesFor(acquirer, { window: scope, startedAt: deps.clock.now(), kind: 'manual' })
    const found = pair ? compare(pair, rules).find((one) => one.class === difference.class) : undefined
    if (found && canonicalJson(found.proposal) === canonicalJson(difference.proposal)) return
    throw refusal(
      'difference_not_possible',
      'changed',
      `${name} or the ledger has changed for ${key} meanwhile, so nothing was posted. Run \`npx guiche reconcile\` to compare again, then check it again.`,
    )
  } finally {
    await deletePairs(deps.db, { runId, before: new Date(0) })
  }
}

/** More than the ledger can have within one millisecond. */
const pairsMax = 10_000

/** The range around the time of a listed payout: some PSPs' lists have whole seconds. */
const nearMs = 1_000

async function readAtAcquirer(
  db: Db,
  acquirer: Acquirer,
  { subject, reference, at, in_ledger: inLedger, at_acquirer: atAcquirer }: DiscrepancyRow,
  window: Window,
): Promise<Listed | null> {
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
