import { findSetting, saveSetting } from '../../auth/store.ts'
import { runWithoutTimeout } from '../../db/long-work.ts'
import type { Db } from '../../db/sql.ts'
import { dayBefore, dayOf, nextDay } from '../../lib/brasilia.ts'
import type { Clock } from '../../lib/clock.ts'
import { deleteMinuteTotalsBefore, insertMinuteTotals, listMerchantsOf } from './minute-store.ts'

/** Today is compared with each of these days before it: the oldest is the same day of the week before. */
export const comparedDays = 7

/** A payment may be recorded some minutes after it arrived. */
const recordedWithinMs = 5 * 60_000

/** Has the last day whose totals by minute are written. */
const writtenSetting = 'minutes_counted'

/**
 * After a day is over, writes the running totals of its charges (created, paid, failed) by minute. So the charges of a
 * day are read once, and not each time that somebody opens the dashboard's first screen. An interrupted day starts
 * again, and skips what is written.
 */
export async function writeMinuteTotals(
  { db, clock }: { db: Db; clock: Clock },
  stopping?: AbortSignal,
): Promise<void> {
  const today = dayOf(new Date(clock.now().getTime() - recordedWithinMs))
  const days = daysBefore(today)
  const written = await findSetting(db, writtenSetting)
  const missing = days.filter((day) => written === null || day > written)
  for (const day of missing) {
    for (const merchantId of await listMerchantsOf(db, day)) {
      await runWithoutTimeout(
        db,
        { stopping, readOnly: false },
        async (tx) => await insertMinuteTotals(tx, merchantId, day),
      )
      if (stopping?.aborted) return
    }
    await saveSetting(db, writtenSetting, day)
  }
  if (missing.length > 0) await deleteMinuteTotalsBefore(db, days[0] ?? today)
}

/** Whether the days before a day can be compared with it. */
export async function areMinuteTotalsWritten(db: Db, today: string): Promise<boolean> {
  const written = await findSetting(db, writtenSetting)
  return written !== null && nextDay(written) >= today
}

/** The days that are compared with a day, oldest first. */
export function daysBefore(day: string): string[] {
  const days = [dayBefore(day)]
  while (days.length < comparedDays) days.unshift(dayBefore(days[0] ?? day))
  return days
}
