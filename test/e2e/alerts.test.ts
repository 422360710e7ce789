import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { freezePayouts, releasePayouts } from '../../src/ledger/payout-freeze.ts'
import { openCommandLine } from '../support/command-line.ts'
import { type Mail, startMailServer, type TestMailServer } from '../support/mail-server.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually, type Received, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'

const secret = `whsec_${randomBytes(32).toString('base64')}`
const botToken = '123456:a-token-of-a-bot-for-tests'
const frozen = 'Withdrawals and refunds are frozen'
const dayMs = 24 * 60 * 60_000

let service: TestService
let mailServer: TestMailServer
let slack: TestReceiver
let telegram: TestReceiver
let webhook: TestReceiver
/** What the receivers do next. */
let isSlackDown = false
let onWebhook = async () => {}
const logged: string[] = []

beforeAll(async () => {
  mailServer = await startMailServer()
  slack = await startTestReceiver((response) => response.writeHead(isSlackDown ? 500 : 200).end('ok'))
  telegram = await startTestReceiver((response) => response.writeHead(200).end('{"ok":true}'))
  webhook = await startTestReceiver((response) => {
    void onWebhook().then(() => response.writeHead(204).end())
  })
  service = await startTestService({ environment: settings(), onLog: ({ msg }) => logged.push(String(msg)) })
})
afterAll(async () => {
  await service.stop()
  for (const one of [mailServer, slack, telegram, webhook]) await one.stop()
})

function settings() {
  return {
    SMTP_URL: mailServer.url,
    ALERT_EMAIL_TO: 'ana@example.com, rui@example.com',
    ALERT_SLACK_URL: slack.url,
    ALERT_TELEGRAM_URL: new URL(telegram.url).origin,
    ALERT_TELEGRAM_TOKEN: botToken,
    ALERT_TELEGRAM_CHAT: '-100200300',
    ALERT_WEBHOOK_URL: webhook.url,
    ALERT_WEBHOOK_SECRET: secret,
  }
}

/** Checks the conditions as the schedule does, and waits until everything that is due was sent. */
async function check(isOver = async () => (await jobsNamed('alerts.send')) === 0): Promise<void> {
  await service.runJob('alerts.check')
  await eventually(async () => (await jobsNamed('alerts.check')) === 0)
  await eventually(isOver)
}

async function jobsNamed(name: string): Promise<number> {
  return (await service.db.query(sql`select from jobs where name = ${name}`)).length
}

const freeze = async () => await freezePayouts(service.db, { reason: 'Ana said so', now: service.clock.now() })
const release = async () => await releasePayouts(service, { by: { actor: 'cli:test' } })

const textOf = ({ body }: Received) => (JSON.parse(body) as { text: string }).text
/** Moving the clock by a day also delays other things: their alerts are not what is tested here. */
const isOfFreeze = (text: string) => text.includes(frozen)
const mailsOfFreeze = (): Mail[] => mailServer.mails.filter(({ subject }) => isOfFreeze(subject))
const ofFreeze = (receiver: TestReceiver): string[] =>
  receiver.received.map((one) => (receiver === webhook ? eventOf(one).data.title : textOf(one))).filter(isOfFreeze)
const counts = () => [
  mailsOfFreeze().length,
  ...[slack, telegram, webhook].map((receiver) => ofFreeze(receiver).length),
]

type Event = { id: string; type: string; data: { kind: string; title: string; text: string; url: string } }
const eventOf = ({ body }: Received) => JSON.parse(body) as Event

it('sends one message on each channel when a condition begins, each day while it lasts, and when it has ended', async () => {
  await check()
  expect(counts()).toEqual([0, 0, 0, 0])
  await freeze()
  await check()
  await check()
  expect(counts()).toEqual([1, 1, 1, 1])

  const [mail] = mailsOfFreeze()
  expect(mail).toMatchObject({
    from: 'guiche@127.0.0.1',
    to: ['ana@example.com', 'rui@example.com'],
    subject: `[Guichê] ${frozen}`,
  })
  const screen = `${service.baseUrl}/dashboard/system`
  for (const text of [mail?.text ?? '', ...ofFreeze(slack), ...ofFreeze(telegram)]) {
    expect(text).toContain(frozen)
    expect(text).toContain('Since 2 Mar 2026')
    expect(text).toContain(screen)
    // Why an operator froze payouts may name somebody.
    expect(text).not.toContain('Ana')
  }
  expect(telegram.received[0]).toMatchObject({ path: `/bot${botToken}/sendMessage` })
  expect(JSON.parse(telegram.received[0]?.body ?? '')).toMatchObject({ chat_id: '-100200300' })
  const [delivery] = webhook.received
  const { body = '', headers = {} } = delivery ?? {}
  const seconds = Number(headers['webhook-timestamp'])
  expect(seconds).toBe(service.clock.now().getTime() / 1000)
  // The same signature as the library's, whose own check accepts only the current time.
  const signature = new Webhook(secret).sign(String(headers['webhook-id']), new Date(seconds * 1000), body)
  expect(headers['webhook-signature']).toBe(signature)
  expect(JSON.parse(body)).toMatchObject({ type: 'alert.opened', data: { kind: 'payouts_frozen', url: screen } })

  service.clock.advance(dayMs - 1_000)
  await check()
  expect(counts()).toEqual([1, 1, 1, 1])
  service.clock.advance(1_000)
  await check()
  expect(counts()).toEqual([2, 2, 2, 2])
  expect(mailsOfFreeze()[1]?.subject).toBe(`[Guichê] Still: ${frozen}`)

  await release()
  await check()
  expect(counts()).toEqual([2, 2, 2, 2])
  service.clock.advance(6 * 60_000)
  await check()
  expect(counts()).toEqual([3, 3, 3, 3])
  expect(mailsOfFreeze()[2]?.subject).toBe(`[Guichê] Resolved: ${frozen}`)
  expect(ofFreeze(slack)[2]).toMatch(/^Resolved: .*\nFrom 2 Mar 2026, .* to 3 Mar 2026, /)
  expect(webhook.received.map(eventOf).findLast(({ data }) => isOfFreeze(data.title))?.type).toBe('alert.ended')
  service.clock.advance(2 * dayMs)
  await check()
  expect(counts()).toEqual([3, 3, 3, 3])
})

it('shows open and ended alerts to the operator, in the language of the screen', async () => {
  const admin = await openBrowser(service, { email: await inviteUser(service, { role: 'admin' }), password })
  type List = { data: { title: string; endedAt: string | null }[] }
  const list = async (language: string) =>
    (await admin.call<List>(`/dashboard/api/alerts?language=${language}`)).body.data
  const alertsTitled = (alerts: List['data'], title: string) => alerts.filter((one) => one.title === title)
  expect(alertsTitled(await list('en'), frozen)).toMatchObject([{ endedAt: expect.any(String) }])
  await freeze()
  await check()
  const inPortuguese = alertsTitled(await list('pt'), 'Saques e devoluções estão bloqueados')
  expect(inPortuguese).toMatchObject([{ endedAt: null }, { endedAt: expect.any(String) }])
  await release()
  service.clock.advance(6 * 60_000)
  await check()
})

it('ignores a job that no process knows when it shows how long the oldest one waits, as the alert does', async () => {
  const admin = await openBrowser(service, { email: await inviteUser(service, { role: 'admin' }), password })
  await service.db.query(sql`
    insert into jobs (name, payload, run_at, attempts_max) values ('unknown', '{}', now() - interval '1 day', 1)`)
  const { jobs } = (await admin.call<{ jobs: { oldestDueSeconds: number } }>('/dashboard/api/system')).body
  expect(jobs.oldestDueSeconds).toBeLessThan(80_000)
  await service.db.query(sql`delete from jobs where name = 'unknown'`)
})

it('does not let a channel that is away delay the others, and gives it only the last message later', async () => {
  isSlackDown = true
  const before = counts()
  const refusedBefore = slack.received.length
  await freeze()
  // Its job stays and is tried again.
  const othersHaveIt = async () => counts().filter((count, channel) => count > (before[channel] ?? 0)).length >= 3
  await check(othersHaveIt)
  await eventually(() => slack.received.length >= refusedBefore + 2)
  await release()
  service.clock.advance(6 * 60_000)
  const othersHaveBoth = async () => mailsOfFreeze().length === (before[0] ?? 0) + 2
  await check(othersHaveBoth)
  const tries = ofFreeze(slack).length
  isSlackDown = false
  await eventually(async () => (await jobsNamed('alerts.send')) === 0)
  const accepted = ofFreeze(slack).slice(tries)
  expect(accepted).toEqual([expect.stringMatching(/^Resolved: /)])
  await check()
  expect(ofFreeze(slack).slice(tries)).toEqual(accepted)
})

it('gives the open alerts once to a channel that is configured while they last', async () => {
  await freeze()
  await check()
  const before = counts()
  // As if it had not been configured.
  await service.db.query(sql`delete from alert_notices where channel = 'slack'`)
  await check()
  await check()
  expect(counts()).toEqual(before.map((count, index) => (index === 1 ? count + 1 : count)))
  await release()
  service.clock.advance(6 * 60_000)
  await check()
})

it('sends a mail once to the recipients that the mail server accepts, and logs that it refused another', async () => {
  mailServer.refused.add('rui@example.com')
  const before = mailsOfFreeze().length
  logged.length = 0
  await freeze()
  await check()
  await check()
  expect(mailsOfFreeze().slice(before)).toMatchObject([{ to: ['ana@example.com'] }])
  expect(logged).toContain('an alert did not reach all recipients')
  await release()
  service.clock.advance(6 * 60_000)
  await check()
  mailServer.refused.clear()
})

it('keeps an alert as it is while its condition cannot be read, and reports the others', async () => {
  const disputed = 'A payment in suspense, or one that is not in the ledger, is disputed'
  const ofDispute = () => mailServer.mails.map(({ subject }) => subject).filter((text) => text.includes(disputed))
  await service.db.query(sql`
    insert into unattributed_disputes (acquirer, reference, end_to_end, amount, acquirer_state, opened_at, changed_at)
    values ('simulator', 'r', 'e', 1, 'open', ${service.clock.now()}, ${service.clock.now()})`)
  await check()
  expect(ofDispute()).toEqual([`[Guichê] ${disputed}`])
  await service.db.query(sql`alter table unattributed_disputes rename to unattributed_disputes_away`)
  const before = counts()
  logged.length = 0
  await freeze()
  service.clock.advance(6 * 60_000)
  await check()
  expect(counts()).toEqual(before.map((count) => count + 1))
  expect(ofDispute()).toHaveLength(1)
  expect(logged).toContain('the condition of an alert could not be read')
  await service.db.query(sql`alter table unattributed_disputes_away rename to unattributed_disputes`)
  await service.db.query(sql`delete from unattributed_disputes`)
  await release()
  await check()
  service.clock.advance(6 * 60_000)
  await check()
  expect(ofDispute().slice(1)).toEqual([`[Guichê] Resolved: ${disputed}`])
})

it('keeps the alerts of another version until no process of that version has checked them for a day', async () => {
  const now = service.clock.now()
  await service.db.query(sql`
    insert into alerts (id, kind, subject, value, began_at, met_at, reported_at, reports)
    values (gen_random_uuid(), 'of_another_version', '{}', 1, ${now}, ${now}, ${now}, 1)`)
  const kept = async () =>
    await service.db.query(sql`select reports, ended_at from alerts where kind = 'of_another_version'`)
  service.clock.advance(dayMs)
  await check()
  expect(await kept()).toEqual([{ reports: 1, ended_at: null }])
  service.clock.advance(1)
  await check()
  expect(await kept()).toEqual([])
})

it('sends a message again, with the same id, if it is not recorded that it was sent', async () => {
  const before = webhook.received.length
  // As if the process ended between the answer and the record of it.
  onWebhook = async () => {
    onWebhook = async () => {}
    await service.db.query(sql`alter table alert_notices rename to alert_notices_away`)
  }
  await freeze()
  await service.runJob('alerts.check')
  await eventually(() => webhook.received.length === before + 1)
  const isUnrecorded = async () =>
    (await service.db.query(sql`select from jobs where key = 'alerts.send webhook' and last_error is not null`))
      .length === 1
  await eventually(isUnrecorded)
  await service.db.query(sql`alter table alert_notices_away rename to alert_notices`)
  // The lease of the lost process ends.
  service.clock.advance(61_000)
  await check(async () => webhook.received.length === before + 2)
  await check()
  const ids = webhook.received.slice(before).map(({ headers }) => headers['webhook-id'])
  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(1)
  // Mail programs recognize a repeated message.
  const mails = mailsOfFreeze().map(({ id }) => id)
  expect(mails.every((id) => /^<[\w-]+\.\d+@guiche>$/.test(id))).toBe(true)
})

it('tests each channel from the command line', async () => {
  const { connectionString } = service
  const guiche = await openCommandLine({ connectionString, environment: { ...settings(), ALERT_LANGUAGE: 'pt' } })
  const accepted = await guiche.runJson<{ channel: string; isAccepted: boolean }[]>(['alert', 'test'])
  expect(accepted.map(({ channel, isAccepted }) => [channel, isAccepted])).toEqual(
    ['email', 'slack', 'telegram', 'webhook'].map((channel) => [channel, true]),
  )
  expect(mailServer.mails.at(-1)?.subject).toBe('[Guichê] Um teste dos alertas do Guichê')
  await guiche.stop()
  const wrong = {
    ALERT_SLACK_URL: 'http://127.0.0.1:9/nothing',
    SMTP_URL: mailServer.url,
    ALERT_EMAIL_TO: 'x@unknown.example',
  }
  mailServer.refused.add('rui@example.com')
  const partly = await openCommandLine({ connectionString, environment: settings() })
  const { code: partlyCode, stdout: partlyAccepted } = await partly.run(['alert', 'test'])
  expect(partlyCode).toBe(1)
  expect(partlyAccepted).toMatch(/^email +no +email: the mail server refused a recipient$/m)
  await partly.stop()
  const other = await openCommandLine({ connectionString, environment: wrong })
  const { code, stdout } = await other.run(['alert', 'test'])
  expect(code).toBe(1)
  expect(stdout).toMatch(/^email +no +email: the mail was not accepted \(EENVELOPE, 550\)$/m)
  expect(stdout).toMatch(/^slack +no +slack: The connection /m)
  await other.stop()
  const none = await openCommandLine({ connectionString })
  await none.expectFailure(['alert', 'test'], /No channel is configured/)
  await none.stop()
})
