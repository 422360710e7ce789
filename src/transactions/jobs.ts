import type { Job, JobSchedule } from '../jobs/jobs.ts'
import { checkDueTransactions } from './check.ts'
import { pollPayments } from './poll.ts'
import type { SettleDeps } from './settle.ts'

/** What the worker runs for transactions. */
export function transactionJobs(deps: SettleDeps): Record<string, Job> {
  return {
    'transactions.check': async () => await checkDueTransactions(deps),
    'transactions.poll': async () => await pollPayments(deps),
  }
}

export const transactionSchedules: Record<string, JobSchedule> = {
  'transactions.check': { everySeconds: 5 },
  'transactions.poll': { everySeconds: 15 },
}
