import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { settleDepsWith } from '../../test/support/acquirer.ts'
import { charge, fetchTransaction, openQuietBank, type QuietBank } from '../../test/support/payments.ts'
import { payOne, refund, untilSent } from '../../test/support/refunds.ts'
import { startTestService, type TestService } from '../../test/support/service.ts'
import { eventually, suspendJob } from '../../test/support/webhooks.ts'
import { findMet } from '../alerts/conditions.ts'
import { type Db, raw, sql } from '../db/sql.ts'
import { checkDueTransactions } from './check.ts'
import { observeTransactions, transactionJobs } from './jobs.ts'
import type { SettleDeps } from './settle.ts'

const never = new AbortController().signal

let service: TestService
let bank: QuietBank
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  bank = await openQuietBank(service)
  // Only the tests check.
  await suspendJob(service.db, 'transactions.check')
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

it('does not expire a code because an older check of its transaction ended late without a result', async () => {
  const { id } = await charge(service)
  // The state of the row when the acquirer did not respond.
  await service.db.query(sql`delete from events where record_id = ${id}`)
  await service.db.query(sql`
    update transactions set statuses = array['PENDING'], status_dates = status_dates[1:1], pix_uri = null, pix_expires_at = null,
      check_at = ${service.clock.now()}
    where id = ${id}`)
  const asItIs = settleDepsWith(service, bank.handle)
  const statuses: string[] = []
  const late = settleDepsWith(service, async (request) => {
    if (!request.path.startsWith('/cob/')) return await bank.handle(request)
    // A minute later, another process checks as well, and gets a response.
    service.clock.advance(61_000)
    await checkDueTransactions(asItIs, never)
    statuses.push((await fetchTransaction(service, id)).status)
    return { status: 503, headers: {}, body: '{}' }
  })
  await checkDueTransactions(late, never)
  expect([...new Set(statuses)]).toEqual(['PIX_QRCODE_GENERATED'])
  service.clock.advance(10 * 60_000)
  await checkDueTransactions(asItIs, never)
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED', errorMessage: null })
})

/** The bank's response about a charge, with these fields replaced. */
function saying(more: Record<string, unknown>) {
  return settleDepsWith(service, async (request) => {
    const answer = await bank.handle(request)
    if (!request.path.startsWith('/cob/')) return answer
    const { pix: _, ...cob } = JSON.parse(answer.body)
    return { ...answer, body: JSON.stringify({ ...cob, ...more }) }
  })
}

it('fails charges that expire together in one commit, and one that cannot be changed holds up no other', async () => {
  const [one, other, faulty] = [await charge(service), await charge(service), await charge(service)]
  const expire = async () => {
    service.clock.advance(60 * 60_000)
    await checkDueTransactions(settleDepsWith(service, bank.handle), never)
    return await service.db.query<{ id: string; status: string; commit: string }>(
      sql`select id, status, xmin::text as commit from transactions where id in (${one.id}, ${other.id}, ${faulty.id})`,
    )
  }
  await service.db.query(sql`
    create function refuse_change() returns trigger language plpgsql as $$ begin raise check_violation; end $$`)
  // A trigger has no parameters. The id is one of ours.
  await service.db.query(
    raw(`
    create trigger refuse_change before update of statuses on transactions
    for each row when (new.id = '${faulty.id}') execute function refuse_change()`),
  )
  const apart = await expire()
  expect(apart.find(({ id }) => id === faulty.id)?.status).toBe('PIX_QRCODE_GENERATED')
  expect(apart.filter(({ status }) => status === 'FAILED')).toHaveLength(2)
  await service.db.query(sql`drop trigger refuse_change on transactions`)
  const later = [await charge(service), await charge(service)]
  expect((await expire()).find(({ id }) => id === faulty.id)?.status).toBe('FAILED')
  const commits = await service.db.query(sql`
    select distinct xmin::text from transactions where id in (${faulty.id}, ${later[0]?.id}, ${later[1]?.id})`)
  expect(commits).toHaveLength(1)
})

/** The alerts of charges that stay open. */
async function openLate() {
  const registry = new Registry()
  observeTransactions({ db: service.db, registry })
  return (await findMet(registry)).met.map(({ kind, value }) => [kind, value])
}

it('runs in the background for a minute, and then no longer gives way to requests', async () => {
  // More than one batch.
  for (const _ of Array.from({ length: 25 })) await charge(service)
  service.clock.advance(60 * 60_000)
  const calls: string[] = []
  const countingAs = (name: string): SettleDeps => {
    const deps = settleDepsWith(service, async (request) => {
      service.clock.advance(3_000)
      return await bank.handle(request)
    })
    const transaction: Db['transaction'] = async (...work) => {
      calls.push(name)
      return await service.db.transaction(...work)
    }
    return { ...deps, db: { ...service.db, transaction } }
  }
  await checkDueTransactions(countingAs('foreground'), never, countingAs('background'))
  expect(calls).toEqual(['background', 'foreground'])
})

it('never treats a CONCLUIDA charge as unpaid, even while the acquirer shows no payment', async () => {
  const { id } = await charge(service)
  const [row] = await service.db.query<{ at: Date }>(sql`select check_at as at from transactions where id = ${id}`)
  service.clock.set(row?.at ?? service.clock.now())
  await checkDueTransactions(saying({ status: 'CONCLUIDA' }), never)
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED', errorMessage: null })
  expect(await openLate()).toEqual([])
  // Checked again, until the acquirer shows the payment or reports another status.
  service.clock.advance(60 * 60_000)
  await checkDueTransactions(saying({ status: 'CONCLUIDA' }), never)
  expect(await openLate()).toEqual([['charge_open_late', 1]])
  service.clock.advance(60 * 60_000)
  await checkDueTransactions(saying({ status: 'ATIVA' }), never)
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'FAILED' })
  expect(await openLate()).toEqual([])
})

it('checks a charge every 30 seconds before its expiry while the acquirer does not say whether it was paid', async () => {
  const { id } = await charge(service)
  const rowOf = async () => {
    const [row] = await service.db.query<{ at: Date; ends: Date }>(
      sql`select check_at as at, pix_expires_at + interval '5 minutes' as ends from transactions where id = ${id}`,
    )
    return { at: row?.at.getTime() ?? 0, ends: row?.ends.getTime() ?? 0 }
  }
  const logged: [level: number, needsPerson: boolean][] = []
  const write = (line: string) => {
    const { level, msg } = JSON.parse(line)
    logged.push([level, msg.includes('look the payment up')])
  }
  const completed = { ...saying({ status: 'CONCLUIDA' }), log: pino({}, { write }) }
  const silent = settleDepsWith(service, async () => ({ status: 503, headers: {}, body: '{}' }))
  const pauseAfter = async (deps: SettleDeps, ms: number) => {
    service.clock.advance(ms)
    const now = service.clock.now()
    // As when its payment page is opened.
    await service.db.query(sql`update transactions set check_at = ${now} where id = ${id}`)
    await checkDueTransactions(deps, never)
    return ((await rowOf()).at - now.getTime()) / 1000
  }
  expect(await pauseAfter(completed, 20 * 60_000)).toBe(30)
  expect(await pauseAfter(silent, 60_000)).toBe(30)
  const { ends } = await rowOf()
  expect(await pauseAfter(completed, ends - 10_000 - service.clock.now().getTime())).toBe(10)
  expect(await pauseAfter(completed, 55 * 60_000)).toBeGreaterThan(300)
  expect(logged).toEqual([
    [40, false],
    [40, false],
    [50, true],
  ])
  await service.db.query(sql`update transactions set check_at = ${service.clock.now()} where id = ${id}`)
  await checkDueTransactions(saying({ status: 'ATIVA' }), never)
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'FAILED' })
})

it('fails an expired charge without a code that the acquirer shows without one, too', async () => {
  const { id } = await charge(service)
  await service.db.query(sql`delete from events where record_id = ${id}`)
  await service.db.query(sql`
    update transactions set statuses = array['PENDING'], status_dates = status_dates[1:1], pix_uri = null, pix_expires_at = null
    where id = ${id}`)
  const codeless = saying({ pixCopiaECola: undefined, location: undefined, loc: undefined })
  const checkAfter = async (minutes: number) => {
    service.clock.advance(minutes * 60_000)
    await service.db.query(sql`update transactions set check_at = ${service.clock.now()} where id = ${id}`)
    await checkDueTransactions(codeless, never)
    return (await fetchTransaction(service, id)).status
  }
  // Until five minutes after its expiry the payment may still show.
  expect([await checkAfter(29), await checkAfter(5), await checkAfter(2)]).toEqual(['PENDING', 'PENDING', 'FAILED'])
})

it('alerts while a charge is open an hour after it expired, with its code and without one', async () => {
  const { db, clock } = service
  const [coded, pending] = [await charge(service), await charge(service)]
  await db.query(sql`delete from events where record_id = ${pending.id}`)
  await db.query(sql`
    update transactions set statuses = array['PENDING'], status_dates = status_dates[1:1], pix_uri = null,
      pix_expires_at = null, pix_expiration_seconds = pix_expiration_seconds + 3600
    where id = ${pending.id}`)
  const away = settleDepsWith(service, async () => ({ status: 503, headers: {}, body: '{}' }))
  const check = async (minutes: number) => {
    clock.advance(minutes * 60_000)
    await checkDueTransactions(away, never)
    return await openLate()
  }
  const [row] = await db.query<{ at: Date }>(sql`select pix_expires_at as at from transactions where id = ${coded.id}`)
  clock.set(row?.at ?? clock.now())
  expect(await check(50)).toEqual([])
  expect(await check(10)).toEqual([['charge_open_late', 1]])
  expect(await check(60)).toEqual([['charge_open_late', 2]])
  clock.advance(10 * 60_000)
  await checkDueTransactions(saying({ status: 'ATIVA' }), never)
  expect(await openLate()).toEqual([])
})

it.each(['REMOVIDA_PELO_PSP', 'REMOVIDA_PELO_USUARIO_RECEBEDOR'])(
  'fails a charge that is %s when its payment page is opened, and the page shows no code any more',
  async (status) => {
    const { id } = await charge(service)
    const link = await service.call<{ url: string }>(`/transaction/${id}/payment-link`)
    const page = link.body.url.slice(service.baseUrl.length)
    service.clock.advance(2 * 60_000)
    const { body } = await service.call<{ pixResponse: { uri: string } }>(`/transaction/${id}`)
    expect((await service.call(page, { token: null })).text).toContain(body.pixResponse.uri)
    await checkDueTransactions(saying({ status }), never)
    expect(await fetchTransaction(service, id)).toMatchObject({
      status: 'FAILED',
      errorMessage: 'The acquirer removed the charge: the PIX QR code cannot be paid any more',
    })
    expect((await service.call(page, { token: null })).text).not.toContain(body.pixResponse.uri)
  },
)

it('keeps waiting for an existing charge when its payment page is opened', async () => {
  const { id } = await charge(service)
  const link = await service.call<{ url: string }>(`/transaction/${id}/payment-link`)
  service.clock.advance(2 * 60_000)
  await service.call(link.body.url.slice(service.baseUrl.length), { token: null })
  await checkDueTransactions(settleDepsWith(service, bank.handle), never)
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED' })
})

it('checks refunds while the checks of charges have not ended', async () => {
  // The bank carries it out minutes later.
  const { id } = await payOne(service, 800_002)
  const refundId = await refund(service, id)
  await untilSent(service, refundId)
  const open = await charge(service)
  // Refunds are due by another clock, so that the service's own worker is not faster.
  const now = new Date(service.clock.now().getTime() + 120_000)
  await service.db.query(sql`update transactions set check_at = ${now} where id = ${open.id}`)
  let isChecking = false
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const paths: string[] = []
  const bankOfLateAnswers = settleDepsWith(service, async (request) => {
    paths.push(request.path)
    if (request.path.includes(open.id.replaceAll('-', ''))) {
      isChecking = true
      await answered
    }
    return await bank.handle(request)
  })
  const deps = { ...bankOfLateAnswers, clock: { now: () => now } }
  const jobs = transactionJobs(deps, deps)
  const checked = jobs['transactions.check']?.({}, never)
  await eventually(() => isChecking)
  await jobs['transactions.check-refunds']?.({}, never)
  expect(paths.filter((path) => path.endsWith(refundId.replaceAll('-', '')))).toHaveLength(1)
  answer()
  await checked
})
