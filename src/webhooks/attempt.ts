import type { Agent, Dispatcher } from 'undici'
import { readRetryAfter } from '../lib/retry-after.ts'

const userAgent = 'Guiche-Webhooks/1'

/** The body of a response is read only up to this size and time, so that its connection can be reused. */
const bodyMaxBytes = 16 * 1024
const bodyMaxMs = 1_000

export type Answer = {
  /** `hung`: no response within the deadline. `stopped`: we cancelled the attempt, so it does not count. */
  outcome: 'success' | 'gone' | 'refused' | 'unreachable' | 'hung' | 'stopped'
  status: number | null
  /** One of our fixed sentences, never the receiver's words: it is shown to merchants and logged. */
  error: string | null
  retryAfter: Date | null
  durationMs: number
}

type Ending = Omit<Answer, 'durationMs'>

export type Sender = {
  /** Makes one attempt over the network. Never rejects: every outcome is an `Answer`. */
  send(request: { url: string; headers: Record<string, string>; body: Buffer }): Promise<Answer>
  /** Ends all attempts in flight as `stopped`, when the process cannot wait any longer. */
  stop(): void
}

type Options = {
  dialler: Agent
  /** For the whole attempt: name resolution, connection, request and response headers. */
  deadlineMs: number
  now: () => Date
}

/**
 * Sends with undici's `dispatch`, with one handler and one timer per attempt: undici's `request` creates a stream, a
 * signal and their listeners for each. A response that is read to its end returns its connection to the pool; any
 * other closes it.
 */
export function createSender({ dialler, deadlineMs, now }: Options): Sender {
  const inFlight = new Set<() => void>()

  return {
    send: ({ url, headers, body }) =>
      new Promise((resolve) => {
        const startedAt = performance.now()
        let controller: Dispatcher.DispatchController | undefined
        let answer: Ending | undefined
        let bodyBytes = 0
        let timer = setTimeout(() => breakOff(failure('hung', 'No answer in time')), deadlineMs)
        const stop = () => breakOff(answer ?? failure('stopped', null))
        inFlight.add(stop)

        try {
          const { origin, pathname, search } = new URL(url)
          dialler.dispatch(
            {
              origin,
              path: pathname + search,
              method: 'POST',
              headers: { ...headers, 'content-type': 'application/json', 'user-agent': userAgent },
              body,
              // Our own deadline covers the whole attempt.
              headersTimeout: 0,
              bodyTimeout: 0,
            },
            {
              // Called when the connection is open, which may be after the deadline.
              onRequestStart(started) {
                controller = started
                if (!inFlight.has(stop)) started.abort(brokenOff)
              },
              onResponseStart(_, status, { 'retry-after': retryAfter }) {
                if (status < 200) return
                const at = now()
                const waitMs = readRetryAfter(typeof retryAfter === 'string' ? retryAfter : undefined, at)
                const head: Ending = {
                  outcome: outcomeOf(status),
                  status,
                  error: describeStatus(status),
                  retryAfter: waitMs === null ? null : new Date(at.getTime() + waitMs),
                }
                answer = head
                clearTimeout(timer)
                timer = setTimeout(() => breakOff(head), bodyMaxMs)
              },
              // The status decides the outcome. A body that is long, slow or cut short changes nothing: we close the
              // connection.
              onResponseData(_, chunk) {
                bodyBytes += chunk.length
                if (answer && bodyBytes > bodyMaxBytes) breakOff(answer)
              },
              onResponseEnd: () => end(answer ?? failure('unreachable', describe(null))),
              onResponseError: (_, error) => end(answer ?? failure('unreachable', describe(error))),
            },
          )
        } catch (error) {
          end(failure('unreachable', describe(error)))
        }

        function end(ending: Ending): void {
          if (!inFlight.delete(stop)) return
          clearTimeout(timer)
          resolve({ ...ending, durationMs: Math.round(performance.now() - startedAt) })
        }

        function breakOff(ending: Ending): void {
          end(ending)
          controller?.abort(brokenOff)
        }
      }),
    stop() {
      for (const stop of inFlight) stop()
    },
  }
}

const brokenOff = new Error('The attempt was broken off')

function outcomeOf(status: number): 'success' | 'gone' | 'refused' {
  if (status >= 200 && status < 300) return 'success'
  return status === 410 ? 'gone' : 'refused'
}

function describeStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400) return 'The receiver redirected, and redirects are not followed'
  if (status === 410) return 'The receiver answered 410: it accepts no more events'
  return `The receiver answered ${status}`
}

function failure(outcome: 'hung' | 'unreachable' | 'stopped', error: string | null): Ending {
  return { outcome, status: null, error, retryAfter: null }
}

const errorsByCode: Record<string, string> = {
  ADDRESS_REFUSED: 'The address of the receiver may not be called',
  PRIVATE_ADDRESS_REFUSED:
    'The address of the receiver may not be called (WEBHOOK_ALLOW_PRIVATE=true allows private hosts)',
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
  if (errorsByCode[code]) return errorsByCode[code]
  if (code.startsWith('HPE_')) return 'The answer is not HTTP'
  return /^[A-Z_]{3,40}$/.test(code) ? `The connection failed (${code})` : 'The connection failed'
}
