import { setTimeout as sleep } from 'node:timers/promises'
import { raw } from '../../src/db/sql.ts'
import { expiryGraceMs } from '../../src/transactions/check.ts'
import type { Bench } from '../bench.ts'
import { seesUsage } from '../processes.ts'
import { createCharges, startReceivers } from '../receivers.ts'
import { usageOfService } from '../service.ts'

const waitMs = 120_000

/**
 * How fast charges that nobody paid become FAILED. Most charges end like this, so a service that creates a thousand a
 * second must also let nearly a thousand a second expire.
 */
export async function expire(bench: Bench): Promise<void> {
  const { results, service, merchants, rounds, isFull, say } = bench
  const count = isFull ? 10_000 : 3000
  const receivers = await startReceivers(1)
  const seen: Expired[] = []
  try {
    for (let round = 1; round <= rounds; round += 1) {
      say(`expire: ${count} charges, round ${round} of ${rounds}`)
      const { ids } = await createCharges({ port: service.port, merchants, count, webhookUrls: receivers.urls })
      await receivers.worker.request({ task: 'read', waitFor: count, waitMs: 60_000 })
      seen.push(await expireAll(bench, ids))
      await receivers.worker.request({ task: 'read', waitFor: count, waitMs: 60_000 })
      await service.emptyLog()
    }
  } finally {
    receivers.worker.end()
  }
  results.section(
    'Charges that expire',
    `${count} open charges whose time is over all together; from then until the last is FAILED. Each is queried at the acquirer, and its webhook is sent.`,
  )
  results.row({
    name: 'charges of 50 merchants',
    unit: '/s',
    values: seen.map(({ perSecond }) => perSecond),
    ...(seesUsage && {
      guicheMicros: seen.map(({ guicheMicros }) => guicheMicros),
      postgresMicros: seen.map(({ postgresMicros }) => postgresMicros),
    }),
    note: seen.find(({ note }) => note)?.note,
  })
}

type Expired = { perSecond: number; guicheMicros: number; postgresMicros: number; note?: string }

async function expireAll({ service }: Bench, ids: string[]): Promise<Expired> {
  const countOpen = async () => {
    const [row] = await service.db.query<{ open: number }>(
      raw('select count(*) as open from transactions where check_at <= now()'),
    )
    return row?.open ?? 0
  }
  const before = usageOfService(service)
  const startedAt = performance.now()
  await service.db.query(
    raw(`
      update transactions set check_at = now(), pix_expires_at = now() - interval '${expiryGraceMs + 1000} milliseconds'
      where id = any ('{${ids.join(',')}}'::uuid[])`),
  )
  let open = await countOpen()
  while (open > 0 && performance.now() - startedAt < waitMs) {
    await sleep(100)
    open = await countOpen()
  }
  const seconds = (performance.now() - startedAt) / 1000
  const after = usageOfService(service)
  const failed = ids.length - open
  return {
    perSecond: failed / seconds,
    guicheMicros: (after.guicheMicros - before.guicheMicros) / failed,
    postgresMicros: (after.postgresMicros - before.postgresMicros) / failed,
    ...(open > 0 && { note: `**${open} of ${ids.length} were not FAILED after ${waitMs / 1000} s**` }),
  }
}
