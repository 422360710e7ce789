import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, refusal } from '../lib/errors.ts'
import { newUuid } from '../lib/secrets.ts'
import {
  addFreezeReason,
  findPayoutFreeze,
  insertPayoutFreeze,
  type PayoutFreezeRow,
  releasePayoutFreeze,
} from './store.ts'

/** As long as the audit log takes. */
const reasonMax = 500

export const payoutsFrozenMessage =
  'Payouts are frozen: withdrawals and refunds wait until the operator has checked the ledger. Nothing is lost; try again later.'

/**
 * Called before money is sent: when a withdrawal, a refund or a return from suspense is requested, and again before it
 * is sent.
 *
 * @throws {AppError} `payouts_stopped` while a payout freeze is active
 */
export async function assertPayoutsAllowed(db: Db | Tx): Promise<void> {
  if ((await findPayoutFreeze(db)) === null) return
  throw new AppError('payouts_stopped', {
    detail: payoutsFrozenMessage,
    headers: { 'retry-after': '300' },
  })
}

/**
 * Freezes withdrawals, refunds and returns from suspense, never incoming payments. Returns false if a freeze is already
 * active, which keeps its reason.
 */
export async function freezePayouts(db: Db | Tx, { reason, now }: { reason: string; now: Date }): Promise<boolean> {
  return await insertPayoutFreeze(db, { id: newUuid(), reason, now })
}

/** The same, but this reason is added to that of an active freeze: whoever releases it must know of both. */
export async function freezePayoutsAlso(tx: Tx, freeze: { reason: string; by: By; now: Date }): Promise<boolean> {
  let isNew = await freezePayouts(tx, freeze)
  // The active freeze may be released between the two statements. Then a new one begins.
  while (!isNew && !(await addFreezeReason(tx, freeze.reason))) isNew = await freezePayouts(tx, freeze)
  await recordFreeze(tx, freeze)
  return isNew
}

async function recordFreeze(tx: Tx, { reason, by, now }: { reason: string; by: By; now: Date }): Promise<void> {
  // A reason may be longer than the audit log takes: the freeze itself keeps the whole text.
  await recordAction(tx, { by, action: 'payouts.freeze', details: { reason: reason.slice(0, reasonMax) }, now })
}

type Deps = { db: Db; clock: Clock }

/** An operator, or the service itself, freezes payouts. Returns the active freeze, and whether it is a new one. */
export async function stopPayouts(
  { db, clock }: Deps,
  { reason, by }: { reason: string; by: By },
): Promise<{ payoutFreeze: PayoutFreezeView | null; isNew: boolean }> {
  return await db.transaction(async (tx) => {
    const now = clock.now()
    const isNew = await freezePayouts(tx, { reason, now })
    if (isNew) await recordFreeze(tx, { reason, by, now })
    return { payoutFreeze: await showPayoutFreeze(tx), isNew }
  })
}

/** Freezes a restored database, whatever else it is frozen for. Once, also if it is called again after a crash. */
export async function freezeRestored(
  tx: Tx,
  { backupOf, by, now }: { backupOf: string; by: By; now: Date },
): Promise<void> {
  const reason = writeRestoredReason(backupOf)
  const active = await findPayoutFreeze(tx)
  if (active?.reason.includes(reason)) return
  await freezePayoutsAlso(tx, { reason, by, now })
}

/**
 * An operator releases the payout freeze. Returns the freeze that was active, or null.
 *
 * @param reason by default the reason of the freeze
 * @param engagedAt the freeze that the operator has read about; by default whichever is active
 * @param reasonLength the length of its reason as the operator has read it: reasons are only added
 * @param breaches how many violations the verification of the ledger still found; for the audit log
 * @param isChecked the operator confirms {@link dataLossChecks}; only needed after the database lost commits
 * @throws {AppError} `release_not_possible` without that confirmation: money that has left could be sent again; or
 *   because another freeze is active, or a reason was added
 */
export async function releasePayouts(
  { db, clock }: Deps,
  {
    by,
    reason,
    engagedAt,
    reasonLength,
    breaches,
    isChecked = false,
  }: {
    by: By
    reason?: string
    engagedAt?: string
    reasonLength?: number
    breaches?: number
    isChecked?: boolean
  },
): Promise<PayoutFreezeView | null> {
  return await db.transaction(async (tx) => {
    const now = clock.now()
    const released = await releasePayoutFreeze(tx, { by: by.actor, now })
    if (!released) return null
    const view = toView(released)
    if (engagedAt !== undefined && engagedAt !== view.engagedAt) {
      const detail = `Another payout freeze is active, since ${view.engagedAt}: ${view.reason}`
      throw refusal('release_not_possible', 'changed', detail, { field: 'engagedAt' })
    }
    if (reasonLength !== undefined && reasonLength !== view.reason.length) {
      const detail = `A reason was added to the payout freeze: ${view.reason}`
      throw refusal('release_not_possible', 'changed', detail, { field: 'reasonLength' })
    }
    // Checked after the update, which locks the row. If another process detects a loss now, its reason is in the row
    // already, or it waits for this transaction and then freezes payouts again.
    assertChecked(view, isChecked)
    // Several losses make a long reason; the freeze itself keeps it whole.
    const details = {
      reason: (reason ?? released.reason).slice(0, reasonMax),
      breaches,
      ...(view.needsDataLossChecks && { isChecked }),
    }
    await recordAction(tx, { by, action: 'payouts.release', details, now })
    return view
  })
}

/** @throws {AppError} `release_not_possible` if the freeze needs the confirmation, with the list of what to check */
export function assertChecked(payoutFreeze: PayoutFreezeView, isChecked: boolean): void {
  if (!payoutFreeze.needsDataLossChecks || isChecked) return
  throw refusal('release_not_possible', 'not_checked', listChecks(payoutFreeze), { field: 'isChecked' })
}

export type PayoutFreezeView = ReturnType<typeof toView>

/** The active payout freeze, or null. */
export async function showPayoutFreeze(db: Db | Tx): Promise<PayoutFreezeView | null> {
  const row = await findPayoutFreeze(db)
  return row && toView(row)
}

function toView(row: PayoutFreezeRow) {
  return {
    reason: row.reason,
    reasons: toFreezeReasons(row.reason),
    engagedAt: row.engaged_at.toISOString(),
    /** The database lost commits: the release needs the confirmation of {@link dataLossChecks}. */
    needsDataLossChecks: row.reason.includes(lossReason),
  }
}

/** Why payouts are frozen. The code is null for a text that a person wrote; `at` is the moment that a reason names. */
export type FreezeReason = { text: string; code: FreezeReasonCode | null; at: string | null }
export const freezeReasonCodes = ['ledger_inconsistent', 'money_left', 'backup_restored', 'database_lost'] as const
type FreezeReasonCode = (typeof freezeReasonCodes)[number]

/** The reasons of a freeze, which is stored as one text. */
export function toFreezeReasons(reason: string): FreezeReason[] {
  const reasons: FreezeReason[] = []
  const add = (text: string, code: FreezeReasonCode | null, at: string | null = null) => {
    if (text !== '') reasons.push({ text, code, at })
  }
  const moment = String.raw`(\d{4}-\d\d-\d\dT[\d:.]+Z)`
  const known = new RegExp(
    `${writeRestoredReason(moment)}|${writeLossReason(moment)}|${writeMoneyLeftReason('[^:]+', '.+?')}`,
    'g',
  )
  let end = 0
  // The text between two known reasons is the finding of a ledger verification, which begins with the name of a rule,
  // or a person’s own text.
  const addUntil = (start: number) => {
    const text = reason.slice(end, start).trim()
    add(text, /^(?:[a-z]+_)+[a-z]+: /.test(text) ? 'ledger_inconsistent' : null)
  }
  for (const { 0: text, 1: restored, 2: lost, index } of reason.matchAll(known)) {
    addUntil(index)
    const code = restored ? 'backup_restored' : lost ? 'database_lost' : 'money_left'
    add(text, code, restored ?? lost ?? null)
    end = index + text.length
  }
  addUntil(reason.length)
  return reasons
}

const lossReason = 'The database went back in time'

/** The reason of the freeze when the database lost what was committed after that moment. */
export function writeLossReason(moment: string): string {
  return `${lossReason}: it has lost what was committed after ${moment}. \`npx guiche ledger release\` lists what to check first.`
}

/**
 * The reason of the freeze when a comparison finds that more money left the acquirer than the ledger has: what it finds
 * about the first of `count` payouts.
 */
export function writeMoneyLeftReason(acquirer: string, alarm: string, count = 1): string {
  const others = count === 1 ? '' : ` (the first of ${count} such payouts)`
  return `reconciliation of ${acquirer}: ${alarm}${others}. \`npx guiche reconcile list --open\` has it.`
}

function writeRestoredReason(backupOf: string): string {
  return `The backup of ${backupOf} was restored.`
}

/** What a person checks before payouts are released after the database lost commits. The dashboard lists the same. */
const dataLossChecks = [
  'End the old server: if it still runs, another service may still be writing to it.',
  'The PSP may have sent withdrawals and refunds that the database lost. Compare the account with the PSP for the time since then: `npx guiche reconcile list --open` lists them as soon as the lists were compared, ten minutes after the data loss at the earliest.',
  'Decide on these discrepancies, so that no balance includes money that was already sent.',
  'Withdrawals that were PENDING may have been sent as well: all of them wait for approval. Look each one up at the PSP, and approve only what it does not have.',
  'Withdrawals that were PROCESSING at Sicoob may have been sent under an endToEndId that is lost. They are not sent again: the log names each one. Search the account statement for it, and enter the outcome with `npx guiche withdrawal settle`, two hours after the data loss at the earliest.',
  'Merchants may have answers for charges, refunds and withdrawals that no longer exist, and will not repeat them. Give the merchants the time from which on they must compare.',
  'Run `npx guiche ledger verify`.',
]

function listChecks({ engagedAt, reason }: PayoutFreezeView): string {
  return [
    `Nothing is released yet. Payouts are frozen since ${engagedAt}: ${reason}`,
    'Check first:',
    ...dataLossChecks.map((check, index) => `  ${index + 1}. ${check}`),
    'Then release with --checked.',
  ].join('\n')
}
