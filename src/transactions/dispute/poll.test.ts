import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { settleDepsWith } from '../../../test/support/acquirer.ts'
import { fetchDisputed } from '../../../test/support/disputes.ts'
import { openQuietBank, type QuietBank } from '../../../test/support/payments.ts'
import { forgeReturn, payOne } from '../../../test/support/refunds.ts'
import { startTestService, type TestService } from '../../../test/support/service.ts'
import { merchantOf } from '../../../test/support/withdrawals.ts'
import type { HttpResponse } from '../../acquirers/bacen/http.ts'
import { findMet } from '../../alerts/conditions.ts'
import { raw, sql } from '../../db/sql.ts'
import { isDisputed } from '../../suspense/dispute-store.ts'
import { recordDecision } from './dispute.ts'
import { observeDisputes } from './metrics.ts'
import { checkReturns, pollDisputes } from './poll.ts'

let service: TestService
let bank: QuietBank
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  bank = await openQuietBank(service)
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

const listError = 'the acquirer’s list of disputes could not be read'
const unreadableError =
  'disputes in an acquirer’s list, or their payments, cannot be read, and their money may not be blocked: look them up at the acquirer'
const paymentWarning = 'the payment of a dispute cannot be read and will be tried again'
const unavailable: HttpResponse = { status: 503, headers: {}, body: '{}' }
const switchedOff: HttpResponse = {
  status: 500,
  headers: {},
  body: JSON.stringify({ title: 'Erro Interno', detail: 'Funcionalidade desabilitada em ambiente de homologação.' }),
}
const listing = (...infracoes: object[]): HttpResponse => {
  return { status: 200, headers: {}, body: JSON.stringify({ parametros: {}, infracoes }) }
}

/** A separate acquirer whose list of disputes responds as the test says, with its logs and metrics. */
function reading(name: string, change: (path: string, answer: HttpResponse) => HttpResponse = (_, same) => same) {
  const logged: { level: number; msg: string; reason?: string; references?: string[] }[] = []
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) })
  let answer = unavailable
  let listed = 0
  const deps = settleDepsWith(
    service,
    async (request) => {
      if (!request.path.endsWith('/infracoes')) return change(request.path, await bank.handle(request))
      listed += 1
      return answer
    },
    { log, name, profile: { offers: { disputes: true } } },
  )
  const registry = new Registry()
  observeDisputes({ ...deps, registry })
  const readGauge = async (metric: string) => {
    const found = new RegExp(`{acquirer="${name}"} (\\d+)$`, 'm').exec(await registry.getSingleMetricAsString(metric))
    return found ? Number(found[1]) : null
  }
  return {
    /** Returns what was logged meanwhile, from level `warn` up. */
    async poll(next: HttpResponse) {
      answer = next
      logged.length = 0
      await pollDisputes(deps, new AbortController().signal)
      return logged
        .filter(({ level }) => level >= 40)
        .map(({ level, msg, reason, references }) => ({ level, msg, reason, references }))
    },
    /** Checks for a return while the list shows `next`. Returns how often the list was read. */
    async check(id: string, next: HttpResponse) {
      answer = next
      listed = 0
      await checkReturns(deps, { merchantId: await merchantOf(service), id })
      return listed
    },
    /** The alerts of disputes that did not end. */
    async overdue() {
      return (await findMet(registry)).met.flatMap(({ kind, value }) => (kind === 'dispute_overdue' ? [value] : []))
    },
    age: async () => await readGauge('guiche_disputes_list_age_seconds'),
    unreadable: async () => await readGauge('guiche_disputes_unreadable'),
  }
}

it('an unreadable list of disputes is an error each time, and its age grows although it was never read', async () => {
  const psp = reading('never-read')
  service.clock.advance(700_000)
  expect(await psp.poll(unavailable)).toEqual([{ level: 50, msg: listError, reason: 'The acquirer answered 503' }])
  expect(await psp.age()).toBe(700)
  expect(await psp.poll(listing())).toEqual([])
  expect(await psp.age()).toBe(0)
  service.clock.advance(60_000)
  expect(await psp.poll(unavailable)).toMatchObject([{ level: 50 }])
  expect(await psp.age()).toBe(60)
})

it('an unreadable dispute is an error that names it, and the other disputes still block their payments', async () => {
  const { id, endToEnd } = await payOne(service)
  const abertura = service.clock.now().toISOString()
  const good = {
    idInfracao: randomUUID(),
    endToEndId: endToEnd,
    valor: '10.00',
    status: 'ABERTA',
    dadosAnalise: { abertura },
  }
  const psp = reading('simulator')
  const bad = { ...good, idInfracao: randomUUID(), valor: '77.777' }
  service.clock.advance(700_000)
  const error = { level: 50, msg: unreadableError, references: [bad.idInfracao] }
  expect(await psp.poll(listing(bad, good))).toEqual([error])
  expect(await fetchDisputed(service, id)).toMatchObject({ status: 'BLOCKED', disputes: [{ amountBlocked: 1000 }] })
  expect([await psp.age(), await psp.unreadable()]).toEqual([0, 1])
  // The list counts as read, so that the next poll reads what is new; the entry is logged by each complete poll.
  service.clock.advance(30_000)
  expect(await psp.poll(listing(bad))).toEqual([])
  expect(await psp.unreadable()).toBe(1)
  service.clock.advance(15 * 60_000)
  expect(await psp.poll(listing({ ...bad, idInfracao: undefined, protocolo: 77 }))).toEqual([
    { ...error, references: ['77'] },
  ])
  service.clock.advance(15 * 60_000)
  expect(await psp.poll(listing(good))).toEqual([])
  expect(await psp.unreadable()).toBe(0)
})

it('a dispute that the acquirer calls returned keeps the rest blocked while a return is in progress', async () => {
  const { id, endToEnd } = await payOne(service)
  const at = service.clock.now().toISOString()
  const dispute = { idInfracao: randomUUID(), endToEndId: endToEnd, valor: '10.00', criadoEm: at }
  const toReturn = (n: number, valor: string, status: string) => {
    const rtrId = `D${randomUUID().replaceAll('-', '').slice(1)}`
    return { id: `med${n}`, rtrId, valor, natureza: 'MED_FRAUDE', status, horario: { solicitacao: at } }
  }
  let devolucoes = [toReturn(1, '4.00', 'DEVOLVIDO'), toReturn(2, '6.00', 'EM_PROCESSAMENTO')]
  const psp = reading('simulator', (path, answer) =>
    path.endsWith(`/pix/${endToEnd}`)
      ? { ...answer, body: JSON.stringify({ ...JSON.parse(answer.body), devolucoes }) }
      : answer,
  )
  await psp.poll(listing({ ...dispute, status: 'DEVOLVIDA' }))
  expect(await fetchDisputed(service, id)).toMatchObject({
    status: 'PROCESSING_INFRACTION',
    disputes: [{ amountReturned: 400, amountBlocked: 600 }],
  })
  // The return failed: the rest is available to the merchant again.
  devolucoes = devolucoes.slice(0, 1)
  service.clock.advance(30_000)
  await psp.poll(listing({ ...dispute, status: 'DEVOLVIDA' }))
  expect(await fetchDisputed(service, id)).toMatchObject({
    status: 'INFRACTION',
    disputes: [{ amountReturned: 400, amountBlocked: 0, status: 'RETURNED' }],
  })
})

it('alerts while a dispute that did not end blocks money, until a person rejects it', async () => {
  const { id, endToEnd } = await payOne(service)
  const at = service.clock.now().toISOString()
  const found = { idInfracao: randomUUID(), endToEndId: endToEnd, valor: '10.00', criadoEm: at, status: 'ACEITA' }
  const rtrId = `D${randomUUID().replaceAll('-', '').slice(1)}`
  const returned = {
    id: 'med',
    rtrId,
    valor: '4.00',
    natureza: 'MED_FRAUDE',
    status: 'DEVOLVIDO',
    horario: { solicitacao: at },
  }
  const psp = reading('simulator', (path, answer) =>
    path.endsWith(`/pix/${endToEnd}`)
      ? { ...answer, body: JSON.stringify({ ...JSON.parse(answer.body), devolucoes: [returned] }) }
      : answer,
  )
  await psp.poll(listing(found))
  const disputed = { status: 'PROCESSING_INFRACTION', disputes: [{ amountReturned: 400, amountBlocked: 600 }] }
  expect(await fetchDisputed(service, id)).toMatchObject(disputed)
  const { db, clock } = service
  await db.query(sql`update disputes set decided_at = decided_at - interval '2 days' where transaction_id = ${id}`)
  await db.query(
    sql`update transactions set payment_date = ${clock.now()}::timestamptz - interval '90 days' where id = ${id}`,
  )
  clock.advance(-1_000)
  expect(await psp.overdue()).toEqual([])
  clock.advance(6_000)
  expect(await psp.overdue()).toEqual([5])
  // Another one, whose defence was submitted by hand, and of whose decision the PSP's list says nothing.
  const other = await payOne(service)
  const open = { ...found, idInfracao: randomUUID(), endToEndId: other.endToEnd, status: 'ABERTA' }
  await psp.poll(listing(found, open))
  await db.query(sql`
    update disputes set answered_at = ${clock.now()}, deadline_at = null,
      opened_at = ${clock.now()}::timestamptz - interval '18 days 1 minute'
    where transaction_id = ${other.id}`)
  expect(await psp.overdue()).toEqual([60])
  for (const transactionId of [other.id, id])
    await recordDecision(
      { db, clock, wakeDeliveries: () => {} },
      { transactionId, decision: 'reject', by: { actor: 'cli:test' } },
    )
  expect(await psp.overdue()).toEqual([])
  expect(await fetchDisputed(service, id)).toMatchObject({ disputes: [{ status: 'RETURNED', amountBlocked: 0 }] })
})

it('two acquirers may give their disputes the same reference', async () => {
  const [first, second] = [await payOne(service), await payOne(service)]
  await service.db.query(sql`update transactions set acquirer = 'another' where id = ${second.id}`)
  const abertura = service.clock.now().toISOString()
  const dispute = { idInfracao: randomUUID(), valor: '10.00', status: 'ABERTA', dadosAnalise: { abertura } }
  expect(await reading('simulator').poll(listing({ ...dispute, endToEndId: first.endToEnd }))).toEqual([])
  expect(await reading('another').poll(listing({ ...dispute, endToEndId: second.endToEnd }))).toEqual([])
  for (const { id } of [first, second]) expect(await fetchDisputed(service, id)).toMatchObject({ status: 'BLOCKED' })
})

it('an acquirer that switched its list off causes no warning, and is asked again after an hour', async () => {
  const psp = reading('homologation')
  service.clock.advance(700_000)
  expect(await psp.poll(switchedOff)).toEqual([])
  expect(await psp.age()).toBe(null)
  // Not asked meanwhile: a request would fail.
  service.clock.advance(59 * 60_000)
  expect(await psp.poll(unavailable)).toEqual([])
  expect(await psp.age()).toBe(null)
  service.clock.advance(60_000)
  expect(await psp.poll(unavailable)).toMatchObject([{ level: 50, msg: listError }])
  service.clock.advance(60 * 60_000)
  expect(await psp.age()).toBe(2 * 60 * 60)
})

it('a dispute whose payment the acquirer cannot show is tried again, and keeps no other one waiting', async () => {
  const [hidden, shown] = [await payOne(service), await payOne(service)]
  const abertura = service.clock.now().toISOString()
  const dispute = { valor: '10.00', status: 'ABERTA', dadosAnalise: { abertura } }
  const references = [randomUUID()]
  const both = listing(
    { ...dispute, idInfracao: references[0], endToEndId: hidden.endToEnd },
    { ...dispute, idInfracao: randomUUID(), endToEndId: shown.endToEnd },
  )
  let isHidden = true
  const psp = reading('simulator', (path, answer) =>
    isHidden && path.endsWith(`/pix/${hidden.endToEnd}`) ? { ...answer, status: 400 } : answer,
  )
  const warning = { level: 40, msg: paymentWarning, reason: expect.stringMatching(/^The acquirer refused the query/) }
  // The list counts as read, also when it is read completely.
  for (const _ of [1, 2]) {
    service.clock.advance(16 * 60_000)
    expect(await psp.poll(both)).toEqual([warning, { level: 50, msg: unreadableError, references }])
    expect([await psp.age(), await psp.unreadable()]).toEqual([0, 1])
  }
  expect(await fetchDisputed(service, shown.id)).toMatchObject({ status: 'BLOCKED' })
  expect(await fetchDisputed(service, hidden.id)).toMatchObject({ status: 'PAID' })
  // Not a complete poll: it logs no error again.
  service.clock.advance(60_000)
  expect(await psp.poll(both)).toEqual([warning])
  isHidden = false
  service.clock.advance(15 * 60_000)
  expect(await psp.poll(both)).toEqual([])
  expect(await fetchDisputed(service, hidden.id)).toMatchObject({ status: 'BLOCKED' })
  expect(await psp.unreadable()).toBe(0)
})

it('a poll ends after twenty payments in a row that the acquirer cannot show', async () => {
  const abertura = service.clock.now().toISOString()
  const disputes = Array.from({ length: 25 }, (_, n) => {
    const endToEndId = `E1234567820261120120000000000${n + 100}`
    return { idInfracao: randomUUID(), endToEndId, valor: '10.00', status: 'ABERTA', dadosAnalise: { abertura } }
  })
  let queries = 0
  const psp = reading('showing-none', (path, answer) => {
    if (!path.includes('/pix/')) return answer
    queries += 1
    return { ...answer, status: 400 }
  })
  service.clock.advance(60_000)
  const logged = await psp.poll(listing(...disputes))
  expect(logged.at(-1)).toMatchObject({ level: 50, msg: listError })
  expect([queries, logged.length, await psp.age()]).toEqual([20, 20, 60])
})

it('an unknown status is an error once, and none while the dispute belongs to no transaction', async () => {
  const { endToEnd } = await payOne(service)
  const abertura = service.clock.now().toISOString()
  const dispute = { valor: '10.00', status: 'EM_OUTRA_FASE', dadosAnalise: { abertura } }
  const psp = reading('simulator')
  const pollOne = async (endToEndId: string, idInfracao: string) =>
    (await psp.poll(listing({ ...dispute, idInfracao, endToEndId }))).map(({ level, msg }) => [level, msg])
  const [known, unattributed] = [randomUUID(), randomUUID()]
  expect(await pollOne(endToEnd, known)).toEqual([[50, expect.stringContaining('the status of a dispute is unknown')]])
  expect(await pollOne(endToEnd, known)).toEqual([])
  const ofNobody = 'E1234567820261120120000000000xyz'
  expect(await pollOne(ofNobody, unattributed)).toEqual([[40, expect.stringContaining('belongs to no transaction')]])
  expect(await pollOne(ofNobody, unattributed)).toEqual([])
})

it('follows a dispute whose status an earlier version could not read, with and without a transaction', async () => {
  const { db, clock } = service
  const { id, endToEnd } = await payOne(service)
  const unknownPayment = 'E1234567820261120120000000000abc'
  const dispute = { valor: '10.00', dadosAnalise: { abertura: clock.now().toISOString() } }
  const references = [randomUUID(), randomUUID()]
  const both = (status: string) =>
    listing(
      ...[endToEnd, unknownPayment].map((endToEndId, n) => {
        return { ...dispute, idInfracao: references[n], endToEndId, status }
      }),
    )
  const isBlocked = async () => await isDisputed(db, { acquirer: 'simulator', end_to_end: unknownPayment })
  const psp = reading('simulator')
  await psp.poll(both('ABERTA'))
  expect([(await fetchDisputed(service, id)).status, await isBlocked()]).toEqual(['BLOCKED', true])
  for (const table of ['disputes', 'unattributed_disputes'])
    await db.query(sql`
      update ${raw(table)} set acquirer_status = 'REJEITADA', acquirer_state = 'unknown'
      where ${raw(table === 'disputes' ? 'acquirer_reference' : 'reference')} = any(${references})`)
  await psp.poll(both('REJEITADA'))
  expect(await fetchDisputed(service, id)).toMatchObject({ status: 'PAID', disputes: [{ status: 'REJECTED' }] })
  expect(await isBlocked()).toBe(false)
})

it('a return reads the list first, unless an acceptance that is recorded accounts for it', async () => {
  const { id, endToEnd } = await payOne(service)
  const abertura = service.clock.now().toISOString()
  const dispute = { idInfracao: randomUUID(), endToEndId: endToEnd, valor: '6.00', dadosAnalise: { abertura } }
  const psp = reading('simulator')
  await psp.poll(listing({ ...dispute, status: 'ABERTA' }))
  await forgeReturn(service, endToEnd, 200)
  expect(await psp.check(id, listing({ ...dispute, status: 'ACEITA' }))).toBe(1)
  expect(await fetchDisputed(service, id)).toMatchObject({ status: 'PROCESSING_INFRACTION', amountReturned: 200 })
  await forgeReturn(service, endToEnd, 400, undefined, 'second')
  expect(await psp.check(id, unavailable)).toBe(0)
  expect(await fetchDisputed(service, id)).toMatchObject({ amountReturned: 600, disputes: [{ status: 'RETURNED' }] })
  await forgeReturn(service, endToEnd, 100, undefined, 'third')
  expect(await psp.check(id, listing({ ...dispute, status: 'DEVOLVIDA' }))).toBe(1)
})

it('scrapes that overlap have the values of all acquirers', async () => {
  const deps = settleDepsWith(service, bank.handle, { name: 'first', profile: { offers: { disputes: true } } })
  const other = settleDepsWith(service, bank.handle, { name: 'second', profile: { offers: { disputes: true } } })
  const registry = new Registry()
  observeDisputes({ ...deps, registry, acquirers: { all: [...deps.acquirers.all, ...other.acquirers.all] } })
  const scrapes: Promise<string>[] = []
  for (let count = 0; count < 100; count += 1) {
    scrapes.push(registry.metrics())
    await new Promise(setImmediate)
  }
  for (const text of await Promise.all(scrapes))
    for (const name of ['guiche_disputes_list_age_seconds', 'guiche_disputes_unreadable'])
      for (const acquirer of ['first', 'second']) expect(text).toContain(`${name}{acquirer="${acquirer}"}`)
})
