import { setTimeout as sleep } from 'node:timers/promises'
import { raw } from '../../src/db/sql.ts'
import { expiryGraceMs } from '../../src/transactions/check.ts'
import type { Bench } from '../bench.ts'
import { seesUsage } from '../processes.ts'
import { createCharges, startReceivers } from '../receivers.ts'
import { usageOfService } from '../service.ts'

const waitMs = 120_000

/**
 * How fast charges that nobody paid become FAILED. Nearly all charges may end like this, so a service that creates a
 * thousand a second must also expire almost as many.
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
      const expired = await expireAll(bench, ids)
      const { count: delivered } = await receivers.worker.request({ task: 'read', waitFor: count, waitMs: 60_000 })
      seen.push({ ...expired, lost: count - delivered })
      await service.emptyLog()
    }
  } finally {
    receivers.worker.end()
  }
  results.section(
    'Charges that expire',
    `${count} open charges that all expire at the same moment: from then until no check is due. Each is looked up at the acquirer, and its webhook is sent.`,
  )
  results.row({
    name: 'charges of 50 merchants',
    unit: '/s',
    values: seen.map(({ perSecond }) => perSecond),
    ...(seesUsage && {
      guicheMicros: seen.map(({ guicheMicros }) => guicheMicros),
      postgresMicros: seen.map(({ postgresMicros }) => postgresMicros),
    }),
    note: toNote(sum(seen.map(({ open }) => open)), sum(seen.map(({ lost }) => lost))),
  })
}

/** `open`: charges that were not FAILED in time. `lost`: webhooks that did not arrive. */
type Expired = { perSecond: number; guicheMicros: number; postgresMicros: number; open: number; lost: number }

const sum = (values: number[]) => values.reduce((all, value) => all + value, 0)

function toNote(open: number, lost: number): string | undefined {
  if (open + lost === 0) return undefined
  return `**${open} were not FAILED when no check was due or after ${waitMs / 1000} s; ${lost} webhooks did not arrive**`
}

async function expireAll({ service }: Bench, ids: string[]): Promise<Omit<Expired, 'lost'>> {
  const list = `'{${ids.join(',')}}'::uuid[]`
  const count = async (condition: string) => {
    const [row] = await service.db.query<{ count: number }>(
      raw(`select count(*) as count from transactions where ${condition}`),
    )
    return row?.count ?? 0
  }
  // Uses the index on `check_at`. A count by thousands of ids would take as long as a batch of checks.
  const countDue = async () => await count('check_at <= now()')
  const before = usageOfService(service)
  const startedAt = performance.now()
  await service.db.query(
    raw(`
      update transactions set check_at = now(), pix_expires_at = now() - interval '${expiryGraceMs + 1000} milliseconds'
      where id = any (${list})`),
  )
  while ((await countDue()) > 0 && performance.now() - startedAt < waitMs) await sleep(100)
  const seconds = (performance.now() - startedAt) / 1000
  const after = usageOfService(service)
  const open = await count(`id = any (${list}) and status <> 'FAILED'`)
  return {
    perSecond: (ids.length - open) / seconds,
    guicheMicros: (after.guicheMicros - before.guicheMicros) / ids.length,
    postgresMicros: (after.postgresMicros - before.postgresMicros) / ids.length,
    open,
  }
}
