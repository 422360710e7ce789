import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { merge, newHistogram, percentile } from './load/histogram.ts'
import type { Report } from './load/job.ts'
import { toOrder } from './orders.ts'
import { createResults, median, toErrors, toMs } from './results.ts'
import { addMerchants, type Service, usageOfService } from './service.ts'
import { connections, merchantsCount, openSteadyLoad, toClients } from './steady.ts'
import { startWatched } from './watch.ts'
import { showSeen } from './watched-tables.ts'

const createsPerSecond = 1000
/** At the same rate, and not counted: after a start most of the code is not compiled yet. */
const warmUpSeconds = 15
/**
 * A request's body is parsed and serialized this many times, once a second, to show the machine's current speed. It
 * takes a few milliseconds.
 */
const bodiesRead = 500

/**
 * Creates charges at a fixed rate, with payments and webhooks, in slices of about a minute, or of a third of a soak
 * shorter than three minutes, with checkpoints and vacuum as they occur. Then it verifies the ledger.
 */
export async function soak({
  minutes,
  processes,
  statements,
  say,
}: {
  minutes: number
  processes: number
  statements: boolean
  say(text: string): void
}): Promise<string> {
  const results = createResults()
  const slices = Math.max(3, Math.round(minutes))
  const sliceSeconds = (minutes * 60) / slices
  const watched = await startWatched({ processes, statements })
  const { service } = watched
  const merchants = await addMerchants(service, merchantsCount)
  const load = await openSteadyLoad(service.port, merchants)
  try {
    const whole = {
      creates: newHistogram(),
      queuedCreates: newHistogram(),
      queuedPayments: newHistogram(),
      payments: newHistogram(),
      delivered: newHistogram(),
      createReports: [] as Report[],
      paymentReports: [] as Report[],
    }
    const resident: number[] = []
    const slices50Ms: number[] = []
    const slices99Ms: number[] = []
    const bodiesMs: number[] = []
    const counted = { perSecond: createsPerSecond, seconds: sliceSeconds }
    await load.run({ perSecond: createsPerSecond, seconds: warmUpSeconds }, counted)
    const endPeriod = await watched.begin()
    for (let slice = 1; slice <= slices; slice += 1) {
      const readings: number[] = []
      const reading = setInterval(() => readings.push(readBodies()), 1_000)
      const { created, paid, delivered } = await load
        .run(counted, slice < slices ? counted : null)
        .finally(() => clearInterval(reading))
      merge(whole.creates, created.latency)
      merge(whole.delivered, delivered.latency)
      merge(whole.queuedCreates, created.queued)
      if (paid) {
        merge(whole.payments, paid.latency)
        merge(whole.queuedPayments, paid.queued)
        whole.paymentReports.push(paid)
      }
      whole.createReports.push(created)
      slices50Ms.push(toMs(created, 50))
      slices99Ms.push(toMs(created, 99))
      bodiesMs.push(median(readings))
      resident.push(usageOfService(service).residentBytes / 1e6)
      await service.emptyLog()
      const ms = (report: Pick<Report, 'latency'>, percent: number) => toMs(report, percent).toFixed(1)
      say(
        `${((slice * sliceSeconds) / 60).toFixed(1)} min: ${created.count} created, p50 ${ms(created, 50)} p99 ${ms(created, 99)} max ${(created.latency.max / 1000).toFixed(0)} ms; ` +
          `${paid?.count ?? 0} paid; ${delivered.count} webhooks, p99 ${ms(delivered, 99)} ms; ${resident.at(-1)?.toFixed(0)} MB; JSON ${bodiesMs.at(-1)?.toFixed(1)} ms ${toErrors(paid ? [created, paid] : [created]) ?? ''}`,
      )
    }
    const seen = await endPeriod()
    // Open work is finished before the ledger is verified.
    const late = await load.readLate(Number.POSITIVE_INFINITY, 15_000)
    merge(whole.delivered, late.latency)
    const verified = await verifyLedger(service)

    const row = (name: string, histogram: Report['latency'], note?: string) =>
      results.row({
        name,
        unit: '',
        values: [histogram.count],
        p50Ms: [percentile(histogram, 50) / 1000],
        p99Ms: [percentile(histogram, 99) / 1000],
        note: [`max ${(histogram.max / 1000).toFixed(0)} ms`, note].filter(Boolean).join('; '),
      })
    results.section(
      `Soak: ${minutes} minutes`,
      `${createsPerSecond} creates a second of ${merchantsCount} merchants over ${connections} connections, each with webhooks; one in ten paid; ${processes} processes of Guichê; checkpoints and vacuum as they come; after a warm-up that does not count. The latency of a request counts from when it was due, that of a webhook from the change to its first byte.`,
    )
    row('creates', whole.creates, toErrors(whole.createReports))
    const slice = sliceSeconds === 60 ? 'minute' : `${Number(sliceSeconds.toFixed(1))} s`
    results.row({ name: `creates, p50 of each ${slice}`, unit: 'ms', values: slices50Ms })
    results.row({ name: `creates, p99 of each ${slice}`, unit: 'ms', values: slices99Ms })
    row('payments at the bank', whole.payments, toErrors(whole.paymentReports))
    row('webhooks', whole.delivered)
    results.row({ name: 'resident memory of Guichê', unit: 'MB', values: resident })
    results.row({ name: 'guiche ledger verify, breaches', unit: '', values: [verified.breaches], note: verified.said })
    results.row({
      name: `JSON of a body, read and written ${bodiesRead} times, processor time`,
      unit: 'ms',
      values: bodiesMs,
    })
    showSeen(results, 'Soak', seen, {
      clients: toClients(
        { latency: whole.creates, queued: whole.queuedCreates },
        { latency: whole.payments, queued: whole.queuedPayments },
      ),
      created: whole.creates,
    })
    const target = (name: string, histogram: Report['latency'], percent: number, wanted: number) =>
      results.target({
        name: `soak, p${percent} of ${name}`,
        kind: 'at most',
        wanted,
        seen: percentile(histogram, percent) / 1000,
        unit: 'ms',
      })
    target('creates', whole.creates, 50, 10)
    target('creates', whole.creates, 99, 60)
    target('webhooks', whole.delivered, 99, 250)
    results.target({
      name: 'soak, breaches of the ledger',
      kind: 'at most',
      wanted: 0,
      seen: verified.breaches,
      unit: '',
    })
    return results.toMarkdown()
  } finally {
    load.close()
    await watched.close()
  }
}

/**
 * The processor time of a fixed piece of work, in milliseconds: the more, the slower the machine is now. On a virtual
 * machine whose neighbours use the same cores it takes 1.6 times as long; an empty loop, or reads of uncached memory,
 * take the usual time.
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
