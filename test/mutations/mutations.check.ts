import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { type Mutation, modelTest } from './mutation.ts'
import { mutations } from './mutations.ts'

/** The files that the tests need. */
const copied = [
  'bench',
  'dashboard',
  'docs/.vitepress',
  'migrations',
  'package-lock.json',
  'package.json',
  'plugins',
  'qr-png',
  'scripts',
  'sdk',
  'simulator',
  'src',
  'test',
  'tsconfig.json',
  'vitest.config.ts',
]
/** Fixed seeds: a mutation that is caught today is caught tomorrow. */
const seeds = { MODEL_SEED: '1', MODEL_RUNS: process.env.MUTATION_RUNS ?? '24', MODEL_STEPS: '250' }
/**
 * Only ends tests that hang. Reaching it does not prove a catch: the tests have their own limits, and the machine may
 * be slow.
 */
const runMaxMs = 1_800_000

const table: string[] = []
afterAll(() => {
  process.stdout.write(`\n| planted fault | caught by |\n|---|---|\n${table.join('\n')}\n\n`)
})

it.concurrent('the program as it is passes', { timeout: runMaxMs + 10_000 }, async () => {
  expect(await withCopy((folder) => runTest(folder, modelTest))).toBe(null)
})

it.concurrent.each(mutations)('$name', { timeout: runMaxMs + 10_000 }, async (mutation) => {
  const fault = await withCopy(async (folder) => {
    await plant(folder, mutation)
    return await runTest(folder, mutation.caughtBy ?? modelTest)
  })
  table.push(`| ${mutation.name} | ${fault ?? '**nothing**'} |`)
  expect(fault, 'nothing caught it').not.toBe(null)
})

async function withCopy<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'guiche-mutation-'))
  try {
    for (const one of copied) await cp(one, join(folder, one), { recursive: true, preserveTimestamps: true })
    await symlink(resolve('node_modules'), join(folder, 'node_modules'))
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function plant(folder: string, { edits }: Mutation): Promise<void> {
  for (const { file, from, to } of edits) {
    const path = join(folder, file)
    const source = await readFile(path, 'utf8')
    expect(source.split(from), `${file} has "${from}" once`).toHaveLength(2)
    // A function, so that `$` in the text has no special meaning.
    await writeFile(
      path,
      source.replace(from, () => to),
    )
  }
}

/** The message of a failed test in one line. Null if it passed. */
async function runTest(folder: string, test: string): Promise<string | null> {
  const report = join(folder, 'report.json')
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    test,
    '--bail',
    '1',
    // The transformed modules of a copy are of no use once it is removed.
    '--experimental.fsModuleCache=false',
    '--reporter',
    'json',
    '--outputFile',
    report,
  ]
  const env = { ...process.env, ...seeds, GUICHE_TEST_REPORT: '' }
  const { isOver, output } = await new Promise<{ isOver: boolean; output: string }>((done) => {
    const running = execFile(process.execPath, args, { cwd: folder, env, timeout: runMaxMs }, (_error, out, errors) =>
      done({ isOver: !running.killed, output: out + errors }),
    )
  })
  expect(isOver, `the test ended within ${runMaxMs / 1000} s`).toBe(true)
  const text = await readFile(report, 'utf8').catch(() => null)
  if (text === null) throw new Error(`the test could not be run:\n${output}`)
  const { success, testResults } = readReport(text)
  if (success) return null
  const messages = testResults.flatMap(({ assertionResults }) => assertionResults.flatMap((one) => one.failureMessages))
  // A test that did not run has caught nothing.
  expect(messages, 'the test ran').not.toEqual([])
  return toLine(messages[0] ?? '')
}

type Report = { success: boolean; testResults: { assertionResults: { failureMessages: string[] }[] }[] }

function readReport(text: string): Report {
  return JSON.parse(text)
}

/** The first sentence of a failure, without parts that differ from run to run. */
function toLine(message: string): string {
  const [line = ''] = message.split('\n')
  const name = /^(?:Error: )*(?:MODEL_SEED=(\d+) MODEL_STEPS=\d+: )?(?:\w*Error: )*(.*)$/.exec(line)
  const said = (name?.[2] ?? line).replace(/[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}/g, '…').replaceAll('|', '/')
  return `${name?.[1] ? `seed ${name[1]}: ` : ''}${said.slice(0, 140)}`
}
