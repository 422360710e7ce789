import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const files = ['src', 'simulator', 'qr-png/src', 'sdk/src', 'bench', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name)),
)
/** They use nothing of the global setup, but start servers or install packages: too slow for `npm run test:unit`. */
const slow = ['src/db/embedded-restart.test.ts', 'test/sdk/qr-png.test.ts']
const needing = new Map(slow.map((file) => [file, true]))

/** True for a file that uses what the global setup provides, itself or through its imports. */
function needsSetup(file: string): boolean {
  const known = needing.get(file)
  if (known !== undefined) return known
  needing.set(file, false)
  const text = readFileSync(file, 'utf8')
  const imports = [...text.matchAll(/from '(\.[^']*\.ts)'/g)].map(([, path = '']) => join(dirname(file), path))
  const needs = text.includes('inject(') || imports.some(needsSetup)
  needing.set(file, needs)
  return needs
}

/** The longest first. Vitest itself sorts by size in a first run, which puts these last, and later by duration. */
const longest = [
  'test/system/shared-port.test.ts',
  'test/crash/crash.test.ts',
  'test/browser/guide.test.ts',
  'test/system/bench.test.ts',
  'test/model/model.test.ts',
  'test/browser/ledger.test.ts',
  'test/browser/money.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = longest.indexOf(relative(this.ctx.config.root, moduleId))
      return rank === -1 ? longest.length : rank
    }
    return (await super.sort(files)).sort((one, other) => rankOf(one) - rankOf(other))
  }
}

export default defineConfig({
  test: {
    projects: [
      // No service, no PostgreSQL and no build, in seconds: `npm run test:unit`.
      { extends: true, test: { name: 'unit', include: files.filter((file) => !needsSetup(file)) } },
      {
        extends: true,
        test: {
          name: 'service',
          include: files.filter(needsSetup),
          globalSetup: 'test/support/global-setup.ts',
          setupFiles: 'test/support/setup.ts',
        },
      },
    ],
    pool: 'forks',
    // More than the cores: a test waits half of its time for other processes (services, PostgreSQL and browsers).
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // The files that a worker runs share its modules: importing them for each file took 15 % of the time.
    isolate: false,
    // A second run transforms only the modules that have changed: a single file starts in half the time.
    experimental: { fsModuleCache: true },
    // For .ci/run, which prints how many tests passed, failed and were skipped.
    ...(process.env.GUICHE_TEST_REPORT && {
      reporters: ['default', ['json', { outputFile: process.env.GUICHE_TEST_REPORT }]],
    }),
    // Files share the cores and one PostgreSQL. A slow machine is no failure: these limits only end what hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 90_000, interval: 100 } },
  },
})
