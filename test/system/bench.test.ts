import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { cp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { isLong } from '../support/random.ts'

const build = resolve(`dist/bench-test-${process.pid}`)

beforeAll(async () => {
  await cp(inject('build'), build, { recursive: true, filter: (path) => !path.endsWith('.map') })
  // Compiles bench/ and what it imports, as `npm run bench:build` does, but without checking types. In bench/peers are
  // the services with which Guichê is compared; they have their own dependencies.
  const modules = readdirSync('bench', { recursive: true, encoding: 'utf8' }).filter(
    (name) => /(?<!\.test)\.ts$/.test(name) && !name.startsWith('peers'),
  )
  const bundle = await rolldown({
    input: modules.map((name) => `bench/${name}`),
    platform: 'node',
    tsconfig: false,
    external: /^[^./]/,
  })
  await bundle.write({ dir: build, preserveModules: true, preserveModulesRoot: '.' })
  await bundle.close()
})
afterAll(async () => await rm(build, { recursive: true, force: true }))

const run = async (...args: string[]) =>
  await promisify(execFile)(process.execPath, [join(build, 'bench/main.js'), ...args])
const timeout = 600_000
const briefly = ['--no-peers', '--rounds', '1', '--seconds', '0.2', '--processes', '1']

// The figures are not checked: they are meaningful only on an idle machine.
it('runs a case against a service of its own, and prints results without errors', { timeout }, async () => {
  const { stdout } = await run('--only', 'token', ...briefly)
  expect(stdout).toMatch(/^# Benchmark results\n/)
  expect(stdout).toMatch(/^\| token \| [\d,.]+ \/s \|/m)
  expect(stdout).not.toMatch(/errors:|NaN/)
})

it.runIf(isLong)('compares creates with PostgreSQL alone', { timeout }, async () => {
  const { stdout } = await run('--only', 'create', ...briefly)
  // Also 0: on a busy machine a baseline may complete no request in a fifth of a second.
  for (const name of ['Guichê, 64 connections', 'PostgreSQL, one statement per create', 'PostgreSQL, BEGIN'])
    expect(stdout).toMatch(new RegExp(`^\\| ${name}.* \\| [\\d,.]+ /s \\|`, 'm'))
  expect(stdout).not.toMatch(/errors:|NaN/)
})

it.runIf(isLong)(
  'measures a ladder of one rate, and shows where requests wait and what PostgreSQL does',
  { timeout },
  async () => {
    const brief = ['--rungs', '40', '--seconds', '0.5', '--processes', '1']
    const { stdout } = await run('--ladder', '--statements', ...brief)
    expect(stdout).toMatch(/^\| 40 \| [\d.]+ \|/m)
    // From the load generator, the hook in the service, the statements in PostgreSQL and its tables.
    for (const row of ['· due → sent', '· handler', 'create', 'insert-transactions', 'public.transactions'])
      expect(stdout).toMatch(new RegExp(`^\\| ${row} \\| [\\d.]`, 'm'))
  },
)

it('refuses rungs that do not rise', async () => {
  const refused = { code: 2, stderr: expect.stringContaining('rising numbers') }
  await expect(run('--ladder', '--rungs', '500,250')).rejects.toMatchObject(refused)
})
