import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import { sendBackJob } from './place.ts'
import { checkDueReturns, type SendBackDeps, sendBack } from './send-back.ts'
import { isSuspenseDue } from './store.ts'

const KeyPayload = Type.Object({ merchantId: Type.String(), id: Type.String() })

/** The worker's jobs for payments in suspense. */
export function suspenseJobs(deps: SendBackDeps): Record<string, Job> {
  return {
    'suspense.check': async (_, stopping) => await checkDueReturns(deps, stopping),
    [sendBackJob]: async (payload) => await sendBack(deps, Value.Parse(KeyPayload, payload)),
  }
}

export function suspenseSchedules({ db, clock }: Pick<SendBackDeps, 'db' | 'clock'>): Record<string, JobSchedule> {
  const isNeeded = async () => await isSuspenseDue(db, 'returning', clock.now())
  return { 'suspense.check': { everySeconds: 5, isNeeded } }
}
