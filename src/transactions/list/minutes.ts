import { findSetting, saveSetting } from '../../auth/store.ts'
import { runWithoutTimeout } from '../../db/long-work.ts'
import type { Db } from '../../db/sql.ts'
import { dayBefore, dayOf, nextDay } from '../../lib/brasilia.ts'
import type { Clock } from '../../lib/clock.ts'
import { deleteMinutesBefore, insertMinutes, listMerchantsOf } from './minute-store.ts'

/** Today is compared with yesterday, and with the same day of the week before. */
export const comparedDays = 7

/** A payment may be recorded some minutes after it arrived. */
const recordedWithinMs = 5 * 60_000

/** The last day whose minutes are written. */
const countedSetting = 'minutes_counted'

/**
 * Writes what became of each day's charges by its minutes, once the day is over: so the charges of a day are read once,
 * and not for every view of the first screen. An interrupted day starts again, and skips what is written.
 */
export async function countMinutes({ db, clock }: { db: Db; clock: Clock }, stopping?: AbortSignal): Promise<void> {
  const today = dayOf(new Date(clock.now().getTime() - recordedWithinMs))
  const days = daysBefore(today)
  const counted = await findSetting(db, countedSetting)
  const missing = days.filter((day) => counted === null || day > counted)
  for (const day of missing) {
    for (const merchantId of await listMerchantsOf(db, day)) {
      await runWithoutTimeout(db, { stopping, readOnly: false }, async (tx) => await insertMinutes(tx, merchantId, day))
      if (stopping?.aborted) return
    }
    await saveSetting(db, countedSetting, day)
  }
  if (missing.length > 0) await deleteMinutesBefore(db, days[0] ?? today)
}

/** Whether the days before a day can be compared with it. */
export async function areMinuteTotalsWritten(db: Db, today: string): Promise<boolean> {
  const counted = await findSetting(db, countedSetting)
  return counted !== null && nextDay(counted) >= today
}

/** The days that are compared with a day, oldest first. */
export function daysBefore(day: string): string[] {
  const days = [dayBefore(day)]
  while (days.length < comparedDays) days.unshift(dayBefore(days[0] ?? day))
  return days
}
