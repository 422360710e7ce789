import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import { checkOpenWithdrawals, checkReturnedWithdrawals } from './check.ts'
import { sendJob, sendWithdrawal } from './send.ts'
import type { SettleWithdrawalDeps } from './settle.ts'

const SendPayload = Type.Object({ merchantId: Type.String(), id: Type.String() })

/** The worker's jobs for withdrawals. */
export function withdrawalJobs(deps: SettleWithdrawalDeps): Record<string, Job> {
  return {
    [sendJob]: async (payload) => await sendWithdrawal(deps, Value.Parse(SendPayload, payload)),
    'withdrawals.check': async (_, stopping) => await checkOpenWithdrawals(deps, stopping),
    'withdrawals.returns': async (_, stopping) => await checkReturnedWithdrawals(deps, stopping),
  }
}

export const withdrawalSchedules: Record<string, JobSchedule> = {
  'withdrawals.check': { everySeconds: 5 },
  'withdrawals.returns': { everySeconds: 30 },
}
