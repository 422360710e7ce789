import { type Acquirer, AcquirerUnavailable, type Charge, type Removal } from '../acquirers/acquirer.ts'
import { isOutage } from '../acquirers/registry.ts'
import { mayBeOneRowsFault } from '../db/sql.ts'
import { nextCheckAt } from '../jobs/due-checks.ts'
import { forEachConcurrent } from '../lib/concurrent.ts'
import { cents } from '../lib/money.ts'
import { toTxid } from '../pix/ids.ts'
import { changeStatus, moneyAt } from './change.ts'
import { toChargeTexts } from './content.ts'
import type { Failing } from './fail.ts'
import { findMerchantName } from './owner-store.ts'
import { type SettleDeps, settleOwned } from './settle.ts'
import { failureMessages } from './status.ts'
import {
  findDueTransactions,
  findTransaction,
  lockTransaction,
  type TransactionRow,
  updateCheckAt,
  withdrawCancel,
} from './store.ts'

/**
 * The payer's bank may have started the payment before the code expired: a charge fails only this long after expiry.
 */
export const expiryGraceMs = 5 * 60_000
/**
 * The longest pause between checks of an expired charge that the acquirer calls paid without showing the payment. It is
 * checked until the payment shows.
 */
const completedPauseMaxMs = 60 * 60_000
/**
 * The pause between checks of a charge that has not expired, whose outcome is open because its payment page was opened
 * or a cancel was requested.
 */
const openPauseMs = 30_000

/** A run that lasts longer stops giving way to requests. Otherwise more charges could expire than it handles. */
const givesWayMaxMs = 60_000
/** As many become FAILED in one commit. An acquirer that does not answer delays its batch by up to a minute. */
const batchMax = 24

/**
 * Checks every transaction whose check is due with its acquirers: charges with an unknown outcome or a requested
 * cancel, expired codes, and transactions whose payment page was opened. Runs until none is due.
 *
 * Nothing is leased, because that would write each expired row twice. Only one process runs the job; if two did, both
 * would query the acquirer, and one of them would change the row.
 *
 * @param inBackground the same with a `Db` that gives way to requests, for the first minute of a run
 */
export async function checkDueTransactions(
  foreground: SettleDeps,
  stopping: AbortSignal,
  inBackground = foreground,
): Promise<void> {
  const startedAt = foreground.clock.now().getTime()
  while (!stopping.aborted) {
    const now = foreground.clock.now()
    const deps = now.getTime() - startedAt < givesWayMaxMs ? inBackground : foreground
    const rows = await findDueTransactions(deps.db, { now, limit: batchMax })
    const failing: Failing[] = []
    try {
      await forEachConcurrent(rows, stopping, async (row) => {
        await orCheckAgain(deps, row, async () => {
          const reason = row.status === 'PENDING' ? await resolveCharge(deps, row) : await checkWaiting(deps, row)
          if (reason !== null) failing.push({ row, reason })
        })
      })
    } finally {
      await failAll(deps, failing)
    }
    if (rows.length < batchMax) return
  }
}

async function failAll(deps: SettleDeps, failing: Failing[]): Promise<void> {
  if (failing.length === 0) return
  try {
    await deps.settlement.fail(deps.db, failing)
  } catch (error) {
    if (!mayBeOneRowsFault(error)) throw error
    deps.log.warn(
      { err: error, count: failing.length },
      'charges could not be failed together: each is tried by itself',
    )
    for (const one of failing) await orCheckAgain(deps, one.row, async () => await deps.settlement.fail(deps.db, [one]))
  }
}

/** A check that fails is repeated later, and holds up no other. */
async function orCheckAgain(deps: SettleDeps, row: TransactionRow, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isOutage(error))
      deps.log.error({ err: error, transactionId: row.id }, 'the check of a transaction failed and will be repeated')
    await updateCheckAt(deps.db, row, nextOpenCheckAt(row, deps.clock.now()))
  }
}

/** Returns why the transaction fails, or null. */
async function checkWaiting(deps: SettleDeps, row: TransactionRow): Promise<string | null> {
  const { fails, refused } = await findOutcome(deps, row)
  if (refused !== null && fails === null)
    deps.log.warn(
      { transactionId: row.id, acquirer: row.acquirer },
      'the acquirer refused to cancel a charge: it stays open',
    )
  return fails
}

/**
 * Resolves a charge that no acquirer answered for: repeats the request to the same acquirers, in the same order and
 * with the same txid, which creates no second charge. The first one with a charge gives the code. Returns why the
 * transaction fails when every acquirer says that there is no charge that can be paid, and otherwise null.
 */
async function resolveCharge(deps: SettleDeps, row: TransactionRow): Promise<string | null> {
  const isLate = deps.clock.now().getTime() > row.created_at.getTime() + row.pix_expiration_seconds * 1000
  const isUnwanted = isLate || row.cancel_requested_at !== null
  const none: string[] = []
  const unavailable: AcquirerUnavailable[] = []
  for (const name of [row.acquirer, ...row.other_acquirers]) {
    try {
      const acquirer = deps.acquirers.named(name)
      // Nobody waits for this code any more: only look for an existing charge, do not create one.
      const answer = isUnwanted ? await findLate(acquirer, row) : await createAgain(deps, acquirer, row)
      const failure = typeof answer === 'string' ? null : findFailure(answer, deps.clock.now())
      if (typeof answer === 'string') none.push(answer)
      else if (failure !== null) none.push(failure)
      else {
        await giveCode(deps, row, { acquirer, charge: answer })
        return null
      }
    } catch (error) {
      if (!(error instanceof AcquirerUnavailable)) throw error
      unavailable.push(error)
    }
  }
  const [first] = unavailable
  if (first) throw first
  return row.cancel_requested_at ? failureMessages.canceled : (none[0] ?? failureMessages.expired)
}

/** Why nobody can pay a charge any more, or null. An expired one that has a code gets it first: the next check ends it. */
function findFailure({ status, payments, uri, expiresAt }: Charge, now: Date): string | null {
  if (payments.length > 0 || status === 'completed') return null
  if (status === 'removed') return failureMessages.removed
  const isOver = uri === null && now.getTime() >= expiresAt.getTime() + expiryGraceMs
  return isOver ? failureMessages.expired : null
}

/** Returns the charge, or the reason why there is none. */
async function createAgain({ db }: SettleDeps, acquirer: Acquirer, row: TransactionRow): Promise<Charge | string> {
  const merchantName = await findMerchantName(db, row.merchant_id)
  const answer = await acquirer.createCharge({
    txid: toTxid(row.id),
    amount: cents(row.amount),
    expiresInSeconds: row.pix_expiration_seconds,
    texts: toChargeTexts(merchantName, row),
  })
  return answer.outcome === 'created' ? answer.charge : answer.reason
}

async function findLate(acquirer: Acquirer, row: TransactionRow): Promise<Charge | string> {
  return (await acquirer.findCharge(toTxid(row.id))) ?? failureMessages.expired
}

/** Checks a transaction that waits for its payment, and makes it FAILED if nobody can pay it any more. */
export async function checkOpen(deps: SettleDeps, row: TransactionRow): Promise<Outcome> {
  const outcome = await findOutcome(deps, row)
  if (outcome.fails !== null) await deps.settlement.fail(deps.db, [{ row, reason: outcome.fails }])
  return outcome
}

/**
 * `fails`: why the transaction fails. `refused`: why the acquirer does not cancel it. `isCompleted`: the acquirer
 * reports the charge as paid, but does not show the payment yet.
 */
export type Outcome = { fails: string | null; refused: string | null; isCompleted: boolean }

const open: Outcome = { fails: null, refused: null, isCompleted: false }

/** Whether a transaction that waits for its payment was paid, canceled, removed, has expired, or is still open. */
async function findOutcome(deps: SettleDeps, row: TransactionRow): Promise<Outcome> {
  const now = deps.clock.now()
  const expired = now >= failsAt(row)
  const removal = row.cancel_requested_at && (await remove(deps.acquirers.named(row.acquirer), row, expired))
  const settled = await settleOwned(deps, row)
  if (settled === 'removed') {
    return { ...open, fails: (await isToBeCanceled(deps, row)) ? failureMessages.canceled : failureMessages.removed }
  }
  if (settled === 'completed') {
    const about = { transactionId: row.id, acquirer: row.acquirer }
    // The payment may show moments later: it takes a person only once the code has expired.
    if (expired)
      deps.log.error(
        about,
        'the acquirer reports a charge as paid but does not show the payment: it is checked again; look the payment up at the acquirer',
      )
    else
      deps.log.warn(
        about,
        'the acquirer reports a charge as paid but does not show the payment yet: it is checked again',
      )
    await updateCheckAt(deps.db, row, nextOpenCheckAt(row, now, { maxMs: completedPauseMaxMs }))
    return { ...open, isCompleted: true }
  }
  if (settled === 'unpaid' || settled === 'gone') {
    const checkAt = failsAt(row)
    const refused = removal?.outcome === 'refused' ? removal.reason : null
    if (expired) return { ...open, fails: failureMessages.expired, refused }
    if (removal?.outcome === 'done')
      throw new AcquirerUnavailable('The acquirer still shows a removed charge as payable')
    // The acquirer refused to cancel it; or someone opened the payment page, which triggered this check.
    if (removal) await withdrawCancel(deps.db, row, checkAt)
    else await updateCheckAt(deps.db, row, checkAt)
    return { ...open, refused }
  }
  return open
}

/** Null when its outcome is unknown and the charge has expired: then only whether it was paid matters. */
async function remove(acquirer: Acquirer, { id }: TransactionRow, expired: boolean): Promise<Removal | null> {
  try {
    return await acquirer.removeCharge(toTxid(id))
  } catch (error) {
    if (expired && error instanceof AcquirerUnavailable) return null
    throw error
  }
}

/** A cancel may have been requested, and carried out at the acquirer, since the row was read. */
async function isToBeCanceled({ db }: SettleDeps, row: TransactionRow): Promise<boolean> {
  const current = row.cancel_requested_at ? row : await findTransaction(db, row.merchant_id, row.id)
  return current !== null && current.cancel_requested_at !== null
}

async function giveCode(
  deps: SettleDeps,
  row: TransactionRow,
  { acquirer, charge: { uri, expiresAt } }: { acquirer: Acquirer; charge: Charge },
): Promise<void> {
  if (uri === null) throw new AcquirerUnavailable('The acquirer returned a charge without a code')
  await deps.db.transaction(async (tx) => {
    const locked = await lockTransaction(tx, row.merchant_id, row.id)
    if (locked?.status !== row.status) return
    await changeStatus(tx, locked, {
      to: 'PIX_QRCODE_GENERATED',
      now: deps.clock.now(),
      // A cancel that was requested before there was a code follows at once.
      checkAt: locked.cancel_requested_at ? deps.clock.now() : new Date(expiresAt.getTime() + expiryGraceMs),
      set: { ...moneyAt(row, acquirer.name), pix_uri: uri, pix_expires_at: expiresAt },
    })
  })
  deps.wakeDeliveries()
}

/** From then on a charge fails unless it was paid. One without a code counts as expired. */
function failsAt({ pix_expires_at: expiresAt }: TransactionRow): Date {
  return new Date((expiresAt?.getTime() ?? 0) + expiryGraceMs)
}

/** When a charge whose outcome is open is checked next: less and less often only once it has expired. */
function nextOpenCheckAt(row: TransactionRow, now: Date, bounds: { maxMs?: number } = {}): Date {
  if (now >= failsAt(row)) return nextCheckAt(row.pix_expires_at ?? row.created_at, now, bounds)
  return new Date(Math.min(now.getTime() + openPauseMs, failsAt(row).getTime()))
}
