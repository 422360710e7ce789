import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { median, newCard, toErrors, toMs } from './card.ts'
import { createJob } from './cases/create.ts'
import { merge, newHistogram, percentile } from './load/histogram.ts'
import { type Job, type Report, toRequest } from './load/job.ts'
import { toOrder } from './orders.ts'
import { startWorker } from './processes.ts'
import { addMerchants, makeDataDir, removeDataDir, type Service, startService, usageOfService } from './service.ts'
import { openShop } from './shop.ts'

const createsPerSecond = 1000
/**
 * Enough that none waits for another: at 60 ms a create, 64 would send at most a thousand a second, and a backlog after
 * a stall would stay.
 */
const connections = 256
/** This part of the charges of one slice is paid in the next. */
const paidShare = 0.1
const merchantsCount = 50
/**
 * A request's body is parsed and serialized this many times, once a second, to show the machine's current speed. It
 * takes a few milliseconds.
 */
const bodiesRead = 500

/**
 * Creates at a fixed rate, payments and webhooks, slice after slice (a minute each, or a third of a short soak), with
 * checkpoints and vacuum as they occur. Then it verifies the ledger.
 */
export async function soak({
  minutes,
  processes,
  say,
}: {
  minutes: number
  processes: number
  say(text: string): void
}): Promise<string> {
  const card = newCard()
  const sliceSeconds = Math.min(60, minutes * 20)
  const slices = Math.round((minutes * 60) / sliceSeconds)
  const payments = createsPerSecond * paidShare
  const dataDir = await makeDataDir()
  const service = await startService({ dataDir, processes })
  const shop = await openShop(1)
  // They are reused: a slice begins when the last one has ended.
  const creator = startWorker<Job, Report>('load/main.js')
  const payer = startWorker<Job, Report>('load/main.js')
  try {
    const merchants = await addMerchants(service, merchantsCount)
    const creates: Job = {
      ...createJob({
        port: service.port,
        merchants,
        connections,
        seconds: sliceSeconds,
        warmUpSeconds: 0,
        webhookUrls: shop.urls,
      }),
      perSecond: createsPerSecond,
      keep: { pattern: '"uri":"([^"]+)"', max: payments * sliceSeconds },
    }
    const whole = {
      creates: newHistogram(),
      payments: newHistogram(),
      delivered: newHistogram(),
      errors: [] as Report[],
    }
    const resident: number[] = []
    const slices50Ms: number[] = []
    const slices99Ms: number[] = []
    const bodiesMs: number[] = []
    let unpaid: string[] = []
    for (let slice = 1; slice <= slices; slice += 1) {
      const pay: Job = {
        ...creates,
        connections: 64,
        perSecond: payments,
        requests: unpaid.map((uri) =>
          toRequest({ method: 'POST', path: '/sandbox/payment', token: merchants[0]?.token, body: { uri } }),
        ),
        keep: null,
        once: true,
      }
      const readings: number[] = []
      const looking = setInterval(() => readings.push(readBodies()), 1_000)
      const [created, paid] = await Promise.all([
        creator.request(creates),
        unpaid.length > 0 ? payer.request(pay) : undefined,
      ]).finally(() => clearInterval(looking))
      unpaid = created.kept.flat()
      const delivered = await shop.worker.request({ task: 'read', waitFor: 0, waitMs: 0 })
      merge(whole.creates, created.latency)
      merge(whole.delivered, delivered.latency)
      if (paid) merge(whole.payments, paid.latency)
      whole.errors.push(created, ...(paid ? [paid] : []))
      slices50Ms.push(toMs(created, 50))
      slices99Ms.push(toMs(created, 99))
      bodiesMs.push(median(readings))
      resident.push(usageOfService(service).residentBytes / 1e6)
      await service.emptyLog()
      const ms = (report: Pick<Report, 'latency'>, percent: number) => toMs(report, percent).toFixed(1)
      say(
        `${((slice * sliceSeconds) / 60).toFixed(1)} min: ${created.count} created, p50 ${ms(created, 50)} p99 ${ms(created, 99)} max ${(created.latency.max / 1000).toFixed(0)} ms; ` +
          `${paid?.count ?? 0} paid; ${delivered.count} webhooks, p99 ${ms(delivered, 99)} ms; ${resident.at(-1)?.toFixed(0)} MB; JSON ${bodiesMs.at(-1)?.toFixed(1)} ms ${toErrors([created]) ?? ''}`,
      )
    }
    // Open work is finished before the ledger is verified.
    const late = await shop.worker.request({ task: 'read', waitFor: Number.POSITIVE_INFINITY, waitMs: 15_000 })
    merge(whole.delivered, late.latency)
    const verified = await verifyLedger(service)

    const row = (name: string, histogram: Report['latency'], note?: string) =>
      card.row({
        name,
        unit: '',
        values: [histogram.count],
        p50Ms: [percentile(histogram, 50) / 1000],
        p99Ms: [percentile(histogram, 99) / 1000],
        note: [`max ${(histogram.max / 1000).toFixed(0)} ms`, note].filter(Boolean).join('; '),
      })
    card.section(
      `Soak: ${minutes} minutes`,
      `${createsPerSecond} creates a second of ${merchantsCount} merchants over ${connections} connections, each with webhooks; one in ten paid; ${processes} processes of Guichê; checkpoints and vacuum as they come. Latencies count from when a request was due, of webhooks from the change to the first byte.`,
    )
    row('creates', whole.creates, toErrors(whole.errors))
    const slice = sliceSeconds === 60 ? 'minute' : `${sliceSeconds} s`
    card.row({ name: `creates, p50 of each ${slice}`, unit: 'ms', values: slices50Ms })
    card.row({ name: `creates, p99 of each ${slice}`, unit: 'ms', values: slices99Ms })
    row('payments at the bank', whole.payments)
    row('webhooks', whole.delivered)
    card.row({ name: 'resident memory of Guichê', unit: 'MB', values: resident })
    card.row({ name: 'guiche ledger verify, breaches', unit: '', values: [verified.breaches], note: verified.said })
    card.row({
      name: `JSON of a body, read and written ${bodiesRead} times, processor time`,
      unit: 'ms',
      values: bodiesMs,
    })
    card.target({
      name: 'soak, p99 of creates',
      kind: 'at most',
      wanted: 100,
      seen: percentile(whole.creates, 99) / 1000,
      unit: 'ms',
    })
    card.target({ name: 'soak, breaches of the ledger', kind: 'at most', wanted: 0, seen: verified.breaches, unit: '' })
    return card.toMarkdown()
  } finally {
    for (const worker of [creator, payer, shop.worker]) worker.end()
    await service.stop()
    await removeDataDir(dataDir)
  }
}

/**
 * The current speed of the machine. On a virtual machine whose neighbours use the same cores this takes 1.6 times as
 * long; an empty loop, or reads of uncached memory, take the usual time.
 */
function readBodies(): number {
  let text = JSON.stringify(toOrder(0))
  const before = process.cpuUsage()
  for (let time = 0; time < bodiesRead; time += 1) text = JSON.stringify(JSON.parse(text))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

async function verifyLedger({ dataDir }: Service): Promise<{ breaches: number; said: string }> {
  const cli = join(import.meta.dirname, '../src/cli/main.js')
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'ledger', 'verify', '--json'], {
    cwd: dataDir,
    env: { PATH: process.env.PATH, DATA_DIR: dataDir },
    // It exits with 1 when it finds a breach, and prints which.
  }).catch((error: { stdout?: string; message: string }) => ({ stdout: error.stdout ?? '' }))
  if (stdout === '') return { breaches: Number.NaN, said: '**it did not answer**' }
  const {
    breaches,
    payoutFreeze: _,
    agree: __,
    ...counted
  } = JSON.parse(stdout) as { breaches: object[] } & Record<string, unknown>
  return { breaches: breaches.length, said: JSON.stringify(counted).replace(/["{}]/g, '').replaceAll(',', ', ') }
}
