import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Job } from '../jobs/jobs.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import { processNotice } from './process.ts'
import { processNoticeJob } from './receive.ts'

const Payload = Type.Object({ acquirer: Type.String(), eventKey: Type.String(), pausesTaken: Type.Integer() })

/** What the worker runs for callbacks. */
export function callbackJobs(deps: SettleDeps): Record<string, Job> {
  return {
    [processNoticeJob]: async (payload) =>
      await processNotice(deps, Value.Parse(Payload, payload) satisfies Static<typeof Payload>),
  }
}
