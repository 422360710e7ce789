import { defineConfig } from 'vitest/config'

/** Fails servers on purpose for a quarter of an hour, and needs programs of its own: not among the others. */
export default defineConfig({
  test: {
    include: ['test/ha/*.check.ts'],
    globalSetup: 'test/support/global-setup.ts',
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 300_000,
  },
})
