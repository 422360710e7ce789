import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Plants faults in copies of the program and has the tests find them: an hour, so not among the others. */
export default defineConfig({
  test: {
    include: ['test/mutations/*.check.ts'],
    pool: 'forks',
    // Each plants its fault in a copy of its own, and runs one file.
    maxConcurrency: availableParallelism(),
  },
})
