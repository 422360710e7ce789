import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import { checkDueTransactions } from './check.ts'
import { pollPayments, settleJob } from './poll.ts'
import { type SettleDeps, settleTransaction } from './settle.ts'

const SettlePayload = Type.Object({ merchantId: Type.String(), id: Type.String(), hint: Type.String() })

/** What the worker runs for transactions. */
export function transactionJobs(deps: SettleDeps): Record<string, Job> {
  return {
    'transactions.check': async (_, stopping) => await checkDueTransactions(deps, stopping),
    'transactions.poll': async (_, stopping) => await pollPayments(deps, stopping),
    [settleJob]: async (payload) => {
      await settleTransaction(deps, Value.Parse(SettlePayload, payload))
    },
  }
}

export const transactionSchedules: Record<string, JobSchedule> = {
  'transactions.check': { everySeconds: 5 },
  'transactions.poll': { everySeconds: 15 },
}
