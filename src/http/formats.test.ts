import { Ajv } from 'ajv'
import { expect, it } from 'vitest'
import { addOurFormats } from './formats.ts'

it('accepts exactly the days of the calendar', () => {
  const ajv = new Ajv()
  addOurFormats(ajv)
  const accepts = ajv.compile({ type: 'string', format: 'iso-date' })
  const two = (number: number) => String(number).padStart(2, '0')
  let days = 0
  for (const year of ['0000', '0004', '0100', '1900', '1999', '2000', '2023', '2024', '2100', '2400', '9999']) {
    for (let month = 0; month <= 13; month += 1) {
      for (let day = 0; day <= 32; day += 1) {
        const text = `${year}-${two(month)}-${two(day)}`
        // Date reads a day that the month does not have as one of the next month, and a day above 31 as invalid.
        const isDay = new Date(`${text}T00:00:00Z`).getUTCDate() === day
        expect(accepts(text), text).toBe(isDay)
        if (isDay) days += 1
      }
    }
  }
  // 0000, 0004, 2000, 2024 and 2400 are leap years.
  expect(days).toBe(11 * 365 + 5)
  for (const text of [
    '',
    '2026-1-01',
    '2026-01-01T00:00:00Z',
    ' 2026-01-01',
    '2026-01-01\n',
    '+02026-01-01',
    '٢٠٢٦-01-01',
  ])
    expect(accepts(text), text).toBe(false)
})
