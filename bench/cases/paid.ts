import type { Bench } from '../bench.ts'
import { percentile } from '../load/histogram.ts'
import { generate } from '../processes.ts'
import { createCharges, startReceivers } from '../receivers.ts'
import { toErrors, toMs } from '../results.ts'
import { createJob } from './create.ts'

const createsPerSecond = 1000
const paymentsPerSecond = 50
/** The first payments after a start wait until the code is compiled. A p99 of 20 s would show only that. */
const warmUpSeconds = 5
const waitMs = 30_000

/**
 * The time from the payment order at the payer's bank to the first byte of `transaction.paid` at the receiver, while
 * creates go on. In between are the bank's check of the code, the callback, the query to the acquirer, the commit and
 * the delivery.
 */
export async function paid(bench: Bench): Promise<void> {
  const { results, service, merchants, say } = bench
  const seconds = bench.isFull ? 60 : 20
  say(`paid: ${paymentsPerSecond} payments a second beside ${createsPerSecond} creates a second, for ${seconds} s`)
  const receivers = await startReceivers(1)
  try {
    const warmUp = paymentsPerSecond * warmUpSeconds
    const count = paymentsPerSecond * seconds
    const all = warmUp + count
    const { ids, payments } = await createCharges({
      port: service.port,
      merchants,
      count: all,
      webhookUrls: receivers.urls,
    })
    // Their creation events are delivered first, so that nothing waits behind them.
    await receivers.worker.request({ task: 'read', waitFor: all, waitMs })
    const pay = async (from: number, to: number) =>
      await receivers.worker.request({
        task: 'pay',
        job: {
          ...payments,
          requests: payments.requests.slice(from, to),
          connections: 16,
          perSecond: paymentsPerSecond,
          warmUpSeconds: 0,
        },
        ids: ids.slice(from, to),
        waitMs,
      })
    const creates = createJob({ port: service.port, merchants, connections: 64, seconds: seconds + 1, warmUpSeconds })
    const [background, delivered] = await Promise.all([
      generate({ ...creates, perSecond: createsPerSecond }),
      pay(0, warmUp).then(async () => await pay(warmUp, all)),
    ])
    results.section(
      'Paid and delivered',
      `${paymentsPerSecond} payments a second at the simulated bank for ${seconds} s, from the request to the bank to the first byte of the webhook, beside ${createsPerSecond} creates a second of ${merchants.length} merchants; after ${warmUpSeconds} s of the same that do not count.`,
    )
    results.row({
      name: 'pay → PAID → first byte of the webhook',
      unit: 'ms',
      values: [toMs(delivered, 50)],
      p50Ms: [toMs(delivered, 50)],
      p99Ms: [toMs(delivered, 99)],
      note: [
        delivered.missing > 0 ? `**${delivered.missing} of ${count} were not reported**` : undefined,
        toErrors([delivered]),
      ]
        .filter(Boolean)
        .join('; '),
    })
    results.row({
      name: 'of which from PAID to the first byte',
      unit: 'ms',
      values: [percentile(delivered.sincePaid, 50) / 1000],
      p50Ms: [percentile(delivered.sincePaid, 50) / 1000],
      p99Ms: [percentile(delivered.sincePaid, 99) / 1000],
    })
    results.row({
      name: 'the creates beside it',
      unit: '/s',
      values: [background.count / background.seconds],
      p50Ms: [toMs(background, 50)],
      p99Ms: [toMs(background, 99)],
      note: toErrors([background]),
    })
    results.target({
      name: 'paid → first byte of the webhook, p99',
      kind: 'at most',
      wanted: 100,
      seen: toMs(delivered, 99),
      unit: 'ms',
    })
    await service.emptyLog()
  } finally {
    receivers.worker.end()
  }
}
