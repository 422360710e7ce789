import { enqueueJob } from '../jobs/jobs.ts'
import { fromTxid } from '../pix/ids.ts'
import { checkRefundsOf } from '../transactions/refund-send.ts'
import { checkReturns } from '../transactions/returns.ts'
import { type SettleDeps, settleTransaction } from '../transactions/settle.ts'
import { findOwners } from '../transactions/store.ts'
import { settleToldWithdrawal } from '../withdrawals/check.ts'
import { findOwner } from '../withdrawals/store.ts'
import { type NoticePayload, processNoticeJob } from './receive.ts'
import { findNotice, finishNotice, type InboxRow } from './store.ts'

/**
 * A PSP's own reading may lag behind its callback, and a callback may overtake the commit of its transaction: so often, and after such
 * pauses, is it looked at again before a notice counts as untrue.
 */
const pausesSeconds = [2, 10, 60, 300]

/**
 * Works on one notice: finds whose transaction it is and has the acquirer confirm it.
 *
 * @throws {AcquirerUnavailable} when the acquirer cannot be asked; the job is then tried again
 */
export async function processNotice(deps: SettleDeps, payload: NoticePayload): Promise<void> {
  const notice = await findNotice(deps.db, payload.acquirer, payload.eventKey)
  if (notice?.state !== 'received') return
  const { state, isFinal } = await findOut(deps, notice)
  const pause = pausesSeconds[payload.pausesTaken]
  if (isFinal || pause === undefined) return await finish(deps, notice, state)
  await enqueueJob(deps.db, {
    name: processNoticeJob,
    payload: { ...payload, pausesTaken: payload.pausesTaken + 1 },
    runAt: new Date(deps.clock.now().getTime() + pause * 1000),
  })
}

type FinalState = 'settled' | 'unconfirmed' | 'unmatched'

async function findOut(deps: SettleDeps, notice: InboxRow): Promise<{ state: FinalState; isFinal: boolean }> {
  const id = notice.txid === null ? null : fromTxid(notice.txid)
  if (id === null) return { state: 'unmatched', isFinal: true }
  const [owner] = await findOwners(deps.db, [id])
  if (!owner) return await findOutOfPayout(deps, id)
  const settled = await settleTransaction(deps, {
    merchantId: owner.merchant_id,
    id: owner.id,
    hint: notice.end_to_end,
  })
  if (settled === 'unpaid') return { state: 'unconfirmed', isFinal: false }
  const isReturn = notice.event_key !== notice.end_to_end
  if (isReturn && settled !== 'surplus') {
    await checkRefundsOf(deps, owner)
    await checkReturns(deps, { merchantId: owner.merchant_id, id: owner.id })
  }
  // A second payment of a transaction is true and booked nowhere: it is left to the operator.
  return { state: settled === 'surplus' ? 'unmatched' : 'settled', isFinal: true }
}

async function findOutOfPayout(deps: SettleDeps, id: string): Promise<{ state: FinalState; isFinal: boolean }> {
  const owner = await findOwner(deps.db, id)
  if (!owner) return { state: 'unmatched', isFinal: false }
  const looked = await settleToldWithdrawal(deps, { merchantId: owner.merchant_id, id })
  const isSettled = looked === 'changed' || looked === 'settled'
  return { state: isSettled ? 'settled' : 'unconfirmed', isFinal: isSettled }
}

async function finish(deps: SettleDeps, notice: InboxRow, state: FinalState): Promise<void> {
  await finishNotice(deps.db, notice, state, deps.clock.now())
  if (state === 'settled') return
  const { acquirer, end_to_end: endToEndId } = notice
  deps.log.warn({ acquirer, endToEndId, state }, 'a callback told of nothing that could be booked')
}
