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
