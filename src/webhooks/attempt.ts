import { type Agent, request } from 'undici'
import { parseRetryAfter } from './schedule.ts'

const userAgent = 'Guiche-Webhooks/1'

/** What is read of an answer's body, and for how long: only so that the connection can be used again. */
const bodyMaxBytes = 16 * 1024
const bodyMaxMs = 1_000

type Input = {
  dialler: Agent
  url: string
  headers: Record<string, string>
  body: string
  /** For everything: name, connection, request and the head of the answer. */
  deadlineMs: number
  now: () => Date
  /** Aborted when the process can wait no longer. */
  signal: AbortSignal
}

export type Answer = {
  /** `hung`: not answered within the deadline. `stopped`: given up by us, and not to be counted. */
  outcome: 'success' | 'gone' | 'refused' | 'unreachable' | 'hung' | 'stopped'
  status: number | null
  /** One of a few sentences of ours, never the peer's words: it is shown to merchants and logged. */
  error: string | null
  retryAfter: Date | null
  durationMs: number
}

/** Makes one attempt over the network. Never throws: whatever happens is an answer. */
export async function attemptDelivery(input: Input): Promise<Answer> {
  const started = performance.now()
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), input.deadlineMs)
  const stop = () => controller.abort()
  input.signal.addEventListener('abort', stop)
  if (input.signal.aborted) controller.abort()
  try {
    return finish(await post(input, controller.signal))
  } catch (error) {
    if (input.signal.aborted) return finish({ outcome: 'stopped', status: null, error: null, retryAfter: null })
    if (controller.signal.aborted) return finish(failure('hung', 'No answer in time'))
    return finish(failure('unreachable', describe(error)))
  } finally {
    clearTimeout(timer)
    input.signal.removeEventListener('abort', stop)
  }

  function finish(answer: Omit<Answer, 'durationMs'>): Answer {
    return { ...answer, durationMs: Math.round(performance.now() - started) }
  }
}

async function post({ dialler, url, headers, body, now, deadlineMs }: Input, signal: AbortSignal) {
  const answer = await request(url, {
    dispatcher: dialler,
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'user-agent': userAgent },
    body,
    signal,
    headersTimeout: deadlineMs,
    bodyTimeout: deadlineMs,
  })
  await discard(answer.body)
  const status = answer.statusCode
  const retryAfter = answer.headers['retry-after']
  return {
    outcome: outcomeOf(status),
    status,
    error: describeStatus(status),
    retryAfter: parseRetryAfter(typeof retryAfter === 'string' ? retryAfter : undefined, now()),
  }
}

/** The status has said it all. A body that is long, slow or breaks off changes nothing: the connection is closed. */
async function discard(body: { dump(options: { limit: number }): Promise<void>; destroy(): void }): Promise<void> {
  const timer = setTimeout(() => body.destroy(), bodyMaxMs)
  try {
    await body.dump({ limit: bodyMaxBytes })
  } catch {
    // The status was received; how the rest of the answer ended does not matter.
  } finally {
    clearTimeout(timer)
  }
}

function outcomeOf(status: number): 'success' | 'gone' | 'refused' {
  if (status >= 200 && status < 300) return 'success'
  return status === 410 ? 'gone' : 'refused'
}

function describeStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400) return 'The receiver redirected, and redirects are not followed'
  if (status === 410) return 'The receiver answered 410: it wants no more of this'
  return `The receiver answered ${status}`
}

function failure(outcome: 'hung' | 'unreachable', error: string): Omit<Answer, 'durationMs'> {
  return { outcome, status: null, error, retryAfter: null }
}

const faults: Record<string, string> = {
  ADDRESS_REFUSED: 'The address of the receiver may not be called',
  ECONNREFUSED: 'The connection was refused',
  ECONNRESET: 'The connection was closed before an answer',
  EHOSTUNREACH: 'The receiver cannot be reached',
  ENETUNREACH: 'The receiver cannot be reached',
  ENOTFOUND: 'The name of the receiver was not found',
  ENODATA: 'The name of the receiver has no address',
  EPIPE: 'The connection was closed before an answer',
  ESERVFAIL: 'The name server of the receiver failed',
  ETIMEOUT: 'The name server of the receiver did not answer',
  ETIMEDOUT: 'The connection was not made in time',
  UND_ERR_CONNECT_TIMEOUT: 'The connection was not made in time',
  UND_ERR_HEADERS_OVERFLOW: 'The head of the answer is too long',
  UND_ERR_SOCKET: 'The connection was closed before an answer',
  CERT_HAS_EXPIRED: 'The certificate of the receiver has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate of the receiver is self-signed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of the receiver is for another name',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate of the receiver is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The certificate of the receiver lacks its chain',
}

function describe(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (faults[code]) return faults[code]
  if (code.startsWith('HPE_')) return 'The answer is not HTTP'
  return /^[A-Z_]{3,40}$/.test(code) ? `The connection failed (${code})` : 'The connection failed'
}
