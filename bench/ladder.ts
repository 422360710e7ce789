import { merge, percentile } from './load/histogram.ts'
import type { ReceiverReport } from './load/receivers.ts'
import { createResults, type Results, toErrors, toMs, toNumber } from './results.ts'
import { addMerchants } from './service.ts'
import {
  connections,
  merchantsCount,
  openSteadyLoad,
  type Slice,
  type Steady,
  type SteadyLoad,
  toClients,
} from './steady.ts'
import { type Observed, startWatched, type Watched } from './watch.ts'
import { showSeen } from './watched-tables.ts'

export const rungsDefault = [250, 500, 750, 1000, 1500, 2000, 2500, 3000]
/** A rung is fast if the p99 of its creates is at most this. The knee is the highest rate that is fast. */
const p99MaxMs = 100
const kneeWanted = 2000
/** After a start most of the code is not compiled yet. */
const firstWarmUp = { perSecond: 500, seconds: 10 }
const warmUpSeconds = 5
/**
 * A rung pays one charge for every ten that it creates. They are charges of its warm-up, which lasts at least this part
 * of the rung, and so creates twice as many as are paid.
 */
const warmUpShareMin = 0.2
/** How long a warm-up and a rung wait at their ends for webhooks that have not arrived. */
const lateMs = 3_000

type Rung = { perSecond: number; steady: Steady; delivered: ReceiverReport; seen: Observed }

/** The load of the soak at rising rates, until creates are slow, fail or stay unsent. */
export async function ladder(options: {
  rungs: number[]
  seconds: number
  processes: number
  statements: boolean
  say(text: string): void
}): Promise<string> {
  const { rungs, seconds, processes, say } = options
  const results = createResults()
  const watched = await startWatched(options)
  const load = await openSteadyLoad(watched.service.port, await addMerchants(watched.service, merchantsCount))
  const done: Rung[] = []
  try {
    const ofWarmUp = { seconds: Math.min(seconds, Math.max(warmUpSeconds, seconds * warmUpShareMin)) }
    const warmUps = rungs.map((perSecond) => ({ perSecond, ...ofWarmUp }))
    const first = { ...firstWarmUp, seconds: Math.min(firstWarmUp.seconds, seconds) }
    await readLateOf(load, await load.run(first, warmUps[0] ?? null))
    for (const [index, warmUp] of warmUps.entries()) {
      const rung = await climb({ warmUp, seconds, next: warmUps[index + 1] ?? null, load, watched })
      done.push(rung)
      say(`${rung.perSecond}/s: ${toRow(rung).join(' | ')}`)
      if (!isFast(rung)) break
    }
  } finally {
    load.close()
    await watched.close()
  }
  show(results, done, { seconds, processes })
  return results.toMarkdown()
}

/** The charges of the warm-up are paid in the rung, and those of the rung in the warm-up of the next one. */
async function climb(options: {
  warmUp: Slice
  seconds: number
  next: Slice | null
  load: SteadyLoad
  watched: Watched
}): Promise<Rung> {
  const { warmUp, seconds, next, load, watched } = options
  const { perSecond } = warmUp
  const counted = { perSecond, seconds }
  await readLateOf(load, await load.run(warmUp, counted))
  const end = await watched.begin()
  const steady = await load.run(counted, next)
  const seen = await end()
  const late = await readLateOf(load, steady)
  const { delivered } = steady
  merge(delivered.latency, late.latency)
  merge(delivered.sincePaid, late.sincePaid)
  await watched.service.emptyLog()
  return { perSecond, steady, delivered: { ...delivered, count: delivered.count + late.count }, seen }
}

/** The webhooks of a slice that arrive after its end. Those of a warm-up would be counted in the rung after it. */
async function readLateOf(load: SteadyLoad, { created, paid, delivered }: Steady): Promise<ReceiverReport> {
  return await load.readLate(created.count + (paid?.count ?? 0) - delivered.count, lateMs)
}

/**
 * The p99 is low enough, and every create that was due was sent and answered with 2xx. Those that were due in the last
 * hundredth of a second may be unsent.
 */
function isFast({ steady: { created } }: Rung): boolean {
  return toMs(created, 99) <= p99MaxMs && Object.keys(created.errors).length === 0
}

const columns = [
  'creates/s',
  'p50 ms',
  'p99 ms',
  'max ms',
  'webhooks p50 ms',
  'webhooks p99 ms',
  'paid → webhook p99 ms',
  'cores Guichê',
  'cores PostgreSQL',
  'cores load',
  'cores others',
  'cores unused',
  'processes waiting for a core',
  'µs Guichê',
  'µs PostgreSQL',
  'note',
]

function toRow({ perSecond, steady: { created, paid }, delivered, seen: { utilisation, seconds } }: Rung): string[] {
  const ms = (micros: number) => toNumber(micros / 1000)
  const cores = (micros: number | undefined) => (micros === undefined ? '' : toNumber(micros / 1e6 / seconds))
  const perCreate = (micros: number | undefined) => (micros === undefined ? '' : toNumber(micros / created.count))
  const missing = created.count + (paid?.count ?? 0) - delivered.count
  return [
    String(perSecond),
    ms(percentile(created.latency, 50)),
    ms(percentile(created.latency, 99)),
    ms(created.latency.max),
    ms(percentile(delivered.latency, 50)),
    ms(percentile(delivered.latency, 99)),
    ms(percentile(delivered.sincePaid, 99)),
    cores(utilisation?.guiche),
    cores(utilisation?.postgres),
    cores(utilisation?.load),
    cores(utilisation ? utilisation.others + utilisation.stolen : undefined),
    cores(utilisation?.idle),
    cores(utilisation ? utilisation.guicheWaited + utilisation.postgresWaited : undefined),
    perCreate(utilisation?.guiche),
    perCreate(utilisation?.postgres),
    [missing > 0 && `${missing} webhooks late`, toErrors(paid ? [created, paid] : [created])]
      .filter(Boolean)
      .join('; '),
  ]
}

function show(results: Results, rungs: Rung[], { seconds, processes }: { seconds: number; processes: number }): void {
  results.table({
    title: 'Ladder',
    text: `The load of the soak at rising rates, each for ${seconds} s after a warm-up: creates of ${merchantsCount} merchants over ${connections} connections, each with webhooks to a receiver that answers at once; one in ten paid; ${processes} processes of Guichê. It ends when the p99 of creates passes ${p99MaxMs} ms, or creates fail or stay unsent. Latencies count from when a request was due; those of webhooks from the change of the transaction to the first byte at the receiver. Processor time per create includes its part of payments, webhooks and background work.`,
    columns,
    rows: rungs.map(toRow),
  })
  const knee = rungs.findLast(isFast)
  results.target({
    name: `ladder, creates a second with a p99 of ${p99MaxMs} ms at most`,
    kind: 'at least',
    wanted: kneeWanted,
    seen: knee?.perSecond ?? 0,
    unit: '/s',
  })
  // The highest rate that is fast, and the first that is not.
  for (const rung of new Set([knee, rungs.at(-1)])) {
    if (!rung) continue
    const { created, paid } = rung.steady
    showSeen(results, `${rung.perSecond} creates a second`, rung.seen, { clients: toClients(created, paid), created })
  }
}
