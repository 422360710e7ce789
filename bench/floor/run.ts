import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { migrate, migrationsFolder } from '../../src/db/migrate.ts'
import { connect } from '../../src/db/sql.ts'
import { cpuOfFamily, startWorker } from '../processes.ts'
import { createDatabase } from '../servers.ts'
import type { Service } from '../service.ts'
import type { FloorJob, FloorReport } from './job.ts'
import { readFloor } from './statements.ts'

export type Floor = {
  rowBytes: number
  measure(kind: FloorKind, seconds: number): Promise<FloorReport & { postgresMicros: number }>
  /** How many clients were fastest. */
  clients: Record<FloorKind, number>
}

type FloorKind = 'oneStatement' | 'beginCommit'

/** With those of the service and of the peers they stay below the hundred connections that PostgreSQL takes. */
const clientCounts = [8, 16, 32]
const tryoutSecondsMax = 1.5
const backendsEndMs = 300

/**
 * What PostgreSQL itself does at most with the rows of a create: on the same server, in a database of the same schema, with its indexes,
 * checks and triggers. (What those count is folded by a job, which runs for the service alone.) Both kinds are tried with several numbers
 * of clients, as one would with pgbench, and the best is taken.
 */
export async function openFloor(service: Service, seconds: number): Promise<Floor> {
  const { rowBytes, ...jobs } = await readFloor(service.db)
  const database = 'bench_floor'
  const folder = await createDatabase(service, database, 'select 1')
  const url = new URL(service.connectionString)
  url.pathname = database
  const db = connect({ connectionString: url.href, connectionsMax: 2, onError: () => {} })
  await migrate(db, { folder: migrationsFolder(), log: pino({ level: 'silent' }) })
  await db.pool.end()

  const run = async (kind: FloorKind, clients: number, seconds: number) => {
    const worker = startWorker<FloorJob, FloorReport>('floor/main.js')
    try {
      const before = cpuOfFamily(service.postgresPid)
      const base = { path: `${folder}/.s.PGSQL.5432`, user: 'guiche', database }
      const report = await worker.ask({ ...base, clients, seconds, ...jobs[kind] })
      return { ...report, postgresMicros: (cpuOfFamily(service.postgresPid) - before) / report.count }
    } finally {
      worker.end()
      // Until its backends have ended: of one that ends while the next run reads what all have used, some is lost or counted twice.
      await sleep(backendsEndMs)
    }
  }

  const fastest = async (kind: FloorKind): Promise<number> => {
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
