import { expect, it } from 'vitest'
import { findBrokenGuarantees, type Observation } from './observation.ts'

/** All guarantees kept: one paid transaction with a repeated delivery, and one unpaid. */
const kept: Observation = {
  acknowledged: [
    { key: 'one', id: 'a', amount: 100, uri: 'code a' },
    { key: 'one', id: 'a', amount: 100, uri: 'code a' },
    { key: 'two', id: 'b', amount: 200, uri: 'code b' },
  ],
  paid: [{ id: 'a', endToEndId: 'E1' }],
  deliveries: [
    { recordId: 'a', eventId: '1', type: 'transaction.pix_qrcode_generated', sequence: 1 },
    { recordId: 'b', eventId: '3', type: 'transaction.pix_qrcode_generated', sequence: 1 },
    { recordId: 'a', eventId: '1', type: 'transaction.pix_qrcode_generated', sequence: 1 },
    { recordId: 'a', eventId: '2', type: 'transaction.paid', sequence: 2 },
    { recordId: 'a', eventId: '2', type: 'transaction.paid', sequence: 2 },
  ],
  found: [
    {
      id: 'a',
      externalCode: 'one',
      amount: 100,
      amountPaid: 100,
      endToEnd: 'E1',
      status: 'PAID',
      statusHistory: [{ status: 'PENDING' }, { status: 'PIX_QRCODE_GENERATED' }, { status: 'PAID' }],
      pixResponse: { uri: 'code a' },
    },
    {
      id: 'b',
      externalCode: 'two',
      amount: 200,
      status: 'PIX_QRCODE_GENERATED',
      statusHistory: [{ status: 'PENDING' }, { status: 'PIX_QRCODE_GENERATED' }],
      pixResponse: { uri: 'code b' },
    },
  ],
}

it('finds nothing when every guarantee was kept', () => {
  expect(findBrokenGuarantees(kept)).toEqual([])
})

const faults: [string, (changed: Observation) => void, string][] = [
  ['a transaction that was acknowledged and is gone', ({ found }) => found.pop(), 'b was acknowledged and is lost'],
  ['another amount', ({ found }) => set(found[1], { amount: 1 }), 'b is not as it was acknowledged'],
  ['another code', ({ found }) => set(found[1], { pixResponse: { uri: 'x' } }), 'b is not as it was acknowledged'],
  ['two answers to one key', ({ acknowledged }) => set(acknowledged[1], { id: 'b' }), 'one made 2 transactions'],
  [
    'a second transaction of one key that nobody received',
    ({ found }) => found.push({ ...twin, id: 'c' }),
    'two made 2 transactions',
  ],
  [
    'a payment that is not posted',
    ({ found }) => set(found[0], { status: 'PIX_QRCODE_GENERATED' }),
    'a was paid, is PIX',
  ],
  [
    'a payment that is posted twice',
    ({ found }) => found[0]?.statusHistory.push({ status: 'PAID' }),
    'a was paid, is PAID, PAID 2 times',
  ],
  ['a payment that is another one', ({ paid }) => set(paid[0], { endToEndId: 'E2' }), 'a was paid by another payment'],
  ['a payment that nobody made', ({ paid }) => paid.pop(), 'a is PAID and nobody paid it'],
  [
    'an event that was dropped',
    ({ deliveries }) => deliveries.splice(1, 1),
    'b: transaction.pix_qrcode_generated was never',
  ],
  [
    'a last event that was dropped',
    ({ deliveries }) => deliveries.splice(3, 2),
    'a: transaction.paid was never delivered',
  ],
  ['events out of order', ({ deliveries }) => deliveries.reverse(), 'a: delivered out of order'],
  [
    'one change sent as two events',
    ({ deliveries }) => set(deliveries[4], { eventId: '9' }),
    'a: one change is two events',
  ],
  [
    'an event of a change that never happened',
    ({ deliveries }) => deliveries.push({ recordId: 'b', eventId: '8', type: 'transaction.paid', sequence: 2 }),
    'b: more was delivered than happened',
  ],
  [
    'an event of a transaction that does not exist',
    ({ deliveries }) => deliveries.push({ recordId: 'c', eventId: '8', type: 'transaction.paid', sequence: 1 }),
    'c was delivered and does not exist',
  ],
]

it.each(faults)('detects %s', (_, change, fault) => {
  const changed = structuredClone(kept)
  change(changed)
  expect(findBrokenGuarantees(changed).join('\n')).toContain(fault)
})

const twin = structuredClone(kept.found[1]) as Observation['found'][number]

function set(target: object | undefined, members: object): void {
  Object.assign(target ?? {}, members)
}
