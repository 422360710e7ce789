import { createJob } from './cases/create.ts'
import { type Job, type Report, toRequest } from './load/job.ts'
import type { ReceiverReport } from './load/receivers.ts'
import { startWorker } from './processes.ts'
import { startReceivers } from './receivers.ts'
import type { Merchant } from './service.ts'

export const merchantsCount = 50
/**
 * Enough that no request waits for a free connection: at 60 ms a create, 64 connections would send at most a thousand
 * requests a second, and at that rate the backlog after a stall would never shrink.
 */
export const connections = 256
/** The charges that a slice pays, as a share of those that it creates. It pays charges of the slice before. */
const paidShare = 0.1

export type Slice = { perSecond: number; seconds: number }

/** The outcome of a slice. `paid`: null if the slice before left nothing to pay. */
export type Steady = { created: Report; paid: Report | null; delivered: ReceiverReport }

/**
 * Creates at a fixed rate, with webhooks to a receiver that answers at once; one in ten is paid, from the second slice
 * on. A slice keeps the codes of as many charges as the next one pays.
 */
export type SteadyLoad = {
  run(slice: Slice, next: Slice | null): Promise<Steady>
  /** The webhooks since the end of the last slice: waits for `waitFor` of them, `waitMs` at most. */
  readLate(waitFor: number, waitMs: number): Promise<ReceiverReport>
  close(): void
}

export async function openSteadyLoad(port: number, merchants: Merchant[]): Promise<SteadyLoad> {
  const receivers = await startReceivers(1)
  // Both processes serve all slices, which run one after another.
  const creator = startWorker<Job, Report>('load/main.js')
  const payer = startWorker<Job, Report>('load/main.js')
  const common = createJob({ port, merchants, connections, seconds: 0, warmUpSeconds: 0, webhookUrls: receivers.urls })
  let unpaid: string[] = []

  async function pay(slice: Slice): Promise<Report | null> {
    const uris = unpaid.slice(0, toPaid(slice))
    if (uris.length === 0) return null
    const requests = uris.map((uri) =>
      toRequest({ method: 'POST', path: '/sandbox/payment', token: merchants[0]?.token, body: { uri } }),
    )
    return await payer.request({
      ...common,
      connections: 64,
      perSecond: slice.perSecond * paidShare,
      requests,
      once: true,
    })
  }

  const readLate: SteadyLoad['readLate'] = async (waitFor, waitMs) =>
    await receivers.worker.request({ task: 'read', waitFor, waitMs })

  return {
    async run(slice, next) {
      const keep = next && { pattern: '"uri":"([^"]+)"', max: toPaid(next) }
      const [created, paid] = await Promise.all([creator.request({ ...common, ...slice, keep }), pay(slice)])
      unpaid = created.kept.flat()
      return { created, paid, delivered: await readLate(0, 0) }
    },
    readLate,
    close() {
      for (const worker of [creator, payer, receivers.worker]) worker.end()
    },
  }
}

function toPaid({ perSecond, seconds }: Slice): number {
  return Math.round(perSecond * paidShare * seconds)
}

/** What the load generator saw, by route, for the tables of watched-tables.ts. */
export function toClients<Client>(created: Client, paid: Client): Record<string, Client> {
  return { 'POST /transaction': created, 'POST /sandbox/payment': paid }
}
