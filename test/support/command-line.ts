import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { expect, inject } from 'vitest'
import { assert } from '../../src/lib/assert.ts'

type Ran = { code: number; stdout: string; stderr: string }

/**
 * The compiled command line in a separate process, on a service's database. The process stays for the next command,
 * also of other test files, since starting one takes a second of CPU.
 */
export type CommandLine = {
  run(args: string[]): Promise<Ran>
  /** Runs with `--json`: standard output has only the JSON, and standard error is empty. */
  runJson<Answer = Record<string, unknown>>(args: string[], code?: number): Promise<Answer>
  /** Runs a command that must succeed, and returns what it printed for people. */
  read(args: string[]): Promise<string>
  /** Runs a command that must fail, with a message on standard error that says what to do. */
  expectFailure(args: string[], message: string | RegExp): Promise<void>
  stop(): Promise<void>
}

export async function openCommandLine({
  connectionString,
  environment = {},
}: {
  /** Or `DATA_DIR` in the environment. */
  connectionString?: string
  environment?: Record<string, string>
}): Promise<CommandLine> {
  // A folder without a .env file.
  const cwd = await mkdtemp(join(tmpdir(), 'guiche-cli-'))
  const database = connectionString !== undefined && { DATABASE_URL: connectionString }
  // A busy machine is no outage.
  const env = { PATH: process.env.PATH, DATABASE_WAIT_SECONDS: '60', ...database, ...environment }
  const run = async (args: string[]) => await runInTurn({ args, env, cwd })
  return {
    run,
    async runJson(args, expected = 0) {
      const { code, stdout, stderr } = await run([...args, '--json'])
      expect({ code, stderr }, args.join(' ')).toEqual({ code: expected, stderr: '' })
      return JSON.parse(stdout)
    },
    async read(args) {
      const { code, stdout, stderr } = await run(args)
      expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' })
      return stdout
    },
    async expectFailure(args, message) {
      const { code, stdout, stderr } = await run(args)
      expect({ code, stdout }, stderr).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(message)
      expect(stderr).not.toMatch(/^\s+at .*:\d+:\d+/m)
    },
    async stop() {
      await rm(cwd, { recursive: true, force: true })
    },
  }
}

/** What the process runs next. */
type Command = { args: string[]; env: NodeJS.ProcessEnv; cwd: string }

let runner: ChildProcess | undefined
let last: Promise<unknown> = Promise.resolve()

/** Commands wait for each other. */
async function runInTurn(command: Command): Promise<Ran> {
  const ran = last.then(async () => await runNow(command))
  last = ran.catch(() => {})
  return await ran
}

async function runNow(command: Command): Promise<Ran> {
  // It may have ended after its last command.
  if (!runner?.connected)
    runner = fork(join(import.meta.dirname, 'command-runner.mjs'), [join(inject('build'), 'src/cli/program.js')], {
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
  const process = runner
  const outputs = [readToEnd(process.stdout), readToEnd(process.stderr)] as const
  const code = new Promise<number>((resolve) => {
    const onMessage = (code: unknown) => {
      process.off('exit', onExit)
      resolve(Number(code))
    }
    // After an error that nothing caught, for example.
    const onExit = (code: number | null) => {
      process.off('message', onMessage)
      runner = undefined
      resolve(Number(code ?? Number.NaN))
    }
    process.once('message', onMessage)
    process.once('exit', onExit)
  })
  process.send(command)
  const [stdout, stderr] = await Promise.all(outputs)
  return { code: await code, stdout, stderr }
}

/** Reads until the NUL after a command, or to the end of the process. */
async function readToEnd(stream: Readable | null): Promise<string> {
  assert(stream, 'the output is a pipe')
  return await new Promise((resolve) => {
    let text = ''
    const end = () => {
      stream.off('data', onData)
      stream.off('close', end)
      resolve(text)
    }
    const onData = (chunk: string) => {
      text += chunk
      if (!text.endsWith('\0')) return
      text = text.slice(0, -1)
      end()
    }
    stream.setEncoding('utf8').on('data', onData).once('close', end)
  })
}
