import { setTimeout as pause } from 'node:timers/promises'
import type { HttpResponse } from './http.ts'

// What says "not now" of a request that may be made again.
const transient = new Set([408, 425, 429, 500, 502, 503, 504])
const firstPauseMs = 100

/**
 * Asks again, a little later each time, what may be asked twice: after a broken connection, a 5xx or a "not now". It waits as long as the PSP
 * asks for (`Retry-After`), and never past `endsAt` (of `performance.now()`): then it is left at the last answer.
 */
export async function retried(
  ask: () => Promise<HttpResponse>,
  { triesMax, endsAt }: { triesMax: number; endsAt: number },
): Promise<HttpResponse> {
  for (let attempt = 1; ; attempt++) {
    let outcome: Outcome
    try {
      outcome = { answer: await ask() }
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

/** Null: not again. With jitter, so that many do not come back at once. */
function pauseAfter(outcome: Outcome, attempt: number): number | null {
  const backoffMs = firstPauseMs * 2 ** (attempt - 1) * (0.5 + Math.random())
  // Its time was up.
  if ('error' in outcome) return isTimeout(outcome.error) ? null : backoffMs
  if (!transient.has(outcome.answer.status)) return null
  return Math.max(backoffMs, readRetryAfter(outcome.answer.headers['retry-after']) ?? 0)
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

/** `Retry-After` in milliseconds: seconds, or the time of day until when. */
export function readRetryAfter(header: string | undefined): number | null {
  if (header === undefined) return null
  if (/^\d{1,6}$/.test(header.trim())) return Number(header) * 1000
  const until = Date.parse(header)
  return Number.isNaN(until) ? null : Math.max(0, until - Date.now())
}
