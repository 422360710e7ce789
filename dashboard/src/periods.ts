import { lastDayOf, parseDay, shiftDay, shiftMonth, todayInBrasilia } from './days.ts'
import type { useFilters } from './filters.ts'

export const periods = ['today', 'yesterday', 'last7', 'last30', 'month', 'lastMonth'] as const
export type PeriodName = (typeof periods)[number]

/**
 * The first and the last day that a list shows, both included. A preset, such as the last 7 days, is relative to today:
 * an address with a preset that is shared or saved shows other days tomorrow.
 */
export function periodOf({ get }: Pick<ReturnType<typeof useFilters>, 'get'>): {
  from: string | undefined
  until: string | undefined
  preset: PeriodName | null
} {
  const preset = periods.find((name) => name === get('period')) ?? null
  if (preset === null) return { from: toDay(get('from')), until: toDay(get('until')), preset }
  return { ...daysOf(preset, todayInBrasilia()), preset }
}

/** Undefined if the text from the address is not a valid day. */
function toDay(text: string): string | undefined {
  return /^\d{4}-\d\d-\d\d$/.test(text) && parseDay(text) === text ? text : undefined
}

export function daysOf(name: PeriodName, today: string): { from: string; until: string } {
  if (name === 'today') return { from: today, until: today }
  if (name === 'yesterday') return { from: shiftDay(today, -1), until: shiftDay(today, -1) }
  if (name === 'last7') return { from: shiftDay(today, -6), until: today }
  if (name === 'last30') return { from: shiftDay(today, -29), until: today }
  if (name === 'month') return { from: `${today.slice(0, 7)}-01`, until: today }
  const before = shiftMonth(today.slice(0, 7), -1)
  return { from: `${before}-01`, until: lastDayOf(before) }
}
