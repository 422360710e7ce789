import { expect, it } from 'vitest'
import { periodOf } from './limits.ts'

const show = (now: string) => {
  const { name, from, to } = periodOf(new Date(now))
  return `${name} ${from.toISOString()} ${to.toISOString()}`
}

it.each([
  // São Paulo is three hours behind UTC.
  ['the last moment of a night', '2026-03-02T08:59:59.999Z', 'night 2026-03-01T23:00:00.000Z 2026-03-02T09:00:00.000Z'],
  ['the first moment of a day', '2026-03-02T09:00:00.000Z', 'day 2026-03-02T09:00:00.000Z 2026-03-02T23:00:00.000Z'],
  ['the last moment of a day', '2026-03-02T22:59:59.999Z', 'day 2026-03-02T09:00:00.000Z 2026-03-02T23:00:00.000Z'],
  [
    'the first moment of a night',
    '2026-03-02T23:00:00.000Z',
    'night 2026-03-02T23:00:00.000Z 2026-03-03T09:00:00.000Z',
  ],
  [
    'the same night after midnight in São Paulo',
    '2026-03-03T03:00:00.000Z',
    'night 2026-03-02T23:00:00.000Z 2026-03-03T09:00:00.000Z',
  ],
  [
    'a night over the end of a year',
    '2027-01-01T02:30:00.000Z',
    'night 2026-12-31T23:00:00.000Z 2027-01-01T09:00:00.000Z',
  ],
  ['a leap day', '2028-02-29T12:00:00.000Z', 'day 2028-02-29T09:00:00.000Z 2028-02-29T23:00:00.000Z'],
  // Two hours behind UTC during summer time; and the night in which it started.
  ['a day in summer time', '2018-12-01T12:00:00.000Z', 'day 2018-12-01T08:00:00.000Z 2018-12-01T22:00:00.000Z'],
  ['a night of 9 hours', '2018-11-04T04:00:00.000Z', 'night 2018-11-03T23:00:00.000Z 2018-11-04T08:00:00.000Z'],
])('knows %s', (_, now, period) => {
  expect(show(now)).toBe(period)
})
