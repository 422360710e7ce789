import { type Baseline, openBaseline } from '../baseline/run.ts'
import { type Bench, type Measured, measure, medianRate, rateOf, toRow } from '../bench.ts'
import { type Job, type Report, toRequest } from '../load/job.ts'
import { toOrder } from '../orders.ts'
import { generate, seesUsage } from '../processes.ts'
import { median, toMs } from '../results.ts'
import type { Server } from '../servers.ts'
import { startSingle } from '../service.ts'

const ordersPerMerchant = 20
/** The warm-up is never longer than the measurement, which takes only a fraction of a second in tests. */
const toWarmUp = (seconds: number) => Math.min(1, seconds)

/** Creates for all merchants in turn, each with a new idempotency key. */
export function createJob(options: {
  port: number
  merchants: { token: string }[]
  connections: number
  seconds: number
  warmUpSeconds?: number
  webhookUrls?: string[]
}): Job {
  const { merchants, webhookUrls, ...others } = options
  const requests = Array.from({ length: merchants.length * ordersPerMerchant }, (_, index) =>
    toRequest({
      method: 'POST',
      path: '/transaction',
      token: merchants[index % merchants.length]?.token,
      body: toOrder(index, webhookUrls?.[index % webhookUrls.length]),
    }),
  )
  return { warmUpSeconds: toWarmUp(others.seconds), ...others, perSecond: null, requests, once: false, keep: null }
}

/**
 * Create, compared with PostgreSQL's own speed for the same rows, with competitors, and with a server that does
 * nothing.
 */
export async function create(bench: Bench): Promise<void> {
  const { results, service, merchants, seconds, say } = bench
  say('create: warming up, and finding the number of clients with which PostgreSQL is fastest')
  const job = (connections: number, measured: Pick<Bench, 'service' | 'merchants'> = bench) =>
    createJob({ port: measured.service.port, merchants: measured.merchants, connections, seconds })
  await generate({ ...job(64), seconds: Math.min(seconds, 3) })
  const single = bench.processes === 1 ? null : await startSingle(merchants.length)
  const seen = {
    ours: [] as Measured[],
    single: [] as Measured[],
    oneStatement: [] as Awaited<ReturnType<Baseline['measure']>>[],
    beginCommit: [] as Awaited<ReturnType<Baseline['measure']>>[],
    hello: [] as Report[],
    peers: bench.peers.map((): Report[] => []),
  }
  let baseline: Baseline
  try {
    if (single) await generate({ ...job(64, single), seconds: Math.min(seconds, 3) })
    baseline = await openBaseline(service, seconds)
    for (let round = 1; round <= bench.rounds; round += 1) {
      say(`create at 64 connections with baselines and competitors, round ${round} of ${bench.rounds}`)
      seen.oneStatement.push(await baseline.measure('oneStatement', seconds))
      seen.ours.push(await measure(service, job(64)))
      if (single) seen.single.push(await measure(single.service, job(64, single)))
      seen.beginCommit.push(await baseline.measure('beginCommit', seconds))
      seen.hello.push(await generate(helloJob(bench.hello, seconds)))
      for (const [index, peer] of bench.peers.entries()) seen.peers[index]?.push(await generate(peerJob(peer, seconds)))
      await service.emptyLog()
    }
  } finally {
    await single?.close()
  }
  results.section(
    'Create',
    `Guichê as ${bench.processes === 1 ? 'one process' : `${bench.processes} processes`} unless stated otherwise, here and below; ${merchants.length} merchants in turn; full body, a row of ${baseline.rowBytes} bytes; rate limits, log, metrics, history and event on; answered after the commit. The PostgreSQL baselines insert the same rows into tables of the same schema.`,
  )
  results.row(toRow('Guichê, 64 connections', seen.ours))
  if (single) results.row(toRow('Guichê, one process', seen.single))
  for (const kind of ['oneStatement', 'beginCommit'] as const) {
    const name = kind === 'oneStatement' ? 'one statement per create' : 'BEGIN, an INSERT per row, COMMIT'
    results.row({
      name: `PostgreSQL, ${name}`,
      unit: '/s',
      values: seen[kind].map(rateOf),
      p50Ms: seen[kind].map((report) => toMs(report, 50)),
      p99Ms: seen[kind].map((report) => toMs(report, 99)),
      ...(seesUsage && { postgresMicros: seen[kind].map(({ postgresMicros }) => postgresMicros) }),
      loadMicros: seen[kind].map(({ cpuMicros, count }) => cpuMicros / count),
      note: `${baseline.clients[kind]} clients: the fastest of 8, 16 and 32`,
    })
  }
  results.row(toRow('Fastify alone, JSON echoed', seen.hello))
  for (const [index, peer] of bench.peers.entries()) results.row(toRow(peer.name, seen.peers[index] ?? []))

  for (const connections of [1, 8, 256]) {
    const reports: Measured[] = []
    for (let round = 1; round <= bench.rounds; round += 1) {
      say(`create at ${connections} connections, round ${round} of ${bench.rounds}`)
      reports.push(await measure(service, job(connections)))
      await service.emptyLog()
    }
    results.row(toRow(`Guichê, ${connections} connection${connections === 1 ? '' : 's'}`, reports))
  }

  const ours = medianRate(seen.ours)
  const atLeast = (name: string, wanted: number, other: number) =>
    results.target({ name, kind: 'at least', wanted, seen: ours / other, unit: '×' })
  atLeast('create, relative to PostgreSQL’s one-statement rate', 0.8, medianRate(seen.oneStatement))
  atLeast('create, relative to PostgreSQL’s BEGIN…COMMIT rate', 1.5, medianRate(seen.beginCommit))
  for (const [index, peer] of bench.peers.entries())
    atLeast(`create, relative to ${peer.name}`, index === 0 ? 40 : 45, medianRate(seen.peers[index] ?? []))
  results.target({
    name: 'create, p99 / p50 at 64 connections',
    kind: 'at most',
    wanted: 3,
    seen: median(seen.ours.map((report) => toMs(report, 99) / toMs(report, 50))),
    unit: '',
  })
}

function peerJob(peer: Server, seconds: number): Job {
  return createJob({ port: peer.port, merchants: [peer], connections: 64, seconds })
}

function helloJob({ port }: Server, seconds: number): Job {
  const requests = [toRequest({ method: 'POST', path: '/echo', body: toOrder(1) })]
  return {
    port,
    connections: 64,
    seconds,
    warmUpSeconds: toWarmUp(seconds),
    perSecond: null,
    requests,
    once: false,
    keep: null,
  }
}
