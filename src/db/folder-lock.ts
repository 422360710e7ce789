import { spawn } from 'node:child_process'
import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { exists } from './embedded-process.ts'

export type FolderLock = {
  /**
   * False if the folder cannot be locked (on a Linux without `flock`): then only PostgreSQL's own check protects it.
   */
  readonly held: boolean
  release(): void
}

/** Who holds the folder: a service keeps it, a command releases it when it ends. */
export type LockHolder = 'service' | 'command'

/**
 * A process takes the lock first and writes its line into the file a moment later. So a line that is missing, or that
 * names a process that has ended, is read again for this long. A holder in another container seems to have ended.
 */
const lineMaxMs = 1_000
const linePollMs = 100

/**
 * Locks a folder until it is released or this process ends, or returns which process holds it. It is an operating
 * system lock on an open file, so it ends with the process in any case. A file with a process id would outlive a kill,
 * and the id might then belong to another process. The process id that we write is only for the message; the word
 * `command` after it makes a service wait.
 */
export async function lockFolder(
  path: string,
  holder: LockHolder = 'service',
): Promise<FolderLock | { lockedBy: string; isCommand: boolean }> {
  const giveUpAt = performance.now() + lineMaxMs
  for (;;) {
    const opened = process.platform === 'darwin' ? openLocked(path) : await openAndFlock(path)
    if (opened !== 'taken') {
      ftruncateSync(opened.fd)
      writeSync(opened.fd, `${process.pid}${holder === 'command' ? ' command' : ''}\n`, 0)
      return { held: opened.held, release: () => release(opened.fd) }
    }
    const { pid, isCommand } = readHolder(path)
    if ((/^[1-9]\d*$/.test(pid) && exists(Number(pid))) || performance.now() > giveUpAt)
      return { lockedBy: pid === '' ? 'another process' : `process ${pid}`, isCommand }
    await sleep(linePollMs)
  }
}

/** Removes the line first: the next holder's is not there at once, and ours would be read instead. */
function release(fd: number): void {
  try {
    ftruncateSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** No link: root may open this in a folder of another user, and the file is written. */
const openFlags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW

type Opened = { fd: number; held: boolean } | 'taken'

// O_EXLOCK of <fcntl.h>: lock while opening. Node has no name for it, but passes it on.
const lockOnOpen = 0x20

function openLocked(path: string): Opened {
  try {
    return { fd: openSync(path, openFlags | constants.O_NONBLOCK | lockOnOpen, 0o600), held: true }
  } catch (error) {
    if (isBusy(error)) return 'taken'
    throw error
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EWOULDBLOCK')
}

/**
 * Linux locks an open file, not a process: `flock` locks ours through the inherited descriptor and exits, and the lock
 * stays with our descriptor. Children do not get it, because Node opens files close-on-exec.
 */
async function openAndFlock(path: string): Promise<Opened> {
  const fd = openSync(path, openFlags, 0o600)
  const code = await flock(fd)
  if (code !== takenCode) return { fd, held: code === 0 }
  closeSync(fd)
  return 'taken'
}

const takenCode = 75

function flock(fd: number): Promise<number | null> {
  return new Promise((resolve) => {
    const child = spawn('flock', ['-n', '-E', String(takenCode), '3'], { stdio: ['ignore', 'ignore', 'ignore', fd] })
    child.once('error', () => resolve(null))
    child.once('exit', resolve)
  })
}

function readHolder(path: string): { pid: string; isCommand: boolean } {
  const [pid = '', holder] = readFileSync(path, 'utf8').trim().split(' ')
  return { pid, isCommand: holder === 'command' }
}
