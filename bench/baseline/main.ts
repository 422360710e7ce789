import { randomFillSync } from 'node:crypto'
import { newHistogram, record } from '../load/histogram.ts'
import type { BaselineExample, BaselineJob, BaselineReport } from './job.ts'
import { connectClient, type ProtocolClient, toExecution } from './protocol-client.ts'

// A separate process, like the load generator. Measures the most creates a second that PostgreSQL alone can do: repeats
// their statements over several connections.
process.on('message', (job: BaselineJob) => {
  void run(job).then(
    (report) => process.send?.({ report }),
    (error: Error) => process.send?.({ failure: error.message }),
  )
})

async function run(job: BaselineJob): Promise<BaselineReport> {
  const cpuAtStart = process.cpuUsage()
  const report: BaselineReport = { count: 0, seconds: job.seconds, latency: newHistogram(), cpuMicros: 0 }
  const clients = await Promise.all(Array.from({ length: job.clients }, () => open(job)))
  const endAt = performance.now() + job.seconds * 1000
  const exampleOf = (index: number) => job.examples[index % job.examples.length] ?? { values: [], renewedTexts: [] }
  await Promise.all(clients.map((client, index) => loop(client, exampleOf(index), endAt, report)))
  // The clients stay connected until this process ends: the caller reads the processor time of their backends.
  const cpu = process.cpuUsage(cpuAtStart)
  report.cpuMicros = cpu.user + cpu.system
  return report
}

async function open(job: BaselineJob): Promise<ProtocolClient> {
  const client = await connectClient({ path: job.path, user: job.user, database: job.database })
  for (const [index, text] of job.statements.entries()) await client.prepare(`s${index}`, text)
  return client
}

function loop(
  client: ProtocolClient,
  { values, renewedTexts }: BaselineExample,
  endAt: number,
  report: BaselineReport,
): Promise<void> {
  const messages = values.map((own, index) => toExecution(`s${index}`, own))
  const places = renewedTexts.map((text) => messages.map((bytes) => findAll(bytes, text)))
  return new Promise((resolve, reject) => {
    let step = 0
    let startedAt = 0
    const next = (error: string | null) => {
      if (error !== null) return reject(new Error(error))
      step += 1
      if (step < messages.length) return client.send(messages[step] ?? Buffer.alloc(0), next)
      const now = performance.now()
      // The first call has no request behind it.
      if (startedAt > 0 && now <= endAt) {
        report.count += 1
        record(report.latency, (now - startedAt) * 1000)
      }
      if (now >= endAt) return resolve()
      for (const own of places) renew(messages, own)
      step = 0
      startedAt = now
      client.send(messages[0] ?? Buffer.alloc(0), next)
    }
    step = messages.length
    next(null)
  })
}

function findAll(bytes: Buffer, text: string): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) places.push(at)
  return places
}

/** Writes one new UUID over each of these places: the previous request has been answered, so its buffer is free. */
function renew(messages: Buffer[], places: number[][]): void {
  const uuid = randomUuid()
  for (const [index, own] of places.entries()) for (const place of own) messages[index]?.write(uuid, place, 'latin1')
}

const pool = Buffer.alloc(16 * 1024)
let used = pool.length

function randomUuid(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const hex = pool.toString('hex', used, used + 16)
  used += 16
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}
