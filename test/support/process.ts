import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject } from 'vitest'
import { findFreePort as findFreePortOf } from '../../src/port.ts'
import { makeDatabaseFolder } from './database-folder.ts'
import { noteLogLine } from './logged-errors.ts'
import { copyMigrated } from './migrated-folder.ts'

export type Line = { level: number; msg: string; [member: string]: unknown }

export type ServiceProcess = {
  /** Lines that it printed for people. */
  said: string[]
  pid: number
  baseUrl: string
  /** Lines that it logged, from level `info` on. */
  lines: Line[]
  signal(name: NodeJS.Signals): void
  /** Resolves with its exit code or signal. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

type Options = {
  dataDir: string
  port: number
  databaseUrl?: string
  /** Its working directory. The data folder by default. */
  cwd?: string
  environment?: Record<string, string>
  /** Another build than the one under test. */
  build?: string
  /** The arguments of Node.js, instead of the service of the build. */
  command?: string[]
  /** After this time without being ready it is killed. */
  startMaxMs?: number
}

/** A start takes a few seconds, and longer on a busy machine. */
const startMaxMsDefault = 180_000

/** Starts the compiled service as a separate process, and resolves when it is ready. */
export async function startServiceProcess(options: Options): Promise<ServiceProcess> {
  const child = spawnService(options)
  const lines: Line[] = []
  const ended = untilEnded(child)
  const said: string[] = []
  await untilReady(child, { lines, said, startMaxMs: options.startMaxMs ?? startMaxMsDefault })
  return {
    said,
    pid: child.pid ?? 0,
    baseUrl: `http://127.0.0.1:${options.port}`,
    lines,
    signal: (name) => child.kill(name),
    ended,
  }
}

/** Starts it and kills it after this time, ready or not. */
export async function startAndKill(options: Options, afterMs: number): Promise<void> {
  const child = spawnService(options)
  for (const stream of [child.stdout, child.stderr]) stream?.resume()
  const ended = untilEnded(child)
  await sleep(afterMs)
  child.kill('SIGKILL')
  await ended
}

/** Starts it, and ends it by SIGTERM as soon as its PostgreSQL is being started. Returns its exit code and output. */
export async function startAndStop(options: Options): Promise<{ code: number | null; said: string }> {
  const child = spawnService(options)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (said += String(data)))
  const ended = untilEnded(child)
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  while (!existsSync(join(options.dataDir, 'postgres/postmaster.pid')) && !hasEnded()) await sleep(5)
  child.kill('SIGTERM')
  const { code } = await ended
  return { code, said }
}

function spawnService({ dataDir, port, databaseUrl, cwd, environment, build, command }: Options): ChildProcess {
  return spawn(process.execPath, command ?? [join(build ?? inject('build'), 'src/main.js')], {
    // This machine's own configuration must not affect it.
    cwd: cwd ?? dataDir,
    env: {
      PATH: process.env.PATH,
      DATA_DIR: dataDir,
      PORT: String(port),
      PROCESSES: '1',
      STOP_DELAY_SECONDS: '0',
      // Many services share two cores in a test run, and each connection is a process of PostgreSQL.
      DATABASE_CONNECTIONS_MAX: '6',
      // A busy machine is no outage.
      DATABASE_WAIT_SECONDS: '60',
      RATE_LIMIT_CREATE: '0',
      RATE_LIMIT_TOKEN: '0',
      RATE_LIMIT_READ: '0',
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function untilEnded(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return await new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
}

async function untilReady(
  child: ChildProcess,
  { lines, said, startMaxMs }: { lines: Line[]; said: string[]; startMaxMs: number },
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let how: string | null = null
    const timer = setTimeout(() => {
      how = 'did not start in time'
      child.kill('SIGKILL')
    }, startMaxMs)
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      reject(new Error(`It ${how ?? `ended with ${code ?? signal}`}: ${said.join('\n')}`))
    })
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue
      createInterface({ input: stream }).on('line', (text) => {
        if (!text.startsWith('{')) {
          said.push(text)
          return
        }
        const line: Line = JSON.parse(text)
        lines.push(line)
        noteLogLine(line)
        if (line.msg !== 'Guichê is ready') return
        clearTimeout(timer)
        resolve()
      })
    }
  })
}

type DataDir = { dataDir: string; remove(): Promise<void> }

export async function makeDataDir(): Promise<DataDir> {
  const dataDir = await makeDatabaseFolder('guiche-process-')
  return { dataDir, remove: async () => await rm(dataDir, { recursive: true, force: true }) }
}

/** Its PostgreSQL needs only to be started. */
export async function makeMigratedDataDir(): Promise<DataDir> {
  const folder = await makeDataDir()
  await copyMigrated(folder.dataDir)
  return folder
}

export async function findFreePort(): Promise<number> {
  return await findFreePortOf('127.0.0.1')
}
