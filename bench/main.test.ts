import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

const build = resolve(`dist/bench-test-${process.pid}`)

beforeAll(async () => {
  const options = ['--noCheck', '--incremental', 'false', '--outDir', build]
  await promisify(execFile)(resolve('node_modules/.bin/tsc'), ['-p', 'bench/tsconfig.json', ...options])
  await promisify(execFile)(process.execPath, ['scripts/bundle.mjs', build])
})
afterAll(async () => await rm(build, { recursive: true, force: true }))

// The figures are not checked: they are meaningful only on an idle machine.
it('runs a case against a service of its own, and prints a card without errors', async () => {
  const args = ['--only', 'create', '--no-peers', '--rounds', '1', '--seconds', '0.2', '--processes', '1']
  const { stdout } = await promisify(execFile)(process.execPath, [join(build, 'bench/main.js'), ...args])
  expect(stdout).toMatch(/^# Capacity card\n/)
  for (const name of ['Guichê, 64 connections', 'PostgreSQL, one statement per create', 'PostgreSQL, BEGIN'])
    expect(stdout).toMatch(new RegExp(`^\\| ${name}.* \\| [\\d,.]+ /s \\|`, 'm'))
  // On a busy machine a limit may have no request in a fifth of a second.
  expect(stdout).not.toMatch(/errors:|NaN/)
}, 600_000)

it('climbs a ladder, and shows where requests wait and what PostgreSQL does', async () => {
  const args = ['--ladder', '--rungs', '40', '--seconds', '0.5', '--statements', '--processes', '1']
  const { stdout } = await promisify(execFile)(process.execPath, [join(build, 'bench/main.js'), ...args])
  expect(stdout).toMatch(/^\| 40 \| [\d.]+ \|/m)
  // From the load generator, the hook in the service, PostgreSQL's statements, and its tables.
  for (const row of ['· due → sent', '· handler', 'create', 'insert-transactions', 'public.transactions'])
    expect(stdout).toMatch(new RegExp(`^\\| ${row} \\| [\\d.]`, 'm'))
}, 600_000)

it('refuses rungs that do not rise', async () => {
  const run = promisify(execFile)(process.execPath, [join(build, 'bench/main.js'), '--ladder', '--rungs', '500,250'])
  await expect(run).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('rising numbers') })
})
