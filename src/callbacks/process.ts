import { enqueueJob } from '../jobs/jobs.ts'
import { fromTxid } from '../pix/ids.ts'
import { type SettleDeps, settleTransaction } from '../transactions/settle.ts'
import { findOwners } from '../transactions/store.ts'
import { type NoticePayload, processNoticeJob } from './receive.ts'
import { findNotice, finishNotice, type InboxRow } from './store.ts'

/** A PSP's own reading may lag behind its callback: so often, and after such pauses, is it asked again before a notice counts as untrue. */
const pausesSeconds = [2, 10, 60, 300]

/**
 * Works on one notice: finds whose transaction it is and has the acquirer confirm it.
 *
 * @throws {AcquirerUnavailable} when the acquirer cannot be asked; the job is then tried again
 */
export async function processNotice(deps: SettleDeps, payload: NoticePayload): Promise<void> {
  const notice = await findNotice(deps.db, payload.acquirer, payload.eventKey)
  if (notice?.state !== 'received') return
  const now = deps.clock.now()
  const id = notice.txid === null ? null : fromTxid(notice.txid)
  const [owner] = id === null ? [] : await findOwners(deps.db, [id])
  if (!owner) return await finish(deps, notice, 'unmatched')

  const settled = await settleTransaction(deps, {
    merchantId: owner.merchant_id,
    id: owner.id,
    hint: notice.end_to_end,
  })
  if (settled !== 'unpaid') return await finish(deps, notice, 'settled')
  const pause = pausesSeconds[payload.pausesTaken]
  if (pause === undefined) return await finish(deps, notice, 'unconfirmed')
  await enqueueJob(deps.db, {
    name: processNoticeJob,
    payload: { ...payload, pausesTaken: payload.pausesTaken + 1 },
    runAt: new Date(now.getTime() + pause * 1000),
  })
}

async function finish(
  deps: SettleDeps,
  notice: InboxRow,
  state: 'settled' | 'unconfirmed' | 'unmatched',
): Promise<void> {
  await finishNotice(deps.db, notice, state, deps.clock.now())
  if (state !== 'settled')
    deps.log.warn(
      { acquirer: notice.acquirer, endToEndId: notice.end_to_end, state },
      'a callback told of no payment of ours',
    )
}
