import type { HttpResponse } from './bacen/http.ts'
import type { Json } from './bacen/read.ts'
import { toReason } from './bacen/reason.ts'

/**
 * One line of the report: it works, it does not, it could be better, or it was not checked. `setting` is what to
 * change.
 */
export type Finding = {
  subject: string
  state: 'ok' | 'missing' | 'warning' | 'skipped'
  said: string
  setting: string | null
}

export type Answered = { answer: HttpResponse; body: Json | null }
export type ProbeResult = Answered | { error: string }

export function refusal(result: Exclude<ProbeResult, { error: string }>): string {
  const { status } = result.answer
  const reason = result.body ? toReason(status, result.body) : 'a body that is not JSON'
  return reason.includes(String(status)) ? reason : `${status}: ${reason}`
}

export function ok(subject: string, words: string): Finding {
  return { subject, state: 'ok', said: words, setting: null }
}

export function skipped(subject: string, words: string): Finding {
  return { subject, state: 'skipped', said: words, setting: null }
}

export function missing(subject: string, words: string, setting: string | null): Finding {
  return { subject, state: 'missing', said: words, setting }
}
