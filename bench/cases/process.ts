import { type Bench, toRow } from '../bench.ts'
import { median } from '../card.ts'
import { toRequest } from '../load/job.ts'
import { toOrder } from '../orders.ts'
import { generate, seesUsage, usageOf } from '../processes.ts'
import { addMerchants, makeDataDir, removeDataDir, startService } from '../service.ts'
import { createJob } from './create.ts'

/** From nothing to the first transaction, and from a stopped service to one that is ready. */
export async function start({ card, rounds, say }: Bench): Promise<void> {
  const cold: number[] = []
  const warm: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    say(`start, round ${round} of ${rounds}`)
    const dataDir = await makeDataDir()
    try {
      const startedAt = performance.now()
      const first = await startService({ dataDir })
      const [merchant] = await addMerchants(first, 1)
      const request = toRequest({ method: 'POST', path: '/transaction', token: merchant?.token, body: toOrder(round) })
      const report = await generate({
        ...createJob({ port: first.port, merchants: [], connections: 1, seconds: 0, warmUpSeconds: 0 }),
        requests: [request],
        once: true,
      })
      if (report.count === 1) cold.push(performance.now() - startedAt)
      await first.stop()
      const second = await startService({ dataDir })
      warm.push(second.startMs)
      await second.stop()
    } finally {
      await removeDataDir(dataDir)
    }
  }
  card.section(
    'Start',
    'Cold: from the start of the process on an empty folder (which makes the database) to the first 201. Warm: until /health/ready answers.',
  )
  card.row({ name: 'cold', unit: 'ms', values: cold })
  card.row({ name: 'warm', unit: 'ms', values: warm })
}

const sampleEveryMs = 250
const megabyte = 1e6

/** Resident memory of Guichê's process while it creates as fast as it can. */
export async function memory({ card, service, merchants, isFull, say }: Bench): Promise<void> {
  if (!seesUsage) return card.skip('memory', 'only Linux shows it')
  const seconds = isFull ? 600 : 30
  say(`memory: ${seconds} s of creates at full rate`)
  const samples: number[] = []
  const timer = setInterval(() => samples.push(usageOf(service.pid).residentBytes / megabyte), sampleEveryMs)
  const emptying = setInterval(() => void service.emptyLog(), 30_000)
  const report = await generate(createJob({ port: service.port, merchants, connections: 64, seconds }))
  clearInterval(timer)
  clearInterval(emptying)
  const third = Math.floor(samples.length / 3)
  const [first, last] = [median(samples.slice(0, third)), median(samples.slice(-third))]
  const most = Math.max(...samples)
  card.section(
    'Memory',
    `Resident, of Guichê’s process, sampled every ${sampleEveryMs} ms during ${seconds} s of creates over 64 connections.`,
  )
  card.row({ name: 'the most', unit: 'MB', values: [most] })
  card.row({ name: 'median of the first third', unit: 'MB', values: [first] })
  card.row({ name: 'median of the last third', unit: 'MB', values: [last] })
  card.row(toRow('creates meanwhile', [report]))
  card.target({ name: 'memory while creating at full rate', kind: 'at most', wanted: 150, seen: most, unit: 'MB' })
  card.target({
    name: `memory, last third of ${seconds / 60} minutes, of the first`,
    kind: 'at most',
    wanted: 1.05,
    seen: last / first,
    unit: '×',
  })
}
