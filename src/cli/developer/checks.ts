import { describeFailure } from '../../webhooks/attempt-errors.ts'
import { toPlain, write } from '../print.ts'
import { paint } from './say.ts'

/** The time-out of Guichê's own delivery attempts (`deliveryDeadlineMs`). */
export const answerMaxMs = 15_000

/** `note`: it works, and the reader should know something. `skip`: another check has to pass first. */
export type Outcome = 'ok' | 'note' | 'fail' | 'skip'

export type Check = {
  part: 'service' | 'receiver'
  /** A stable name, for programs. */
  name: string
  outcome: Outcome
  /** What was found. */
  detail: string
  /** What to do about it. */
  fix?: string
}

export type Report = { add(check: Check): void; checks: Check[] }

/** Collects checks, and prints each as it is made unless `json` wants them all at the end. */
export function createReport({ json }: { json?: boolean | undefined }): Report {
  const checks: Check[] = []
  return {
    add(check) {
      checks.push(check)
      if (json) return
      const { outcome, detail, fix } = check
      const mark = paint(outcome === 'skip' ? 'dim' : outcome, outcome.padEnd(4))
      write(`  ${mark}  ${toPlain(detail)}\n${fix === undefined ? '' : `        ${paint('strong', toPlain(fix))}\n`}`)
    },
    checks,
  }
}

/** Why a `fetch` failed, in one sentence. */
export function toReason(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${answerMaxMs / 1000} seconds`
  const { cause } = error instanceof Error ? error : {}
  // A name with several addresses fails with one error for each.
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause
  return describeFailure(first)
}
