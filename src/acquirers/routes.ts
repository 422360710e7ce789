import { toWallTime } from '../lib/brasilia.ts'

export const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
export type Day = (typeof days)[number]

/** A route of the settings: the clients, amounts and times that it applies to, and the acquirers that it names. */
export type RouteSettings = {
  /** Ids of API clients; absent: all. */
  clients?: string[]
  /** In cents, both included. */
  minAmount?: number
  maxAmount?: number
  /**
   * The days on which the period from `from` to `to` begins. One that begins on Friday at 22:00 and ends at 06:00
   * includes the night to Saturday.
   */
  days?: Day[]
  /** `HH:MM` in São Paulo, `to` excluded. A `to` that is not after `from` is on the next day. */
  from?: string
  to?: string
  /**
   * The weight, divided by the sum of the weights, is the share of payments for which an acquirer is tried first. One
   * of weight 0 is never tried first, unless all have weight 0: then the first one is.
   */
  acquirers: { name: string; weight: number }[]
}

/** The charge or withdrawal that needs an acquirer. */
export type PaymentToRoute = { clientId: string; amount: number; now: Date }

/** The first route that fits, or null. */
export function findRoute(routes: readonly RouteSettings[], payment: PaymentToRoute): RouteSettings | null {
  return routes.find((route) => fits(route, payment)) ?? null
}

/**
 * The same members with the one drawn by weight first, and the others behind it in their order. The draw depends only
 * on the record's id (a UUID v4): a repeated request draws the same.
 */
export function drawFirst<Member extends { weight: number }>(members: readonly Member[], id: string): Member[] {
  const first = draw(members, id)
  return first ? [first, ...members.filter((member) => member !== first)] : []
}

function draw<Member extends { weight: number }>(members: readonly Member[], id: string): Member | undefined {
  const total = members.reduce((sum, { weight }) => sum + weight, 0)
  const point = fractionOf(id) * total
  let reached = 0
  for (const member of members) {
    reached += member.weight
    if (point < reached) return member
  }
  return members[0]
}

/** The last 12 of an id's hexadecimal digits, which are random, as a number in [0, 1). */
function fractionOf(id: string): number {
  return Number.parseInt(id.slice(-12), 16) / 2 ** 48
}

function fits(route: RouteSettings, { clientId, amount, now }: PaymentToRoute): boolean {
  if (route.clients && !route.clients.includes(clientId)) return false
  if (amount < (route.minAmount ?? 0) || amount > (route.maxAmount ?? Number.POSITIVE_INFINITY)) return false
  if (!route.days && route.from === undefined && route.to === undefined) return true
  return isWithin(route, toWall(now))
}

function isWithin({ days: named, from, to }: RouteSettings, wall: Wall): boolean {
  const [start, end] = [toMinutes(from ?? '00:00'), toMinutes(to ?? '24:00')]
  const isNamed = (day: number) => !named || named.includes(dayAt(day))
  if (start < end) return isNamed(wall.day) && wall.minute >= start && wall.minute < end
  return (isNamed(wall.day) && wall.minute >= start) || (isNamed(wall.day - 1) && wall.minute < end)
}

function dayAt(index: number): Day {
  return days[(index + 7) % 7] ?? 'sun'
}

function toMinutes(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return hours * 60 + minutes
}

/** The day of the week, Sunday is 0, and the minute of the day. */
type Wall = { day: number; minute: number }

function toWall(at: Date): Wall {
  const wall = toWallTime(at)
  return { day: wall.getUTCDay(), minute: wall.getUTCHours() * 60 + wall.getUTCMinutes() }
}
