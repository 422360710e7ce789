import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { newUuid } from '../lib/secrets.ts'
import { drawFirst, findRoute, type RouteSettings } from './routes.ts'

const acquirers = [{ name: 'one', weight: 1 }]
const sought = { clientId: 'shop', amount: 1000, now: new Date('2026-03-02T15:00:00Z') }

/**
 * Whether a route fits at a time in São Paulo (UTC-3): `fri 22:30` in the first week of March 2026, which begins on a
 * Sunday.
 */
function fitsAt(route: Omit<RouteSettings, 'acquirers'>, moment: string): boolean {
  const [day = '', time = ''] = moment.split(' ')
  const date = 1 + ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'].indexOf(day)
  const now = new Date(`2026-03-0${date}T${time}:00-03:00`)
  return findRoute([{ ...route, acquirers }], { ...sought, now }) !== null
}

describe('a route', () => {
  it('is the first that fits', () => {
    const [first, next] = [{ acquirers, clients: ['another', 'shop'] }, { acquirers }]
    expect(findRoute([first, next], sought)).toBe(first)
    expect(findRoute([first, next], { ...sought, clientId: 'third' })).toBe(next)
    expect(findRoute([first], { ...sought, clientId: 'third' })).toBeNull()
    expect(findRoute([], sought)).toBeNull()
  })

  it.each([
    [{ minAmount: 1000 }, true],
    [{ minAmount: 1001 }, false],
    [{ maxAmount: 1000 }, true],
    [{ maxAmount: 999 }, false],
    [{ minAmount: 1000, maxAmount: 1000 }, true],
  ])('of amounts includes both bounds: %j', (bounds, isFit) => {
    expect(findRoute([{ ...bounds, acquirers }], sought) !== null).toBe(isFit)
  })

  it.each<[route: Omit<RouteSettings, 'acquirers'>, fits: string[], not: string[]]>([
    [{ days: ['mon'] }, ['mon 00:00', 'mon 23:59'], ['sun 23:59', 'tue 00:00']],
    [{ from: '08:00', to: '20:00' }, ['sun 08:00', 'sat 19:59'], ['sun 07:59', 'sat 20:00']],
    [{ from: '08:00' }, ['mon 08:00', 'mon 23:59'], ['mon 07:59', 'mon 00:00']],
    [{ to: '08:00' }, ['mon 00:00', 'mon 07:59'], ['mon 08:00', 'mon 23:59']],
    [{ from: '22:00', to: '06:00' }, ['mon 22:00', 'tue 00:00', 'tue 05:59'], ['mon 21:59', 'tue 06:00']],
    [
      { days: ['fri'], from: '22:00', to: '06:00' },
      ['fri 22:00', 'fri 23:59', 'sat 00:00', 'sat 05:59'],
      ['fri 00:00', 'fri 05:59', 'sat 06:00', 'sat 22:00'],
    ],
    [{ days: ['sat'], from: '22:00', to: '06:00' }, ['sat 22:00'], ['sun 06:00', 'sun 22:00', 'sat 00:00']],
    [{ days: ['sun', 'sat'], from: '08:00', to: '12:00' }, ['sun 08:00', 'sat 11:59'], ['fri 09:00', 'sun 12:00']],
    [{ days: ['wed'], from: '12:00', to: '12:00' }, ['wed 12:00', 'thu 11:59'], ['wed 11:59', 'thu 12:00']],
  ])(
    'with the times %j uses the time of São Paulo, and a range past midnight belongs to the day on which it begins',
    (route, fits, not) => {
      expect(fits.filter((moment) => !fitsAt(route, moment))).toEqual([])
      expect(not.filter((moment) => fitsAt(route, moment))).toEqual([])
    },
  )

  it('that begins on a Saturday night extends into the Sunday', () => {
    const route = { days: ['sat' as const], from: '22:00', to: '06:00', acquirers }
    expect(findRoute([route], { ...sought, now: new Date('2026-03-08T05:59:00-03:00') })).toBe(route)
  })
})

describe('the draw', () => {
  const members = [
    { name: 'one', weight: 70 },
    { name: 'two', weight: 25 },
    { name: 'none', weight: 0 },
    { name: 'three', weight: 5 },
  ]
  /** Ids as an idempotency key produces them. */
  const idOf = (number: number) => newUuid(createHash('sha256').update(String(number)).digest())

  it('follows the weights: each gets its share of 10,000 ids within 0.02, and none with weight 0', () => {
    const drawn = Array.from({ length: 10_000 }, (_, number) => drawFirst(members, idOf(number))[0]?.name)
    const share = (name: string) => drawn.filter((one) => one === name).length / 10_000
    for (const { name, weight } of members) expect(Math.abs(share(name) - weight / 100)).toBeLessThan(0.02)
    expect(share('none')).toBe(0)
  })

  it.each([
    ['00000000-0000-4000-8000-000000000000', 'one'],
    ['ffffffff-ffff-4fff-bfff-ffffffffffff', 'three'],
    ['00000000-0000-4000-8000-b33333333333', 'one'],
    ['00000000-0000-4000-8000-b33333333334', 'two'],
  ])('of %s is %s', (id, name) => {
    expect(drawFirst(members, id)[0]?.name).toBe(name)
  })

  it('keeps the order of the others, and of all where none has a weight', () => {
    const first = drawFirst(members, 'ffffffff-ffff-4fff-bfff-ffffffffffff')
    expect(first.map(({ name }) => name)).toEqual(['three', 'one', 'two', 'none'])
    const weightless = members.map((member) => ({ ...member, weight: 0 }))
    expect(drawFirst(weightless, idOf(1))).toEqual(weightless)
    expect(drawFirst([], idOf(1))).toEqual([])
  })
})
