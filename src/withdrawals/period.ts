import { fromWallTime, toWallTime } from '../lib/brasilia.ts'

/** The Central Bank's night period, for which banks have separate limits. */
const nightFromHour = 20
const dayFromHour = 6

/** A day or a night: limits count from its beginning. `to` is the first moment of the next one. */
export type Period = { name: 'day' | 'night'; from: Date; to: Date }

/** The day (06:00 to 20:00 in São Paulo) or the night (20:00 to 06:00 of the next date: one night, not two) of a moment. */
export function periodOf(now: Date): Period {
  const wall = toWallTime(now)
  const at = (days: number, hour: number) =>
    fromWallTime(Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate() + days, hour))
  const hour = wall.getUTCHours()
  if (hour < dayFromHour) return { name: 'night', from: at(-1, nightFromHour), to: at(0, dayFromHour) }
  if (hour < nightFromHour) return { name: 'day', from: at(0, dayFromHour), to: at(0, nightFromHour) }
  return { name: 'night', from: at(0, nightFromHour), to: at(1, dayFromHour) }
}
