import { defineConfig } from 'vitest/config'

/** Kills and freezes servers for a quarter of an hour, and needs programs that other tests do not: run separately. */
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
