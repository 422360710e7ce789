import { isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { WebhookEventType } from '../../../sdk/src/index.ts'
import { createTestEvent, type SignedWebhook, signWebhook } from '../../../sdk/src/testing.ts'
import { checkWebhookUrl, toHost } from '../../webhooks/address.ts'
import { describeFailure } from '../../webhooks/attempt-errors.ts'
import { secretPrefix } from '../../webhooks/sign.ts'
import { answerMaxMs, type Report } from './checks.ts'
import { type Answered, describeAnswer, isAccepted, postWebhook } from './deliver.ts'

type Receiver = { url: string; secret: string | null; type: WebhookEventType }

const answerNotedMs = 5_000
const certificateNotedDays = 14
/** Older than the five minutes of Standard Webhooks. */
const oldMs = 600_000

const part = 'receiver'

/** Checks a webhook receiver with requests like Guichê's, correct ones and wrong ones. */
export async function checkReceiver({ url, secret, type }: Receiver, { add }: Report): Promise<void> {
  if (!checkAddress(url, add)) return
  if (new URL(url).protocol === 'https:' && !(await checkCertificate(new URL(url), add))) return
  if (secret === null || !secret.startsWith(secretPrefix)) {
    const fix = 'Give the secret that the receiver verifies with: --secret, or GUICHE_WEBHOOK_SECRET.'
    add({ part, name: 'secret', outcome: 'fail', detail: 'There is no webhook secret (whsec_…)', fix })
    return
  }
  // Names a record that does not exist.
  const event = createTestEvent(type, { externalCode: 'guiche-doctor' })
  const correct = await signWebhook(secret, event)
  const first = await postWebhook(url, correct)
  if (!checkAccepted(first, add)) return
  checkTime(first.ms, add)
  const repeated = await postWebhook(url, correct)
  if (isAccepted(repeated))
    add({ part, name: 'repeat', outcome: 'ok', detail: 'It answers 2xx when the same event comes a second time' })
  else
    add({
      ...{ part, name: 'repeat', outcome: 'fail' },
      detail: `It does not accept the same event a second time: ${describeAnswer(repeated)}`,
      fix: 'Guichê delivers at least once. Do nothing when the webhook-id or the sequence is known already, and answer 2xx.',
    })
  for (const { name, what, fix, delivery } of await makeForgeries(secret, event, correct)) {
    const answer = await postWebhook(url, delivery)
    const isRefused = answer.status !== null && answer.status >= 400 && answer.status < 500
    if (isRefused) add({ part, name, outcome: 'ok', detail: `It refuses ${what} (${answer.status})` })
    else if (isAccepted(answer))
      add({ part, name, outcome: 'fail', detail: `It accepts ${what} (${answer.status})`, fix })
    else
      add({
        ...{ part, name, outcome: 'note', detail: `It does not accept ${what}, and fails: ${describeAnswer(answer)}` },
        fix: 'Answer 401.',
      })
  }
}

type Forgery = { name: string; what: string; fix: string; delivery: SignedWebhook }

async function makeForgeries(
  secret: string,
  event: Parameters<typeof signWebhook>[1],
  correct: SignedWebhook,
): Promise<Forgery[]> {
  const verify =
    'Compute the HMAC-SHA256 of "id.timestamp.body" over the raw bytes, and compare it with webhook-signature (docs/webhooks.md).'
  const otherSecret = `${secretPrefix}${Buffer.alloc(24, 7).toString('base64')}`
  const { 'webhook-signature': _, ...unsigned } = correct.headers
  return [
    {
      name: 'wrong_signature',
      what: 'a wrong signature',
      fix: `It does not verify the signature. ${verify}`,
      delivery: await signWebhook(otherSecret, event),
    },
    {
      name: 'no_signature',
      what: 'an event without a signature',
      fix: `It skips the check when the header is missing. ${verify}`,
      delivery: { headers: unsigned as SignedWebhook['headers'], body: correct.body },
    },
    {
      name: 'changed_body',
      what: 'a body that was changed after signing',
      fix: `The signature must cover the body. ${verify}`,
      delivery: { headers: correct.headers, body: correct.body.replace('guiche-doctor', 'guiche-forger') },
    },
    {
      name: 'old_timestamp',
      what: 'a replay of ten minutes ago',
      fix: 'Refuse a webhook-timestamp that is more than five minutes away from now.',
      delivery: await signWebhook(secret, event, { timestamp: new Date(Date.now() - oldMs) }),
    },
  ]
}

function checkAddress(url: string, add: Report['add']): boolean {
  const name = 'address'
  const wrong = checkWebhookUrl(url, { allowPrivate: true })
  if (wrong !== null) {
    add({ part, name, outcome: 'fail', detail: `The address ${wrong}`, fix: 'Give the whole address, with its path.' })
    return false
  }
  const wrongInPublic = checkWebhookUrl(url, { allowPrivate: false })
  if (wrongInPublic === null) add({ part, name, outcome: 'ok', detail: 'A service may send webhooks to the address' })
  else
    add({
      ...{ part, name, outcome: 'note' },
      detail: `Only a service on this machine or network can call it: in production a webhookUrl ${wrongInPublic}`,
    })
  return true
}

async function checkCertificate(url: URL, add: Report['add']): Promise<boolean> {
  const name = 'certificate'
  const read = await readExpiry(url)
  if ('error' in read) {
    const detail = describeFailure(read.error)
    const fix = read.isOfCertificate
      ? 'Install a certificate of a public authority for this name, with its chain.'
      : 'Check the name, that the receiver runs, and that this machine can reach it.'
    add({ part, name, outcome: 'fail', detail, fix })
    return false
  }
  const days = Math.floor((read.expiresAt.getTime() - Date.now()) / 86_400_000)
  const isSoon = days < certificateNotedDays
  const detail = `The certificate is valid for ${days} more ${days === 1 ? 'day' : 'days'}`
  add({ part, name, outcome: isSoon ? 'note' : 'ok', detail, ...(isSoon && { fix: 'Renew the certificate.' }) })
  return true
}

/** `isOfCertificate`: the server was reached, and its certificate was refused. */
type Read = { expiresAt: Date } | { error: Error; isOfCertificate: boolean }

/** Reads when the certificate of a server expires. */
async function readExpiry(url: URL): Promise<Read> {
  const host = toHost(url.hostname)
  // TLS sends only names to the server, not addresses.
  const name = isIP(host) ? {} : { servername: host }
  return await new Promise((resolve) => {
    const socket = connectTls({ host, port: Number(url.port || 443), ...name, timeout: answerMaxMs }, () => {
      resolve({ expiresAt: new Date(socket.getPeerCertificate().valid_to) })
      socket.end()
    })
    socket.once('error', (error) => resolve({ error, isOfCertificate: Boolean(socket.authorizationError) }))
    socket.once('timeout', () => socket.destroy(Object.assign(new Error('time-out'), { code: 'ETIMEDOUT' })))
  })
}

function checkAccepted(answer: Answered, add: Report['add']): boolean {
  const { status } = answer
  if (isAccepted(answer)) {
    add({ part, name: 'accepts', outcome: 'ok', detail: `It accepts a correctly signed event (${status})` })
    return true
  }
  const name = status === null ? 'reachable' : 'accepts'
  const detail =
    status === null ? `It cannot be reached: ${answer.reason}` : `It refuses a correctly signed event: HTTP ${status}`
  add({ part, name, outcome: 'fail', detail, fix: adviceFor(status) })
  add({
    part,
    name: 'refuses',
    outcome: 'skip',
    detail: 'Wrong signatures are not tried before a correct one is accepted',
  })
  return false
}

function adviceFor(status: number | null): string {
  if (status === null) return 'Check that the receiver runs, its address, and that it answers within 15 seconds.'
  if (status >= 300 && status < 400)
    return 'Redirects are not followed: use the final address, with or without the slash at the end.'
  if (status === 404) return 'No route answers POST at this path: check the path.'
  if (status === 405) return 'The route does not take POST: add it.'
  if (status === 419 || status === 403)
    return 'Exempt the route from CSRF protection and from sign-in: the signature proves who sent it.'
  if (status === 415) return 'Accept content-type application/json.'
  if (status === 400 || status === 401)
    return 'Is it the same secret? Verify the raw bytes of the body, before anything parses it, and compare with each signature of the header.'
  if (status >= 500) return 'See the log of the receiver. An event of an unknown order must still be answered with 2xx.'
  return 'Answer 2xx to every event that verifies, also of an order that you do not know.'
}

function checkTime(ms: number, add: Report['add']): void {
  const isSlow = ms > answerNotedMs
  add({
    ...{ part, name: 'answer_time', outcome: isSlow ? 'note' : 'ok' },
    detail: `It answers in ${ms} ms`,
    ...(isSlow && {
      fix: 'Store the change, answer, and leave slow work to a queue: the attempt fails after 15 seconds.',
    }),
  })
}
