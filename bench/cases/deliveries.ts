import { raw } from '../../src/db/sql.ts'
import { enqueueEvents } from '../../src/webhooks/outbox.ts'
import type { Bench } from '../bench.ts'
import type { Report } from '../load/job.ts'
import type { ReceiverReport } from '../load/receivers.ts'
import { generate } from '../processes.ts'
import { createCharges, startReceivers } from '../receivers.ts'
import { median, toErrors, toMs } from '../results.ts'
import { createJob } from './create.ts'

const receiverCount = 100
const createsPerSecond = 500

/** How fast a backlog of webhooks reaches one fast receiver, and how much a hanging receiver delays the others. */
export async function deliveries(bench: Bench): Promise<void> {
  bench.results.section(
    'Deliveries',
    `A pile of webhooks to one receiver, committed at once: from the first arrival to the last. Then ${createsPerSecond} creates a second whose webhooks go to ${receiverCount} receivers in turn: from the change to the first byte, with all of them well, and with one that never answers.`,
  )
  await toOneReceiver(bench)
  await besideOneThatHangs(bench)
}

async function toOneReceiver({ results, service, merchants, rounds, isFull, say }: Bench): Promise<void> {
  const count = isFull ? 30_000 : 10_000
  say(`deliveries: ${count} to one receiver`)
  const { ids } = await createCharges({ port: service.port, merchants, count })
  const rows = await service.db.query<{ id: string; merchant_id: string }>(
    raw(`select id, merchant_id from transactions where id = any ('{${ids.join(',')}}'::uuid[])`),
  )
  const receivers = await startReceivers(1)
  const seen: ReceiverReport[] = []
  try {
    for (let round = 1; round <= rounds; round += 1) {
      await service.db.transaction(async (tx) =>
        enqueueEvents(
          tx,
          rows.map(({ id, merchant_id: merchantId }) => ({
            merchantId,
            recordType: 'transaction' as const,
            recordId: id,
            // Its creation was the first event.
            sequence: 1 + round,
            status: 'PIX_QRCODE_GENERATED',
            occurredAt: new Date(),
            snapshot: null,
            webhookUrl: receivers.urls[0] ?? null,
          })),
        ),
      )
      seen.push(await receivers.worker.request({ task: 'read', waitFor: count, waitMs: 60_000 }))
    }
  } finally {
    receivers.worker.end()
  }
  const rates = seen.map((report) => report.count / report.seconds)
  const lost = seen.reduce((sum, report) => sum + count - report.count, 0)
  results.row({
    name: 'to one good receiver',
    unit: '/s',
    values: rates,
    note: lost > 0 ? `**${lost} did not arrive within a minute**` : undefined,
  })
  results.target({
    name: 'deliveries to a healthy receiver',
    kind: 'at least',
    wanted: 3000,
    seen: median(rates),
    unit: '/s',
  })
}

async function besideOneThatHangs(bench: Bench): Promise<void> {
  const { results, rounds, say } = bench
  const seen = { well: [] as Delivered[], hanging: [] as Delivered[] }
  for (let round = 1; round <= rounds; round += 1) {
    say(`deliveries to ${receiverCount} receivers, round ${round} of ${rounds}`)
    seen.well.push(await reportAll(bench, 0))
    seen.hanging.push(await reportAll(bench, 1))
  }
  for (const [kind, answers] of Object.entries(seen)) {
    const missing = answers.reduce((sum, report) => sum + Math.max(0, report.missing), 0)
    results.row({
      name:
        kind === 'well'
          ? `to ${receiverCount} good receivers`
          : `to ${receiverCount - 1} good receivers, beside one that hangs`,
      unit: '/s',
      values: answers.map(({ delivered }) => delivered.count / delivered.seconds),
      p50Ms: answers.map(({ delivered }) => toMs(delivered, 50)),
      p99Ms: answers.map(({ delivered }) => toMs(delivered, 99)),
      note: [missing > 0 && `**${missing} did not arrive**`, toErrors(answers.map(({ creates }) => creates))]
        .filter(Boolean)
        .join('; '),
    })
  }
  const p99 = (answers: Delivered[]) => median(answers.map(({ delivered }) => toMs(delivered, 99)))
  results.target({
    name: 'deliveries, p99 beside one hanging receiver of a hundred, relative to that without',
    kind: 'at most',
    wanted: 1.1,
    seen: p99(seen.hanging) / p99(seen.well),
    unit: '×',
  })
}

type Delivered = { delivered: ReceiverReport; creates: Report; missing: number }

async function reportAll({ service, merchants, seconds }: Bench, hanging: number): Promise<Delivered> {
  const receivers = await startReceivers(receiverCount, hanging)
  try {
    const job = createJob({ port: service.port, merchants, connections: 32, seconds, webhookUrls: receivers.urls })
    // The receivers count all webhooks, also those of a warm-up.
    const creates = await generate({ ...job, perSecond: createsPerSecond, warmUpSeconds: 0 })
    await service.emptyLog()
    const sent = Math.floor(creates.count * (1 - hanging / receiverCount))
    const delivered = await receivers.worker.request({ task: 'read', waitFor: sent, waitMs: 10_000 })
    return { creates, delivered, missing: sent - delivered.count }
  } finally {
    receivers.worker.end()
  }
}
