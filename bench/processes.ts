import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Job, Report } from './load/job.ts'

/** A process's used processor time and current memory. */
type Usage = {
  /** Including its children that have ended. */
  cpuMicros: number
  /** How long its main thread was ready to run and waited for a core. Without children that have ended. */
  waitedMicros: number
  residentBytes: number
}

/**
 * Linux shows processes in /proc, in ticks of 10 ms and pages of 4 KiB. On other systems these figures are left out.
 */
export const seesUsage = existsSync('/proc/self/stat')

/** Zeros if not available. */
function usageOf(pid: number): Usage {
  const fields = readOrNothing(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number)
  const ticks = (from: number, to: number) => fields.slice(from, to).reduce((sum, field) => sum + field, 0)
  return {
    cpuMicros: ticks(11, 15) * 10_000,
    waitedMicros: Number(readOrNothing(`/proc/${pid}/schedstat`).split(' ')[1] ?? 0) / 1000,
    residentBytes: (fields[21] ?? 0) * 4096,
  }
}

/**
 * Processor time and memory of processes, each with all its descendants, such as PostgreSQL's postmaster and its
 * backends. A process that ended has left its time with its parent. Shared memory counts for each process. All are read
 * at the same time.
 */
export function usageOfProcessTrees(...pids: number[]): Usage[] {
  const parents = new Map<number, number>()
  const usages = new Map<number, Usage>()
  const names = seesUsage ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []
  for (const name of names) {
    const parent = /\) \S (\d+)/.exec(readOrNothing(`/proc/${name}/stat`))?.[1]
    if (parent === undefined) continue
    parents.set(Number(name), Number(parent))
    usages.set(Number(name), usageOf(Number(name)))
  }
  return pids.map((pid) => {
    const tree = new Set([pid])
    for (let before = 0; before !== tree.size; ) {
      before = tree.size
      for (const [child, parent] of parents) if (tree.has(parent)) tree.add(child)
    }
    const members = [...tree].flatMap((member) => usages.get(member) ?? [])
    return {
      cpuMicros: members.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0),
      waitedMicros: members.reduce((sum, { waitedMicros }) => sum + waitedMicros, 0),
      residentBytes: members.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
    }
  })
}

/** The processor time of a process and its descendants, such as all of PostgreSQL. */
export function cpuOfProcessTree(pid: number): number {
  return usageOfProcessTrees(pid)[0]?.cpuMicros ?? 0
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill('SIGTERM')
})

/** Ends the child when the bench ends early. Guichê then stops its PostgreSQL. */
export function endWithUs(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
}

/** A child process of the bench that answers each message with one. It ends with the bench. */
export type Worker<Message extends object, Answer> = {
  request(message: Message): Promise<Answer>
  pid: number
  end(): void
}

export function startWorker<Message extends object, Answer>(file: string): Worker<Message, Answer> {
  const child: ChildProcess = fork(join(import.meta.dirname, file), { serialization: 'advanced', execArgv: [] })
  endWithUs(child)
  return {
    pid: child.pid ?? 0,
    request: (message) =>
      new Promise((resolve, reject) => {
        const onExit = (code: number | null) => reject(new Error(`${file} ended with ${code}`))
        child.once('exit', onExit)
        child.once('message', (answer: { report: Answer } | { failure: string }) => {
          child.off('exit', onExit)
          if ('report' in answer) resolve(answer.report)
          else reject(new Error(`${file}: ${answer.failure}`))
        })
        child.send(message)
      }),
    end: () => child.kill(),
  }
}

/** Runs one job in a new generator. */
export async function generate(job: Job): Promise<Report> {
  const worker = startWorker<Job, Report>('load/main.js')
  try {
    return await worker.request(job)
  } finally {
    worker.end()
  }
}
