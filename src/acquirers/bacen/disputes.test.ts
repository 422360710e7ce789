import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ControlOutcome } from '../../../simulator/control.ts'
import { returnAfterAcceptanceMs } from '../../../simulator/disputes.ts'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../../simulator/receiver-account.ts'
import { createEmptyDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../../../test/support/simulator.ts'
import { cents } from '../../lib/money.ts'
import type { Acquirer, DisputeFound, Disputes, Payouts } from '../acquirer.ts'
import { createBacenAcquirer } from './adapter.ts'

// What others do with our money: dispute it, take it back, send it back.
let database: TestDatabase
let simulator: TestSimulator
let acquirer: Acquirer
let disputes: Disputes
let payouts: Payouts
let next = 1

beforeAll(async () => {
  database = await createEmptyDatabase()
  simulator = await testSimulator(database.db.pool)
  acquirer = open({ payouts: true, disputes: true })
  if (!acquirer.disputes || !acquirer.payouts) throw new Error('there are both')
  disputes = acquirer.disputes
  payouts = acquirer.payouts
  await acquirer.registerCallback('http://127.0.0.1:3000/callbacks/simulator/secret')
})
afterAll(async () => {
  await simulator.close()
  await database.drop()
})
beforeEach(() => {
  simulator.clock.advance(86_400_000)
})

function open(offers: { payouts: boolean; disputes: boolean } | undefined): Acquirer {
  return createBacenAcquirer({
    name: 'simulator',
    send: simulator.handle,
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: false,
    clock: simulator.clock,
    ...(offers && { profile: { offers } }),
  })
}

const newId = () => txidOf(next++)
const paid = async () => {
  const outcome = await simulator.pay({ uri: await simulator.charge(newId(), '10.00') })
  if (!outcome.ok) throw new Error(outcome.message)
  return outcome.endToEndId
}
const idOf = (outcome: ControlOutcome) => {
  if (!outcome.ok) throw new Error(outcome.message)
  return outcome.id
}
const today = () => ({ from: new Date(simulator.clock.now().getTime() - 3_600_000), to: simulator.clock.now() })
const noticesOf = (endToEndId: string) =>
  simulator.callbacks.flatMap(({ body }) => acquirer.readCallback(body)).filter((one) => one.endToEndId === endToEndId)
const list = async (range = today()) => {
  const found: DisputeFound[] = []
  for await (const one of disputes.list(range)) found.push(one)
  return found
}

it('offers payouts and disputes only where the PSP has them', () => {
  expect(open(undefined)).toMatchObject({ payouts: null, disputes: null })
  expect(open({ payouts: true, disputes: false })).toMatchObject({ payouts: {}, disputes: null })
})

it('follows a dispute from its opening until the money is gone', async () => {
  const endToEndId = await paid()
  const reference = idOf(await simulator.openDispute({ endToEndId, amount: cents(700) }))
  const dispute = {
    reference,
    endToEndId,
    amount: 700,
    reason: 'golpe',
    state: 'open',
    status: 'ABERTA',
    openedAt: simulator.clock.now(),
    deadline: new Date(simulator.clock.now().getTime() + 7 * 86_400_000),
  }
  expect(await list()).toEqual([dispute])
  await simulator.decideDispute({ reference, decision: 'accept' })
  expect(await list()).toEqual([{ ...dispute, state: 'accepted', status: 'ACEITA' }])
  const returned = {
    id: expect.stringMatching(/^[\da-f]{32}$/),
    endToEndId: expect.stringMatching(/^D09089356/),
    amount: 700,
    nature: 'MED_FRAUDE',
  }
  expect(await acquirer.findPayment(endToEndId)).toMatchObject({ returns: [{ ...returned, isDone: false }] })
  simulator.clock.advance(returnAfterAcceptanceMs)
  expect(await list()).toEqual([{ ...dispute, state: 'accepted', status: 'ACEITA' }])
  const at = simulator.clock.now()
  expect(await acquirer.findPayment(endToEndId)).toMatchObject({
    amount: 1000,
    returns: [{ ...returned, isDone: true, at }],
  })
})

it.each([
  ['reject', 'rejected'],
  ['cancel', 'canceled'],
] as const)('reports that a dispute ended with %s', async (decision, state) => {
  const reference = idOf(await simulator.openDispute({ endToEndId: await paid() }))
  await simulator.decideDispute({ reference, decision })
  expect(await list()).toMatchObject([{ reference, state }])
})

it('lists more than one page of disputes', async () => {
  const payments = await Promise.all(Array.from({ length: 105 }, paid))
  const references = await Promise.all(
    payments.map(async (one) => idOf(await simulator.openDispute({ endToEndId: one }))),
  )
  const found = (await list()).map(({ reference }) => reference)
  expect(found.toSorted((a, b) => a.localeCompare(b))).toEqual(references.toSorted((a, b) => a.localeCompare(b)))
})

it('reads an unannounced return from a callback and from the payment', async () => {
  const endToEndId = await paid()
  const returnId = idOf(await simulator.returnUnannounced({ endToEndId }))
  expect(await acquirer.findPayment(endToEndId)).toMatchObject({
    returns: [{ endToEndId: returnId, amount: 1000, nature: 'MED_FRAUDE', isDone: true }],
  })
  await expect.poll(() => noticesOf(endToEndId)).toHaveLength(2)
  const notice = noticesOf(endToEndId).at(-1)
  expect(notice).toMatchObject({ endToEndId, payoutId: null })
  expect(notice?.eventKey).toMatch(new RegExp(`^${endToEndId}:[\\da-f]{32}:DEVOLVIDO$`))
  const refund = await acquirer.refund({ endToEndId, refundId: newId(), amount: cents(1) })
  expect(refund).toMatchObject({ outcome: 'refused' })
})

it('reads the total that a receiver sends back of a payout', async () => {
  const payoutId = newId()
  const pixKey = { key: 'maria@example.com', type: 'EMAIL' } as const
  const sent = await payouts.send({ payoutId, amount: cents(1000), pixKey })
  const endToEndId = sent.outcome === 'refused' ? null : sent.endToEndId
  if (!endToEndId) throw new Error('it was sent')
  expect(await payouts.find({ payoutId: payoutId })).not.toHaveProperty('returned')
  await expect.poll(() => noticesOf(endToEndId)).toHaveLength(1)
  const first = idOf(await simulator.returnPayout({ payoutId, amount: cents(300) }))
  const at = simulator.clock.now()
  expect(await payouts.find({ payoutId: payoutId })).toMatchObject({
    outcome: 'done',
    returned: { endToEndIds: [first], amount: 300, at },
  })
  simulator.clock.advance(1000)
  const second = idOf(await simulator.returnPayout({ payoutId }))
  expect(await payouts.find({ payoutId: payoutId })).toMatchObject({
    outcome: 'done',
    returned: { endToEndIds: [first, second], amount: 1000 },
  })
  expect(await simulator.returnPayout({ payoutId })).toMatchObject({ code: 'nothing_left' })
  const keys = () => new Set(noticesOf(endToEndId).map(({ eventKey }) => eventKey))
  const events = ['REALIZADO', `${first}:DEVOLVIDO`, `${second}:DEVOLVIDO`]
  await expect.poll(keys).toEqual(new Set(events.map((event) => `${endToEndId}:${event}`)))
  for (const one of noticesOf(endToEndId)) expect(one.payoutId).toBe(payoutId)
})
