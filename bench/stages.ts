import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliveryStages } from '../src/webhooks/deliver.ts'
import { type Histogram, merge, newHistogram, since } from './load/histogram.ts'

/** The names under which stages-hook.ts, which is loaded into the service, records. */
export const stageNames = {
  beforeHandler: (route: string) => `route|${route}|read → handler`,
  handler: (route: string) => `route|${route}|handler`,
  answer: (route: string) => `route|${route}|handler → answered`,
  batchWait: (name: string) => `batch|${name}|wait`,
  batchRun: (name: string) => `batch|${name}|run`,
  statement: (name: string) => `statement|${name}`,
  poolWait: 'process|wait for a connection of the pool',
  loop: 'process|event loop, delay',
  garbage: 'process|garbage collection',
}

/** In the order in which a delivery passes them. */
export const deliveryParts: { name: string; from: keyof DeliveryStages; to: keyof DeliveryStages }[] = [
  { name: 'delivery|change → due', from: 'occurredAt', to: 'dueAt' },
  { name: 'delivery|due → claimed', from: 'dueAt', to: 'claimedAt' },
  { name: 'delivery|claimed → built', from: 'claimedAt', to: 'builtAt' },
  { name: 'delivery|built → sent', from: 'builtAt', to: 'sentAt' },
  { name: 'delivery|sent → answered', from: 'sentAt', to: 'answeredAt' },
  { name: 'delivery|answered → recorded', from: 'answeredAt', to: 'recordedAt' },
]

/** The duration of one part, in milliseconds. */
export function partOf(
  delivery: DeliveryStages,
  { from, to }: Pick<(typeof deliveryParts)[number], 'from' | 'to'>,
): number {
  const at = (moment: Date | number) => (moment instanceof Date ? moment.getTime() - performance.timeOrigin : moment)
  return at(delivery[to]) - at(delivery[from])
}

export type Stages = Map<string, Histogram>

/** What one process has recorded since its start. */
export type Snapshot = {
  stages: Stages
  /** How long its event loop was busy. */
  busyMs: number
  /** The texts of prepared statements, by name. */
  texts: Map<string, string>
}

/**
 * The file that a process writes. Each histogram has its name, count and maximum, and the [bucket, count] of the
 * buckets in use.
 */
type Written = {
  at: number
  busyMs: number
  texts: [string, string][]
  stages: [string, number, number, [number, number][]][]
}

const folderSetting = 'BENCH_STAGES_DIR'
const writeSignal = 'SIGUSR2'
const answerMaxMs = 5_000

/** What a process of the service records. */
export type Recorded = { find(name: string): Histogram; texts: Map<string, string> }

/** In a process of the service. Each signal makes the process write what it has recorded. */
export function writeSnapshots(): Recorded {
  const folder = process.env[folderSetting]
  if (folder === undefined) throw new Error(`${folderSetting} names no folder`)
  const stages: Stages = new Map()
  const texts = new Map<string, string>()
  const write = () => {
    const written: Written = {
      at: Date.now(),
      busyMs: performance.eventLoopUtilization().active,
      texts: [...texts],
      stages: [...stages].map(([name, { counts, count, max }]) => [
        name,
        count,
        max,
        counts.flatMap((inBucket, bucket): [number, number][] => (inBucket === 0 ? [] : [[bucket, inBucket]])),
      ]),
    }
    // A reader sees whole files only.
    const file = join(folder, `${process.pid}.json`)
    writeFileSync(`${file}.new`, JSON.stringify(written))
    renameSync(`${file}.new`, file)
  }
  process.on(writeSignal, write)
  mkdirSync(folder, { recursive: true })
  write()
  const find = (name: string) => {
    const histogram = stages.get(name) ?? newHistogram()
    stages.set(name, histogram)
    return histogram
  }
  return { find, texts }
}

/** What makes a started service record its stages into a folder. */
export function toStagesOptions(folder: string, hook: string) {
  return { execArgv: ['--import', hook], environment: { [folderSetting]: folder } }
}

/** Makes each running process write its snapshot, and reads all of them, by process id. */
export async function readSnapshots(folder: string): Promise<Map<number, Snapshot>> {
  const pids = readdirSync(folder).flatMap((name) => (/^\d+\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
  const after = Date.now()
  const writing = pids.filter((pid) => signal(pid)).map((pid) => ({ pid, after }))
  return new Map(await Promise.all(writing.map(async (one) => [one.pid, await readWritten(folder, one)] as const)))
}

/** False if the process has ended. */
function signal(pid: number): boolean {
  try {
    return process.kill(pid, writeSignal)
  } catch {
    return false
  }
}

async function readWritten(folder: string, { pid, after }: { pid: number; after: number }): Promise<Snapshot> {
  const giveUpAt = performance.now() + answerMaxMs
  while (performance.now() < giveUpAt) {
    const { at, busyMs, texts, stages }: Written = JSON.parse(readFileSync(join(folder, `${pid}.json`), 'utf8'))
    if (at >= after) {
      const histograms = stages.map(([name, ...rest]) => [name, toHistogram(...rest)] as const)
      return { busyMs, texts: new Map(texts), stages: new Map(histograms) }
    }
    await sleep(5)
  }
  throw new Error(`process ${pid} of the service did not write its stages`)
}

function toHistogram(count: number, max: number, used: [number, number][]): Histogram {
  const histogram = { ...newHistogram(), count, max }
  for (const [bucket, inBucket] of used) histogram.counts[bucket] = inBucket
  return histogram
}

/** What the processes that still run recorded between two readings. */
export function stagesBetween(before: Map<number, Snapshot>, after: Map<number, Snapshot>): Stages {
  const all: Stages = new Map()
  for (const [pid, { stages }] of after)
    for (const [name, histogram] of stages) {
      const part = since(before.get(pid)?.stages.get(name) ?? newHistogram(), histogram)
      if (part.count === 0) continue
      const sum = all.get(name)
      if (sum) merge(sum, part)
      else all.set(name, part)
    }
  return all
}

/** How busy the event loop of each process was between two readings, from 0 to 1. */
export function loopsBetween(before: Map<number, Snapshot>, after: Map<number, Snapshot>, seconds: number): number[] {
  return [...after].map(([pid, { busyMs }]) => (busyMs - (before.get(pid)?.busyMs ?? 0)) / 1000 / seconds)
}
