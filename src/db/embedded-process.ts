import { readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** What `postmaster.pid` says of the server that runs, or ran, on a database folder. */
export type Postmaster = {
  pid: number
  socketFolder: string
  state: 'starting' | 'ready' | 'stopping'
}

// PostgreSQL is asked this often whether it is there yet, or gone: reading one small file costs 20 µs.
export const pollEveryMs = 5

/** The server that is alive on this folder, whoever started it; null when there is none. */
export function findPostmaster(folder: string): Postmaster | null {
  const postmaster = readPidFile(folder)
  return postmaster !== null && isPostmaster(postmaster.pid, folder) ? postmaster : null
}

/** Ends a server as an operator would (fast shutdown), and resolves when its process is gone. */
export async function endPostmaster(pid: number, folder: string): Promise<void> {
  signal(pid, 'SIGINT')
  const impatientAt = Date.now() + shutdownMaxMs
  let urged = false
  while (isPostmaster(pid, folder)) {
    if (!urged && Date.now() > impatientAt) {
      // Ends without a checkpoint, as a loss of power would: nothing committed is lost, the next start replays the log.
      signal(pid, 'SIGQUIT')
      urged = true
    }
    await sleep(pollEveryMs)
  }
}

// The checkpoint of a shutdown writes shared_buffers at most: seconds, on a slow disk tens of them.
const shutdownMaxMs = 60_000

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error
  }
}

/**
 * Makes the pid file of a server that is gone harmless. PostgreSQL would refuse to start as long as any process of the same
 * user has that number: another program that got it later (usual in containers), or a zombie that nobody collects.
 *
 * The file is not removed but given a number no process has, because PostgreSQL also reads from it the key of the shared
 * memory, to refuse while a backend of the old server still writes.
 */
export function retirePidFile(folder: string, socketFolder: string): void {
  rmSync(`${socketFolder}/${socketName}.lock`, { force: true })
  rmSync(`${socketFolder}/${socketName}`, { force: true })
  const path = `${folder}/postmaster.pid`
  const lines = readIfThere(path)?.split('\n')
  if (lines === undefined) return
  if (lines.length < 2) rmSync(path)
  else writeFileSync(path, [noSuchPid, ...lines.slice(1)].join('\n'))
}

export const socketName = '.s.PGSQL.5432'

// Above the largest process id of Linux (2^22) and macOS (99998).
const noSuchPid = '2147483646'

function readPidFile(folder: string): Postmaster | null {
  const lines = readIfThere(`${folder}/postmaster.pid`)?.split('\n') ?? []
  const pid = Number(lines[0])
  if (!Number.isSafeInteger(pid) || pid <= 1) return null
  return { pid, socketFolder: lines[4] ?? '', state: toState(lines[7]?.trim()) }
}

function toState(word: string | undefined): Postmaster['state'] {
  if (word === 'ready') return 'ready'
  return word === 'stopping' ? 'stopping' : 'starting'
}

/**
 * Whether this process lives and is the postmaster of this folder. A postmaster stands in its data folder, which tells it
 * from a later process with its number. A zombie has ended: it only waits for a parent that may never ask.
 */
function isPostmaster(pid: number, folder: string): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (hasCode(error, 'ESRCH')) return false
  }
  if (process.platform !== 'linux') return true
  const state = readIfThere(`/proc/${pid}/stat`)?.replace(/^.*\) /s, '')[0]
  if (state === undefined || state === 'Z' || state === 'X') return false
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder
  } catch (error) {
    // Not ours to look at, so alive under another user: to be careful, it counts.
    return hasCode(error, 'EACCES') || hasCode(error, 'EPERM')
  }
}

function readIfThere(path: string): string | undefined {
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
