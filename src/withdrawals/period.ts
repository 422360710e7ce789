/** Where a night is a night: the Pix rules count in the time of Brasília. */
const zone = 'America/Sao_Paulo'
/** The Central Bank's night, for which banks have limits of their own. */
const nightFromHour = 20
const dayFromHour = 6

/** A day or a night: limits count from its beginning. `to` is the first moment of the next one. */
export type Period = { name: 'day' | 'night'; from: Date; to: Date }

/** The day (06:00 to 20:00 in São Paulo) or the night (20:00 to 06:00 of the next date: one night, not two) of a moment. */
export function periodOf(now: Date): Period {
  const wall = toWall(now)
  const at = (days: number, hour: number) =>
    fromWall(Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate() + days, hour))
  const hour = wall.getUTCHours()
  if (hour < dayFromHour) return { name: 'night', from: at(-1, nightFromHour), to: at(0, dayFromHour) }
  if (hour < nightFromHour) return { name: 'day', from: at(0, dayFromHour), to: at(0, nightFromHour) }
  return { name: 'night', from: at(0, nightFromHour), to: at(1, dayFromHour) }
}

const format = new Intl.DateTimeFormat('en-US', {
  timeZone: zone,
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
})

/** What a clock on the wall shows there, as if it were UTC. */
function toWall(at: Date): Date {
  const shown = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const part = (type: Intl.DateTimeFormatPartTypes) => shown.get(type) ?? 0
  return new Date(Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')))
}

/** The other way. In two steps, because the offset is known for a moment only; Brazil has had no summer time since 2019. */
function fromWall(wallMs: number): Date {
  const offset = (at: number) => toWall(new Date(at)).getTime() - at
  const guess = wallMs - offset(wallMs)
  return new Date(wallMs - offset(guess))
}
