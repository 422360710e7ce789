import { type Bench, type Measured, measure, medianRate, toRow } from '../bench.ts'
import { type Job, type Report, toRequest } from '../load/job.ts'
import { generate } from '../processes.ts'
import { createJob } from './create.ts'

/**
 * More than the images that a process caches, so that one process draws an image for each request. With several
 * processes, each gets fewer of them, and some images come from its cache.
 */
const transactionsCount = 2000
const connections = 64

/** Fetches one transaction by its id, QR image included. */
export async function fetchById(bench: Bench): Promise<void> {
  const { results, service, merchants, peers, rounds, say } = bench
  say('fetch: creating what is fetched')
  const [merchant] = merchants
  if (!merchant) return
  const ours = await fetchJob(bench, { port: service.port, token: merchant.token })
  const theirs = []
  for (const peer of peers) theirs.push(await fetchJob(bench, peer))
  const hello: Job = { ...ours, port: bench.hello.port, requests: [toRequest({ method: 'GET', path: '/hello' })] }

  const seen = { ours: [] as Measured[], hello: [] as Report[], peers: peers.map((): Report[] => []) }
  for (let round = 1; round <= rounds; round += 1) {
    say(`fetch, round ${round} of ${rounds}`)
    seen.ours.push(await measure(service, ours))
    seen.hello.push(await generate(hello))
    for (const [index, job] of theirs.entries()) seen.peers[index]?.push(await generate(job))
    await service.emptyLog()
  }
  results.section(
    'Fetch by id',
    `${connections} connections, ${transactionsCount} transactions of one merchant, QR image included.`,
  )
  results.row(toRow('Guichê', seen.ours))
  results.row(toRow('Fastify alone, GET', seen.hello))
  for (const [index, peer] of peers.entries()) {
    const reports = seen.peers[index] ?? []
    results.row(toRow(peer.name, reports))
    const ratio = medianRate(seen.ours) / medianRate(reports)
    results.target({ name: `fetch, relative to ${peer.name}`, kind: 'at least', wanted: 35, seen: ratio, unit: '×' })
  }
}

async function fetchJob(bench: Bench, { port, token }: { port: number; token: string }): Promise<Job> {
  const create = createJob({ port, merchants: [{ token }], connections, seconds: 60, warmUpSeconds: 0 })
  const requests = Array.from(
    { length: transactionsCount },
    (_, index) => create.requests[index % create.requests.length] ?? '',
  )
  const { kept } = await generate({
    ...create,
    requests,
    once: true,
    keep: { pattern: '"id":"([^"]+)"', max: transactionsCount },
  })
  return {
    ...create,
    seconds: bench.seconds,
    warmUpSeconds: 1,
    requests: kept.map(([id]) => toRequest({ method: 'GET', path: `/transaction/${id}`, token })),
  }
}
