import { defineConfig } from 'vitest/config'

/** Plants faults in copies of the program and has the tests find them: minutes, so not among the others. */
export default defineConfig({
  test: { include: ['test/mutations/*.check.ts'], pool: 'forks', fileParallelism: false, hookTimeout: 180_000 },
})
