import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeDataDir, removeDataDir, type Service, startService } from './service.ts'
import { loopsBetween, readSnapshots, type Stages, stagesBetween, toStagesOptions } from './stages.ts'
import { readUtilisation, type Utilisation, utilisationBetween } from './utilisation.ts'

/** What was seen from inside of a service during a measured period. */
export type Seen = {
  seconds: number
  stages: Stages
  /** How busy the event loop of each process was, from 0 to 1. */
  loops: number[]
  utilisation: Utilisation | null
}

/** A service on an empty folder that records where its requests wait. */
export type Watched = {
  service: Service
  /** Begins a period. The result ends it. */
  begin(): Promise<() => Promise<Seen>>
  close(): Promise<void>
}

export async function startWatched({ processes }: { processes: number }): Promise<Watched> {
  const dataDir = await makeDataDir()
  const stagesDir = join(dataDir, 'stages')
  const hook = pathToFileURL(join(import.meta.dirname, 'stages-hook.js')).href
  const service = await startService({ dataDir, processes, ...toStagesOptions(stagesDir, hook) })
  const read = async () => ({
    at: performance.now(),
    utilisation: readUtilisation(service),
    snapshots: await readSnapshots(stagesDir),
  })
  return {
    service,
    async begin() {
      const before = await read()
      return async () => {
        const after = await read()
        const seconds = (after.at - before.at) / 1000
        return {
          seconds,
          stages: stagesBetween(before.snapshots, after.snapshots),
          loops: loopsBetween(before.snapshots, after.snapshots, seconds),
          utilisation: utilisationBetween(before.utilisation, after.utilisation),
        }
      }
    },
    async close() {
      await service.stop()
      await removeDataDir(dataDir)
    },
  }
}
