import { type Acquirer, AcquirerUnavailable, type Charge } from '../acquirers/acquirer.ts'
import { assert } from '../lib/assert.ts'
import { eachAtOnce } from '../lib/at-once.ts'
import { cents } from '../lib/money.ts'
import { toTxid } from '../pix/ids.ts'
import { changeStatus } from './change.ts'
import { type SettleDeps, settleTransaction } from './settle.ts'
import { claimDueTransactions, lockTransaction, type TransactionRow, updateCheckAt } from './store.ts'

/** A payer's bank may have begun before the code expired: a charge is not given up before so long after. */
export const expiryGraceMs = 5 * 60_000
export const expiredMessage = 'PIX QR code expired'

/** Few enough to be asked about within the lease when each answer takes the adapter's ten seconds, eight at a time. */
const claimedMax = 40
/** Nobody else takes a transaction whose check is still under way. */
const leaseMs = 60_000
const pauseMinMs = 5_000
const pauseMaxMs = 5 * 60_000

/**
 * Asks the acquirer about every transaction whose check is due: those whose charge has an unknown outcome, and those whose code has
 * expired. Runs until none is due.
 */
export async function checkDueTransactions(deps: SettleDeps, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const now = deps.clock.now()
    const rows = await claimDueTransactions(deps.db, now, new Date(now.getTime() + leaseMs), claimedMax)
    await eachAtOnce(rows, stopping, async (row) => await check(deps, row))
    if (rows.length < claimedMax) return
  }
}

async function check(deps: SettleDeps, row: TransactionRow): Promise<void> {
  try {
    const acquirer = deps.acquirers.get(row.acquirer)
    assert(acquirer, 'the acquirer of a transaction is configured')
    if (row.status === 'PENDING') await resolveCharge(deps, row, acquirer)
    else await expire(deps, row)
  } catch (error) {
    if (!(error instanceof AcquirerUnavailable))
      deps.log.error({ err: error, transactionId: row.id }, 'a check failed and will be repeated')
    await updateCheckAt(deps.db, row, nextCheck(row, deps.clock.now()))
  }
}

/** Finds out what became of a charge that the acquirer did not answer for: asks again under the same txid, which creates none twice. */
async function resolveCharge(deps: SettleDeps, row: TransactionRow, acquirer: Acquirer): Promise<void> {
  const isLate = deps.clock.now().getTime() > row.created_at.getTime() + row.pix_expiration_seconds * 1000
  if (isLate) {
    // Nobody waits for this code any more: none is asked for that is not there.
    const charge = await acquirer.findCharge(toTxid(row.id))
    return charge ? await giveCode(deps, row, charge) : await fail(deps, row, expiredMessage)
  }
  const answer = await acquirer.createCharge({
    txid: toTxid(row.id),
    amount: cents(row.amount),
    expiresInSeconds: row.pix_expiration_seconds,
  })
  if (answer.outcome === 'created') await giveCode(deps, row, answer.charge)
  else await fail(deps, row, answer.reason)
}

async function expire(deps: SettleDeps, row: TransactionRow): Promise<void> {
  const settled = await settleTransaction(deps, { merchantId: row.merchant_id, id: row.id })
  if (settled === 'unpaid') await fail(deps, row, expiredMessage)
}

async function giveCode(deps: SettleDeps, row: TransactionRow, charge: Charge): Promise<void> {
  await changeIfStill(deps, row, {
    to: 'PIX_QRCODE_GENERATED',
    checkAt: new Date(charge.expiresAt.getTime() + expiryGraceMs),
    set: { pix_uri: charge.uri, pix_expires_at: charge.expiresAt },
  })
}

async function fail(deps: SettleDeps, row: TransactionRow, reason: string): Promise<void> {
  await changeIfStill(deps, row, { to: 'FAILED', checkAt: null, set: { error_message: reason } })
}

type Change = Pick<Parameters<typeof changeStatus>[2], 'to' | 'checkAt' | 'set'>

/** Changes a transaction unless a payment or another process was faster. */
async function changeIfStill(deps: SettleDeps, row: TransactionRow, change: Change): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const locked = await lockTransaction(tx, row.merchant_id, row.id)
    if (locked?.status === row.status) await changeStatus(tx, locked, { ...change, now: deps.clock.now() })
  })
  deps.nudgeDeliveries()
}

/** The longer it lasts, the longer the pauses: a tenth of the age, within bounds. */
function nextCheck(row: TransactionRow, now: Date): Date {
  const since = now.getTime() - (row.pix_expires_at ?? row.created_at).getTime()
  return new Date(now.getTime() + Math.min(pauseMaxMs, Math.max(pauseMinMs, since / 10)))
}
