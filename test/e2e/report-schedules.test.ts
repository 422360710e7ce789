import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findMet } from '../../src/alerts/conditions.ts'
import type { ReportSchedules } from '../../src/dashboard/report-schema.ts'
import { sql } from '../../src/db/sql.ts'
import { finishSending, insertSending } from '../../src/reports/schedule-store.ts'
import { observeReports, reportJobs } from '../../src/reports/send.ts'
import { operatorMerchantId } from '../../src/suspense/status.ts'
import { settleDepsWith } from '../support/acquirer.ts'
import { startMailServer, type TestMailServer } from '../support/mail-server.ts'
import { readPdf } from '../support/read-files.ts'
import { payOne, setFixedFee } from '../support/refunds.ts'
import { addTestClient, type Problem } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually, suspendJob } from '../support/webhooks.ts'
import { withRenewedToken } from '../support/withdrawals.ts'

const path = '/dashboard/api/report/schedule'
/** In seconds. */
const day = 86_400
const monthly = { report: 'fees', format: 'pdf', every: 'month', by: 'posted', language: 'pt' }

let service: TestService
let mailServer: TestMailServer
let owner: string
let accountant: string
let developer: string
let admin: string
let outsider: string

beforeAll(async () => {
  mailServer = await startMailServer()
  // Without ALERT_EMAIL_TO: nobody gets alerts.
  service = withRenewedToken(await startTestService({ environment: { SMTP_URL: mailServer.url } }))
  const merchantId = await findSandboxMerchant(service)
  await setFixedFee(service, 'transaction', 45)
  await payOne(service, 3_000)
  owner = await inviteUser(service, { role: 'owner', merchantId })
  accountant = await inviteUser(service, { role: 'accountant', merchantId })
  developer = await inviteUser(service, { role: 'developer', merchantId })
  admin = await inviteUser(service, { role: 'admin' })
  outsider = await inviteUser(service, { role: 'owner', merchantId: (await addTestClient(service)).merchantId })
})
afterAll(async () => {
  await service.stop()
  await mailServer.stop()
})

/** Signs in each time, because a session expires when a test advances the clock. */
const as = async (email: string): Promise<Browser> => await openBrowser(service, { email, password })
const show = async (email = owner) => (await (await as(email)).call<ReportSchedules>(path)).body
const lastOf = async (id: string) => (await show()).data.find((one) => one.id === id)?.last
const idOf = async (email: string) => {
  const [user] = await service.db.query<{ id: string }>(sql`select id from users where email = ${email}`)
  return user?.id ?? ''
}

async function schedule(more: object, { by = owner, query = '' } = {}) {
  return await (await as(by)).call<{ id: string } & Problem>(`${path}${query}`, {
    body: { id: randomUUID(), ...monthly, ...more },
  })
}

async function pause(id: string, isPaused: boolean): Promise<void> {
  const { status } = await (await as(owner)).call(`${path}/${id}`, { method: 'PATCH', body: { isPaused } })
  expect(status).toBe(200)
}

const jobsLeft = async () => await service.db.query(sql`select from jobs where name = 'reports.send'`)

/** Looks for what is due, as each process does once a minute, and waits until it was sent. */
async function sendDue(at: string): Promise<void> {
  service.clock.set(new Date(at))
  await service.runJob('reports.due')
  await eventually(async () => (await jobsLeft()).length === 0)
}

it('sends a report to each recipient once when its period is over', async () => {
  const { body } = await schedule({ recipients: [await idOf(owner), await idOf(accountant)] })
  await sendDue('2026-03-31T23:59:00-03:00')
  await sendDue('2026-04-01T05:59:00-03:00')
  expect(mailServer.mails).toEqual([])
  await sendDue('2026-04-01T06:00:00-03:00')
  await sendDue('2026-04-01T06:01:00-03:00')
  await sendDue('2026-04-20T12:00:00-03:00')
  expect(mailServer.mails.map(({ to }) => to).toSorted()).toEqual([[accountant], [owner]])
  const [mail] = mailServer.mails
  expect(mail?.subject).toBe('[Guichê] Extrato de tarifas, 01/03/2026 a 31/03/2026 · Sandbox')
  expect(mail?.text).toContain(`${service.baseUrl}/dashboard/month?month=2026-03`)
  expect(mail?.attachments.map(({ filename }) => filename)).toEqual(['tarifas-2026-03-01-2026-03-31.pdf'])
  expect(readPdf(mail?.attachments[0]?.content ?? Buffer.of())).toContain('R$ 0,45')
  expect(await lastOf(body.id)).toMatchObject({ from: '2026-03-01', outcome: 'sent', sentTo: 2, error: null })
  // As if the schedule were due again: the period has its sending.
  await service.db.query(sql`update report_schedules set due_at = ${new Date(0)}`)
  await sendDue('2026-04-20T12:01:00-03:00')
  expect(mailServer.mails).toHaveLength(2)
  await pause(body.id, true)
})

it('tries again for those whose mail server refused it, and says so meanwhile', async () => {
  const before = mailServer.mails.length
  const recipients = [await idOf(owner), await idOf(accountant)]
  const { body } = await schedule({ report: 'statement', format: 'ofx', every: 'day', recipients })
  mailServer.refused.add(accountant)
  service.clock.set(new Date('2026-04-21T07:00:00-03:00'))
  await service.runJob('reports.due')
  await eventually(async () => ((await lastOf(body.id))?.attempts ?? 0) > 1)
  expect(await lastOf(body.id)).toMatchObject({
    ...{ outcome: null, sentTo: 1, error: 'the mail was not accepted (EENVELOPE, 550)' },
  })
  mailServer.refused.clear()
  await eventually(async () => (await jobsLeft()).length === 0)
  const mails = mailServer.mails.slice(before)
  expect(mails.map(({ to }) => to)).toEqual([[owner], [accountant]])
  expect(mails[0]?.attachments[0]?.content.toString('latin1')).toContain('<LEDGERBAL>')
  expect(await lastOf(body.id)).toMatchObject({ from: '2026-04-20', outcome: 'sent', sentTo: 2, error: null })
  await pause(body.id, true)
})

it('sends no further mail once its process stops, and the rest when the job runs again', async () => {
  const before = mailServer.mails.length
  const { body } = await schedule({ every: 'day', recipients: [await idOf(owner), await idOf(accountant)] })
  const key = { merchantId: await findSandboxMerchant(service), scheduleId: body.id, firstDay: '2026-04-20' }
  const { db, clock, baseUrl } = service
  await db.transaction(async (tx) => await insertSending(tx, { ...key, lastDay: key.firstDay, dueAt: clock.now() }))
  const other = settleDepsWith(service, async () => ({ status: 503, headers: {}, body: '' }))
  const send = reportJobs({ ...other, baseUrl, mail: { smtpUrl: mailServer.url, from: null } })['reports.send']
  await expect(send?.(key, AbortSignal.abort())).rejects.toThrow(/aborted/)
  expect(mailServer.mails).toHaveLength(before)
  expect(await lastOf(body.id)).toMatchObject({ outcome: null, sentTo: 0 })
  await send?.(key, new AbortController().signal)
  expect(mailServer.mails).toHaveLength(before + 2)
  expect(await lastOf(body.id)).toMatchObject({ outcome: 'sent', sentTo: 2 })
  await pause(body.id, true)
})

it('sends nothing while it is paused, and not what was due meanwhile', async () => {
  const before = mailServer.mails.length
  const { body } = await schedule({
    report: 'transactions',
    format: 'excel',
    every: 'day',
    recipients: [await idOf(owner)],
  })
  mailServer.refused.add(owner)
  service.clock.set(new Date('2026-04-22T07:00:00-03:00'))
  await service.runJob('reports.due')
  await eventually(async () => ((await lastOf(body.id))?.attempts ?? 0) > 0)
  await pause(body.id, true)
  mailServer.refused.clear()
  await eventually(async () => (await jobsLeft()).length === 0)
  expect(await lastOf(body.id)).toMatchObject({ outcome: 'paused' })
  await sendDue('2026-04-24T07:00:00-03:00')
  await pause(body.id, false)
  await sendDue('2026-04-24T07:01:00-03:00')
  expect(mailServer.mails).toHaveLength(before)
  await sendDue('2026-04-25T07:00:00-03:00')
  expect(mailServer.mails.slice(before).map(({ attachments }) => attachments[0]?.filename)).toEqual([
    'transacoes-2026-04-24-2026-04-24.csv',
  ])
  const removed = await (await as(owner)).call(`${path}/${body.id}`, { method: 'DELETE' })
  expect(removed.status).toBe(200)
})

it('a schedule is for people of the merchant who may read the report, also at the time of sending', async () => {
  for (const email of [developer, outsider, admin]) {
    const { status, body } = await schedule({ recipients: [await idOf(email)] })
    expect([status, body.errors?.[0]?.field], email).toEqual([422, 'recipients'])
  }
  for (const wrong of [{ format: 'ofx' }, { report: 'closed_day', every: 'day' }, { recipients: [] }])
    expect((await schedule({ recipients: [await idOf(owner)], ...wrong })).status).toBe(422)
  const { body } = await schedule({ every: 'week', recipients: [await idOf(accountant)] })
  await service.db.query(sql`update users set role = 'developer' where email = ${accountant}`)
  const before = mailServer.mails.length
  await sendDue('2026-04-27T07:00:00-03:00')
  expect(mailServer.mails).toHaveLength(before)
  expect(await lastOf(body.id)).toMatchObject({ from: '2026-04-20', until: '2026-04-26', outcome: 'no_recipient' })
})

it('a schedule is seen and changed by its own side only', async () => {
  const [own] = (await show()).data
  expect((await show(outsider)).data).toEqual([])
  const foreign = await (await as(outsider)).call(`${path}/${own?.id}`, { method: 'DELETE' })
  expect(foreign.status).toBe(404)
  const query = `?clientId=${service.sandbox.clientId}`
  const ofOperator = await schedule({ recipients: [await idOf(admin)] }, { by: admin, query })
  expect(ofOperator.status).toBe(201)
  const seen = await show()
  expect(seen.data.map(({ id }) => id)).not.toContain(ofOperator.body.id)
  expect(seen.candidates.map(({ email }) => email).toSorted()).toEqual([developer, accountant, owner].toSorted())
  const [action] = await service.db.query<{ actor: string; details: object }>(sql`
    select actor, details from audit_log where record_id = ${ofOperator.body.id}`)
  expect(action).toMatchObject({ actor: `user:${admin}`, details: { report: 'fees', every: 'month' } })
})

it('a schedule is made once when the request is repeated, and refused with other content', async () => {
  const [id, recipients] = [randomUUID(), [await idOf(owner)]]
  const before = (await show()).data.length
  for (const _ of [1, 2]) expect(await schedule({ id, recipients })).toMatchObject({ status: 201, body: { id } })
  expect(await schedule({ id, recipients, every: 'week' })).toMatchObject({
    status: 422,
    body: { code: 'idempotency_key_reused', errors: [{ field: 'every' }] },
  })
  expect((await show()).data).toHaveLength(before + 1)
  await pause(id, true)
})

it('sends the closed days to the operator, once they are signed', async () => {
  const daily = { report: 'closed_day', format: 'pdf', every: 'day', language: 'en', recipients: [await idOf(admin)] }
  expect((await schedule(daily, { by: admin })).status).toBe(201)
  const before = mailServer.mails.length
  await service.runJob('reconciliation.close')
  service.clock.set(new Date('2026-04-28T07:00:00-03:00'))
  await service.runJob('reconciliation.close')
  await sendDue('2026-04-28T07:00:00-03:00')
  const [mail, ...more] = mailServer.mails.slice(before).filter(({ to }) => to[0] === admin)
  expect(more).toEqual([])
  expect(mail?.subject).toBe('[Guichê] Closed day, 27/04/2026')
  expect(mail?.attachments.map(({ filename }) => filename)).toEqual([
    ...['simulator-2026-04-27-v1.pdf', 'simulator-2026-04-27-v1.jws'],
  ])
})

it('links to the closed days that are too large for a mail', async () => {
  const before = mailServer.mails.length
  // Before reports are due, so that the service sends nothing until the day is large.
  service.clock.set(new Date('2026-04-29T05:59:00-03:00'))
  await service.runJob('reconciliation.close')
  await service.db.query(sql`
    insert into closed_days (acquirer, day, version, run_id, signed_at, statement, sha256)
    select acquirer, day, version + 1, run_id, signed_at, statement || repeat('A', ${8 * 1024 * 1024}), sha256
    from closed_days where day = '2026-04-28'`)
  await sendDue('2026-04-29T07:00:00-03:00')
  const [mail, ...more] = mailServer.mails.slice(before).filter(({ to }) => to[0] === admin)
  expect(more).toEqual([])
  expect(mail).toMatchObject({ subject: '[Guichê] Closed day, 28/04/2026', attachments: [] })
  expect(mail?.text).toMatch(/too large for an e-mail.*\/dashboard\/reconciliation\?tab=days/s)
})

it('sends the reports of two merchants whose schedules have the same id', async () => {
  const id = randomUUID()
  const daily = { id, report: 'transactions', format: 'excel', every: 'day' }
  const before = mailServer.mails.length
  for (const by of [owner, outsider])
    expect((await schedule({ ...daily, recipients: [await idOf(by)] }, { by })).status).toBe(201)
  // One person of the operator gets both.
  const clients = await service.db.query<{ id: string }>(sql`select client_id as id from clients`)
  const ofOperator = { ...daily, id: randomUUID(), recipients: [await idOf(admin)] }
  for (const client of clients)
    expect((await schedule(ofOperator, { by: admin, query: `?clientId=${client.id}` })).status).toBe(201)
  // The operator's report of the closed day is due too, and would wait for the day to be signed.
  service.clock.set(new Date('2026-04-30T05:59:00-03:00'))
  await service.runJob('reconciliation.close')
  await sendDue('2026-04-30T07:00:00-03:00')
  const mails = mailServer.mails.slice(before)
  const sent = mails.flatMap(({ to }) => to)
  expect(sent.filter((to) => to !== admin).toSorted()).toEqual([outsider, owner].toSorted())
  // Programs show mails with the same id once.
  const ofBoth = mails.filter(({ subject }) => subject.includes('Transações'))
  expect([ofBoth.length, new Set(ofBoth.map((mail) => mail.id)).size]).toEqual([4, 4])
  for (const by of [owner, outsider]) await (await as(by)).call(`${path}/${id}`, { method: 'DELETE' })
  for (const client of clients)
    await (await as(admin)).call(`${path}/${ofOperator.id}?clientId=${client.id}`, { method: 'DELETE' })
})

it('a report is given up, with the reason, when the mail server was removed after its period was over', async () => {
  const { body } = await schedule({ every: 'day', recipients: [await idOf(owner)] })
  const key = { merchantId: await findSandboxMerchant(service), scheduleId: body.id, firstDay: '2026-04-27' }
  const { db, clock, baseUrl } = service
  const dueAt = clock.now()
  await db.transaction(async (tx) => await insertSending(tx, { ...key, lastDay: key.firstDay, dueAt }))
  const other = settleDepsWith(service, async () => ({ status: 503, headers: {}, body: '' }))
  const jobs = reportJobs({ ...other, baseUrl, mail: null })
  await jobs['reports.send']?.(key, new AbortController().signal)
  expect(await lastOf(body.id)).toMatchObject({ outcome: 'given_up', error: 'no mail server is configured any more' })
  await pause(body.id, true)
})

it('alerts the operator a day after a report was due, until the next one is sent or a week after it was given up', async () => {
  await suspendJob(service.db, 'reports.due')
  const { body } = await schedule({ every: 'day', recipients: [await idOf(owner)] })
  const { db, clock } = service
  const registry = new Registry()
  observeReports({ db, clock, registry })
  const alerts = async () =>
    (await findMet(registry)).met.map(({ kind, subject, value }) => [kind, JSON.parse(subject), value])
  const ofDay = (firstDay: string) => ({ merchantId, scheduleId: body.id, firstDay })
  const merchantId = await findSandboxMerchant(service)
  const [first, next] = [ofDay('2026-04-27'), ofDay('2026-04-28')]
  const begin = async (key: typeof first) =>
    await db.transaction(async (tx) => await insertSending(tx, { ...key, lastDay: key.firstDay, dueAt: clock.now() }))
  const late = (seconds: number) => [['report_undelivered', { client: service.sandbox.clientId }, seconds]]
  await begin(first)
  clock.advance(day * 1_000)
  expect(await alerts()).toEqual([])
  clock.advance(60_000)
  expect(await alerts()).toEqual(late(day + 60))
  await finishSending(db, first, { outcome: 'given_up', now: clock.now() })
  clock.advance(6 * day * 1_000)
  expect(await alerts()).toEqual(late(7 * day + 60))
  clock.advance(day * 1_000)
  expect(await alerts()).toEqual([])
  clock.advance(-day * 1_000)
  await begin(next)
  expect(await alerts()).toEqual(late(7 * day + 60))
  await finishSending(db, next, { outcome: 'sent', now: clock.now() })
  expect(await alerts()).toEqual([])
  await db.query(sql`update report_sendings set outcome = 'given_up' where schedule_id = ${body.id}`)
  expect(await alerts()).toEqual(late(7 * day + 60))
  await pause(body.id, true)
  expect(await alerts()).toEqual([])
  const [own] = await db.query<{ id: string }>(sql`select id from report_schedules where report = 'closed_day'`)
  await begin({ merchantId: operatorMerchantId, scheduleId: own?.id ?? '', firstDay: '2026-05-05' })
  clock.advance((day + 60) * 1_000)
  expect(await alerts()).toEqual([['report_undelivered', { client: '' }, day + 60]])
})
