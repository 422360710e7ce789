import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Plants faults in copies of the program, which the tests must find. It takes an hour, so it is run separately. */
export default defineConfig({
  test: {
    include: ['test/mutations/*.check.ts'],
    pool: 'forks',
    // Each plants its fault in a separate copy, and runs one test file.
    maxConcurrency: availableParallelism(),
  },
})
