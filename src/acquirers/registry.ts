import { assert } from '../lib/assert.ts'
import type { Cell } from '../lib/cell.ts'
import { type Acquirer, AcquirerUnavailable, NeedsPerson, UnreadableAnswer } from './acquirer.ts'
import { drawFirst, findRoute, type PaymentToRoute, type RouteSettings } from './routes.ts'

export type Acquirers = {
  /**
   * The acquirers to try for a charge, in this order: one drawn by the weights of the route, then the route's others in
   * their order, and last those that did not answer lately. All acquirers where no route fits. Never empty.
   */
  forCharge(payment: PaymentToRoute & { id: string }): readonly Acquirer[]
  /** The acquirer that a static code of these charges pays, available or not: the code never expires. */
  forStaticCode(payment: PaymentToRoute & { id: string }): Acquirer
  /**
   * The acquirer that sends a withdrawal: one of the route that has payouts and enough balance, drawn by weight; else
   * the first of all acquirers with both; null where there is none. Its availability does not matter: a payout is not
   * rerouted because an acquirer does not answer.
   */
  forWithdrawal(payment: PaymentToRoute & { id: string; coversAmount: (name: string) => boolean }): Acquirer | null
  /** Whether any of them has payouts. */
  readonly hasPayouts: boolean
  get(name: string): Acquirer | undefined
  /** The acquirer that a record names. Throws {@link AcquirerNotConfigured}. */
  named(name: string): Acquirer
  readonly all: readonly Acquirer[]
  /** The cell of these accounts at PSPs: each account belongs to one cell only. Null: this installation is no cell. */
  readonly cell: Cell | null
}

/** Without routes the first acquirer gets all charges, and the others replace it when it does not answer. */
export function createRegistry(
  acquirers: readonly Acquirer[],
  routes: readonly RouteSettings[] = [],
  cell: Cell | null = null,
): Acquirers {
  const byName = new Map(acquirers.map((acquirer) => [acquirer.name, acquirer]))
  assert(acquirers.length > 0 && byName.size === acquirers.length, 'every acquirer has a name of its own')
  const routed = routes.flatMap((route) => route.acquirers)
  assert(
    routed.every(({ name }) => byName.has(name)),
    'a route names configured acquirers',
  )
  const isAlone = acquirers.length === 1

  const hasPayouts = acquirers.some(({ payouts }) => payouts)
  return {
    forCharge,
    forStaticCode,
    forWithdrawal,
    hasPayouts,
    get: (name) => byName.get(name),
    named,
    all: acquirers,
    cell,
  }

  function candidatesOf(payment: PaymentToRoute & { id: string }): readonly Acquirer[] {
    const route = findRoute(routes, payment)
    return route ? drawFirst(route.acquirers, payment.id).map(({ name }) => named(name)) : acquirers
  }

  function forStaticCode(payment: PaymentToRoute & { id: string }): Acquirer {
    const [acquirer] = candidatesOf(payment)
    assert(acquirer, 'a route has an acquirer')
    return acquirer
  }

  function forCharge(payment: PaymentToRoute & { id: string }): readonly Acquirer[] {
    if (isAlone) return acquirers
    const candidates = candidatesOf(payment)
    return [...candidates.filter((one) => one.isAvailable()), ...candidates.filter((one) => !one.isAvailable())]
  }

  function forWithdrawal({
    coversAmount,
    ...payment
  }: PaymentToRoute & { id: string; coversAmount: (name: string) => boolean }): Acquirer | null {
    const routed = findRoute(routes, payment)?.acquirers ?? []
    const pays = ({ name, payouts }: Acquirer) => payouts !== null && coversAmount(name)
    const [first] = drawFirst(
      routed.filter(({ name }) => pays(named(name))),
      payment.id,
    )
    return first ? named(first.name) : (acquirers.find(pays) ?? null)
  }

  function named(name: string): Acquirer {
    const acquirer = byName.get(name)
    if (acquirer) return acquirer
    throw new AcquirerNotConfigured(name)
  }
}

/** A record names an acquirer that is no longer configured: the outcome is unknown until it is configured again. */
export class AcquirerNotConfigured extends AcquirerUnavailable {
  readonly acquirer: string
  constructor(acquirer: string) {
    super(
      `The acquirer ${acquirer} is named by records but not configured: add it to the settings of acquirers again, in no route if it is to get no more charges`,
    )
    this.name = 'AcquirerNotConfigured'
    this.acquirer = acquirer
  }
}

/** True for an unknown outcome that usually ends without an operator's help, such as that of a time-out. */
export function isOutage(error: unknown): error is AcquirerUnavailable {
  const needsOperator = [AcquirerNotConfigured, NeedsPerson, UnreadableAnswer]
  return error instanceof AcquirerUnavailable && !needsOperator.some((each) => error instanceof each)
}
