import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: 'test/support/global-setup.ts',
    include: ['src', 'simulator', 'sdk/src', 'bench', 'test'].map((folder) => `${folder}/**/*.test.ts`),
    pool: 'forks',
    // One more than the machine would be given by itself: much of a test is waiting, and much of its work is done in other processes.
    maxWorkers: availableParallelism(),
    // For .ci/run, which counts.
    ...(process.env.GUICHE_TEST_REPORT && {
      reporters: ['default', ['json', { outputFile: process.env.GUICHE_TEST_REPORT }]],
      // Tests here race real clocks, sockets and processes, on whatever machine it is. What passes only the second time is named at the end,
      // to be mended; by hand (npm test) it fails.
      retry: 1,
    }),
    // Files share two cores and one PostgreSQL; a slow machine is no failure.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
