import { createJob } from './cases/create.ts'
import { type Job, type Report, toRequest } from './load/job.ts'
import type { ReceiverReport } from './load/receivers.ts'
import { startWorker } from './processes.ts'
import { startReceivers } from './receivers.ts'
import type { Merchant } from './service.ts'

export const merchantsCount = 50
/**
 * Enough that no request waits for a free connection: at 60 ms a create, 64 connections would send at most a thousand
 * requests a second, and the backlog after a stall would never shrink.
 */
export const connections = 256
/** This part of the charges of a slice is paid, in the next slice. */
const paidShare = 0.1
/** The next slice may be longer by this factor: that of a rung follows a short warm-up. */
const nextLongerMax = 4

export type Slice = { perSecond: number; seconds: number }

/** The outcome of a slice. */
export type Steady = { created: Report; paid: Report | null; delivered: ReceiverReport }

/** Creates at a fixed rate, with webhooks to a receiver that answers at once; one in ten is paid in the next slice. */
export type SteadyLoad = {
  run(slice: Slice): Promise<Steady>
  /** The webhooks since the end of the last slice: waits for `waitFor` of them, `waitMs` at most. */
  readLate(waitFor: number, waitMs: number): Promise<ReceiverReport>
  close(): void
}

export async function openSteadyLoad(port: number, merchants: Merchant[]): Promise<SteadyLoad> {
  const receivers = await startReceivers(1)
  // They are reused: a slice begins when the last one has ended.
  const creator = startWorker<Job, Report>('load/main.js')
  const payer = startWorker<Job, Report>('load/main.js')
  const common = createJob({ port, merchants, connections, seconds: 0, warmUpSeconds: 0, webhookUrls: receivers.urls })
  let unpaid: string[] = []

  async function pay({ perSecond, seconds }: Slice): Promise<Report | null> {
    const uris = unpaid.slice(0, Math.round(perSecond * seconds))
    if (uris.length === 0) return null
    const requests = uris.map((uri) =>
      toRequest({ method: 'POST', path: '/sandbox/payment', token: merchants[0]?.token, body: { uri } }),
    )
    return await payer.request({ ...common, connections: 64, perSecond, requests, once: true })
  }

  const readLate: SteadyLoad['readLate'] = async (waitFor, waitMs) =>
    await receivers.worker.request({ task: 'read', waitFor, waitMs })

  return {
    async run({ perSecond, seconds }) {
      const keep = { pattern: '"uri":"([^"]+)"', max: perSecond * paidShare * seconds * nextLongerMax }
      const [created, paid] = await Promise.all([
        creator.request({ ...common, perSecond, seconds, keep }),
        pay({ perSecond: perSecond * paidShare, seconds }),
      ])
      unpaid = created.kept.flat()
      return { created, paid, delivered: await readLate(0, 0) }
    },
    readLate,
    close() {
      for (const worker of [creator, payer, receivers.worker]) worker.end()
    },
  }
}

/** By route, as the tables of a watched period want them. */
export function toClients<Client>(created: Client, paid: Client): Record<string, Client> {
  return { 'POST /transaction': created, 'POST /sandbox/payment': paid }
}
