import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { migrate, migrationsFolder } from '../../src/db/migrate.ts'
import { connect } from '../../src/db/sql.ts'
import { cpuOfProcessTree, startWorker } from '../processes.ts'
import { createDatabase } from '../servers.ts'
import type { Service } from '../service.ts'
import type { BaselineJob, BaselineReport } from './job.ts'
import { readBaseline } from './statements.ts'

export type Baseline = {
  rowBytes: number
  measure(kind: BaselineKind, seconds: number): Promise<BaselineReport & { postgresMicros: number }>
  /** The number of clients with which each kind is fastest. */
  clients: Record<BaselineKind, number>
}

type BaselineKind = 'oneStatement' | 'beginCommit'

/** Together with those of the service and the competitors they stay below PostgreSQL's hundred connections. */
const clientCounts = [8, 16, 32]
const tryoutSecondsMax = 1.5
const backendsEndMs = 300

/**
 * PostgreSQL's own maximum for the rows of a create: on the same server, in a database with the same schema, indexes,
 * checks and triggers. (The triggers write changes of counts, which a job adds up in the service's database only.) Both
 * kinds run with several numbers of clients, as with pgbench, and the best result counts.
 */
export async function openBaseline(service: Service, seconds: number): Promise<Baseline> {
  const { rowBytes, ...jobs } = await readBaseline(service.db)
  const database = 'bench_baseline'
  const folder = await createDatabase(service, database, 'select 1')
  const url = new URL(service.connectionString)
  url.pathname = database
  const db = connect({ connectionString: url.href, connectionsMax: 2, onError: () => {} })
  await migrate(db, { folder: migrationsFolder(), log: pino({ level: 'silent' }) })
  await db.pool.end()

  const run = async (kind: BaselineKind, clients: number, seconds: number) => {
    const worker = startWorker<BaselineJob, BaselineReport>('baseline/main.js')
    try {
      const before = cpuOfProcessTree(service.postgresPid)
      const base = { path: `${folder}/.s.PGSQL.5432`, user: 'guiche', database }
      const report = await worker.request({ ...base, clients, seconds, ...jobs[kind] })
      return { ...report, postgresMicros: (cpuOfProcessTree(service.postgresPid) - before) / report.count }
    } finally {
      worker.end()
      // Waits until its backends have ended. If one ends while the next run reads the usage of all, a part is lost or
      // counted twice.
      await sleep(backendsEndMs)
    }
  }

  const fastest = async (kind: BaselineKind): Promise<number> => {
    let best = { clients: 0, count: -1 }
    for (const clients of clientCounts) {
      const { count } = await run(kind, clients, Math.min(seconds / 2, tryoutSecondsMax))
      if (count > best.count) best = { clients, count }
    }
    return best.clients
  }
  const clients = { oneStatement: await fastest('oneStatement'), beginCommit: await fastest('beginCommit') }
  return { rowBytes, clients, measure: (kind, seconds) => run(kind, clients[kind], seconds) }
}
