import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromTxid, isEndToEndId, newEndToEndId, newReturnId, toTxid } from './ids.ts'

const at = new Date('2026-08-07T23:59:58.999Z')

describe('toTxid and fromTxid', () => {
  it('convert a UUID in both directions', () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        expect(toTxid(uuid)).toMatch(/^[a-z0-9]{32}$/)
        expect(fromTxid(toTxid(uuid))).toBe(uuid)
        expect(fromTxid(toTxid(uuid).toUpperCase())).toBe(uuid)
      }),
    )
  })

  it('make one txid of both cases of a UUID', () => {
    expect(toTxid('123E4567-E12B-12D1-A456-426655440000')).toBe('123e4567e12b12d1a456426655440000')
  })

  it.each([
    '',
    '***',
    '123e4567e12b12d1a45642665544000',
    '123e4567e12b12d1a4564266554400000',
    'RP12345678-2019',
    'g'.repeat(32),
  ])('know that %j is none of ours', (txid) => {
    expect(fromTxid(txid)).toBeNull()
  })
})

describe('newEndToEndId and newReturnId', () => {
  it('contain the institution and the minute in UTC', () => {
    expect(newEndToEndId({ ispb: '09089356', at })).toMatch(/^E09089356202608072359[A-Za-z0-9]{11}$/)
    expect(newReturnId({ ispb: '12ABC345', at })).toMatch(/^D12ABC345202608072359[A-Za-z0-9]{11}$/)
  })

  it('never repeat, and use every letter and digit about equally', () => {
    const ids = Array.from({ length: 5000 }, () => newEndToEndId({ ispb: '09089356', at }))
    expect(new Set(ids).size).toBe(ids.length)
    const counts = new Map<string, number>()
    for (const id of ids) for (const letter of id.slice(21)) counts.set(letter, (counts.get(letter) ?? 0) + 1)
    expect(counts.size).toBe(62)
    // 887 expected, standard deviation 30: the margin is eight standard deviations.
    for (const count of counts.values()) expect(Math.abs(count - 887)).toBeLessThan(240)
  })

  it.each(['', '0908935', '090893567', '0908935x', '09.89356'])('refuse the ISPB %j', (ispb) => {
    expect(() => newEndToEndId({ ispb, at })).toThrow('ISPB')
  })
})

describe('isEndToEndId', () => {
  it('accepts what newEndToEndId creates, and not what newReturnId creates', () => {
    const dates = fc.date({ min: new Date('2020-11-16'), max: new Date('9999-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(dates, fc.stringMatching(/^[0-9A-Z]{8}$/), (date, ispb) => {
        expect(isEndToEndId(newEndToEndId({ ispb, at: date }))).toBe(true)
        expect(isEndToEndId(newReturnId({ ispb, at: date }))).toBe(false)
      }),
    )
  })

  it.each([
    ['a small letter in front', 'e09089356202608072359abcdefghijk'],
    ['a month 13', 'E09089356202613072359abcdefghijk'],
    ['a 30th of February', 'E09089356202602302359abcdefghijk'],
    ['an hour 24', 'E09089356202608072459abcdefghijk'],
    ['a minute 60', 'E09089356202608072360abcdefghijk'],
    ['a hyphen', 'E09089356202608072359abcde-ghijk'],
    ['31 characters', 'E09089356202608072359abcdefghij'],
    ['33 characters', 'E09089356202608072359abcdefghijkl'],
    ['a line break', 'E09089356202608072359abcdefghijk\n'],
    ['nothing', ''],
  ])('refuses %s', (_, text) => {
    expect(isEndToEndId(text)).toBe(false)
  })
})
