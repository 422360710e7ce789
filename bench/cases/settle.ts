import { setTimeout as sleep } from 'node:timers/promises'
import { raw } from '../../src/db/sql.ts'
import type { Bench } from '../bench.ts'
import { generate } from '../processes.ts'
import { createCharges } from '../receivers.ts'
import { median, toErrors } from '../results.ts'
import { addMerchants, type Merchant } from '../service.ts'

const waitMs = 60_000

/**
 * How fast payments become PAID: all to one merchant, so that each changes the same accounts, and spread over a
 * thousand merchants.
 */
export async function settle(bench: Bench): Promise<void> {
  const { results, service, rounds, isFull, say } = bench
  say('settle: making a thousand merchants')
  const many = await addMerchants(service, 1000)
  const count = isFull ? 10_000 : 3000
  const seen = { one: [] as Settled[], many: [] as Settled[] }
  for (let round = 1; round <= rounds; round += 1) {
    say(`settle: ${count} payments to one merchant, and to a thousand, round ${round} of ${rounds}`)
    seen.many.push(await settleAll(bench, many, count))
    seen.one.push(await settleAll(bench, many.slice(0, 1), count))
    await service.emptyLog()
  }
  results.section(
    'Payments settled at full rate',
    `${count} payments at the simulated bank over 64 connections; the time is from the first payment until the last transaction is PAID.`,
  )
  const row = (name: string, runs: Settled[]) =>
    results.row({
      name,
      unit: '/s',
      values: runs.map(({ perSecond }) => perSecond),
      note: [
        `the bank took ${Math.round(median(runs.map(({ bankPerSecond }) => bankPerSecond)))}/s`,
        runs.find(({ note }) => note)?.note,
      ]
        .filter(Boolean)
        .join('; '),
    })
  row('spread over 1,000 merchants', seen.many)
  row('all to one merchant', seen.one)
  const rate = (runs: Settled[]) => median(runs.map(({ perSecond }) => perSecond))
  results.target({
    name: 'PAID for one merchant, relative to 1,000 merchants',
    kind: 'at least',
    wanted: 0.6,
    seen: rate(seen.one) / rate(seen.many),
    unit: '×',
  })
}

/**
 * The simulated bank runs in the same process. If the bank accepts no more payments a second than are settled, the bank
 * is the limit, and settlement alone would be faster.
 */
type Settled = { perSecond: number; bankPerSecond: number; note?: string }

async function settleAll({ service }: Bench, merchants: Merchant[], count: number): Promise<Settled> {
  const { ids, payments } = await createCharges({ port: service.port, merchants, count })
  const list = `'{${ids.join(',')}}'::uuid[]`
  const countPaid = async () => {
    const [row] = await service.db.query<{ paid: number }>(
      raw(`select count(*) as paid from transactions where id = any (${list}) and status = 'PAID'`),
    )
    return row?.paid ?? 0
  }
  const report = await generate({ ...payments, connections: 64 })
  const answeredAt = performance.now()
  let paid = await countPaid()
  while (paid < ids.length && performance.now() - answeredAt < waitMs) {
    await sleep(20)
    paid = await countPaid()
  }
  // Without the start of the generator's process, which takes a tenth of a second.
  const seconds = report.seconds + (performance.now() - answeredAt) / 1000
  const missing =
    paid < ids.length ? `**${ids.length - paid} of ${ids.length} were not PAID after a minute**` : undefined
  return {
    perSecond: paid / seconds,
    bankPerSecond: report.count / report.seconds,
    note: [missing, toErrors([report])].filter(Boolean).join('; ') || undefined,
  }
}
