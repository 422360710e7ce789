import { type Acquirer, AcquirerUnavailable, type Charge, type Removal } from '../acquirers/acquirer.ts'
import { isOutage } from '../acquirers/registry.ts'
import { nextCheckAt, runDueChecks } from '../jobs/due-checks.ts'
import { cents } from '../lib/money.ts'
import { toTxid } from '../pix/ids.ts'
import { changeStatus } from './change.ts'
import { toChargeTexts } from './content.ts'
import { findMerchantName } from './owner-store.ts'
import { moneyAt, type SettleDeps, settleTransaction } from './settle.ts'
import { failureMessages } from './status.ts'
import {
  claimDueTransactions,
  findTransaction,
  type LockedTransaction,
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
 * A charge that the acquirer calls paid without showing the payment is checked until the payment shows: at most once
 * an hour in the end.
 */
const completedPauseMaxMs = 60 * 60_000

/**
 * Few enough to check within the lease, eight at a time, when every request to two acquirers takes the adapter's
 * limit of ten seconds.
 */
const claimedMax = 24
/** For this long no other process takes a transaction whose check is in progress. */
const leaseMs = 60_000

/**
 * Checks every transaction whose check is due with its acquirers: charges with an unknown outcome, expired codes, and
 * transactions whose payment page was opened. Runs until none is due.
 */
export async function checkDueTransactions(deps: SettleDeps, stopping: AbortSignal): Promise<void> {
  await runDueChecks(deps.clock, stopping, {
    claim: async (claim) => await claimDueTransactions(deps.db, claim),
    claimedMax,
    leaseMs,
    check: async (row) => await check(deps, row),
  })
}

async function check(deps: SettleDeps, row: TransactionRow): Promise<void> {
  try {
    if (row.status === 'PENDING') await resolveCharge(deps, row)
    else if ((await checkOpen(deps, row)) !== null)
      deps.log.warn(
        { transactionId: row.id, acquirer: row.acquirer },
        'the acquirer refused to cancel a charge: it stays open',
      )
  } catch (error) {
    if (!isOutage(error))
      deps.log.error({ err: error, transactionId: row.id }, 'the check of a transaction failed and will be repeated')
    await updateCheckAt(deps.db, row, nextCheckAt(openSince(row), deps.clock.now()))
  }
}

/**
 * Resolves a charge that no acquirer answered for: repeats the request to the same acquirers, in the same order and
 * with the same txid, which creates no second charge. The first one with a charge gives the code. The transaction
 * fails when every acquirer says that there is no charge.
 */
async function resolveCharge(deps: SettleDeps, row: TransactionRow): Promise<void> {
  const isLate = deps.clock.now().getTime() > row.created_at.getTime() + row.pix_expiration_seconds * 1000
  const isUnwanted = isLate || row.cancel_requested_at !== null
  const none: string[] = []
  const unavailable: AcquirerUnavailable[] = []
  for (const name of [row.acquirer, ...row.other_acquirers]) {
    try {
      const acquirer = deps.acquirers.named(name)
      // Nobody waits for this code any more: only look for an existing charge, do not create one.
      const answer = isUnwanted ? await findLate(acquirer, row) : await createAgain(deps, acquirer, row)
      if (typeof answer === 'string') none.push(answer)
      else if (answer.status === 'removed' && answer.payments.length === 0) none.push(failureMessages.removed)
      else return await giveCode(deps, row, { acquirer, charge: answer })
    } catch (error) {
      if (!(error instanceof AcquirerUnavailable)) throw error
      unavailable.push(error)
    }
  }
  const [first] = unavailable
  if (first) throw first
  await fail(deps, row, row.cancel_requested_at ? failureMessages.canceled : (none[0] ?? failureMessages.expired))
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

/**
 * Checks a transaction that waits for its payment: paid, canceled, removed, expired, or still open. Returns why the
 * acquirer refuses to cancel it, if it does.
 */
export async function checkOpen(deps: SettleDeps, row: TransactionRow): Promise<string | null> {
  const now = deps.clock.now()
  const isExpired = row.pix_expires_at === null || now.getTime() >= row.pix_expires_at.getTime() + expiryGraceMs
  const removal = row.cancel_requested_at && (await remove(deps.acquirers.named(row.acquirer), row, isExpired))
  const settled = await settleTransaction(deps, { merchantId: row.merchant_id, id: row.id })
  if (settled === 'removed') {
    await fail(deps, row, (await isToBeCanceled(deps, row)) ? failureMessages.canceled : failureMessages.removed)
    return null
  }
  if (settled === 'completed') {
    deps.log.error(
      { transactionId: row.id, acquirer: row.acquirer },
      'the acquirer reports a charge as paid but does not show the payment: it is checked again; look the payment up at the acquirer',
    )
    await updateCheckAt(deps.db, row, nextCheckAt(openSince(row), now, { maxMs: completedPauseMaxMs }))
  } else if (settled === 'unpaid' || settled === 'gone') {
    const checkAt = new Date((row.pix_expires_at?.getTime() ?? 0) + expiryGraceMs)
    if (isExpired) await fail(deps, row, failureMessages.expired)
    else if (removal?.outcome === 'done')
      throw new AcquirerUnavailable('The acquirer still shows a removed charge as payable')
    // The acquirer refused to cancel it; or someone opened the payment page, which triggered this check.
    else if (removal) await withdrawCancel(deps.db, row, checkAt)
    else await updateCheckAt(deps.db, row, checkAt)
    return removal?.outcome === 'refused' ? removal.reason : null
  }
  return null
}

/** Null when its outcome is unknown and the charge has expired: then only whether it was paid matters. */
async function remove(acquirer: Acquirer, { id }: TransactionRow, isExpired: boolean): Promise<Removal | null> {
  try {
    return await acquirer.removeCharge(toTxid(id))
  } catch (error) {
    if (isExpired && error instanceof AcquirerUnavailable) return null
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
  await changeIfStill(deps, row, (locked) => ({
    to: 'PIX_QRCODE_GENERATED',
    // A cancel that was requested before there was a code follows at once.
    checkAt: locked.cancel_requested_at ? deps.clock.now() : new Date(expiresAt.getTime() + expiryGraceMs),
    set: { ...moneyAt(row, acquirer.name), pix_uri: uri, pix_expires_at: expiresAt },
  }))
}

async function fail(deps: SettleDeps, row: TransactionRow, reason: string): Promise<void> {
  await changeIfStill(deps, row, () => ({ to: 'FAILED', checkAt: null, set: { error_message: reason } }))
}

type Change = Pick<Parameters<typeof changeStatus>[2], 'to' | 'checkAt' | 'set'>

/** Changes a transaction, unless a payment or another process changed it first. */
async function changeIfStill(
  deps: SettleDeps,
  row: TransactionRow,
  toChange: (locked: LockedTransaction) => Change,
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const locked = await lockTransaction(tx, row.merchant_id, row.id)
    if (locked?.status === row.status) await changeStatus(tx, locked, { ...toChange(locked), now: deps.clock.now() })
  })
  deps.wakeDeliveries()
}

function openSince(row: TransactionRow): Date {
  return row.pix_expires_at ?? row.created_at
}
