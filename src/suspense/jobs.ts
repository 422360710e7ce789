import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import { sendBackJob } from './place.ts'
import { checkDueReturns, type SendBackDeps, sendBack } from './send-back.ts'

const KeyPayload = Type.Object({ merchantId: Type.String(), id: Type.String() })

/** The worker's jobs for payments in suspense. */
export function suspenseJobs(deps: SendBackDeps): Record<string, Job> {
  return {
    'suspense.check': async (_, stopping) => await checkDueReturns(deps, stopping),
    [sendBackJob]: async (payload) => await sendBack(deps, Value.Parse(KeyPayload, payload)),
  }
}

export const suspenseSchedules: Record<string, JobSchedule> = { 'suspense.check': { everySeconds: 5 } }
