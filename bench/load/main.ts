import { runJob } from './engine.ts'
import type { Job } from './job.ts'

// A load generator in a separate process, so that its work does not slow what it measures.
process.on('message', (job: Job) => {
  void runJob(job).then(
    (report) => process.send?.({ report }),
    (error: Error) => process.send?.({ failure: error.message }),
  )
})
