import type { Clock } from '../lib/clock.ts'
import { balanceForms } from './bacen/balance.ts'
import { parseBody, toRequest, withUuid } from './bacen/client.ts'
import type { HttpRequest, Send } from './bacen/http.ts'
import { toQuery } from './bacen/pages.ts'
import type { ProtocolProfile } from './bacen/profile.ts'
import { explainReach } from './bacen/reach.ts'
import { type Json, text } from './bacen/read.ts'
import { isProblem, toReason } from './bacen/reason.ts'
import { warnDays } from './bacen/renewal.ts'
import { requestToken } from './bacen/token.ts'
import { standardScopes } from './dialects/dialect.ts'
import { dialects } from './dialects.ts'
import { type Finding, missing, ok, type ProbeResult, refusal, skipped } from './probe-finding.ts'
import { balance, disputes, payments } from './probe-lists.ts'
import type { AcquirerSettings } from './settings.ts'

export type ProbeDeps = {
  send: Send
  clock: Clock
  /** When our certificate expires; null where there is none. */
  certificateExpiresAt: Date | null
  /** Our address for callbacks, or why it is not known. */
  callbackUrl: string | Error
}

const dayMs = 24 * 60 * 60_000
// Beyond this, times in lists and lifetimes of tokens are unreliable.
const skewMsMax = 30_000
/** A txid that no charge has: ours are UUIDs of version 4, and this is none. */
const unknownTxid = '00000000000000000000000000000000'
const unknownId = unknownTxid

/**
 * Sends a PSP read-only requests, one for each function that the gateway uses, and reports what works, what is missing
 * and which setting to change. Nothing is written at the PSP.
 */
export async function probeAcquirer(settings: AcquirerSettings, { send, ...others }: ProbeDeps): Promise<Finding[]> {
  const deps = { ...others, send: (request: HttpRequest) => send(withUuid(request)) }
  const { profile } = settings
  const { paths } = profile
  const findings = [certificate(settings, deps)]
  const reached = await reach(settings, deps)
  findings.push(reached.finding)
  if (!reached.token) return [...findings, ...skippedChecks(profile.offers)]
  const { token, answeredAt } = reached
  findings.push(scopes(settings, token.scopes), clockSkew(answeredAt, deps.clock))
  const statuses: number[] = []
  const tryGet = createGetter(settings, deps, token.value)
  const get = async (path: string, query?: Record<string, string>) => {
    const result = await tryGet(path, query)
    if ('answer' in result) statuses.push(result.answer.status)
    return result
  }
  const unknownPathResult = await get('/guiche/no-such-path')
  const isUnknownPath = (result: ProbeResult) => isSame(result, unknownPathResult)
  findings.push(
    checkAbsent('charges', await get(`${paths.cob}/${unknownTxid}`), { setting: 'overrides.paths.cob', isUnknownPath }),
  )
  findings.push(
    ...payments(await get(paths.pix, lastDay(deps.clock, profile.list.pageSize)), {
      ...profile.list,
      isFeeAgreed: settings.fees.payment !== null,
      isUnknownPath,
    }),
  )
  findings.push(
    webhook(settings, await get(`${paths.webhook}/${encodeURIComponent(settings.chave)}`), deps.callbackUrl),
  )
  findings.push(
    profile.offers.payouts
      ? checkAbsent('payouts', await get(toUnknownPayout(profile)), {
          setting:
            profile.payoutApi === 'efi'
              ? 'overrides.paths.sentPix, overrides.offers.payouts'
              : 'overrides.paths.payout, overrides.offers.payouts',
          isUnknownPath,
        })
      : skipped(
          'payouts',
          'this PSP sends no payouts: withdrawals need another acquirer, or `overrides.offers.payouts` at Efí, Banco Inter or Sicoob',
        ),
    profile.offers.disputes
      ? disputes(await get(paths.disputes, lastDay(deps.clock, profile.list.pageSize)), isUnknownPath)
      : skipped('disputes (MED)', 'this PSP’s API lists none: a return under MED appears in the payment'),
  )
  if (profile.offers.balance === 'none')
    findings.push(
      skipped('balance', 'this PSP’s API does not report it: compare it with `guiche ledger accounts` by hand'),
    )
  else {
    const { toQuery, read } = balanceForms[profile.offers.balance]
    findings.push(balance(await get(paths.balance, toQuery(settings.receiver)), read))
  }
  // Without any answer the host of the API is not reached, which each finding says.
  if (statuses.length > 0 && statuses.every((status) => status === 401)) findings.push(otherApplication)
  return findings
}

/** Banco Inter issues a token for any certificate that it has issued, and then refuses every other request. */
const otherApplication: Finding = {
  subject: 'application',
  state: 'missing',
  said: 'a token is issued, but everything else is answered 401: the certificate belongs to another application than clientId',
  setting: 'tls, clientId',
}

/** The path of a payout that does not exist. */
function toUnknownPayout({ payoutApi, paths }: ProtocolProfile): string {
  if (payoutApi === 'efi') return `${paths.sentPix}/id-envio/${unknownId}`
  const id = payoutApi === 'inter' ? '00000000-0000-4000-8000-000000000000' : `E${'0'.repeat(31)}`
  return `${paths.payout}/${id}`
}

function createGetter({ profile }: AcquirerSettings, { send }: ProbeDeps, token: string) {
  return async (path: string, query: Record<string, string> = {}): Promise<ProbeResult> => {
    try {
      const answer = await send(toRequest({ method: 'GET', path, query }, token, profile))
      return { answer, body: parse(answer.body) }
    } catch (error) {
      return { error: toSentence(error) }
    }
  }
}

function parse(body: string): Json | null {
  try {
    return parseBody(body)
  } catch {
    return null
  }
}

function certificate({ tls, dialect }: AcquirerSettings, { certificateExpiresAt, clock }: ProbeDeps): Finding {
  if (!certificateExpiresAt) {
    const isNeeded = dialects[dialect].needsCertificate
    const why = isNeeded ? `none, and ${dialects[dialect].title} requires one in production` : 'none is set'
    return {
      subject: 'our certificate',
      state: isNeeded ? 'warning' : 'skipped',
      said: why,
      setting: isNeeded ? 'tls' : null,
    }
  }
  const days = Math.floor((certificateExpiresAt.getTime() - clock.now().getTime()) / dayMs)
  const ends = `expires on ${certificateExpiresAt.toISOString().slice(0, 10)}, in ${days} days`
  if (days >= warnDays) return ok('our certificate', ends)
  return {
    subject: 'our certificate',
    state: 'warning',
    said: `${ends}: get a new one`,
    setting: tls?.pfxFile ? 'tls.pfxFile' : 'tls.certFile',
  }
}

type Reached = {
  finding: Finding
  token?: Awaited<ReturnType<typeof requestToken>>
  /** By the PSP's clock. */
  answeredAt: string | null
}

/** Checks host name, connection, TLS and token: one request needs all of them. */
async function reach(settings: AcquirerSettings, { send }: ProbeDeps): Promise<Reached> {
  const { credentials, profile, hosts } = settings
  let answeredAt: string | null = null
  let isAnswered = false
  const noting = async (request: HttpRequest) => {
    const answer = await send(request)
    isAnswered = true
    answeredAt = answer.headers.date ?? null
    return answer
  }
  const host = new URL(hosts.tokenUrl ?? hosts.baseUrl).host
  try {
    const token = await requestToken({ send: noting, credentials, profile })
    const lives = `${host} issues a token for ${Math.round(token.lifetimeSeconds / 60)} min`
    return { finding: ok('token', lives), token, answeredAt }
  } catch (error) {
    const words = toSentence(error)
    const ofAddress = hosts.tokenUrl ? 'tokenUrl, tls' : 'baseUrl, tls'
    const ofClient = /certificate|certificado/i.test(words) ? 'tls' : 'clientId, clientSecret, overrides.token'
    const setting = isAnswered ? ofClient : ofAddress
    const other = isAnswered ? await findTokenPath(settings, send) : null
    if (other) {
      const address = `${hosts.baseUrl.replace(/\/+$/, '')}${other.path}`
      const found = `${host}: ${words}; ${address} issues one`
      return {
        // The path has no effect while tokenUrl is set.
        finding: missing(
          'token',
          found,
          hosts.tokenUrl ? `tokenUrl: ${address}` : `overrides.token.path: ${other.path}`,
        ),
        token: other.token,
        answeredAt,
      }
    }
    return { finding: missing('token', `${host}: ${words}`, setting), answeredAt }
  }
}

/** Tries the other paths at which this PSP is known to issue tokens. */
async function findTokenPath({ credentials, profile, dialect }: AcquirerSettings, send: Send) {
  for (const path of dialects[dialect].otherTokenPaths) {
    const sendToPath: Send = async (request) => await send({ ...request, path, isToken: false })
    const token = await requestToken({ send: sendToPath, credentials, profile }).catch(() => null)
    if (token) return { path, token }
  }
  return null
}

function toSentence(error: unknown): string {
  const reached = explainReach(error)
  if (reached) return reached
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time'
  return error instanceof Error ? error.message : String(error)
}

function skippedChecks(offers: ProtocolProfile['offers']): Finding[] {
  const subjects = ['charges', 'payments', 'callbacks']
  if (offers.payouts) subjects.push('payouts')
  if (offers.disputes) subjects.push('disputes (MED)')
  if (offers.balance !== 'none') subjects.push('balance')
  return subjects.map((subject) => skipped(subject, 'not checked without a token'))
}

function scopes({ profile }: AcquirerSettings, granted: string[] | null): Finding {
  if (granted === null) return skipped('scopes', 'the PSP does not say which it grants')
  const needed = [
    ...standardScopes,
    ...(profile.offers.payouts ? profile.token.payoutScopes : []),
    ...(profile.offers.disputes ? ['gn.infractions.read'] : []),
    ...(profile.offers.defences ? ['gn.infractions.write'] : []),
    ...(profile.offers.balance === 'none' ? [] : profile.token.balanceScopes),
  ]
  const lacking = needed.filter((scope) => !granted.includes(scope))
  if (lacking.length === 0) return ok('scopes', granted.join(' '))
  const setting = profile.token.scopes.length > 0 ? 'overrides.token.scopes' : null
  return {
    subject: 'scopes',
    state: 'warning',
    said: `not granted: ${lacking.join(' ')}: ask the PSP to grant them to this client`,
    setting,
  }
}

function clockSkew(answeredAt: string | null, clock: Clock): Finding {
  const at = answeredAt === null ? Number.NaN : Date.parse(answeredAt)
  if (Number.isNaN(at)) return skipped('clock', 'the PSP’s answer has no date')
  const skewMs = clock.now().getTime() - at
  const seconds = `${Math.abs(Math.round(skewMs / 1000))} s`
  if (Math.abs(skewMs) <= skewMsMax) return ok('clock', `within ${seconds} of the PSP’s`)
  const way = skewMs > 0 ? 'ahead of' : 'behind'
  return {
    subject: 'clock',
    state: 'warning',
    said: `${seconds} ${way} the PSP’s: set this machine’s clock by NTP`,
    setting: null,
  }
}

/** The PSP must answer 404 for what does not exist: otherwise a lost request can never be recognized as lost. */
function checkAbsent(
  subject: string,
  result: ProbeResult,
  { setting, isUnknownPath }: { setting: string; isUnknownPath: (result: ProbeResult) => boolean },
): Finding {
  if ('error' in result) return missing(subject, result.error, 'baseUrl')
  const { answer, body } = result
  const settings = `baseUrl, ${setting}`
  if (answer.status === 404 && body && isProblem(body)) {
    const line = `one that does not exist is answered 404: ${toReason(404, body)}`
    if (!isUnknownPath(result)) return ok(subject, line)
    return { subject, state: 'warning', said: `${line}, as is a path that does not exist`, setting: settings }
  }
  if (answer.status === 404) return missing(subject, '404 from a server that has no such path', settings)
  if (answer.status >= 200 && answer.status < 300)
    return missing(subject, `${answer.status} for one that cannot exist`, settings)
  return missing(subject, refusal(result), setting)
}

/** The same answer to two different requests: the server did not look up what was requested. */
function isSame(one: ProbeResult, other: ProbeResult): boolean {
  return (
    'answer' in one && 'answer' in other && one.answer.status === other.answer.status && refusal(one) === refusal(other)
  )
}

function webhook({ callbacks, dialect }: AcquirerSettings, result: ProbeResult, wanted: string | Error): Finding {
  const subject = 'callbacks'
  if ('error' in result) return missing(subject, result.error, 'baseUrl')
  const { answer, body } = result
  const isAbsent = answer.status === 404 && body !== null && isProblem(body)
  if (!isAbsent && (answer.status < 200 || answer.status > 299 || !body))
    return missing(subject, refusal(result), 'overrides.paths.webhook')
  const registered = isAbsent ? null : text(body ?? {}, 'webhookUrl')
  if (!isAbsent && registered === null)
    return missing(subject, 'an answer without webhookUrl', 'overrides.paths.webhook')
  if (wanted instanceof Error) {
    const registeredAddress = registered === null ? 'none' : hostOf(registered)
    return skipped(subject, `${registeredAddress} is registered; our address is not known: ${wanted.message}`)
  }
  const { callbackUrlMax, title } = dialects[dialect]
  if (callbackUrlMax !== null && wanted.length > callbackUrlMax)
    return missing(
      subject,
      `our address has ${wanted.length} characters, and ${title} allows ${callbackUrlMax}: use a shorter host, or a shorter name for the acquirer`,
      'callbacks.baseUrl',
    )
  if (registered === wanted) return ok(subject, `our address at ${hostOf(wanted)} is registered`)
  const registeredAddress =
    registered === null ? 'none is registered' : `another address is registered, at ${hostOf(registered)}`
  const isByHand = callbacks.register === false
  const then = isByHand ? 'register it at the PSP' : 'the service registers it when it starts'
  const isInside = /^http:|^https:\/\/(?:localhost|127\.|\[::1\])/.test(wanted)
  return {
    subject,
    state: 'warning',
    said: `${registeredAddress}; ours is at ${hostOf(wanted)}${isInside ? ', which no PSP can reach' : ''}: ${then}`,
    setting: isInside || (registered !== null && !isByHand) ? 'callbacks.baseUrl' : null,
  }
}

/** Without the path, which contains a secret. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'an address that cannot be read'
}

function lastDay(clock: Clock, pageSize: number): Record<string, string> {
  const to = clock.now()
  return toQuery({ from: new Date(to.getTime() - dayMs), to }, 0, pageSize)
}
