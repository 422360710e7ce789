import type { Agent, Dispatcher } from 'undici'
import { parseRetryAfter } from './schedule.ts'

const userAgent = 'Guiche-Webhooks/1'

/** What is read of an answer's body, and for how long: only so that the connection can be used again. */
const bodyMaxBytes = 16 * 1024
const bodyMaxMs = 1_000

export type Answer = {
  /** `hung`: not answered within the deadline. `stopped`: given up by us, and not to be counted. */
  outcome: 'success' | 'gone' | 'refused' | 'unreachable' | 'hung' | 'stopped'
  status: number | null
  /** One of a few sentences of ours, never the peer's words: it is shown to merchants and logged. */
  error: string | null
  retryAfter: Date | null
  durationMs: number
}

type Ending = Omit<Answer, 'durationMs'>

export type Sender = {
  /** Makes one attempt over the network. Never rejects: whatever happens is an answer. */
  send(request: { url: string; headers: Record<string, string>; body: Buffer }): Promise<Answer>
  /** The process can wait no longer: all attempts under way end as `stopped`. */
  stop(): void
}

type Options = {
  dialler: Agent
  /** For everything: name, connection, request and the head of the answer. */
  deadlineMs: number
  now: () => Date
}

/**
 * Sends by undici's `dispatch`, with one handler and one timer per attempt: its `request` would make a stream, a signal and their
 * listeners for each. A response that comes to its end gives its connection back; any other is closed with it.
 */
export function createSender({ dialler, deadlineMs, now }: Options): Sender {
  const underWay = new Set<() => void>()

  return {
    send: ({ url, headers, body }) =>
      new Promise((resolve) => {
        const startedAt = performance.now()
        let controller: Dispatcher.DispatchController | undefined
        let answer: Ending | undefined
        let bodyBytes = 0
        let timer = setTimeout(() => breakOff(failure('hung', 'No answer in time')), deadlineMs)
        const stop = () => breakOff(answer ?? failure('stopped', null))
        underWay.add(stop)

        try {
          const { origin, pathname, search } = new URL(url)
          dialler.dispatch(
            {
              origin,
              path: pathname + search,
              method: 'POST',
              headers: { ...headers, 'content-type': 'application/json', 'user-agent': userAgent },
              body,
              // Ours is for everything.
              headersTimeout: 0,
              bodyTimeout: 0,
            },
            {
              // When the connection is made, which may be too late.
              onRequestStart(started) {
                controller = started
                if (!underWay.has(stop)) started.abort(brokenOff)
              },
              onResponseStart(_, status, { 'retry-after': retryAfter }) {
                if (status < 200) return
                const at = parseRetryAfter(typeof retryAfter === 'string' ? retryAfter : undefined, now())
                const head: Ending = {
                  outcome: outcomeOf(status),
                  status,
                  error: describeStatus(status),
                  retryAfter: at,
                }
                answer = head
                clearTimeout(timer)
                timer = setTimeout(() => breakOff(head), bodyMaxMs)
              },
              // The status has said it all. A body that is long, slow or breaks off changes nothing: the connection is closed.
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
          if (!underWay.delete(stop)) return
          clearTimeout(timer)
          resolve({ ...ending, durationMs: Math.round(performance.now() - startedAt) })
        }

        function breakOff(ending: Ending): void {
          end(ending)
          controller?.abort(brokenOff)
        }
      }),
    stop() {
      for (const stop of underWay) stop()
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
  if (status === 410) return 'The receiver answered 410: it wants no more of this'
  return `The receiver answered ${status}`
}

function failure(outcome: 'hung' | 'unreachable' | 'stopped', error: string | null): Ending {
  return { outcome, status: null, error, retryAfter: null }
}

const faults: Record<string, string> = {
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
  if (faults[code]) return faults[code]
  if (code.startsWith('HPE_')) return 'The answer is not HTTP'
  return /^[A-Z_]{3,40}$/.test(code) ? `The connection failed (${code})` : 'The connection failed'
}
