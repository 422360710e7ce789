import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

export const processesMax = 20

/**
 * The number of processes for so many cores. For each process that uses a whole core, PostgreSQL uses half of another,
 * so three cores get two processes. With more, fewer requests share a statement: decision 14 has the figures for two
 * cores.
 */
export function processesFor(cores: number): number {
  return Math.min(processesMax, Math.max(1, Math.floor((cores * 2) / 3)))
}

/** The cores that this process may use: those of the machine, or fewer by affinity or by the limit of a container. */
export function countCores(): number {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(readQuota() ?? Number.POSITIVE_INFINITY)))
}

/** The limit in cores of the process's own control group, else of the group that a container sees as its root. */
function readQuota(): number | null {
  const own = read('/proc/self/cgroup')?.match(/^0::(.*)$/m)?.[1]
  for (const folder of own === undefined ? [''] : [own, '']) {
    const quota = parseQuota(read(`/sys/fs/cgroup${folder}/cpu.max`))
    if (quota !== null) return quota
  }
  // Version 1 of control groups.
  const folder = '/sys/fs/cgroup/cpu/cpu'
  return parseQuota(`${read(`${folder}.cfs_quota_us`)} ${read(`${folder}.cfs_period_us`)}`)
}

/** Microseconds of processor time, and of the period in which they may be used; `max` or -1 if there is no limit. */
export function parseQuota(text: string | null): number | null {
  const [quota = Number.NaN, period = Number.NaN] = (text ?? '').trim().split(' ').map(Number)
  return quota > 0 && period > 0 ? quota / period : null
}

/** Null where there is no such file: not on Linux, or the other version of control groups. */
function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return null
  }
}
