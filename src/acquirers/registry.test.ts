import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { receiverAccount } from '../../simulator/receiver-account.ts'
import { type Acquirer, AcquirerUnavailable, NeedsPerson, TooManyRequests, UnreadableAnswer } from './acquirer.ts'
import { createBacenAcquirer } from './bacen/adapter.ts'
import { AcquirerNotConfigured, createRegistry, isOutage } from './registry.ts'
import type { RouteSettings } from './routes.ts'

/** `isAvailable` as the breaker of a remote acquirer reports it. */
function acquirer(
  name: string,
  { payouts = false, isAvailable = () => true }: { payouts?: boolean; isAvailable?: () => boolean } = {},
): Acquirer {
  const made = createBacenAcquirer({
    name,
    send: async () => ({ status: 503, headers: {}, body: '' }),
    credentials: { clientId: '', clientSecret: '' },
    chave: '',
    receiver: receiverAccount,
    isRemote: true,
    profile: { offers: { payouts, disputes: false } },
  })
  return { ...made, isAvailable }
}

const sought = { clientId: 'a-client', amount: 1000, now: new Date('2026-03-02T15:00:00Z'), id: randomUUID() }
const namesOf = (acquirers: readonly Acquirer[]) => acquirers.map(({ name }) => name)
const to = (...names: string[]): RouteSettings => ({ acquirers: names.map((name) => ({ name, weight: 1 })) })

it('finds every acquirer by name, and says what to do about one that is no longer configured', () => {
  const first = acquirer('first')
  const acquirers = createRegistry([first, acquirer('second')])
  expect(acquirers.get('first')).toBe(first)
  expect(acquirers.named('first')).toBe(first)
  expect(acquirers.get('third')).toBeUndefined()
  expect(() => acquirers.named('third')).toThrow(AcquirerUnavailable)
  expect(() => acquirers.named('third')).toThrow(
    'acquirer third is named by records but not configured: add it to the settings',
  )
})

it('a registry cannot be created without acquirers, with two of one name, or with a route to an unknown one', () => {
  expect(() => createRegistry([])).toThrow()
  expect(() => createRegistry([acquirer('first'), acquirer('first')])).toThrow()
  expect(() => createRegistry([acquirer('first')], [to('second')])).toThrow()
})

it('tries all acquirers in their order where no route fits', () => {
  const all = [acquirer('first'), acquirer('second')]
  expect(namesOf(createRegistry(all).forCharge(sought))).toEqual(['first', 'second'])
  const others = createRegistry(all, [{ ...to('second'), clients: ['another'] }])
  expect(namesOf(others.forCharge(sought))).toEqual(['first', 'second'])
})

it('tries only those of the route, and those that did not answer lately last', () => {
  const down = new Set<string>()
  const all = ['first', 'second', 'third', 'fourth'].map((name) =>
    acquirer(name, { isAvailable: () => !down.has(name) }),
  )
  const { forCharge, forStaticCode } = createRegistry(all, [
    {
      acquirers: [
        { name: 'third', weight: 1 },
        ...to('second', 'first').acquirers.map((one) => ({ ...one, weight: 0 })),
      ],
    },
  ])
  expect(namesOf(forCharge(sought))).toEqual(['third', 'second', 'first'])
  down.add('third')
  expect(namesOf(forCharge(sought))).toEqual(['second', 'first', 'third'])
  // A printed code pays the same account for ever.
  expect(forStaticCode(sought).name).toBe('third')
  down.add('second').add('first')
  expect(namesOf(forCharge(sought))).toEqual(['third', 'second', 'first'])
})

it('always tries the same acquirer first for one id', () => {
  const all = [acquirer('first'), acquirer('second'), acquirer('third')]
  const [one, other] = [createRegistry(all, [to('first', 'second')]), createRegistry(all, [to('first', 'second')])]
  for (let count = 0; count < 100; count++) {
    const id = randomUUID()
    expect(namesOf(one.forCharge({ ...sought, id }))).toEqual(namesOf(other.forCharge({ ...sought, id })))
  }
})

it('sends money by one of the route that has payouts, available or not; else by the first that has them', () => {
  const all = [
    acquirer('charges-only'),
    acquirer('first', { payouts: true, isAvailable: () => false }),
    acquirer('second', { payouts: true }),
  ]
  const requested = { ...sought, coversAmount: () => true }
  const nameOf = (routes: RouteSettings[]) => createRegistry(all, routes).forWithdrawal(requested)?.name
  expect(nameOf([])).toBe('first')
  expect(nameOf([to('charges-only', 'second')])).toBe('second')
  expect(nameOf([to('charges-only', 'first')])).toBe('first')
  expect(nameOf([to('charges-only')])).toBe('first')
  expect(createRegistry([acquirer('charges-only')]).forWithdrawal(requested)).toBeNull()
})

it('sends money only by one with enough balance', () => {
  const all = [acquirer('first', { payouts: true }), acquirer('second', { payouts: true })]
  const nameOf = (routes: RouteSettings[], ...holding: string[]) =>
    createRegistry(all, routes).forWithdrawal({ ...sought, coversAmount: (name) => holding.includes(name) })?.name
  expect(nameOf([], 'first', 'second')).toBe('first')
  expect(nameOf([], 'second')).toBe('second')
  expect(nameOf([to('first')], 'second')).toBe('second')
  expect(nameOf([to('first', 'second')], 'second')).toBe('second')
  expect(nameOf([])).toBeUndefined()
})

it('takes an unknown outcome for an outage, unless an operator has to act', () => {
  expect([new AcquirerUnavailable('x'), new TooManyRequests('x')].map(isOutage)).toEqual([true, true])
  const others = [new AcquirerNotConfigured('x'), new NeedsPerson('x'), new UnreadableAnswer('x'), new Error('x')]
  expect(others.map(isOutage)).toEqual([false, false, false, false])
})
