import { createHash, randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type {
  ClosedDayView,
  DiscrepancyDetail,
  LedgerView,
  RequestedRunView,
  RunView,
} from '../../src/dashboard/operator-schema.ts'
import { sql } from '../../src/db/sql.ts'
import { enqueueJob } from '../../src/jobs/jobs.ts'
import { dayBefore, dayOf, windowOf } from '../../src/lib/brasilia.ts'
import type { DiscrepancyView } from '../../src/operator/discrepancies.ts'
import type { FeeView } from '../../src/operator/fees.ts'
import { keyOfRun, requestedRunJob } from '../../src/reconciliation/requested-run.ts'
import { verifyStatement } from '../../src/reconciliation/sign.ts'
import { readPdf } from '../support/read-files.ts'
import { payOne, refund, untilRefund } from '../support/refunds.ts'
import { addTestClient, type Problem } from '../support/requests.ts'
import { fetchToken, startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import { balancesOf, expectLedgerConsistent } from '../support/withdrawals.ts'

type Role = 'admin' | 'finance' | 'support' | 'reader' | 'owner' | 'financeOfMerchant' | 'outsider'
type Person = Browser & { email: string }

let service: TestService
let merchantId: string
let day: string
let people: Record<Role, Person>

beforeAll(async () => {
  const started = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  service = started
  merchantId = await findSandboxMerchant(service)
  day = dayOf(service.clock.now())
  await payOne(service, 5000)
  const changed = await payOne(service, 2000)
  const gone = await payOne(service, 3000)
  // The bank's own records, changed as if it had made a mistake.
  await service.db.query(sql`update simulator.pix set amount = 1900 where end_to_end_id = ${changed.endToEnd}`)
  await service.db.query(sql`delete from simulator.pix where end_to_end_id = ${gone.endToEnd}`)
  // The service closes the previous day when it starts: wait for that before its first day ends.
  await eventually(async () => (await service.db.query(sql`select from closed_days`)).length === 1)
  service.clock.advance(24 * 60 * 60_000)
  const token = await fetchToken(service.baseUrl, service.sandbox)
  service = { ...started, token, call: async (path, call) => await started.call(path, { token, ...call }) }
  const another = await addTestClient(service)
  people = {
    admin: await signInAs('admin'),
    finance: await signInAs('finance'),
    support: await signInAs('support'),
    reader: await signInAs('read_only'),
    owner: await signInAs('owner', merchantId),
    financeOfMerchant: await signInAs('finance', merchantId),
    outsider: await signInAs('finance', another.merchantId),
  }
}, 300_000)
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

async function signInAs(role: string, ofMerchant: string | null = null): Promise<Person> {
  const email = await inviteUser(service, { role, merchantId: ofMerchant })
  return { ...(await openBrowser(service, { email, password })), email }
}

async function get<Body>(person: Browser, path: string) {
  return await person.call<Body & Problem>(`/dashboard/api${path}`)
}

async function send<Body>(person: Browser, path: string, body: object = {}, method = 'POST') {
  return await person.call<Body & Problem>(`/dashboard/api${path}`, { method, body })
}

async function actionsOf(recordId: string) {
  return await service.db.query<{ actor: string; action: string; details: unknown }>(sql`
    select actor, action, details from audit_log where record_id = ${recordId} order by id`)
}

/** Requests long work, and waits for its end. */
async function untilDone(path: string, body: object): Promise<RequestedRunView> {
  const requested = await send<{ id: string }>(people.finance, path, body)
  expect(requested.status, requested.text).toBe(202)
  let view: RequestedRunView | null = null
  await eventually(
    async () => {
      view = (await get<RequestedRunView>(people.finance, `/reconciliation/requested/${requested.body.id}`)).body
      return !view.isUnderWay
    },
    () => JSON.stringify(view),
  )
  if (!view) throw new Error('the run was never read')
  return view
}

type DiscrepancyPage = { total: number; data: DiscrepancyView[] }
const listDiscrepancies = async (state: string, query = '') =>
  (await get<DiscrepancyPage>(people.reader, `/reconciliation/difference?state=${state}${query}`)).body

describe('who may', () => {
  const id = randomUUID()
  const readings = [
    '/ledger',
    '/reconciliation',
    '/reconciliation/difference?state=open',
    `/reconciliation/difference/${id}`,
    '/reconciliation/run',
    `/reconciliation/requested/${id}`,
    '/reconciliation/day',
    '/reconciliation/day/simulator/2026-01-01',
    '/reconciliation/day/simulator/2026-01-01/statement.jws',
    '/reconciliation/statement-keys.json',
    '/suspense?isOpen=true',
    `/suspense/${id}`,
  ]
  const decisions: [path: string, body?: object][] = [
    [`/reconciliation/difference/${id}/confirmation`, { proposal: { action: 'settle' } }],
    [`/reconciliation/difference/${id}/dismissal`, { reason: 'a reason' }],
    ['/reconciliation/run', { acquirer: 'nobody', from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }],
    ['/reconciliation/day', { acquirer: 'nobody', day: '2026-01-01' }],
    [`/suspense/${id}/match`, { transactionId: id }],
    [`/suspense/${id}/undoing`],
    [`/suspense/${id}/return`],
  ]

  it('read the ledger of all merchants: admin, finance and read_only, and no merchant’s people', async () => {
    for (const path of readings) {
      const statuses = Object.fromEntries(
        await Promise.all(
          Object.entries(people).map(async ([role, person]) => [role, (await get(person, path)).status]),
        ),
      )
      const [yes] = [statuses.reader]
      expect([200, 404], path).toContain(yes)
      expect(statuses, path).toEqual({
        ...{ admin: yes, finance: yes, reader: yes },
        ...{ support: 403, owner: 403, financeOfMerchant: 403, outsider: 403 },
      })
    }
  })

  it('decide: only admin and finance of the operator', async () => {
    for (const [path, body] of decisions) {
      for (const role of ['support', 'reader', 'owner', 'financeOfMerchant'] as const)
        expect((await send(people[role], path, body)).status, `${role} ${path}`).toBe(403)
      for (const role of ['admin', 'finance'] as const)
        expect((await send(people[role], path, body)).status, `${role} ${path}`).toBe(404)
    }
    const preview = await get(people.reader, `/suspense/${id}/match?transactionId=${id}`)
    expect(preview.status).toBe(403)
  })

  it('set fees: admin and finance of the operator, and each merchant’s people see their own', async () => {
    const rule = { operation: 'withdrawal', fixed: 150, basisPoints: 99, minimum: 200, maximum: 500 }
    const body = { clientId: service.sandbox.clientId, validFrom: null, ...rule }
    for (const role of ['support', 'reader', 'owner', 'financeOfMerchant'] as const)
      expect((await send(people[role], '/fee', body, 'PUT')).status, role).toBe(403)
    const set = await send<{ data: FeeView[] }>(people.finance, '/fee', body, 'PUT')
    expect(set.status, set.text).toBe(200)
    expect(set.body.data).toMatchObject([
      { ...rule, isInForce: true, examples: [{ amount: 1_000, fee: 200 }, { amount: 10_000, fee: 249 }, { fee: 500 }] },
    ])
    // A person who has not read that rule does not replace it.
    const late = await send(people.admin, '/fee', body, 'PUT')
    expect([late.status, late.body.code]).toEqual([409, 'change_not_possible'])
    const wrong = await send(people.finance, '/fee', { ...body, maximum: 100 }, 'PUT')
    expect([wrong.status, wrong.body.errors?.[0]?.field]).toEqual([422, 'maximum'])
    expect((await send(people.finance, '/fee', { ...body, clientId: 'nobody' }, 'PUT')).status).toBe(404)
    expect(await actionsOf(merchantId)).toMatchObject([
      { action: 'fee.set', actor: `user:${people.finance.email}`, details: rule },
    ])
    const feesOf = async (person: Browser) =>
      (await get<{ data: FeeView[] }>(person, `/fee?clientId=${service.sandbox.clientId}`)).body.data.length
    expect(await feesOf(people.reader)).toBe(1)
    expect(await feesOf(people.financeOfMerchant)).toBe(1)
    // Another merchant's people see their own fees, whatever merchant they name.
    expect(await feesOf(people.outsider)).toBe(0)
  })
})

describe('the ledger', () => {
  it('adds up to zero, for all and for one merchant, now and in the past', async () => {
    const all = await get<LedgerView>(people.reader, '/ledger')
    expect(all.body).toMatchObject({
      accounts: { available: 10_000, acquirer: -10_000 },
      operator: { suspense: 0 },
      unevenMerchants: 0,
      payoutFreeze: null,
    })
    const one = await get<LedgerView>(people.reader, `/ledger?clientId=${service.sandbox.clientId}`)
    expect(one.body).toMatchObject({ accounts: { available: 10_000 }, operator: null })
    const before = '2026-01-01T00:00:00Z'
    const past = await get<LedgerView>(people.reader, `/ledger?clientId=${service.sandbox.clientId}&at=${before}`)
    expect(past.body.accounts).toMatchObject({ available: 0, acquirer: 0 })
    expect((await get(people.reader, `/ledger?at=${before}`)).status).toBe(422)
    expect((await get(people.reader, '/ledger?clientId=nobody')).status).toBe(404)
  })

  it('leads from a refund’s entry to its transaction, and from a foreign one nowhere', async () => {
    const { id } = await payOne(service, 700)
    const refundId = await refund(service, id)
    await untilRefund(service, id, refundId, 'REFUNDED')
    const path = `/ledger/transactions?id=${refundId}&id=${randomUUID()}`
    const owners = await get<{ data: object[] }>(people.financeOfMerchant, path)
    expect(owners.body.data).toEqual([{ id: refundId, transactionId: id }])
    const ofClient = `${path}&clientId=${service.sandbox.clientId}`
    expect((await get<{ data: object[] }>(people.reader, ofClient)).body.data).toHaveLength(1)
    expect((await get<{ data: object[] }>(people.outsider, ofClient)).body.data).toEqual([])
    expect((await get(people.reader, path)).status).toBe(422)
  })
})

describe('a manual reconciliation', () => {
  it('is run by the worker, and returns its findings', { timeout: 300_000 }, async () => {
    const { from, to } = windowOf(day)
    const done = await untilDone('/reconciliation/run', { acquirer: 'simulator', from, to })
    expect(done.run).toMatchObject({
      kind: 'manual',
      state: 'complete',
      compared: { payment: 3 },
      counts: { amount: 1, missing_at_acquirer: 1 },
    })
    const runs = await get<{ data: RunView[] }>(people.reader, '/reconciliation/run?kind=manual')
    expect(runs.body.data).toContainEqual(done.run)
    const summary = await get<{ open: object[]; acquirers: string[] }>(people.reader, '/reconciliation')
    expect(summary.body).toMatchObject({
      acquirers: ['simulator'],
      // Once each, even if the schedule has already closed the day.
      open: expect.arrayContaining([
        { acquirer: 'simulator', class: 'amount', count: 1 },
        { acquirer: 'simulator', class: 'missing_at_acquirer', count: 1 },
      ]),
    })
    const [action] = await service.db.query<{ actor: string }>(sql`
      select actor from audit_log where action = 'reconcile.run'`)
    expect(action?.actor).toBe(`user:${people.finance.email}`)
  })

  it('is restarted after an interruption', { timeout: 300_000 }, async () => {
    const { from, to } = windowOf(day)
    const runId = randomUUID()
    await service.db.query(sql`
      insert into reconciliation_runs (id, acquirer, kind, starts_at, ends_at, started_at, state)
      values (${runId}, 'simulator', 'manual', ${from}, ${to}, ${service.clock.now()}, 'running')`)
    // It had read an id that no longer exists.
    await service.db.query(sql`
      insert into reconciliation_pairs (run_id, subject, key, acquirer_amount, acquirer_at, acquirer_state)
      values (${runId}, 'payment', 'E0', 1, ${from}, 'done')`)
    const payload = { runId, acquirer: 'simulator', day: null, from, to }
    await enqueueJob(service.db, { name: requestedRunJob, payload, key: keyOfRun(runId) })
    await eventually(
      async () => !(await get<RequestedRunView>(people.reader, `/reconciliation/requested/${runId}`)).body.isUnderWay,
    )
    const requested = await get<RequestedRunView>(people.reader, `/reconciliation/requested/${runId}`)
    expect(requested.body.run).toMatchObject({ state: 'complete', compared: { payment: 3 }, newCount: 0 })
    expect(await service.db.query(sql`select from reconciliation_pairs where run_id = ${runId}`)).toEqual([])
  })

  it('is refused when it is invalid', async () => {
    const { from, to } = windowOf(day)
    const requested = async (body: object) => (await send(people.finance, '/reconciliation/run', body)).status
    expect(await requested({ acquirer: 'simulator', from: to, to: from })).toBe(422)
    expect(await requested({ acquirer: 'simulator', from: '2020-01-01T00:00:00Z', to })).toBe(422)
    expect(await requested({ acquirer: 'nobody', from, to })).toBe(404)
  })
})

describe('a discrepancy', () => {
  it('is shown with the exact entry that its confirmation posts, once, even when two confirm it concurrently', async () => {
    const [difference] = (await listDiscrepancies('open', '&class=amount')).data
    expect(difference).toMatchObject({
      ...{ atAcquirer: { amount: 1900 }, inLedger: { amount: 2000 }, proposal: { action: 'correct', cents: -100 } },
      ...{ client: { clientId: service.sandbox.clientId }, record: { type: 'transaction' } },
    })
    const id = difference?.id ?? ''
    const shown = await get<DiscrepancyDetail>(people.reader, `/reconciliation/difference/${id}`)
    expect(shown.body.entries).toEqual([{ debit: 'available', credit: 'acquirer', amount: 100 }])
    const before = await balancesOf(service)
    const path = `/reconciliation/difference/${id}/confirmation`
    // A run has changed the proposal since this person read it.
    const former = { proposal: { action: 'correct', cents: -99, account: 'merchant' } }
    expect(await send(people.finance, path, former)).toMatchObject({
      ...{ status: 422, body: { code: 'difference_not_possible', errors: [{ code: 'changed' }] } },
    })
    const { proposal } = shown.body
    const answers = await Promise.all([
      send(people.finance, path, { proposal }),
      send(people.admin, path, { proposal }),
    ])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422])
    const refused = answers.find(({ status }) => status === 422)?.body
    expect(refused).toMatchObject({ code: 'difference_not_possible', detail: expect.stringContaining('is confirmed') })
    const posted = await service.db.query(sql`
      select debit, split_part(credit, ':', 1) as credit, amount from ledger_transfers where record_id = ${id}`)
    expect(posted).toEqual(shown.body.entries)
    expect(await balancesOf(service)).toEqual({
      ...before,
      available: before.available - 100,
      acquirer: before.acquirer + 100,
    })
    expect(await actionsOf(id)).toMatchObject([
      { action: 'reconcile.confirm', details: { class: 'amount', cents: -100, proposal: 'correct' } },
    ])
    const decided = (await listDiscrepancies('decided')).data
    expect(decided).toMatchObject([{ id, state: 'confirmed', decidedBy: expect.stringMatching(/^user:/) }])
  })

  it('is dismissed with a reason, and not without one', async () => {
    const [{ id } = { id: '' }] = (await listDiscrepancies('open', '&class=missing_at_acquirer')).data
    const path = `/reconciliation/difference/${id}/dismissal`
    expect((await send(people.finance, path)).status).toBe(422)
    const reason = 'the bank has lost it and pays'
    const dismissed = await send<DiscrepancyView>(people.finance, path, { reason })
    expect(dismissed.body).toMatchObject({ state: 'dismissed', reason, decidedBy: `user:${people.finance.email}` })
    expect((await send(people.finance, path, { reason })).status).toBe(422)
    expect(await actionsOf(id)).toMatchObject([{ action: 'reconcile.dismiss', details: { reason } }])
  })
})

describe('a day', () => {
  let version = 0
  const pathOf = (name = 'simulator') => `/reconciliation/day/${name}/${day}`

  it('is closed manually, and its statement can be verified by anyone with the keys', {
    timeout: 300_000,
  }, async () => {
    const done = await untilDone('/reconciliation/day', { acquirer: 'simulator', day })
    expect(done).toMatchObject({ run: { kind: 'daily', state: 'complete' } })
    version = (await get<ClosedDayView>(people.reader, pathOf())).body.version
    // The scheduled job may have closed the day just before.
    expect([version, null]).toContain(done.version)
    const days = await get<{ total: number; data: object[] }>(people.reader, '/reconciliation/day')
    expect(days.body).toMatchObject({ total: 2, data: [{ day, version, in: { ledger: { sum: 10_000 } } }, {}] })
    const view = await get<ClosedDayView>(people.reader, pathOf())
    expect(view.body).toMatchObject({
      version,
      ...{ ledgerSide: { in: { count: 3, sum: 10_000 } }, acquirerSide: { in: { count: 2, sum: 6_900 } } },
    })
    const file = await people.reader.call(`/dashboard/api${pathOf()}/statement.jws`)
    expect(file.headers.get('content-disposition')).toContain(`simulator-${day}-v${version}.jws`)
    expect(createHash('sha256').update(file.text).digest('hex')).toBe(view.body.sha256)
    const keys = await people.reader.call<{ keys: [] }>('/dashboard/api/reconciliation/statement-keys.json')
    expect(await verifyStatement(file.text, keys.body)).toMatchObject({ day, version })
    // As a document: what the signed file says, its hash, and where to get it.
    const address = `${service.baseUrl}/dashboard/api${pathOf()}/statement.pdf`
    const pdf = await fetch(`${address}?language=pt`, { headers: { cookie: people.reader.cookie } })
    expect(pdf.headers.get('content-type')).toBe('application/pdf')
    const bytes = Buffer.from(await pdf.arrayBuffer())
    const shown = readPdf(bytes)
    for (const part of ['R$ 100,00', 'R$ 69,00', 'Falta no PSP', view.body.sha256, `days/simulator/${day}`])
      expect(shown).toContain(part)
    const again = await fetch(`${address}?language=pt`, { headers: { cookie: people.reader.cookie } })
    expect(Buffer.from(await again.arrayBuffer()).equals(bytes)).toBe(true)
  })

  it('gets another version only after a change, and the version says what changed', { timeout: 300_000 }, async () => {
    const again = await untilDone('/reconciliation/day', { acquirer: 'simulator', day })
    expect(again).toMatchObject({ version: null, run: { state: 'complete' } })
    await service.db.query(sql`update simulator.pix set amount = amount + 1 where amount = 5000`)
    const later = await untilDone('/reconciliation/day', { acquirer: 'simulator', day })
    expect(later.version).toBe(version + 1)
    const view = await get<ClosedDayView>(people.reader, pathOf())
    expect(view.body).toMatchObject({
      former: { version },
      changes: { totals: expect.arrayContaining([{ name: 'acquirer.in.sum', before: 6900, after: 6901 }]) },
    })
    expect((await get<ClosedDayView>(people.reader, `${pathOf()}?version=${version}`)).body.version).toBe(version)
  })

  it('is closed neither before it is over nor when it is not a date', async () => {
    const close = async (body: object) => await send(people.finance, '/reconciliation/day', body)
    const today = await close({ acquirer: 'simulator', day: dayOf(service.clock.now()) })
    expect([today.status, today.body.detail]).toEqual([422, expect.stringContaining('is not over')])
    expect((await close({ acquirer: 'simulator', day: '2026-02-30' })).status).toBe(422)
    expect((await close({ acquirer: 'nobody', day })).status).toBe(404)
    expect((await get(people.reader, `/reconciliation/day/simulator/${dayBefore(dayBefore(day))}`)).status).toBe(404)
    for (const none of ['2026-99-99', '2026-02-30'])
      expect((await get(people.reader, `/reconciliation/day/simulator/${none}`)).status).toBe(404)
    expect((await get(people.reader, `${pathOf()}?version=9`)).status).toBe(404)
  })
})
