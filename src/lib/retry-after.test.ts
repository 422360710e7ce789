import { describe, expect, it } from 'vitest'
import { readRetryAfter } from './retry-after.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
const day = 24 * 60 * 60 * 1000

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    [' 7 ', 7_000],
    ['Mon, 02 Mar 2026 15:10:00 GMT', 600_000],
    ['Monday, 02-Mar-26 15:10:00 GMT', 600_000],
    ['Mon Mar  2 15:10:00 2026', 600_000],
    ['999999', day],
    ['999999999999999', day],
    ['Mon, 02 Mar 2099 15:10:00 GMT', day],
  ])('reads %j', (header, ms) => expect(readRetryAfter(header, now)).toBe(ms))

  it.each([undefined, '', '0', '-5', '1.5', 'soon', 'Mon, nonsense', 'Mon, 02 Mar 2026 14:00:00 GMT'])(
    'ignores %j',
    (header) => expect(readRetryAfter(header, now)).toBeNull(),
  )
})
