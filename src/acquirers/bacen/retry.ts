import { setTimeout as pause } from 'node:timers/promises'
import { readRetryAfter } from '../../lib/retry-after.ts'
import type { HttpResponse } from './http.ts'

// After these statuses the request may be repeated: the server cannot serve it at the moment.
const transient = new Set([408, 425, 429, 500, 502, 503, 504])
const firstPauseMs = 100

/**
 * Repeats a request after a broken connection or a "not now", with growing pauses. It waits as long as the PSP
 * requests (`Retry-After`), but never past `endsAt` (by `performance.now()`): then the last outcome is the result.
 */
export async function retried(
  send: () => Promise<HttpResponse>,
  { triesMax, endsAt }: { triesMax: number; endsAt: number },
): Promise<HttpResponse> {
  for (let attempt = 1; ; attempt++) {
    let outcome: Outcome
    try {
      outcome = { answer: await send() }
    } catch (error) {
      outcome = { error }
    }
    const waitMs = attempt < triesMax ? pauseAfter(outcome, attempt) : null
    if (waitMs === null || performance.now() + waitMs >= endsAt) {
      if ('error' in outcome) throw outcome.error
      return outcome.answer
    }
    await pause(waitMs)
  }
}

type Outcome = { answer: HttpResponse } | { error: unknown }

/** Null: do not repeat. With jitter, so that many requests do not return at the same moment. */
function pauseAfter(outcome: Outcome, attempt: number): number | null {
  const backoffMs = firstPauseMs * 2 ** (attempt - 1) * (0.5 + Math.random())
  // After a time-out there is no time left for another try.
  if ('error' in outcome) return isTimeout(outcome.error) ? null : backoffMs
  if (!transient.has(outcome.answer.status)) return null
  return Math.max(backoffMs, readRetryAfter(outcome.answer.headers['retry-after'], new Date()) ?? 0)
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}
