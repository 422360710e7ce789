import type { HttpResponse } from './bacen/http.ts'
import type { Json } from './bacen/read.ts'
import { toReason } from './bacen/reason.ts'

/**
 * One line of `guiche acquirer check`. `ok`: it works. `missing`: it does not work, or the PSP lacks it. `warning`: it
 * works, but could be better. `skipped`: it was not checked. `said`: the text of the line. `setting`: what to change.
 */
export type Finding = {
  subject: string
  state: 'ok' | 'missing' | 'warning' | 'skipped'
  said: string
  setting: string | null
}

export type Answered = { answer: HttpResponse; body: Json | null }
export type ProbeResult = Answered | { error: string }

export function refusal(result: Answered): string {
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
