import type { Agent, Dispatcher } from 'undici'
import { readRetryAfter } from '../lib/retry-after.ts'
import { attemptErrors, describeFailure, describeStatus } from './attempt-errors.ts'

const userAgent = 'Guiche-Webhooks/1'

/** The body of a response is read, up to this size and for this long, so that its connection can be reused. */
const bodyMaxBytes = 16 * 1024
const bodyMaxMs = 1_000
/** What is kept of it, for people who look for the cause of a failure. */
const keptBytes = 2_048

export type Answer = {
  /** `hung`: no response within the deadline. `stopped`: we cancelled the attempt, so it does not count. */
  outcome: 'success' | 'gone' | 'refused' | 'unreachable' | 'hung' | 'stopped'
  status: number | null
  /**
   * A sentence of attempt-errors.ts, perhaps with the HTTP status or the system's error code. Never the receiver's
   * words: it is logged.
   */
  error: string | null
  retryAfter: Date | null
  /** The beginning of the response's body; null if there was no response or it had no text. */
  response: string | null
  durationMs: number
}

type Ending = Omit<Answer, 'durationMs' | 'response'>

export type Sender = {
  /** Makes one attempt over the network. Never rejects: every outcome is an `Answer`. */
  send(request: { url: string; headers: Record<string, string>; body: Buffer }): Promise<Answer>
  /** Ends all attempts in flight when the process cannot wait any longer: as `stopped`, unless a response has begun. */
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
        const kept: Buffer[] = []
        let timer = setTimeout(() => breakOff(failure('hung', attemptErrors.no_answer)), deadlineMs)
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
                if (bodyBytes < keptBytes) kept.push(chunk)
                bodyBytes += chunk.length
                if (answer && bodyBytes > bodyMaxBytes) breakOff(answer)
              },
              onResponseEnd: () => end(answer ?? failure('unreachable', describeFailure(null))),
              onResponseError: (_, error) => end(answer ?? failure('unreachable', describeFailure(error))),
            },
          )
        } catch (error) {
          end(failure('unreachable', describeFailure(error)))
        }

        function end(ending: Ending): void {
          if (!inFlight.delete(stop)) return
          clearTimeout(timer)
          resolve({ ...ending, response: toText(kept), durationMs: Math.round(performance.now() - startedAt) })
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

/**
 * The first {@link keptBytes} of a body as text that PostgreSQL stores and a page shows: without a character that the
 * limit cut, and without control characters other than tab and line ends.
 */
function toText(chunks: Buffer[]): string | null {
  if (chunks.length === 0) return null
  const kept = Buffer.concat(chunks).subarray(0, keptBytes)
  const text = new TextDecoder().decode(kept, { stream: true }).replace(/[^\P{Cc}\t\n\r]/gu, '')
  return text === '' ? null : text
}

function failure(outcome: 'hung' | 'unreachable' | 'stopped', error: string | null): Ending {
  return { outcome, status: null, error, retryAfter: null }
}
