import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The process id of the postmaster (PostgreSQL's main process) of a data folder; null if there is no pid file, or no
 * process with the id in it.
 */
export function postmasterOf(dataDir: string): number | null {
  const pid = Number(readFile(join(dataDir, 'postmaster.pid'))?.split('\n')[0] ?? 0)
  return pid > 0 && parentOf(pid) !== null ? pid : null
}

/** The postmaster of a data folder and all of its descendants. */
export function postgresProcesses(dataDir: string): number[] {
  const postmaster = postmasterOf(dataDir)
  return postmaster === null ? [] : [postmaster, ...descendantsOf(postmaster)]
}

/** The child processes of a process, their child processes, and so on. */
export function descendantsOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: parentOf(Number(name)) }))
  const below = (of: number): number[] =>
    parents.filter(({ parent }) => parent === of).flatMap((child) => [child.pid, ...below(child.pid)])
  return below(pid)
}

/**
 * The contents of `/proc/<pid>/cmdline`: NULs separate the arguments and pad the end. `ps` shows it without them, as
 * `postgres: walsender replicator 127.0.0.1(40196) streaming 0/3000148`.
 */
export function commandOf(pid: number): string {
  return readFile(`/proc/${pid}/cmdline`) ?? ''
}

/** Skips processes that have ended since they were listed. */
export function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) if (parentOf(pid) !== null) process.kill(pid, signal)
}

/** Suspends them (SIGSTOP), as if their machine had frozen. Returns a function that resumes them. */
export function freeze(pids: number[]): () => void {
  signalAll(pids, 'SIGSTOP')
  return () => signalAll(pids, 'SIGCONT')
}

/** Null if there is no such process. */
function parentOf(pid: number): number | null {
  const text = readFile(`/proc/${pid}/stat`)
  return text === null ? null : Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
}

function readFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
