import type { Logger } from 'pino'
import { isOutage } from '../acquirers/registry.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { updateCheckAt, type WithdrawalRow } from './store.ts'

const dayMs = 24 * 60 * 60_000
/** Pauses are short at first: most unknown outcomes are known seconds later. */
const openPauseMs = { min: 5_000, max: 5 * 60_000 }
const returnPauseMs = { min: 60_000, max: 7 * dayMs }
/** How long the Pix rules let a receiver return a payment; after that the service stops checking. */
const returnableMs = 90 * dayMs

/**
 * When a withdrawal with an open outcome is checked next: after a tenth of the time it has been open, within bounds.
 */
function nextLook(row: WithdrawalRow, now: Date): Date {
  const since = (row.status_dates.at(-1) ?? row.created_at).getTime()
  return after(now, clamp((now.getTime() - since) / 10, openPauseMs))
}

/**
 * When to check whether the receiver has returned the money: callbacks announce most returns, and most come within
 * minutes, from a bank that could not credit the account. Each pause is as long as the time that has passed, a week
 * at most: about 25 queries in 90 days.
 */
export function nextReturnLook(processedAt: Date, now: Date): Date | null {
  const age = now.getTime() - processedAt.getTime()
  return age >= returnableMs ? null : after(now, clamp(age, returnPauseMs))
}

/** Postpones the check of a withdrawal whose outcome cannot be determined now. It never counts as failed. */
export async function postponeCheck(
  deps: { db: Db; clock: Clock; log: Logger },
  row: WithdrawalRow,
  error: unknown,
): Promise<void> {
  if (!isOutage(error))
    deps.log.error({ err: error, withdrawalId: row.id }, 'the check of a withdrawal failed and will be repeated')
  await scheduleCheck(deps, row)
}

/** Schedules the next check, unless the status has changed meanwhile. */
export async function scheduleCheck(deps: { db: Db; clock: Clock }, row: WithdrawalRow): Promise<void> {
  const now = deps.clock.now()
  const { processed_date: processedAt } = row
  const checkAt = processedAt === null ? nextLook(row, now) : nextReturnLook(processedAt, now)
  await updateCheckAt(deps.db, row, checkAt)
}

function after(now: Date, pauseMs: number): Date {
  return new Date(now.getTime() + pauseMs)
}

function clamp(value: number, { min, max }: { min: number; max: number }): number {
  return Math.max(min, Math.min(max, value))
}
