import type { Logger } from 'pino'
import { isOutage } from '../acquirers/registry.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { updateCheckAt, type WithdrawalRow } from './store.ts'

const dayMs = 24 * 60 * 60_000
/** The sooner the younger: most unknown outcomes are known seconds later. */
const openPauseMs = { min: 5_000, max: 5 * 60_000 }
const returnPauseMs = { min: 60_000, max: 7 * dayMs }
/** For so long the Pix rules let a receiver send a payment back; after that the service looks no more. */
const returnableMs = 90 * dayMs

/** When the service looks again at a withdrawal whose outcome is open: after a tenth of the time that it has been so, within bounds. */
function nextLook(row: WithdrawalRow, now: Date): Date {
  const since = (row.status_dates.at(-1) ?? row.created_at).getTime()
  return after(now, clamp((now.getTime() - since) / 10, openPauseMs))
}

/**
 * When it looks whether the receiver has sent it back: most of those are told of by a callback, and come within minutes, from a bank that could
 * not credit the account. Each pause is as long as the time that has passed, a week at most: some 25 questions in 90 days.
 */
export function nextReturnLook(processedAt: Date, now: Date): Date | null {
  const age = now.getTime() - processedAt.getTime()
  return age >= returnableMs ? null : after(now, clamp(age, returnPauseMs))
}

/** Looks at a withdrawal later, because what became of it could not be found out now. It is never taken for failed. */
export async function postponeCheck(
  deps: { db: Db; clock: Clock; log: Logger },
  row: WithdrawalRow,
  error: unknown,
): Promise<void> {
  if (!isOutage(error))
    deps.log.error({ err: error, withdrawalId: row.id }, 'a withdrawal could not be looked after and will be again')
  await scheduleCheck(deps, row)
}

/** When it is looked at next, unless its status has changed meanwhile. */
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
