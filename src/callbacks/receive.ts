import type { CallbackNotice } from '../acquirers/acquirer.ts'
import type { Db } from '../db/sql.ts'
import { enqueueJobs } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import { insertNotices } from './store.ts'

/** The job that works on one notice of a callback. */
export const processNoticeJob = 'callbacks.process'
export type NoticePayload = { acquirer: string; eventKey: string; pausesTaken: number }

/** Keeps a callback, with a job for each event in it that is new, in one commit. It may be answered once this resolves. */
export async function receiveCallback(
  deps: { db: Db; clock: Clock },
  { acquirer, notices }: { acquirer: string; notices: CallbackNotice[] },
): Promise<void> {
  if (notices.length === 0) return
  await deps.db.transaction(async (tx) => {
    const fresh = await insertNotices(tx, acquirer, notices, deps.clock.now())
    await enqueueJobs(
      tx,
      fresh.map(({ event_key: eventKey }) => ({
        name: processNoticeJob,
        payload: { acquirer, eventKey, pausesTaken: 0 } satisfies NoticePayload,
      })),
    )
  })
}
