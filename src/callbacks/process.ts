import { type Db, mayBeOneRowsFault } from '../db/sql.ts'
import { createBatcher } from '../lib/batch.ts'
import { fromTxid } from '../pix/ids.ts'
import { checkReturns } from '../transactions/infraction-poll.ts'
import type { Owner } from '../transactions/owner-store.ts'
import { checkRefundsOf } from '../transactions/refund-send.ts'
import { type SettleDeps, settleOwned, type Told, wasAsked } from '../transactions/settle.ts'
import { settleWithdrawal } from '../withdrawals/check.ts'
import { findOwner } from '../withdrawals/store.ts'
import { findOutOfOrphan, type Orphan } from './orphan.ts'
import { type InboxRow, type InboxState, type NoticeLook, updateNotices } from './store.ts'

/**
 * The pauses between checks of a notice that the acquirer does not confirm; after the last one it counts as untrue. A
 * PSP's own query may lag behind its callback, and a callback may overtake the commit of its transaction.
 */
const pausesSeconds = [2, 10, 60, 300]
/** Bounds of the pause while the acquirer does not respond, however long that lasts. It may be back after a minute. */
const retryMinMs = 1_000
const retryMaxMs = 60_000
/**
 * Concurrent queries about payments that name no transaction of ours. Anyone who knows the callback address can
 * invent such payments: they must not use up the acquirer's rate limit or the slots of real ones.
 */
const strangersMax = 8
const strangersPauseMs = 1_000
/** Notices written in one commit, and commits in progress at once. */
const batchNoticesMax = 128
const batchesMax = 2
/** Nothing waits for these. */
const lingerMs = 10

export type ProcessDeps = SettleDeps & {
  /** Writes the result of a check. */
  writeLook: (look: NoticeLook) => Promise<null>
}

/**
 * Works on one notice: finds the owner of the transaction and asks the acquirer to confirm the payment. If that is
 * not possible, the notice is scheduled again.
 */
export async function processNotice(deps: ProcessDeps, notice: InboxRow): Promise<void> {
  try {
    const look = await findOut(deps, notice)
    const pause = pausesSeconds[notice.looks]
    if (look === 'busy') await lookAgain(deps, notice, { afterMs: strangersPauseMs, looks: notice.looks, error: null })
    else if (look.isFinal || pause === undefined) await finish(deps, notice, look.state)
    else await lookAgain(deps, notice, { afterMs: pause * 1000, looks: notice.looks + 1, error: null })
  } catch (error) {
    const { acquirer, end_to_end: endToEndId, received_at } = notice
    deps.log.warn({ err: error, acquirer, endToEndId }, 'a callback could not be checked and will be checked again')
    // The pause grows with the age: a tenth of it, within bounds.
    const age = deps.clock.now().getTime() - received_at.getTime()
    const afterMs = Math.min(retryMaxMs, Math.max(retryMinMs, age / 10))
    await lookAgain(deps, notice, { afterMs, looks: notice.looks, error: String(error) })
  }
}

/** One commit for all checks that end while another commit is in progress. */
export function createLookWriter(db: Db): ProcessDeps['writeLook'] {
  return createBatcher({
    maxBatchSize: batchNoticesMax,
    maxConcurrency: batchesMax,
    minConcurrentBatch: batchNoticesMax,
    lingerMs,
    retryIndividually: mayBeOneRowsFault,
    run: async (looks: NoticeLook[]) => {
      await updateNotices(db, looks)
      return looks.map(() => null)
    },
  })
}

type FinalState = Exclude<InboxState, 'received'>

type Look = { state: FinalState; isFinal: boolean }

async function findOut(deps: SettleDeps, notice: InboxRow): Promise<Look | 'busy'> {
  const told = { acquirer: notice.acquirer, endToEndId: notice.end_to_end }
  const id = notice.txid === null ? null : fromTxid(notice.txid)
  const owner = id === null ? null : await deps.settlement.findOwner(id)
  if (!owner || !wasAsked(owner, told.acquirer)) {
    const payout = id === null || owner ? null : await findOwner(deps.db, id)
    return payout ? await findOutOfPayout(deps, payout) : await findOutOfStranger(deps, told)
  }
  const settled = await settleOwned(deps, owner, told)
  if (settled === 'unpaid') return await findOutOfOther(deps, owner, told)
  const isReturn = notice.event_key !== notice.end_to_end
  if (isReturn && (settled === 'settled' || settled === 'already')) {
    await checkRefundsOf(deps, owner)
    await checkReturns(deps, { merchantId: owner.merchant_id, id: owner.id })
  }
  return { state: 'settled', isFinal: true }
}

/**
 * A callback may name another charge than its payment does. A true callback that arrives meanwhile would count as a
 * repetition, so the payment is settled for the charge that it names itself.
 */
async function findOutOfOther(deps: SettleDeps, owner: Owner, told: Told): Promise<Look> {
  const payment = await deps.acquirers.named(told.acquirer).findPayment(told.endToEndId)
  const id = fromTxid(payment?.txid ?? '')
  const other = id === null || id === owner.id ? null : await deps.settlement.findOwner(id)
  const isOwn = other !== null && wasAsked(other, told.acquirer)
  const isSettled = isOwn && (await settleOwned(deps, other, told)) !== 'unpaid'
  return { state: isSettled ? 'settled' : 'unconfirmed', isFinal: isSettled }
}

let strangers = 0

async function findOutOfStranger(deps: SettleDeps, told: Told): Promise<Look | 'busy'> {
  if (strangers >= strangersMax) return 'busy'
  strangers += 1
  try {
    return lookOf[await findOutOfOrphan(deps, told)]
  } finally {
    strangers -= 1
  }
}

const lookOf: Record<Orphan, Look> = {
  held: { state: 'settled', isFinal: true },
  settled: { state: 'settled', isFinal: true },
  early: { state: 'unmatched', isFinal: false },
  unconfirmed: { state: 'unconfirmed', isFinal: false },
}

async function findOutOfPayout(deps: SettleDeps, owner: { merchant_id: string; id: string }): Promise<Look> {
  const looked = await settleWithdrawal(deps, { merchantId: owner.merchant_id, id: owner.id })
  const isSettled = looked === 'changed' || looked === 'settled'
  return { state: isSettled ? 'settled' : 'unconfirmed', isFinal: isSettled }
}

async function finish(deps: ProcessDeps, notice: InboxRow, state: FinalState): Promise<void> {
  const { acquirer, event_key, end_to_end: endToEndId, looks } = notice
  const now = deps.clock.now()
  await deps.writeLook({ acquirer, event_key, looks, state, finished_at: now, look_at: now, last_error: null })
  if (state === 'settled') return
  deps.log.warn({ acquirer, endToEndId, state }, 'a callback announced nothing that could be recorded')
}

async function lookAgain(
  deps: ProcessDeps,
  { acquirer, event_key }: InboxRow,
  { afterMs, looks, error }: { afterMs: number; looks: number; error: string | null },
): Promise<void> {
  const lookAt = new Date(deps.clock.now().getTime() + afterMs)
  await deps.writeLook({
    acquirer,
    event_key,
    looks,
    state: 'received',
    finished_at: null,
    look_at: lookAt,
    last_error: error,
  })
}
