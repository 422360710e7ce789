import { type Db, mayBeOneRowsFault } from '../db/sql.ts'
import { nextCheckAt } from '../jobs/due-checks.ts'
import { createBatcher } from '../lib/batch.ts'
import { createLimit } from '../lib/concurrent.ts'
import { fromTxid } from '../pix/ids.ts'
import { checkReturns } from '../transactions/dispute/poll.ts'
import type { Owner } from '../transactions/owner-store.ts'
import { checkRefundsOf } from '../transactions/refund/send.ts'
import { mayHaveCharge, type ReportedPayment, type SettleDeps, settleOwned } from '../transactions/settle.ts'
import { settleUnattributed, type Unattributed } from '../transactions/settle-unattributed.ts'
import { settleWithdrawal } from '../withdrawals/check.ts'
import { findOwner } from '../withdrawals/store.ts'
import { type InboxRow, type InboxState, type NoticeCheck, updateNotices } from './store.ts'

/**
 * The pauses between checks of a notice that the acquirer does not confirm; after the last one it counts as untrue. A
 * PSP's own query may lag behind its callback, and a callback may overtake the commit of its transaction.
 */
const pausesSeconds = [2, 10, 60, 300]
/** Bounds of the pause while the acquirer does not respond, however long that lasts. It may be back after a minute. */
const retryPauseMs = { minMs: 1_000, maxMs: 60_000 }
/**
 * Concurrent queries about payments that name no transaction of ours. Anyone who knows the callback address can
 * invent such payments: they must not use up the acquirer's rate limit or the slots of real ones.
 */
const unattributedMax = 8
const unattributedPauseMs = 1_000
/** Notices written in one commit, and commits in progress at once. */
const batchNoticesMax = 128
const batchesMax = 2
/** Nothing waits for these: a check that a crash loses is repeated, and finds the payment recorded. */
const intervalMs = 100

export type ProcessDeps = SettleDeps & {
  /** Writes the result of a check. */
  writeCheck: (result: NoticeCheck) => Promise<null>
}

type Deps = ProcessDeps & { limitUnattributed: ReturnType<typeof createLimit> }

/** Returns what works on a notice. All notices of a process share the limit on unattributed payments. */
export function createNoticeProcessor(deps: ProcessDeps): (notice: InboxRow) => Promise<void> {
  const all = { ...deps, limitUnattributed: createLimit(unattributedMax) }
  return async (notice) => await processNotice(all, notice)
}

/**
 * Finds out what a notice is about, and queries the acquirer to confirm it. A notice that the acquirer does not confirm
 * is scheduled again, once for each of the pauses; one that could not be checked, as often as needed.
 */
async function processNotice(deps: Deps, notice: InboxRow): Promise<void> {
  try {
    const result = await settleNotice(deps, notice)
    const pause = pausesSeconds[notice.checks]
    const after = (ms: number) => new Date(deps.clock.now().getTime() + ms)
    if (result === 'busy')
      await scheduleCheck(deps, notice, { at: after(unattributedPauseMs), checks: notice.checks, error: null })
    else if (result.isFinal || pause === undefined) await finish(deps, notice, result.state)
    else await scheduleCheck(deps, notice, { at: after(pause * 1000), checks: notice.checks + 1, error: null })
  } catch (error) {
    const { acquirer, end_to_end: endToEndId, received_at } = notice
    deps.log.warn({ err: error, acquirer, endToEndId }, 'a callback could not be checked and will be checked again')
    const at = nextCheckAt(received_at, deps.clock.now(), retryPauseMs)
    await scheduleCheck(deps, notice, { at, checks: notice.checks, error: String(error) })
  }
}

/** One commit for all checks that end while another commit is in progress, or within the interval. */
export function createCheckWriter(db: Db): ProcessDeps['writeCheck'] {
  return createBatcher({
    name: 'write checks',
    maxBatchSize: batchNoticesMax,
    maxConcurrency: batchesMax,
    minConcurrentBatch: batchNoticesMax,
    intervalMs,
    retryIndividually: mayBeOneRowsFault,
    run: async (checks: NoticeCheck[]) => {
      await updateNotices(db, checks)
      return checks.map(() => null)
    },
  })
}

type FinalState = Exclude<InboxState, 'received'>

type CheckResult = { state: FinalState; isFinal: boolean }

/** What a notice is about. */
export type Subject =
  | { kind: 'charge'; owner: Owner }
  | { kind: 'payout'; owner: { merchant_id: string; id: string } }
  | { kind: 'unattributed' }

/**
 * Decides what a notice is about, by the id that the acquirer received from us:
 *
 * | the id belongs to | the notice is about | settled by |
 * |---|---|---|
 * | a transaction whose charge this acquirer may have | a payment of its charge, or a return of one | settleCharge |
 * | no transaction, but a withdrawal | the payout, or its return | settleWithdrawal |
 * | anything else, or there is none | a payment without a charge | settleUnattributed |
 *
 * The notice is only a hint: each of these operations queries the acquirer.
 */
export async function classifyNotice(
  { db, settlement }: Pick<SettleDeps, 'db' | 'settlement'>,
  { acquirer, txid, owner: known = null }: Pick<InboxRow, 'acquirer' | 'txid' | 'owner'>,
): Promise<Subject> {
  const id = txid === null ? null : fromTxid(txid)
  if (id === null) return { kind: 'unattributed' }
  const owner = known && mayHaveCharge(known, acquirer) ? known : await settlement.findOwner(id)
  if (owner) return mayHaveCharge(owner, acquirer) ? { kind: 'charge', owner } : { kind: 'unattributed' }
  const payout = await findOwner(db, id)
  return payout ? { kind: 'payout', owner: payout } : { kind: 'unattributed' }
}

async function settleNotice(deps: Deps, notice: InboxRow): Promise<CheckResult | 'busy'> {
  const subject = await classifyNotice(deps, notice)
  const payment = { acquirer: notice.acquirer, endToEndId: notice.end_to_end }
  switch (subject.kind) {
    case 'charge':
      return await settleCharge(deps, subject.owner, payment, { isReturn: notice.event_key !== notice.end_to_end })
    case 'payout': {
      const found = await settleWithdrawal(deps, { merchantId: subject.owner.merchant_id, id: subject.owner.id })
      return toResult(found === 'changed' || found === 'settled')
    }
    case 'unattributed': {
      const found = await deps.limitUnattributed(async () => await settleUnattributed(deps, payment))
      return found === null ? 'busy' : resultOf[found]
    }
  }
}

async function settleCharge(
  deps: Deps,
  owner: Owner,
  payment: ReportedPayment,
  { isReturn }: { isReturn: boolean },
): Promise<CheckResult> {
  const settled = await settleOwned(deps, owner, payment)
  if (settled === 'unpaid') return await settleOtherCharge(deps, owner, payment)
  if (isReturn && (settled === 'settled' || settled === 'already')) {
    await checkRefundsOf(deps, owner)
    await checkReturns(deps, { merchantId: owner.merchant_id, id: owner.id })
  }
  return toResult(true)
}

/**
 * The txid in a callback may differ from the txid of the payment at the acquirer. While this notice is open, a correct
 * callback for the same payment is ignored as a repetition. So this settles the charge that the payment itself names.
 */
async function settleOtherCharge(deps: Deps, owner: Owner, payment: ReportedPayment): Promise<CheckResult> {
  const { acquirer, endToEndId } = payment
  const found = await deps.acquirers.named(acquirer).findPayment(endToEndId)
  const other = await classifyNotice(deps, { acquirer, txid: found?.txid ?? null })
  if (other.kind !== 'charge' || other.owner.id === owner.id) return toResult(false)
  return toResult((await settleOwned(deps, other.owner, payment)) !== 'unpaid')
}

function toResult(isSettled: boolean): CheckResult {
  return { state: isSettled ? 'settled' : 'unconfirmed', isFinal: isSettled }
}

/** {@link Unattributed} explains the outcomes. */
const resultOf: Record<Unattributed, CheckResult> = {
  suspended: toResult(true),
  settled: toResult(true),
  other_cell: { state: 'unmatched', isFinal: true },
  early: { state: 'unmatched', isFinal: false },
  unconfirmed: toResult(false),
}

async function finish(deps: ProcessDeps, notice: InboxRow, state: FinalState): Promise<void> {
  const { acquirer, event_key, end_to_end: endToEndId, checks } = notice
  const now = deps.clock.now()
  await deps.writeCheck({ acquirer, event_key, checks, state, finished_at: now, check_at: now, last_error: null })
  if (state === 'settled') return
  deps.log.warn({ acquirer, endToEndId, state }, 'a callback announced nothing that could be recorded')
}

async function scheduleCheck(
  deps: ProcessDeps,
  { acquirer, event_key }: InboxRow,
  { at, checks, error }: { at: Date; checks: number; error: string | null },
): Promise<void> {
  await deps.writeCheck({
    acquirer,
    event_key,
    checks,
    state: 'received',
    finished_at: null,
    check_at: at,
    last_error: error,
  })
}
