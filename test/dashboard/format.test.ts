import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { formats } from '../../dashboard/src/format.ts'

const format = formats.en

describe('a size in bytes', () => {
  it.each([
    [1, '1 KB'],
    [80 * 1024, '80 KB'],
    [1023 * 1024, '1,023 KB'],
    [1_048_000, '1 MB'],
    [1024 * 1024, '1 MB'],
    [1.44 * 1024 * 1024, '1.4 MB'],
  ])('of %d is %s', (bytes, written) => expect(format.bytes(bytes)).toBe(written))
})

describe('a duration in milliseconds', () => {
  it.each([
    [849.6, '850 ms'],
    [999.4, '999 ms'],
    [999.6, '1 s'],
    [59_400, '59 s'],
    [59_600, '1 min 0 s'],
    [200_000, '3 min 20 s'],
    [3_599_600, '1 h 0 min'],
    [7_500_000, '2 h 5 min'],
    [100 * 3_600_000, '4 d 4 h'],
  ])('of %d is %s', (milliseconds, written) => expect(format.duration(milliseconds)).toBe(written))
})

describe('a time as the distance from now', () => {
  it.each([
    [59.4, 'in 59 seconds'],
    [59.7, 'in 1 minute'],
    [-59.7, '1 minute ago'],
    [59.4 * 60, 'in 59 minutes'],
    [59.7 * 60, 'in 1 hour'],
    [-2 * 3_600, '2 hours ago'],
    [23.7 * 3_600, 'in 24 hours'],
    [25 * 3_600, 'tomorrow'],
    [3 * 86_400, 'in 3 days'],
  ])('%d seconds away is %s', (seconds, written) => {
    setNow('2026-03-02T15:00:00Z')
    expect(format.fromNow(new Date(Date.now() + seconds * 1_000))).toBe(written)
  })

  it.each([
    ['2026-03-02T23:00:00Z', 28, 'in 2 days'],
    ['2026-03-02T23:00:00Z', 27.5, 'tomorrow'],
    ['2026-03-02T04:00:00Z', 46, 'tomorrow'],
    ['2026-03-02T04:00:00Z', -26, '2 days ago'],
    ['2026-03-03T02:00:00Z', -46, 'yesterday'],
  ])('counts the calendar days of Brasília: at %s, %d hours away is %s', (now, hours, written) => {
    setNow(now)
    expect(format.fromNow(new Date(Date.now() + hours * 3_600_000))).toBe(written)
  })
})

describe('a phone number', () => {
  it.each([
    ['+5511987654321', '(11) 98765-4321'],
    ['5511987654321', '(11) 98765-4321'],
    ['11 98765-4321', '(11) 98765-4321'],
    ['551132101234', '(11) 3210-1234'],
    ['55987654321', '(55) 98765-4321'],
    ['+12125551234', '+12125551234'],
    ['+55 987654321', '+55 987654321'],
    ['98765-4321', '98765-4321'],
  ])('%s is %s', (phone, written) => expect(format.phone(phone)).toBe(written))
})

it('writes a day in full', () => {
  expect(format.fullDate('2026-11-23')).toBe('Monday, 23 November 2026')
  expect(formats.pt.fullDate('2026-11-23')).toBe('segunda-feira, 23 de novembro de 2026')
})

function setNow(now: string): void {
  vi.useFakeTimers({ now: new Date(now), toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
}
