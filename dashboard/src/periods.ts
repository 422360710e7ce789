import type { useFilters } from './filters.ts'

export const periods = ['today', 'yesterday', 'last7', 'last30', 'month', 'lastMonth'] as const
export type PeriodName = (typeof periods)[number]

/** The days of a list, both included. A preset is relative to today, so a shared or saved one moves with the days. */
export function periodOf({ get }: Pick<ReturnType<typeof useFilters>, 'get'>): {
  from: string | undefined
  until: string | undefined
  preset: PeriodName | null
} {
  const preset = periods.find((name) => name === get('period')) ?? null
  if (preset === null) return { from: get('from') || undefined, until: get('until') || undefined, preset }
  return { ...daysOf(preset, todayInBrasilia()), preset }
}

export function daysOf(name: PeriodName, today: string): { from: string; until: string } {
  const [year = 0, month = 0] = today.split('-').map(Number)
  if (name === 'today') return { from: today, until: today }
  if (name === 'yesterday') return { from: shift(today, -1), until: shift(today, -1) }
  if (name === 'last7') return { from: shift(today, -6), until: today }
  if (name === 'last30') return { from: shift(today, -29), until: today }
  if (name === 'month') return { from: `${today.slice(0, 8)}01`, until: today }
  return { from: toDay(Date.UTC(year, month - 2, 1)), until: toDay(Date.UTC(year, month - 1, 0)) }
}

function todayInBrasilia(): string {
  // The format of Sweden is yyyy-mm-dd.
  return new Intl.DateTimeFormat('sv-SE', { timeZone: 'America/Sao_Paulo' }).format(new Date())
}

const shift = (day: string, days: number) => toDay(Date.parse(day) + days * 86_400_000)
const toDay = (time: number) => new Date(time).toISOString().slice(0, 10)
