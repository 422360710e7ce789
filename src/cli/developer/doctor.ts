import type { WebhookEventType } from '../../../sdk/src/index.ts'
import { isScope, scopeDescriptions, scopes } from '../../auth/scopes.ts'
import { kindOfHost, toHost } from '../../webhooks/address.ts'
import { print, toPlain, write } from '../print.ts'
import { answerMaxMs, type Check, createReport, type Report, toReason } from './checks.ts'
import { type Connection, type ConnectOptions, findConnection } from './connect.ts'
import { checkReceiver } from './doctor-receiver.ts'
import { paint } from './say.ts'

type Options = ConnectOptions & { secret?: string; event: WebhookEventType; json?: boolean }

/** Receivers refuse a signature whose time is this far away. */
const skewMaxMs = 300_000
const skewNotedMs = 5_000

/**
 * `guiche doctor`: checks what an integration needs, and says what to fix. The receiver is checked from this machine,
 * with an event that names no real order.
 */
export async function runDoctor(
  receiver: string | undefined,
  { secret, event, json, ...options }: Options,
): Promise<void> {
  const report = createReport({ json })
  const title = (text: string) => {
    if (!json) write(`${report.checks.length > 0 ? '\n' : ''}${paint('strong', toPlain(text))}\n`)
  }
  const connection = await findConnection(options).catch((error: unknown) => {
    // A receiver can be checked without a service.
    if (receiver === undefined || secret === undefined) throw error
    return null
  })
  if (connection) {
    title(`Service ${connection.baseUrl}`)
    await checkService(connection, report)
  }
  const webhookSecret = secret ?? connection?.webhookSecret ?? null
  if (receiver !== undefined) {
    title(`Receiver ${receiver}`)
    await checkReceiver({ url: receiver, secret: webhookSecret, type: event }, report)
  }
  const failed = report.checks.filter(({ outcome }) => outcome === 'fail').length
  if (json) print({ checks: report.checks, failed }, { json })
  else write(summarize(failed, receiver !== undefined))
  if (failed > 0) process.exitCode = 1
}

function summarize(failed: number, hasReceiver: boolean): string {
  if (failed > 0) return `\n${paint('fail', `${failed === 1 ? 'One thing needs' : `${failed} things need`} a fix.`)}\n`
  const next = hasReceiver ? '' : ' To check your webhook receiver as well, add its address: npx guiche doctor <url>'
  return `\n${paint('ok', 'Everything works.')}${next}\n`
}

/** Checks a service: that it can be reached, and what the client may do there. */
export async function checkService(connection: Connection, { add }: Report): Promise<void> {
  const part = 'service'
  const address = URL.canParse(connection.baseUrl) ? new URL(connection.baseUrl) : null
  if (!address || !/^https?:$/.test(address.protocol)) {
    const fix = 'Set GUICHE_URL to the address of the service, such as https://pix.example.com.'
    add({ part, name: 'address', outcome: 'fail', detail: 'GUICHE_URL is not an http or https address', fix })
    return
  }
  const grant = await requestToken(connection)
  if ('failure' in grant) {
    const fix = 'Check GUICHE_URL, that the service runs, and that no firewall is between it and this machine.'
    add({ part, name: 'reachable', outcome: 'fail', detail: grant.failure, fix })
    return
  }
  const { status, body, sentAt, receivedAt, date } = grant
  const { access_token: token, error, error_description: description } = body
  if (typeof token !== 'string' && typeof error !== 'string') {
    const detail = `What answers is not Guichê: HTTP ${status} from ${connection.baseUrl}/auth/token`
    const fix = 'Set GUICHE_URL to the address of the service, without a path, and look at any proxy in front of it.'
    add({ part, name: 'reachable', outcome: 'fail', detail, fix })
    return
  }
  add({ part, name: 'reachable', outcome: 'ok', detail: `It answers, in ${Math.round(receivedAt - sentAt)} ms` })
  if (address.protocol === 'http:' && kindOfHost(toHost(address.hostname)) !== 'private')
    add({
      ...{ part, name: 'https', outcome: 'fail', detail: 'The secret crosses the network unencrypted' },
      fix: 'Use the https address of the service.',
    })
  checkClock({ sentAt, receivedAt, date }, add)
  if (typeof token !== 'string') {
    add({ part, outcome: 'fail', ...describeRefusal(status, String(description ?? error)) })
    return
  }
  add({ part, name: 'credentials', outcome: 'ok', detail: `The credentials of ${connection.clientId} are valid` })
  checkScopes(String(body.scope ?? ''), add)
  await checkMoney(connection, token, add)
}

/** Only the status 401 says that the credentials are wrong. */
function describeRefusal(status: number, reason: string): Pick<Check, 'name' | 'detail' | 'fix'> {
  if (status === 401)
    return {
      name: 'credentials',
      detail: `The credentials are refused: ${reason}`,
      fix: 'Check GUICHE_CLIENT_ID and GUICHE_CLIENT_SECRET; "npx guiche client rotate-secret" makes a new secret.',
    }
  if (status === 429 || status >= 500)
    return {
      name: 'token',
      detail: `The service cannot issue a token now: HTTP ${status}, ${reason}`,
      fix: 'Wait a minute, and run the command again. If this fails again, see the log of the service.',
    }
  return {
    name: 'token',
    detail: `The service refuses the request for a token: HTTP ${status}, ${reason}`,
    fix: 'Check GUICHE_CLIENT_ID and GUICHE_CLIENT_SECRET, and any proxy in front of the service.',
  }
}

type Grant = {
  status: number
  body: Record<string, unknown>
  /** By this machine's clock. */
  sentAt: number
  receivedAt: number
  /** By the service's clock: the second that the answer's Date header names, in ms. NaN without the header. */
  date: number
}

async function requestToken({ baseUrl, clientId, clientSecret }: Connection): Promise<Grant | { failure: string }> {
  const sentAt = Date.now()
  try {
    const answer = await fetch(`${baseUrl}/auth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        client_id: clientId,
        client_secret: clientSecret,
        grant_type: 'client_credentials',
      }),
      redirect: 'manual',
      signal: AbortSignal.timeout(answerMaxMs),
    })
    const receivedAt = Date.now()
    const date = Date.parse(answer.headers.get('date') ?? '')
    return { status: answer.status, body: parseMembers(await answer.text()), sentAt, receivedAt, date }
  } catch (error) {
    return { failure: `It cannot be reached: ${toReason(error)}` }
  }
}

/** The members of a JSON object; none if the text is something else. */
function parseMembers(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** The service's time is known to the second, so only what is certainly apart counts. */
function checkClock({ sentAt, receivedAt, date }: Omit<Grant, 'status' | 'body'>, add: Report['add']): void {
  if (Number.isNaN(date)) return
  const ahead = Math.max(0, date - receivedAt)
  const behind = Math.max(0, sentAt - (date + 1000))
  const apartMs = ahead + behind
  const shown = `${Math.round(apartMs / 1000)} s ${behind > 0 ? 'ahead of' : 'behind'} the service's`
  const fix = 'Synchronize the clock of this machine, or the one of the service, with NTP.'
  const about = { part: 'service', name: 'clock' } as const
  if (apartMs > skewMaxMs)
    add({ ...about, outcome: 'fail', detail: `This machine's clock is ${shown}: webhooks are refused here`, fix })
  else if (apartMs > skewNotedMs) add({ ...about, outcome: 'note', detail: `This machine's clock is ${shown}`, fix })
  else add({ ...about, outcome: 'ok', detail: 'The clocks agree' })
}

/** What nearly every merchant needs. */
const needed = ['transaction.read', 'transaction.write'] as const

function checkScopes(granted: string, add: Report['add']): void {
  const has = granted.split(/[\s,]+/).filter(isScope)
  const missing = scopes.filter((scope) => !has.includes(scope))
  const lacks = needed.filter((scope) => missing.includes(scope))
  const about = { part: 'service', name: 'scopes' } as const
  if (missing.length === 0) {
    add({ ...about, outcome: 'ok', detail: 'The client has every scope' })
    return
  }
  const shown = missing.map((scope) => `${scope} (${scopeDescriptions[scope].toLowerCase()})`).join(', ')
  add({
    ...about,
    outcome: lacks.length > 0 ? 'fail' : 'note',
    detail: `The client lacks: ${shown}`,
    ...(lacks.length > 0 && { fix: `Have the operator grant ${lacks.join(' and ')}.` }),
  })
}

async function checkMoney({ baseUrl }: Connection, token: string, add: Report['add']): Promise<void> {
  const answer = await fetch(`${baseUrl}/sandbox/personality`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(answerMaxMs),
  }).catch(() => null)
  await answer?.body?.cancel()
  const about = { part: 'service', name: 'money' } as const
  if (answer?.status === 404) add({ ...about, outcome: 'note', detail: 'The acquirer is a real PSP: real money moves' })
  else if (answer?.ok) add({ ...about, outcome: 'ok', detail: 'The Pix network is simulated: no real money moves' })
  else add({ ...about, outcome: 'note', detail: 'It is not known whether real money moves: assume that it does' })
}
