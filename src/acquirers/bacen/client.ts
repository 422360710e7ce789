import { randomUUID } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { readRetryAfter } from '../../lib/retry-after.ts'
import { AcquirerUnavailable, TooManyRequests } from '../acquirer.ts'
import type { HttpRequest, HttpResponse, Send } from './http.ts'
import type { ProtocolProfile } from './profile.ts'
import { explainReach } from './reach.ts'
import { isRecord, type Json } from './read.ts'
import { isMissingRoute, isProblem, toReason } from './reason.ts'
import { retried } from './retry.ts'
import { type Credentials, createTokens } from './token.ts'

/**
 * A certain answer of the PSP: yes, with a body, or no, with a reason to show and a status from 400 to 499, or 500 for
 * a function that is switched off ({@link isSwitchedOff}).
 */
export type Answer = { ok: true; body: Json } | { ok: false; status: number; reason: string; body: Json }

export type Call = {
  method: HttpRequest['method']
  path: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: unknown
  /** True for a request that sends money: when its outcome is unknown it is queried, never sent again. */
  isOnce?: boolean
}

/** Sends a request with a token. Throws {@link AcquirerUnavailable} when the outcome is not known. */
export type Client = (call: Call) => Promise<Answer>

export type ClientOptions = {
  send: Send
  credentials: Credentials
  profile: ProtocolProfile
  clock: Clock
  /**
   * For each call: the token that it may need, every try and the pauses between them. At least
   * `profile.moneyOutTimeoutMs` for one that sends money.
   */
  timeoutMs: number
  /** How often one call may be sent with one token: after a 401 it is sent again with another. */
  triesMax: number
  /** Wraps every call; refuses calls without sending them while the PSP does not answer. */
  guard: <Result>(call: () => Promise<Result>) => Promise<Result>
  onFewerScopes: (missing: string[]) => void
}

/** The field that holds an answer whose whole body is a list. */
export const bareList = '[]'

// A status in 400 to 499 that says "not now" rather than "no".
const notNow = new Set([401, 408, 421, 425])

export function createClient(options: ClientOptions): Client {
  const { profile, timeoutMs, triesMax } = options
  const tokens = createTokens({
    ...options,
    // A time-out of its own: one request that never ends must not block all later ones.
    send: (request) => within(timeoutMs, (time) => sent(request, time, triesMax)),
  })
  const isUnique = hasUuid(profile)

  function sent(request: HttpRequest, time: Time, tries: number): Promise<HttpResponse> {
    const timed = { ...(isUnique ? withUuid(request) : request), endsAt: time.endsAt }
    const send = () => {
      // After its time is up a request is not sent any more, least of all one that sends money.
      if (time.isUp) throw tooLate()
      return options.send(timed)
    }
    return retried(send, { triesMax: tries, endsAt: time.endsAt })
  }

  async function sendWithToken(call: Call, time: Time): Promise<HttpResponse> {
    const tries = call.isOnce ? 1 : triesMax
    const token = await tokens.get()
    const answer = await sent(toRequest(call, token, profile), time, tries)
    if (answer.status !== 401) return answer
    // The token may have been revoked, or the PSP's clock may be ahead of ours.
    const another = await tokens.replace(token)
    if (another === null) return answer
    const second = await sent(toRequest(call, another, profile), time, tries)
    if (second.status === 401) tokens.wasUseless()
    return second
  }

  const timeFor = ({ isOnce }: Call) => (isOnce ? Math.max(timeoutMs, profile.moneyOutTimeoutMs) : timeoutMs)
  const answered = async (call: Call) => read(await within(timeFor(call), (time) => sendWithToken(call, time)))
  return async (call) => {
    const answer = await options.guard(() => answered(call))
    // After the guard: one path that is not there must not pause the requests for all others.
    if (!answer.ok && answer.status === 404 && isMissingRoute(answer.body))
      throw new AcquirerUnavailable(
        'The acquirer answered 404 because it has no such path: check baseUrl and overrides.paths',
      )
    return answer
  }
}

/** The time that is left for a call, by `performance.now()`. */
type Time = { endsAt: number; isUp: boolean }

/**
 * The body of what was found, null for a 404 in a form of the PSPs' APIs. After any other refusal the outcome is
 * unknown: a gateway before the API also answers 404 in JSON.
 */
export function foundOrNull(answer: Answer): Json | null {
  if (answer.ok) return answer.body
  if (answer.status === 404 && isProblem(answer.body)) return null
  throw new AcquirerUnavailable(`The acquirer refused the query: ${answer.reason}`)
}

export function toRequest(
  { method, path, query, headers, body }: Call,
  token: string,
  profile: ProtocolProfile,
): HttpRequest {
  return {
    method,
    path,
    query: { ...profile.query, ...query },
    headers: {
      ...profile.headers,
      ...headers,
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  }
}

function hasUuid({ token, headers, query, registrationHeaders }: ProtocolProfile): boolean {
  const texts = [token.query, headers, query, registrationHeaders].flatMap((each) => Object.values(each))
  return texts.some((text) => text.includes('{uuid}'))
}

/** Fills in a new UUID for each sending. */
export function withUuid(request: HttpRequest): HttpRequest {
  const fill = (texts: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, text.replaceAll('{uuid}', () => randomUUID())]),
    )
  return { ...request, headers: fill(request.headers), query: fill(request.query) }
}

/**
 * The time-out also covers a PSP in this process: whatever does not answer in time has an unknown outcome. An
 * AbortController for each request would take as long as the rest of it.
 */
async function within<Result>(timeoutMs: number, run: (time: Time) => Promise<Result>): Promise<Result> {
  const time = { endsAt: performance.now() + timeoutMs, isUp: false }
  let timer: NodeJS.Timeout | undefined
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(() => {
        time.isUp = true
        reject(tooLate())
      }, timeoutMs)
      run(time).then(resolve, reject)
    })
  } catch (cause) {
    if (cause instanceof AcquirerUnavailable) throw cause
    if (cause instanceof Error && cause.name === 'TimeoutError') throw tooLate({ cause })
    const reason = explainReach(cause)
    throw new AcquirerUnavailable(`The acquirer could not be reached${reason ? `: ${reason}` : ''}`, { cause })
  } finally {
    clearTimeout(timer)
  }
}

function tooLate(options?: { cause: unknown }): AcquirerUnavailable {
  return new AcquirerUnavailable('The acquirer did not answer in time', options)
}

function read({ status, headers, body }: HttpResponse): Answer {
  const isYes = status >= 200 && status < 300
  if (status >= 300 && status < 400)
    throw new AcquirerUnavailable(
      `The acquirer answered ${status} and points to ${hostOf(headers.location)}, which is not followed: check baseUrl`,
    )
  if (status === 429)
    throw new TooManyRequests('The acquirer answered 429', readRetryAfter(headers['retry-after'], new Date()))
  if (!isYes && !isSwitchedOff(status, body) && (status < 400 || status >= 500 || notNow.has(status))) {
    throw new AcquirerUnavailable(`The acquirer answered ${status}`)
  }
  if (isYes && body.trim() === '') return { ok: true, body: {} }
  const parsed = parseBody(body)
  // A 404 without a readable body may come from a proxy on the way, which has no charges.
  if (!parsed) throw new AcquirerUnavailable(`The acquirer answered ${status} with a body that cannot be read`)
  if (isYes) return { ok: true, body: parsed }
  return { ok: false, status, reason: toReason(status, parsed), body: parsed }
}

/** Efí answers 500 in homologation for functions of production only. That is a certain refusal, not an outage. */
export function isSwitchedOff(status: number, body: string): boolean {
  return status === 500 && switchedOff.test(body)
}

export const switchedOff = /desabilitad[ao] em ambiente de homologa/i

function hostOf(location: string | undefined): string {
  return location !== undefined && URL.canParse(location) ? new URL(location).host : 'elsewhere'
}

/**
 * A list is put into the fields {@link bareList} and `erros`: it may be one of errors. Null for other JSON that is not
 * a record; throws where it is not JSON.
 */
export function parseBody(body: string): Json | null {
  try {
    const parsed: unknown = JSON.parse(body)
    if (Array.isArray(parsed)) return { [bareList]: parsed, erros: parsed }
    return isRecord(parsed) ? parsed : null
  } catch (cause) {
    throw new AcquirerUnavailable('The acquirer answered with a body that is not JSON', { cause })
  }
}
