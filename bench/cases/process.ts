import { type Bench, toRow } from '../bench.ts'
import { toRequest } from '../load/job.ts'
import { toOrder } from '../orders.ts'
import { generate, seesUsage } from '../processes.ts'
import { median } from '../results.ts'
import { addMerchants, makeDataDir, removeDataDir, startService, startSingle, usageOfService } from '../service.ts'
import { createJob } from './create.ts'

/**
 * The time from an empty folder to the first transaction, with a new merchant and the start of the load generator, and
 * the time from a stopped service to a ready one.
 */
export async function start({ results, rounds, say }: Bench): Promise<void> {
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
  results.section(
    'Start',
    'Cold: from the start of the process, which creates the database in an empty folder, until the load generator reports the first 201; creating a merchant and its token and starting the generator are included. Warm: until /health/ready answers.',
  )
  results.row({ name: 'cold', unit: 'ms', values: cold })
  results.row({ name: 'warm', unit: 'ms', values: warm })
}

const sampleEveryMs = 250
const megabyte = 1e6

/**
 * Resident memory during creates at full rate: of one freshly started process, as with `npm start`, and of all
 * processes of the measured service.
 */
export async function memory({ results, service, processes, merchants, isFull, say }: Bench): Promise<void> {
  if (!seesUsage) return results.skip('memory', 'measured only on Linux')
  const seconds = isFull ? 600 : 30
  const single = await startSingle(merchants.length)
  try {
    say(`memory: ${seconds} s of creates at full rate`)
    const { samples, report } = await sample(single, seconds)
    const all = processes === 1 ? null : await sample({ service, merchants }, 30)
    const third = Math.floor(samples.length / 3)
    const [first, last] = [median(samples.slice(0, third)), median(samples.slice(-third))]
    const maximum = Math.max(...samples)
    results.section(
      'Memory',
      `Resident, sampled every ${sampleEveryMs} ms during ${seconds} s of creates over 64 connections: of one process, which is what \`npm start\` runs.`,
    )
    results.row({ name: 'maximum', unit: 'MB', values: [maximum] })
    results.row({ name: 'median of the first third', unit: 'MB', values: [first] })
    results.row({ name: 'median of the last third', unit: 'MB', values: [last] })
    results.row(toRow('creates meanwhile', [report]))
    if (all)
      results.row({
        name: `maximum of ${processes} workers and their primary process together`,
        unit: 'MB',
        values: [Math.max(...all.samples)],
        note: 'after all cases above, for 30 s; memory shared between processes is counted once per process',
      })
    results.target({
      name: 'memory while creating at full rate',
      kind: 'at most',
      wanted: 150,
      seen: maximum,
      unit: 'MB',
    })
    results.target({
      name: `memory, last third of ${seconds / 60} minutes relative to the first third`,
      kind: 'at most',
      wanted: 1.05,
      seen: last / first,
      unit: '×',
    })
  } finally {
    await single.close()
  }
}

async function sample({ service, merchants }: Pick<Bench, 'service' | 'merchants'>, seconds: number) {
  const samples: number[] = []
  const timer = setInterval(() => samples.push(usageOfService(service).residentBytes / megabyte), sampleEveryMs)
  const emptying = setInterval(() => void service.emptyLog(), 30_000)
  try {
    return { samples, report: await generate(createJob({ port: service.port, merchants, connections: 64, seconds })) }
  } finally {
    clearInterval(timer)
    clearInterval(emptying)
  }
}
