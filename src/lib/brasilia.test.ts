import { describe, expect, it } from 'vitest'
import { dayBefore, dayOf, isDay, nextDay, windowOf } from './brasilia.ts'

const hours = ({ from, to }: { from: Date; to: Date }) => (to.getTime() - from.getTime()) / 3_600_000

describe('a day in Brasília time', () => {
  it('begins three hours after that of UTC', () => {
    expect(windowOf('2026-11-20')).toEqual({
      from: new Date('2026-11-20T03:00:00.000Z'),
      to: new Date('2026-11-21T03:00:00.000Z'),
    })
    expect(dayOf(new Date('2026-11-21T02:59:59.999Z'))).toBe('2026-11-20')
    expect(dayOf(new Date('2026-11-21T03:00:00.000Z'))).toBe('2026-11-21')
  })

  it('is one of the calendar, from the year 1000 on', () => {
    const days = ['2024-02-29', '2026-02-29', '2026-02-30', '2026-13-01', '1000-01-01', '0000-12-31', '2026-1-1']
    expect(days.filter(isDay)).toEqual(['2024-02-29', '1000-01-01'])
  })

  it('had 23 and 25 hours while there was daylight saving time, and begins where the one before ends', () => {
    // 2018-11-04 began at one o'clock, and 23:00 of 2018-02-17 came twice.
    expect(windowOf('2018-11-04').from).toEqual(new Date('2018-11-04T03:00:00.000Z'))
    expect(hours(windowOf('2018-11-04'))).toBe(23)
    expect(hours(windowOf('2018-02-17'))).toBe(25)
    for (let day = '2017-09-01'; day < '2019-04-01'; day = nextDay(day)) {
      const { from, to } = windowOf(day)
      expect([dayOf(from), dayOf(new Date(to.getTime() - 1))]).toEqual([day, day])
      expect(dayOf(new Date(from.getTime() - 1))).toBe(dayBefore(day))
    }
  })
})
