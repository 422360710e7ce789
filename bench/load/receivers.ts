import { setTimeout as sleep } from 'node:timers/promises'
import { runJob } from './engine.ts'
import { type Histogram, newHistogram, record } from './histogram.ts'
import type { Job } from './job.ts'
import { type Arrival, startReceiver } from './receiver.ts'

/**
 * The tasks of the process with the receivers of webhooks: to listen, to report what arrived since the last report, or
 * to pay charges and wait for their webhooks.
 */
export type ReceiverTask =
  | { task: 'listen'; receivers: number; hanging: number }
  | { task: 'read'; waitFor: number; waitMs: number }
  | { task: 'pay'; job: Job; ids: string[]; waitMs: number }

export type ReceiverReport = {
  ports: number[]
  count: number
  /** From the first arrival to the last. */
  seconds: number
  /**
   * Time until the first byte of a webhook arrives: in the task `pay` since the request to the bank, in `read` since
   * the change that the webhook reports.
   */
  latency: Histogram
  /** Only of `transaction.paid`: the time since the change to PAID. */
  sincePaid: Histogram
  /** In the task `pay`: payments without a webhook. */
  missing: number
  errors: Record<string, number>
}

const ports: number[] = []
let arrivals: Arrival[] = []

process.on('message', (task: ReceiverTask) => {
  void run(task).then(
    (report) => process.send?.({ report }),
    (error: Error) => process.send?.({ failure: error.message }),
  )
})

async function run(task: ReceiverTask): Promise<ReceiverReport> {
  if (task.task === 'listen') {
    for (let index = 0; index < task.receivers; index += 1)
      ports.push(await startReceiver(index < task.hanging, (arrival) => arrivals.push(arrival)))
    return toReport(newHistogram())
  }
  if (task.task === 'read') {
    await until(() => arrivals.length >= task.waitFor, task.waitMs)
    const [latency, sincePaid] = [newHistogram(), newHistogram()]
    for (const arrival of arrivals) {
      record(latency, sinceChange(arrival) * 1000)
      if (isPaid(arrival)) record(sincePaid, sinceChange(arrival) * 1000)
    }
    return { ...toReport(latency), sincePaid }
  }
  return await pay(task)
}

async function pay({ job, ids, waitMs }: Extract<ReceiverTask, { task: 'pay' }>): Promise<ReceiverReport> {
  arrivals = []
  const requestTimes = new Map<string, number>()
  const { errors } = await runJob(job, (index, dueAt) => requestTimes.set(ids[index] ?? '', dueAt))
  await until(() => arrivals.filter(isPaid).length >= ids.length, waitMs)
  const [latency, sincePaid] = [newHistogram(), newHistogram()]
  for (const arrival of arrivals.filter(isPaid)) {
    const { recordId, at } = arrival
    const requestedAt = requestTimes.get(recordId)
    if (requestedAt === undefined) continue
    record(latency, (at - requestedAt) * 1000)
    record(sincePaid, sinceChange(arrival) * 1000)
    requestTimes.delete(recordId)
  }
  return { ...toReport(latency), sincePaid, missing: requestTimes.size, errors }
}

function isPaid({ type }: Arrival): boolean {
  return type === 'transaction.paid'
}

/** Combines two clocks of one machine, one of which has only whole milliseconds. */
function sinceChange({ at, occurredAt }: Arrival): number {
  return performance.timeOrigin + at - occurredAt
}

function toReport(latency: Histogram): ReceiverReport {
  const times = arrivals.map(({ at }) => at)
  const first = times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const last = times.reduce((a, b) => Math.max(a, b), 0)
  const count = arrivals.length
  arrivals = []
  return {
    ports,
    count,
    seconds: count > 1 ? (last - first) / 1000 : 0,
    latency,
    sincePaid: newHistogram(),
    missing: 0,
    errors: {},
  }
}

async function until(condition: () => boolean, waitMs: number): Promise<void> {
  const giveUpAt = performance.now() + waitMs
  while (!condition() && performance.now() < giveUpAt) await sleep(20)
}
