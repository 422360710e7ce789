import { expect, it } from 'vitest'
import {
  dayEnd,
  dayStart,
  minuteInBrasilia,
  parseDay,
  parseTime,
  shiftDayByMonths,
  writeDay,
} from '../../dashboard/src/days.ts'
import { daysOf } from '../../dashboard/src/periods.ts'

it.each([
  ...['23/11/2026', '23.11.26', '23-11-2026', '23 11 2026', '23112026', '2026-11-23', ' 23/11 '],
  ...['23 Nov 2026', '23 november 2026', '23rd Nov', 'Nov 23, 2026', '23 nov. 2026', '23 de novembro de 2026'],
])('reads the day %j', (text) => {
  expect(parseDay(text, '2026-01-31')).toBe('2026-11-23')
})

it.each(['', '23', '31/11/2026', '29/02/2027', '11/23/2026', '0/1/2026', '23 abc 2026', '23/11/0026', 'tomorrow'])(
  'reads no day in %j',
  (text) => {
    expect(parseDay(text, '2026-01-31')).toBeNull()
  },
)

it('writes a day of each month so that it can be read again, in both languages', () => {
  expect(writeDay('2026-09-03', 'pt')).toBe('03/09/2026')
  expect(writeDay('2026-11-23', 'en')).toBe('23 Nov 2026')
  for (let month = 1; month <= 12; month++) {
    const day = `2026-${String(month).padStart(2, '0')}-09`
    for (const language of ['en', 'pt'] as const) expect(parseDay(writeDay(day, language))).toBe(day)
  }
})

it('reads a time of day', () => {
  expect(['9:05', '0905', '9h05', '09.05'].map(parseTime)).toEqual(Array(4).fill('09:05'))
  expect(['14h', '7', '24:00', '12:60', '', 'noon'].map(parseTime)).toEqual(['14:00', '07:00', null, null, null, null])
})

it('keeps to the end of a shorter month', () => {
  expect(shiftDayByMonths('2026-03-31', -1)).toBe('2026-02-28')
  expect(shiftDayByMonths('2024-02-29', 12)).toBe('2025-02-28')
  expect(daysOf('lastMonth', '2026-03-31')).toEqual({ from: '2026-02-01', until: '2026-02-28' })
  expect(daysOf('last7', '2026-01-03')).toEqual({ from: '2025-12-28', until: '2026-01-03' })
})

it('knows when a day of Brasília begins and ends, also in its former daylight saving time', () => {
  expect([dayStart('2026-11-20'), dayEnd('2026-11-20')]).toEqual([
    '2026-11-20T00:00:00.000-03:00',
    '2026-11-20T23:59:59.999-03:00',
  ])
  expect(dayStart('2018-12-20')).toBe('2018-12-20T00:00:00.000-02:00')
  expect([dayStart(''), dayEnd('tomorrow'), dayEnd('2026-02-30')]).toEqual([undefined, undefined, undefined])
})

it('shows the minute in Brasília', () => {
  expect(minuteInBrasilia(new Date('2026-11-20T02:05:59Z'))).toBe('2026-11-19T23:05')
})
