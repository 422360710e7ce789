import { type Bench, toRow } from '../bench.ts'
import { newHistogram } from '../load/histogram.ts'
import { type Job, type Report, toRequest } from '../load/job.ts'
import { generate } from '../processes.ts'
import { createCharges, startReceivers } from '../receivers.ts'
import { addMerchants } from '../service.ts'
import { connections, merchantsCount, toClients } from '../steady.ts'
import { startWatched } from '../watch.ts'
import { showSeen } from '../watched-tables.ts'
import { createJob } from './create.ts'

/** The case lasts so many times as long as one measurement: a minute, or five with --full. */
const durationFactors = { short: 15, full: 30 }
/** Of each, per second: some 1.4 million creates an hour, of which half are paid. */
const rates = { creates: 400, payments: 200, fetches: 400, lists: 40, refunds: 4 }

/** An ordinary hour of a busy gateway, compressed: every operation at a fixed rate, with webhooks all the time. */
export async function mixed(bench: Bench): Promise<void> {
  const { results, isFull, processes, statements, say } = bench
  say('a mixed hour compressed: making what will be paid and refunded')
  // A service of its own: watching has a cost, which would slow the other cases.
  const watched = await startWatched({ processes, statements })
  const { service } = watched
  const receivers = await startReceivers(10)
  const emptying = setInterval(() => void service.emptyLog(), 30_000)
  try {
    const merchants = await addMerchants(service, merchantsCount)
    const seconds = Math.round(bench.seconds * (isFull ? durationFactors.full : durationFactors.short))
    const common = { port: service.port, merchants, webhookUrls: receivers.urls }
    const [merchant] = merchants
    const { payments } = await createCharges({ ...common, count: rates.payments * seconds })
    const owned = await createCharges({
      ...common,
      merchants: merchant ? [merchant] : [],
      count: rates.refunds * seconds,
    })
    await generate({ ...owned.payments, connections: 16 })
    const reported = payments.requests.length + 2 * owned.ids.length
    await receivers.worker.request({ task: 'read', waitFor: reported, waitMs: 10_000 })

    const token = merchant?.token
    const create = createJob({ ...common, connections, seconds, warmUpSeconds: 0 })
    const get = (path: string, own = token) => toRequest({ method: 'GET', path, token: own })
    const jobs: Record<keyof typeof rates, Job> = {
      creates: create,
      payments: { ...payments, connections },
      fetches: { ...create, connections: 64, requests: owned.ids.map((id) => get(`/transaction/${id}`)) },
      lists: {
        ...create,
        connections: 32,
        // Of all merchants: the service runs few lists of one merchant at once, and pauses between them.
        requests: ['', '?status=PAID', '?page=3', '?minAmount=5000&maxAmount=9000'].flatMap((query) =>
          merchants.map((own) => get(`/transaction${query}`, own.token)),
        ),
      },
      refunds: {
        ...create,
        connections: 32,
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
    const names = Object.keys(jobs) as (keyof typeof rates)[]
    const endPeriod = await watched.begin()
    const reports: Report[] = await Promise.all(
      names.map((name) => generate({ ...jobs[name], perSecond: rates[name] })),
    )
    const seen = await endPeriod()
    // A refund changes its transaction twice.
    const changed = (rates.creates + rates.payments + 2 * rates.refunds) * seconds
    const delivered = await receivers.worker.request({ task: 'read', waitFor: changed, waitMs: 5_000 })
    results.section(
      'A mixed hour, compressed',
      `Everything at once for ${seconds} s, each at a fixed rate, latency from when a request was due; webhooks to ${receivers.urls.length} receivers.`,
    )
    for (const [index, name] of names.entries()) {
      const report = reports[index]
      if (!report) continue
      const unsent = rates[name] * seconds - report.count
      const note = [`${rates[name]}/s wanted`, unsent > 0 && `**${unsent} not sent or not answered 2xx**`]
      results.row(toRow(name, [report], note.filter(Boolean).join('; ')))
    }
    results.row(
      toRow('webhooks, from the change to the first byte', [
        { ...delivered, queued: newHistogram(), kept: [], cpuMicros: 0 },
      ]),
    )
    const [created, paid, fetched, listed, refunded] = reports
    if (!created) return
    showSeen(results, 'Mixed', seen, {
      clients: {
        ...toClients(created, paid),
        'GET /transaction/:id': fetched,
        'GET /transaction': listed,
        'POST /transaction/:id/refund': refunded,
      },
      created,
    })
  } finally {
    clearInterval(emptying)
    receivers.worker.end()
    await watched.close()
  }
}
