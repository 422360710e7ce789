import { readFileSync } from 'node:fs'
import { seesUsage, usageOfProcessTrees } from './processes.ts'
import type { Service } from './service.ts'

/**
 * Processor time, and time spent waiting for a core, in microseconds. What {@link readUtilisation} returns counts from
 * the start of each process, and from the start of the machine for `others`, `stolen` and `idle`.
 * {@link utilisationBetween} returns the difference of two such values.
 */
export type Utilisation = {
  guiche: number
  postgres: number
  /** The bench: load generators and receivers. */
  load: number
  /** Everything else on this machine, and the kernel's work for the network. */
  others: number
  /** Taken by other virtual machines. */
  stolen: number
  idle: number
  /** How long main threads were ready to run and waited for a core. */
  guicheWaited: number
  postgresWaited: number
}

/** Null if this system does not show it. */
export function readUtilisation(service: Pick<Service, 'pid' | 'postgresPid'>): Utilisation | null {
  if (!seesUsage) return null
  const trees = usageOfProcessTrees(process.pid, service.pid, service.postgresPid)
  const [all = 0, guicheAll = 0, postgres = 0] = trees.map(({ cpuMicros }) => cpuMicros)
  const [, guicheAllWaited = 0, postgresWaited = 0] = trees.map(({ waitedMicros }) => waitedMicros)
  const ticks = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(/\s+/).slice(1).map(Number)
  const [user = 0, nice = 0, system = 0, idle = 0, ioWait = 0, interrupts = 0, softInterrupts = 0, steal = 0] =
    ticks.map((tick) => tick * 10_000)
  return {
    // PostgreSQL is a child of Guichê, and Guichê one of the bench.
    guiche: guicheAll - postgres,
    postgres,
    load: all - guicheAll,
    others: user + nice + system + interrupts + softInterrupts - all,
    stolen: steal,
    idle: idle + ioWait,
    guicheWaited: guicheAllWaited - postgresWaited,
    postgresWaited,
  }
}

export function utilisationBetween(before: Utilisation | null, after: Utilisation | null): Utilisation | null {
  if (!before || !after) return null
  return {
    guiche: after.guiche - before.guiche,
    postgres: after.postgres - before.postgres,
    load: after.load - before.load,
    others: Math.max(0, after.others - before.others),
    stolen: after.stolen - before.stolen,
    idle: after.idle - before.idle,
    // A process that ended in between has taken its waiting time with it, so the difference may be below zero.
    guicheWaited: Math.max(0, after.guicheWaited - before.guicheWaited),
    postgresWaited: Math.max(0, after.postgresWaited - before.postgresWaited),
  }
}
