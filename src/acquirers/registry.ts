import { assert } from '../lib/assert.ts'
import { type Acquirer, AcquirerUnavailable, NeedsPerson } from './acquirer.ts'
import { drawFirst, findRoute, type RouteSettings, type Sought } from './routes.ts'

export type Acquirers = {
  /**
   * Whom to ask for a charge, in this order: one by the weights of the route, then the route's others as they stand, and last those that did
   * not answer lately. All of them where no route fits. Never empty.
   */
  forCharge(sought: Sought & { id: string }): readonly Acquirer[]
  /**
   * Who is to send a withdrawal: one of the route that sends money out and holds enough, by its weights; else the first of all that does both; null
   * where none does. Whether it answers is not looked at: money that leaves goes no other way because of that.
   */
  forWithdrawal(sought: Sought & { id: string; holdsEnough: (name: string) => boolean }): Acquirer | null
  /** Whether any sends money out at all. */
  readonly hasPayouts: boolean
  get(name: string): Acquirer | undefined
  /** The one that a record names. Throws {@link AcquirerNotConfigured}. */
  named(name: string): Acquirer
  readonly all: readonly Acquirer[]
}

/** Without routes the first takes all charges, and the others stand in for it. */
export function createRegistry(acquirers: readonly Acquirer[], routes: readonly RouteSettings[] = []): Acquirers {
  const byName = new Map(acquirers.map((acquirer) => [acquirer.name, acquirer]))
  assert(acquirers.length > 0 && byName.size === acquirers.length, 'every acquirer has a name of its own')
  const routed = routes.flatMap((route) => route.acquirers)
  assert(
    routed.every(({ name }) => byName.has(name)),
    'a route names acquirers that there are',
  )
  const isAlone = acquirers.length === 1

  const hasPayouts = acquirers.some(({ payouts }) => payouts)
  return { forCharge, forWithdrawal, hasPayouts, get: (name) => byName.get(name), named, all: acquirers }

  function forCharge(sought: Sought & { id: string }): readonly Acquirer[] {
    if (isAlone) return acquirers
    const route = findRoute(routes, sought)
    const asked = route ? drawFirst(route.acquirers, sought.id).map(({ name }) => named(name)) : acquirers
    return [...asked.filter((one) => one.isAvailable()), ...asked.filter((one) => !one.isAvailable())]
  }

  function forWithdrawal({
    holdsEnough,
    ...sought
  }: Sought & { id: string; holdsEnough: (name: string) => boolean }): Acquirer | null {
    const routed = findRoute(routes, sought)?.acquirers ?? []
    const pays = ({ name, payouts }: Acquirer) => payouts !== null && holdsEnough(name)
    const [first] = drawFirst(
      routed.filter(({ name }) => pays(named(name))),
      sought.id,
    )
    return first ? named(first.name) : (acquirers.find(pays) ?? null)
  }

  function named(name: string): Acquirer {
    const acquirer = byName.get(name)
    if (acquirer) return acquirer
    throw new AcquirerNotConfigured(name)
  }
}

/** A record names an acquirer that the settings no longer do: unknown, for as long as it cannot be asked. */
export class AcquirerNotConfigured extends AcquirerUnavailable {
  constructor(name: string) {
    super(
      `The acquirer ${name} stands on records and is not configured: add it to the settings of acquirers again, in no route if it is to get no more charges`,
    )
    this.name = 'AcquirerNotConfigured'
  }
}

/** True of what passes by itself, and needs nobody to look: the acquirer did not answer. */
export function isOutage(error: unknown): error is AcquirerUnavailable {
  return (
    error instanceof AcquirerUnavailable && !(error instanceof AcquirerNotConfigured) && !(error instanceof NeedsPerson)
  )
}
