import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeDataDir, removeDataDir, type Service, startService } from './service.ts'
import { loopsBetween, readSnapshots, type Stages, stagesBetween, toStagesOptions } from './stages.ts'
import { beginStatements, type DatabaseWork, openStatements, preloadStatements } from './statements.ts'
import { readUtilisation, type Utilisation, utilisationBetween } from './utilisation.ts'

/** What was observed inside a service during a measured period. */
export type Observed = {
  seconds: number
  stages: Stages
  /** How busy the event loop of each process was, from 0 to 1. */
  loops: number[]
  utilisation: Utilisation | null
  /** Of prepared statements, by name. */
  texts: Map<string, string>
  /** Null unless wanted: reading it costs PostgreSQL a little. */
  database: DatabaseWork | null
}

/** A service on an empty folder that records where its requests wait. */
export type Watched = {
  service: Service
  /** Begins a period. The result ends it. */
  begin(): Promise<() => Promise<Observed>>
  close(): Promise<void>
}

export async function startWatched(options: { processes: number; statements: boolean }): Promise<Watched> {
  const dataDir = await makeDataDir()
  const stagesDir = join(dataDir, 'stages')
  const hook = pathToFileURL(join(import.meta.dirname, 'stages-hook.js')).href
  const start = async () =>
    await startService({ dataDir, processes: options.processes, ...toStagesOptions(stagesDir, hook) })
  let service = await start()
  if (options.statements) {
    await preloadStatements(service)
    await service.stop()
    service = await start()
    await openStatements(service)
  }
  const read = async () => ({
    at: performance.now(),
    utilisation: readUtilisation(service),
    snapshots: await readSnapshots(stagesDir),
  })
  return {
    service,
    async begin() {
      const endStatements = options.statements ? await beginStatements(service) : null
      const before = await read()
      return async () => {
        const after = await read()
        const database = (await endStatements?.()) ?? null
        const seconds = (after.at - before.at) / 1000
        return {
          seconds,
          stages: stagesBetween(before.snapshots, after.snapshots),
          loops: loopsBetween(before.snapshots, after.snapshots, seconds),
          utilisation: utilisationBetween(before.utilisation, after.utilisation),
          texts: new Map([...after.snapshots.values()].flatMap(({ texts }) => [...texts])),
          database,
        }
      }
    },
    async close() {
      await service.stop()
      await removeDataDir(dataDir)
    },
  }
}
