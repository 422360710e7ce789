import { createJob } from './cases/create.ts'
import { type Job, toRequest } from './load/job.ts'
import type { ReceiverReport, ReceiverTask } from './load/receivers.ts'
import { generate, startWorker, type Worker } from './processes.ts'
import type { Merchant } from './service.ts'

export type Receivers = { urls: string[]; worker: Worker<ReceiverTask, ReceiverReport> }

/** Receivers of webhooks in a separate process. The first `hanging` of them never answer. */
export async function startReceivers(count: number, hanging = 0): Promise<Receivers> {
  const worker = startWorker<ReceiverTask, ReceiverReport>('load/receivers.js')
  const { ports } = await worker.request({ task: 'listen', receivers: count, hanging })
  return { urls: ports.map((port) => `http://127.0.0.1:${port}/webhooks/pix`), worker }
}

/** Creates `count` charges as fast as 64 connections can, and returns their ids and the job that pays them. */
export async function createCharges(options: {
  port: number
  merchants: Merchant[]
  count: number
  webhookUrls?: string[]
}): Promise<{ ids: string[]; payments: Job }> {
  const { count, ...others } = options
  const job = createJob({ ...others, connections: 64, seconds: 0, warmUpSeconds: 0 })
  const requests = Array.from({ length: count }, (_, index) => job.requests[index % job.requests.length] ?? '')
  const { kept } = await generate({
    ...job,
    requests,
    once: true,
    keep: { pattern: '"id":"([^"]+)".*"uri":"([^"]+)"', max: count },
  })
  // With any merchant's token the simulated bank pays any charge.
  const token = options.merchants[0]?.token
  return {
    ids: kept.map(([id = '']) => id),
    payments: {
      ...job,
      once: true,
      requests: kept.map(([, uri]) => toRequest({ method: 'POST', path: '/sandbox/payment', token, body: { uri } })),
    },
  }
}
