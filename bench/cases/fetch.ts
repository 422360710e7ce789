import { keptMax } from '../../src/transactions/fetch.ts'
import { type Bench, type Measured, measure, medianRate, toRow } from '../bench.ts'
import { type Job, type Report, toRequest } from '../load/job.ts'
import { generate } from '../processes.ts'
import { createJob } from './create.ts'

/** A process keeps all of these in memory: after the first fetch of each, it only checks that it is unchanged. */
const openCount = 1000
const connections = 64

/** Fetches one transaction by its id, QR image included. */
export async function fetchById(bench: Bench): Promise<void> {
  const { results, service, merchants, peers, rounds, say } = bench
  say('fetch: creating what is fetched')
  const [merchant] = merchants
  if (!merchant) return
  const place = { port: service.port, token: merchant.token }
  const ours = await fetchJob(bench, place, openCount)
  // Each process fetches twice as many as it keeps before one comes again, so each fetch reads the row and draws the
  // image.
  const manyCount = 2 * keptMax * bench.processes
  const notKept = await fetchJob(bench, place, manyCount)
  const theirs = []
  for (const peer of peers) theirs.push(await fetchJob(bench, peer, openCount))
  const hello: Job = { ...ours, port: bench.hello.port, requests: [toRequest({ method: 'GET', path: '/hello' })] }

  const seen = {
    ours: [] as Measured[],
    notKept: [] as Measured[],
    hello: [] as Report[],
    peers: peers.map((): Report[] => []),
  }
  for (let round = 1; round <= rounds; round += 1) {
    say(`fetch, round ${round} of ${rounds}`)
    seen.ours.push(await measure(service, ours))
    seen.notKept.push(await measure(service, notKept))
    seen.hello.push(await generate(hello))
    for (const [index, job] of theirs.entries()) seen.peers[index]?.push(await generate(job))
    await service.emptyLog()
  }
  results.section('Fetch by id', `${connections} connections, transactions of one merchant in turn, QR image included.`)
  results.row(toRow(`Guichê, ${openCount} open charges again and again`, seen.ours))
  results.row(toRow(`Guichê, ${manyCount} charges, none of them kept`, seen.notKept))
  results.row(toRow('Fastify alone, GET', seen.hello))
  results.target({
    ...{ name: 'fetch again, relative to Fastify alone', kind: 'at least', wanted: 0.4, unit: '×' },
    seen: medianRate(seen.ours) / medianRate(seen.hello),
  })
  for (const [index, peer] of peers.entries()) {
    const reports = seen.peers[index] ?? []
    results.row(toRow(peer.name, reports))
    const ratio = medianRate(seen.notKept) / medianRate(reports)
    results.target({ name: `fetch, relative to ${peer.name}`, kind: 'at least', wanted: 35, seen: ratio, unit: '×' })
  }
}

async function fetchJob(bench: Bench, { port, token }: { port: number; token: string }, count: number): Promise<Job> {
  const create = createJob({ port, merchants: [{ token }], connections, seconds: 60, warmUpSeconds: 0 })
  const requests = Array.from({ length: count }, (_, index) => create.requests[index % create.requests.length] ?? '')
  const { kept } = await generate({
    ...create,
    requests,
    once: true,
    keep: { pattern: '"id":"([^"]+)"', max: count },
  })
  return {
    ...create,
    seconds: bench.seconds,
    warmUpSeconds: 1,
    requests: kept.map(([id]) => toRequest({ method: 'GET', path: `/transaction/${id}`, token })),
  }
}
