import type { Tx } from '../db/sql.ts'
import { enqueueJob } from '../jobs/jobs.ts'

/** The job that sends one withdrawal. */
export const sendJob = 'withdrawals.send'
export type SendPayload = { merchantId: string; id: string }

/** Enqueues the sending of a withdrawal, in the commit that releases it. */
export async function enqueueSend(tx: Tx, row: { merchant_id: string; id: string }): Promise<void> {
  await enqueueJob(tx, {
    name: sendJob,
    payload: { merchantId: row.merchant_id, id: row.id } satisfies SendPayload,
    key: `${sendJob} ${row.id}`,
  })
}
