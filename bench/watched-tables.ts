import { type Histogram, mean, percentile } from './load/histogram.ts'
import type { Report } from './load/job.ts'
import { type Results, toNumber } from './results.ts'
import { deliveryParts, stageNames } from './stages.ts'
import { toStatementNames } from './statements.ts'
import type { Observed } from './watch.ts'

/** Routes with fewer requests, and tables with fewer changes, are left out. */
const perSecondMin = 0.5
const statementsShown = 16

/** What the load generator saw. */
type Client = Pick<Report, 'latency' | 'queued'>
/** By route. */
type Clients = Record<string, Client | null | undefined>

/** Where the time of a period went, and what the machine did meanwhile. */
export function showSeen(
  results: Results,
  name: string,
  seen: Observed,
  { clients, created }: { clients: Clients; created: { count: number } },
): void {
  showUtilisation(results, name, seen, created.count)
  showRoutes(results, name, seen, clients)
  showDeliveries(results, name, seen)
  showBatches(results, name, seen)
  showStatements(results, name, seen)
  showDatabaseWork(results, name, seen)
}

function showUtilisation(
  results: Results,
  name: string,
  { utilisation, loops, seconds }: Observed,
  creates: number,
): void {
  if (!utilisation) return
  const cores = (micros: number) => toNumber(micros / 1e6 / seconds)
  const perCreate = (micros: number) => toNumber(micros / creates)
  const busy = loops.map((share) => `${Math.round(share * 100)} %`).join(', ')
  results.table({
    title: `${name}: who used the processor`,
    text: `Per create includes its part of everything else in the mix: payments, webhooks and the work in the background. “Waiting for a core”: how many processes are ready to run and wait, on average. Event loops of Guichê’s processes, busy: ${busy}.`,
    columns: ['', 'cores', 'µs per create', 'waiting for a core'],
    rows: [
      ['Guichê', cores(utilisation.guiche), perCreate(utilisation.guiche), cores(utilisation.guicheWaited)],
      ['PostgreSQL', cores(utilisation.postgres), perCreate(utilisation.postgres), cores(utilisation.postgresWaited)],
      ['load generators and receivers', cores(utilisation.load), perCreate(utilisation.load), ''],
      ['everything else on this machine', cores(utilisation.others), '', ''],
      ...(utilisation.stolen > 0 ? [['other virtual machines', cores(utilisation.stolen), '', '']] : []),
      ['nobody', cores(utilisation.idle), '', ''],
    ],
  })
}

const timeColumns = ['per s', 'p50 ms', 'p99 ms', 'mean ms']

function toTimes(histogram: Histogram, seconds: number): string[] {
  return [toNumber(histogram.count / seconds), ...toMs(histogram)]
}

function toMs(histogram: Histogram): string[] {
  return [percentile(histogram, 50), percentile(histogram, 99), mean(histogram)].map((micros) =>
    toNumber(micros / 1000),
  )
}

/** Rows of parts that follow each other, with their share of the mean of the whole. */
function toParts(parts: { name: string; histogram: Histogram }[], seconds: number, wholeMicros?: number): string[][] {
  const whole = wholeMicros ?? parts.reduce((sum, { histogram }) => sum + mean(histogram), 0)
  return parts.map(({ name, histogram }) => [name, ...toTimes(histogram, seconds), toShare(mean(histogram) / whole)])
}

function toShare(share: number): string {
  return `${Math.round(share * 100)} %`
}

function showRoutes(results: Results, name: string, { stages, seconds }: Observed, clients: Clients): void {
  const found = [...stages.keys()].filter((key) => key.startsWith('route|')).map((key) => key.split('|')[1] ?? '')
  const routes = [...new Set(found)]
    .map((route) => ({ route, count: stages.get(stageNames.handler(route))?.count ?? 0 }))
    .filter(({ count }) => count / seconds >= perSecondMin)
    .sort((a, b) => b.count - a.count)
  const rows = routes.flatMap(({ route }) => {
    const keys = [stageNames.beforeHandler(route), stageNames.handler(route), stageNames.answer(route)]
    const parts = keys.flatMap((key) => {
      const histogram = stages.get(key)
      return histogram ? [{ name: `· ${key.split('|')[2]}`, histogram }] : []
    })
    const client = clients[route]
    if (!client || client.latency.count === 0) return [[`**${route}**`, '', '', '', '', ''], ...toParts(parts, seconds)]
    const whole = mean(client.latency)
    const known = [{ name: '· due → sent', histogram: client.queued }, ...parts]
    const outside = whole - known.reduce((sum, { histogram }) => sum + mean(histogram), 0)
    const [queued = [], ...inside] = toParts(known, seconds, whole)
    return [
      [`**${route}**, due → answer at the client`, ...toTimes(client.latency, seconds), ''],
      queued,
      ['· on the way, outside the process', '', '', '', toNumber(outside / 1000), toShare(outside / whole)],
      ...inside,
    ]
  })
  results.table({
    title: `${name}: where a request waits`,
    text: '“Due → sent”: until the generator’s next turn (each millisecond) and until one of its connections is free. “On the way”: in the sockets, there until the event loop reads the request, and back. “Read → handler” has the body, authentication, limits and validation. Routes with fewer than one request in two seconds are left out.',
    columns: ['', ...timeColumns, 'share'],
    rows,
  })
}

function showDeliveries(results: Results, name: string, { stages, seconds }: Observed): void {
  const parts = deliveryParts.flatMap((part) => {
    const histogram = stages.get(part.name)
    return histogram ? [{ name: part.name.split('|')[1] ?? '', histogram }] : []
  })
  if (parts.length === 0) return
  results.table({
    title: `${name}: where a webhook waits`,
    text: 'Attempts, by what each passed: the change (in whole milliseconds), due, claimed by a process, built, sent, answered by the receiver, recorded.',
    columns: ['', ...timeColumns, 'share'],
    rows: toParts(parts, seconds),
  })
}

function showBatches(results: Results, name: string, { stages, seconds }: Observed): void {
  const names = [...stages.keys()].flatMap((key) => /^batch\|(.*)\|run$/.exec(key)?.[1] ?? [])
  const rows = names
    .map((batch) => ({
      batch,
      wait: stages.get(stageNames.batchWait(batch)),
      run: stages.get(stageNames.batchRun(batch)),
    }))
    .flatMap(({ batch, wait, run }) => (wait && run ? [{ batch, wait, run }] : []))
    .sort((a, b) => b.wait.count - a.wait.count)
    .map(({ batch, wait, run }) => [
      batch,
      toNumber(run.count / seconds),
      toNumber(wait.count / run.count),
      ...toMs(wait),
      ...toMs(run),
    ])
  results.table({
    title: `${name}: batches`,
    text: 'How long an item waits for its batch to start, and how long the batch runs.',
    columns: ['', 'per s', 'items', 'wait p50 ms', 'p99 ms', 'mean ms', 'run p50 ms', 'p99 ms', 'mean ms'],
    rows,
  })
}

function showStatements(results: Results, name: string, { stages, seconds }: Observed): void {
  const own = [stageNames.loop, stageNames.garbage, stageNames.poolWait]
  const total = (histogram: Histogram) => histogram.count * mean(histogram)
  const statements = [...stages].filter(([key]) => key.startsWith('statement|'))
  const row = (key: string, histogram: Histogram) => [
    key.split('|')[1] ?? '',
    ...toTimes(histogram, seconds),
    toNumber(total(histogram) / 1e6 / seconds),
  ]
  results.table({
    title: `${name}: event loop, pool and statements`,
    text: 'Statements from the call to the answer in Node.js, so with the waits for earlier ones on the connection and for the event loop; the most time in all first. “At once”: how many run at a time, on average. The delay of the event loop is seen every 5 ms, a stall once for each 5 ms of it.',
    columns: ['', ...timeColumns, 'at once'],
    rows: [
      ...own.flatMap((key) => {
        const histogram = stages.get(key)
        return histogram ? [row(key, histogram)] : []
      }),
      ...statements
        .sort(([, a], [, b]) => total(b) - total(a))
        .slice(0, statementsShown)
        .map(([key, histogram]) => row(key, histogram)),
    ],
  })
}

function showDatabaseWork(results: Results, name: string, { database, texts, seconds }: Observed): void {
  if (!database) return
  const toName = toStatementNames(texts)
  const allMs = database.statements.reduce((sum, { ms }) => sum + ms, 0)
  results.table({
    title: `${name}: statements in PostgreSQL`,
    text: `By pg_stat_statements, the most expensive first: ${toNumber(allMs / seconds)} ms a second in all. Waits for locks and for the disk are in it, and processor time that PostgreSQL had to wait for.`,
    columns: ['', 'calls/s', 'rows per call', 'mean ms', 'ms per s', 'WAL bytes per row', 'WAL kB/s'],
    rows: database.statements
      .slice(0, statementsShown)
      .map(({ text, calls, rows, ms, walBytes }) => [
        toName(text),
        toNumber(calls / seconds),
        toNumber(rows / calls),
        toNumber(ms / calls),
        toNumber(ms / seconds),
        rows === 0 ? '' : toNumber(walBytes / rows),
        toNumber(walBytes / 1000 / seconds),
      ]),
  })
  const changes = ({ inserted, updated, deleted }: { inserted: number; updated: number; deleted: number }) =>
    inserted + updated + deleted
  results.table({
    title: `${name}: rows written`,
    text: 'Per second. A HOT update adds nothing to the indexes.',
    columns: ['', 'inserted', 'updated', 'of which HOT', 'deleted'],
    rows: database.tables
      .filter(([, table]) => changes(table) / seconds >= perSecondMin)
      .sort(([, a], [, b]) => changes(b) - changes(a))
      .map(([table, { inserted, updated, hot, deleted }]) => [
        table,
        toNumber(inserted / seconds),
        toNumber(updated / seconds),
        updated === 0 ? '' : toShare(hot / updated),
        toNumber(deleted / seconds),
      ]),
  })
}
