import type { Job, Report } from './load/job.ts'
import { generate, seesUsage } from './processes.ts'
import { median, type Results, type Row, toErrors, toMs } from './results.ts'
import type { Server } from './servers.ts'
import { type Merchant, type Service, usageOfService } from './service.ts'

/** The inputs of every case. */
export type Bench = {
  results: Results
  isFull: boolean
  /** Number of measurements, alternating with what is compared: the machine's speed changes over time. */
  rounds: number
  /** Duration of one measurement. */
  seconds: number
  /** The number of the service's processes. */
  processes: number
  /** Whether the case that watches its service also lists its statements. */
  statements: boolean
  service: Service
  merchants: Merchant[]
  hello: Server
  /** Competitors. Empty with --no-peers. */
  peers: Server[]
  /** Prints progress for the person who waits. */
  say(text: string): void
}

export type Measured = Report & { guicheMicros: number; postgresMicros: number }

/** Runs a job against the service, and measures its processor time. */
export async function measure(service: Service, job: Job): Promise<Measured> {
  const before = usageOfService(service)
  const report = await generate(job)
  const after = usageOfService(service)
  // Warm-up uses processor time too.
  const requests = report.count * (1 + job.warmUpSeconds / report.seconds)
  return {
    ...report,
    guicheMicros: (after.guicheMicros - before.guicheMicros) / requests,
    postgresMicros: (after.postgresMicros - before.postgresMicros) / requests,
  }
}

/** Rates, with latencies and, if available, processor time. */
export function toRow(name: string, reports: (Report | Measured)[], note?: string): Row {
  const errors = toErrors(reports)
  const measured = reports.filter((report): report is Measured => 'guicheMicros' in report)
  return {
    name,
    unit: '/s',
    values: reports.map(rateOf),
    p50Ms: reports.map((report) => toMs(report, 50)),
    p99Ms: reports.map((report) => toMs(report, 99)),
    ...(reports.every(({ cpuMicros }) => cpuMicros > 0) && {
      loadMicros: reports.map(({ cpuMicros, count }) => cpuMicros / count),
    }),
    ...(seesUsage &&
      measured.length > 0 && {
        guicheMicros: measured.map((report) => report.guicheMicros),
        postgresMicros: measured.map((report) => report.postgresMicros),
      }),
    note: [note, errors].filter(Boolean).join('; ') || undefined,
  }
}

export function rateOf(report: { count: number; seconds: number }): number {
  return report.count / report.seconds
}

export function medianRate(reports: { count: number; seconds: number }[]): number {
  return median(reports.map(rateOf))
}
