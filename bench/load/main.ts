import { runJob } from './engine.ts'
import type { Job } from './job.ts'

// A generator in a process of its own: what it does must not stand in the way of what it measures.
process.on('message', (job: Job) => {
  void runJob(job).then(
    (report) => process.send?.({ report }),
    (error: Error) => process.send?.({ failure: error.message }),
  )
})
