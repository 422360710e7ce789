import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject } from 'vitest'

type Ran = { code: number; stdout: string; stderr: string }

/** The compiled command line, run as an operator runs it: as a separate process, on a service's database. */
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
  connectionString: string
  environment?: Record<string, string>
}): Promise<CommandLine> {
  // A folder without a .env file.
  const cwd = await mkdtemp(join(tmpdir(), 'guiche-cli-'))
  const env = { PATH: process.env.PATH, DATABASE_URL: connectionString, ...environment }
  const main = join(inject('build'), 'src/cli/main.js')

  async function run(args: string[]): Promise<Ran> {
    return await new Promise((resolve) => {
      execFile(process.execPath, [main, ...args], { cwd, env }, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
      })
    })
  }

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
    stop: async () => await rm(cwd, { recursive: true, force: true }),
  }
}
