import { type Bench, toRow } from '../bench.ts'
import { type Job, type Report, toRequest } from '../load/job.ts'
import { generate } from '../processes.ts'
import { createCharges, openShop } from '../shop.ts'
import { createJob } from './create.ts'

/** Five minutes with --full. */
const lengthening = 30
/** Of each, per second: some 1.4 million creates an hour, of which half are paid. */
const rates = { creates: 400, payments: 200, fetches: 400, lists: 40, refunds: 4 }

/** An ordinary hour of a busy gateway, compressed: every operation at a fixed rate, with webhooks all the time. */
export async function mixed(bench: Bench): Promise<void> {
  const { card, service, merchants, isFull, say } = bench
  const seconds = Math.round(bench.seconds * lengthening)
  if (!isFull) return card.skip('a mixed hour', 'with --full')
  say(`a mixed hour compressed: making what will be paid and refunded`)
  const shop = await openShop(10)
  try {
    const common = { port: service.port, merchants, webhookUrls: shop.urls }
    const [merchant] = merchants
    const { payments } = await createCharges({ ...common, count: rates.payments * seconds })
    const owned = await createCharges({
      ...common,
      merchants: merchant ? [merchant] : [],
      count: rates.refunds * seconds,
    })
    await generate({ ...owned.payments, connections: 16 })
    await shop.worker.request({ task: 'read', waitFor: Number.POSITIVE_INFINITY, waitMs: 10_000 })

    const token = merchant?.token
    const create = createJob({ ...common, connections: 32, seconds, warmUpSeconds: 0 })
    const get = (path: string) => toRequest({ method: 'GET', path, token })
    const jobs: Record<keyof typeof rates, Job> = {
      creates: create,
      payments: { ...payments, connections: 64 },
      fetches: { ...create, connections: 16, requests: owned.ids.map((id) => get(`/transaction/${id}`)) },
      lists: {
        ...create,
        connections: 4,
        requests: ['', '?status=PAID', '?page=3', '?minAmount=5000&maxAmount=9000'].map((query) =>
          get(`/transaction${query}`),
        ),
      },
      refunds: {
        ...create,
        connections: 4,
        once: true,
        requests: owned.ids.map((id) =>
          toRequest({
            method: 'POST',
            path: `/transaction/${id}/refund`,
            token,
            body: { idempotencyKey: `refund-${id}` },
          }),
        ),
      },
    }
    say(`a mixed hour compressed into ${seconds} s`)
    const emptying = setInterval(() => void service.emptyLog(), 30_000)
    const names = Object.keys(jobs) as (keyof typeof rates)[]
    const reports: Report[] = await Promise.all(
      names.map((name) => generate({ ...jobs[name], perSecond: rates[name] })),
    )
    clearInterval(emptying)
    const delivered = await shop.worker.request({ task: 'read', waitFor: Number.POSITIVE_INFINITY, waitMs: 5_000 })
    card.section(
      'A mixed hour, compressed',
      `Everything at once for ${seconds} s, each at a fixed rate, latency from when a request was due; webhooks to ${shop.urls.length} receivers.`,
    )
    for (const [index, name] of names.entries()) {
      const report = reports[index]
      if (report) card.row(toRow(name, [report], `${rates[name]}/s wanted`))
    }
    card.row(toRow('webhooks, from the change to the first byte', [{ ...delivered, kept: [], cpuMicros: 0 }]))
  } finally {
    shop.worker.end()
  }
}
