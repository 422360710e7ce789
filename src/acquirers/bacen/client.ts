import type { Clock } from '../../lib/clock.ts'
import { AcquirerUnavailable } from '../acquirer.ts'
import { type HttpResponse, type Send, tokenPath } from './http.ts'
import { count, isRecord, type Json, text } from './read.ts'

export type Credentials = { clientId: string; clientSecret: string }

/** What the PSP said for certain: yes, with a body, or no, with a status in 400 to 499 and a reason to show. */
export type Answer = { ok: true; body: Json } | { ok: false; status: number; reason: string }

export type Call = {
  method: 'GET' | 'PUT'
  path: string
  query?: Record<string, string>
  body?: unknown
}

/** Asks the PSP with a token. Throws {@link AcquirerUnavailable} when there is no answer or it cannot be read. */
export type Client = (call: Call) => Promise<Answer>

export type ClientOptions = { send: Send; credentials: Credentials; clock: Clock; timeoutMs: number }

// Renewed this long before it expires, so that it does not expire on the way.
const renewBeforeMs = 60_000
const reasonLengthMax = 300
// A status in 400 to 499 that says "not now" rather than "no".
const notNow = new Set([401, 408, 421, 425, 429])

export function createClient(options: ClientOptions): Client {
  const tokens = createTokenCache(options)

  async function ask(call: Call): Promise<HttpResponse> {
    const token = await tokens.get()
    const answer = await options.send(toRequest(call, token))
    if (answer.status !== 401) return answer
    // The token may have been revoked, or the PSP's clock may be ahead of ours.
    tokens.forget(token)
    return options.send(toRequest(call, await tokens.get()))
  }

  return async (call) => read(await unknownUnlessAnswered(ask(call), options.timeoutMs))
}

/** The body of what was found, null for 404. Any other refusal of a question leaves it open. */
export function foundOrNull(answer: Answer): Json | null {
  if (answer.ok) return answer.body
  if (answer.status === 404) return null
  throw new AcquirerUnavailable(`The acquirer refused to tell: ${answer.reason}`)
}

function toRequest({ method, path, query = {}, body }: Call, token: string) {
  const headers: Record<string, string> = { authorization: `Bearer ${token}`, accept: 'application/json' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  return { method, path, query, headers, body: body === undefined ? undefined : JSON.stringify(body) }
}

/** The time-out holds for a function in this process as well as for a socket: whichever does not answer is unknown. */
async function unknownUnlessAnswered<Result>(asked: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AcquirerUnavailable('The acquirer did not answer in time')), timeoutMs)
  })
  try {
    return await Promise.race([asked, timeout])
  } catch (cause) {
    if (cause instanceof AcquirerUnavailable) throw cause
    throw new AcquirerUnavailable('The acquirer could not be reached', { cause })
  } finally {
    clearTimeout(timer)
  }
}

function read({ status, body }: HttpResponse): Answer {
  const isYes = status >= 200 && status < 300
  if (!isYes && (status < 400 || status >= 500 || notNow.has(status))) {
    throw new AcquirerUnavailable(`The acquirer answered ${status}`)
  }
  if (isYes && body.trim() === '') return { ok: true, body: {} }
  const parsed = parse(body)
  // Without a readable body a 404 may come from a proxy on the way, which knows nothing of charges.
  if (!parsed) throw new AcquirerUnavailable(`The acquirer answered ${status} with a body that cannot be read`)
  return isYes ? { ok: true, body: parsed } : { ok: false, status, reason: toReason(status, parsed) }
}

function parse(body: string): Json | null {
  try {
    const parsed: unknown = JSON.parse(body)
    return isRecord(parsed) ? parsed : null
  } catch (cause) {
    throw new AcquirerUnavailable('The acquirer answered with a body that is not JSON', { cause })
  }
}

/** One line out of the standard's problem, or of what known PSPs send instead of it. */
function toReason(status: number, body: Json): string {
  const said = text(body, 'detail') ?? text(body, 'mensagem') ?? text(body, 'message') ?? text(body, 'title')
  const faults = [...asList(body.violacoes), ...asList(body.erros)].filter(isRecord)
  const reasons = [said, ...faults.map((fault) => text(fault, 'razao') ?? text(fault, 'mensagem'))]
  const line = [...new Set(reasons)].filter((reason) => reason !== null).join(' ')
  const printable = line.replace(/[\p{Cc}\p{Cs}]+/gu, ' ').trim()
  return printable === '' ? `The acquirer answered ${status}` : Array.from(printable).slice(0, reasonLengthMax).join('')
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

type Token = { value: string; renewAt: number }

/** Keeps one token. All who need a new one at the same time wait for the same answer. */
function createTokenCache(options: ClientOptions) {
  let token: Token | undefined
  let asking: Promise<Token> | undefined

  async function get(): Promise<string> {
    if (token && options.clock.now().getTime() < token.renewAt) return token.value
    asking ??= renew().finally(() => {
      asking = undefined
    })
    return (await asking).value
  }

  async function renew(): Promise<Token> {
    // A time-out of its own: one request that never ends must not keep all later ones waiting for it.
    token = await unknownUnlessAnswered(askToken(options), options.timeoutMs)
    return token
  }

  /** Forgets a token that was refused, unless a newer one has taken its place. */
  function forget(refused: string) {
    if (token?.value === refused) token = undefined
  }

  return { get, forget }
}

async function askToken({ send, credentials, clock }: ClientOptions): Promise<Token> {
  const { clientId, clientSecret } = credentials
  const answer = await send({
    method: 'POST',
    path: tokenPath,
    query: {},
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: 'grant_type=client_credentials',
  })
  // A refusal of the credentials says nothing about a charge: it is not refused, it was never asked for.
  if (answer.status < 200 || answer.status > 299) {
    throw new AcquirerUnavailable(`The acquirer answered ${answer.status} to the request for a token`)
  }
  const body = parse(answer.body)
  const value = body && text(body, 'access_token')
  if (!value) throw new AcquirerUnavailable('The acquirer answered without a token')
  const lifetimeMs = (count(body, 'expires_in') ?? 0) * 1000
  // A token that lives shorter than twice the margin is used for half its life.
  return { value, renewAt: clock.now().getTime() + Math.max(lifetimeMs - renewBeforeMs, lifetimeMs / 2) }
}
