import { readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The content of `postmaster.pid`: the server that runs, or ran, on a database folder. */
export type Postmaster = {
  pid: number
  socketFolder: string
  state: 'starting' | 'ready' | 'stopping'
}

// How often to check whether PostgreSQL has started or ended: reading one small file costs 20 µs.
export const pollEveryMs = 5

/** The running server on this folder, whoever started it, or null. */
export function findPostmaster(folder: string): Postmaster | null {
  const postmaster = readPidFile(folder)
  return postmaster !== null && isPostmaster(postmaster.pid, folder) ? postmaster : null
}

/** Stops a server by a fast shutdown, after a minute by an immediate one. Resolves when its process has ended. */
export async function endPostmaster(pid: number, folder: string): Promise<void> {
  signal(pid, 'SIGINT')
  const quitAt = Date.now() + shutdownMaxMs
  let isQuitSent = false
  while (isPostmaster(pid, folder)) {
    if (!isQuitSent && Date.now() > quitAt) {
      // Stops without a checkpoint, like a power cut: nothing committed is lost, and the next start replays the log.
      signal(pid, 'SIGQUIT')
      isQuitSent = true
    }
    await sleep(pollEveryMs)
  }
}

// The checkpoint of a shutdown writes at most shared_buffers: seconds, on a slow disk tens of seconds.
const shutdownMaxMs = 60_000

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error
  }
}

/**
 * Neutralizes the pid file of a server that has ended. PostgreSQL refuses to start as long as any process of the same
 * user has that number: an unrelated program that got it later (common in containers), or a zombie. The file is not
 * removed but gets a number that no process has, because PostgreSQL also reads the shared memory key from it, to refuse
 * a start while a backend of the old server still writes.
 */
export function neutralizePidFile(folder: string, socketFolder: string): void {
  rmSync(`${socketFolder}/${socketName}.lock`, { force: true })
  rmSync(`${socketFolder}/${socketName}`, { force: true })
  const path = `${folder}/postmaster.pid`
  const lines = readIfExists(path)?.split('\n')
  if (lines === undefined) return
  if (lines.length < 2) rmSync(path)
  else writeFileSync(path, [noSuchPid, ...lines.slice(1)].join('\n'))
}

export const socketName = '.s.PGSQL.5432'

// Above the largest process id of Linux (2^22) and macOS (99998).
const noSuchPid = '2147483646'

function readPidFile(folder: string): Postmaster | null {
  const lines = readIfExists(`${folder}/postmaster.pid`)?.split('\n') ?? []
  const pid = Number(lines[0])
  if (!Number.isSafeInteger(pid) || pid <= 1) return null
  return { pid, socketFolder: lines[4] ?? '', state: toState(lines[7]?.trim()) }
}

function toState(word: string | undefined): Postmaster['state'] {
  if (word === 'ready') return 'ready'
  return word === 'stopping' ? 'stopping' : 'starting'
}

/**
 * Whether this process is alive and is the postmaster of this folder. A postmaster's working directory is its data
 * folder, which distinguishes it from a later process with the same number. A zombie has ended; it only waits for a
 * parent that may never collect it. Systems other than Linux do not show this: there any process with the number
 * counts.
 */
function isPostmaster(pid: number, folder: string): boolean {
  if (!exists(pid)) return false
  if (process.platform !== 'linux') return true
  const state = readIfExists(`/proc/${pid}/stat`)?.replace(/^.*\) /s, '')[0]
  if (state === undefined || state === 'Z' || state === 'X') return false
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder
  } catch (error) {
    if (!hasCode(error, 'EACCES') && !hasCode(error, 'EPERM')) return false
    // We may not inspect it: it has another user, or we are root in a container without that capability. A postmaster
    // always has the user that owns its folder. To be safe, any process of that user counts.
    return userOf(pid) === statSync(folder).uid
  }
}

/** The effective user id of a process; undefined if it has ended. */
function userOf(pid: number): number | undefined {
  const uid = readIfExists(`/proc/${pid}/status`)?.match(/^Uid:\t\d+\t(\d+)/m)?.[1]
  return uid === undefined ? undefined : Number(uid)
}

/** Whether a process has this id. True as well if it belongs to another user. */
export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !hasCode(error, 'ESRCH')
  }
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ESRCH')) return undefined
    throw error
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
