import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { receiverAccount } from '../../simulator/receiver-account.ts'
import { manualClock } from '../../test/support/clock.ts'
import { cents } from '../lib/money.ts'
import { toTxid } from '../pix/ids.ts'
import { type Acquirer, AcquirerUnavailable, type PayableCharge, type Payment } from './acquirer.ts'
import { toCallbackAccess } from './callbacks.ts'
import { type Exchange, type Observed, recordExchanges } from './record.ts'

const clock = manualClock()
const at = clock.now()
const ourId = randomUUID()
const txid = toTxid(ourId)
const charge: PayableCharge = {
  txid,
  amount: cents(100),
  uri: 'code',
  createdAt: at,
  expiresAt: at,
  status: 'active',
  payments: [],
}
const payment: Payment = { endToEndId: 'E1', txid, amount: cents(100), paidAt: at, payer: null, returns: [], fee: null }
const chargeInput = { txid, amount: cents(100), expiresInSeconds: 60 }
const processing = { outcome: 'processing' as const, endToEndId: null }

const answering: Acquirer = {
  name: 'a PSP',
  isRemote: true,
  receiver: receiverAccount,
  chargeKey: 'key',
  isAvailable: () => true,
  isPausing: () => false,
  certificate: null,
  fees: { payment: null, payout: null },
  callbacks: toCallbackAccess(),
  createCharge: async () => ({ outcome: 'created', charge }),
  removeCharge: async () => ({ outcome: 'done' }),
  findCharge: async () => null,
  findPayment: async () => payment,
  async *listPayments() {
    yield payment
  },
  refund: async () => ({ outcome: 'refused', reason: 'João has closed his account' }),
  findRefund: async () => null,
  payouts: {
    prepare: null,
    send: async () => processing,
    find: async () => ({ ...processing }),
    reportsReturns: false,
    list: null,
  },
  disputes: null,
  readBalance: null,
  registerCallback: async () => {},
  readCallback: () => [],
}

function recorded(answers: Partial<Acquirer> = {}): { acquirer: Acquirer; written: Exchange[]; observed: Observed[] } {
  const [written, observed]: [Exchange[], Observed[]] = [[], []]
  const acquirer = recordExchanges(
    { ...answering, ...answers },
    { write: (exchange) => written.push(exchange), observe: (request) => observed.push(request), clock },
  )
  return { acquirer, written, observed }
}

const inShort = (written: Exchange[]) =>
  written.map(({ operation, recordId: id, outcome, error }) => [operation, id, outcome, error])

it('passes answers on unchanged, and records each, except that a charge was created', async () => {
  const { acquirer, written } = recorded()
  const refund = { endToEndId: 'E1', refundId: ourId, amount: cents(100) }
  expect(await acquirer.createCharge(chargeInput)).toEqual({ outcome: 'created', charge })
  expect(await acquirer.findCharge(txid)).toBeNull()
  expect(await acquirer.removeCharge(txid)).toEqual({ outcome: 'done' })
  expect(await acquirer.findPayment('E1')).toBe(payment)
  expect(await acquirer.refund(refund)).toMatchObject({ outcome: 'refused' })
  expect(await acquirer.findRefund(refund)).toBeNull()
  const pixKey = { key: 'a@example.com', type: 'EMAIL' as const }
  expect(await acquirer.payouts?.send({ payoutId: txid, amount: cents(100), pixKey })).toBe(processing)
  expect(await acquirer.payouts?.find({ payoutId: ourId })).toEqual(processing)
  expect(inShort(written)).toEqual([
    ['findCharge', ourId, 'nothing', null],
    ['removeCharge', ourId, 'done', null],
    ['findPayment', null, 'found', null],
    ['refund', ourId, 'refused', null],
    ['findRefund', ourId, 'nothing', null],
    ['sendPayout', ourId, 'processing', null],
    ['findPayout', ourId, 'processing', null],
  ])
  expect(written[2]).toMatchObject({ acquirer: 'a PSP', endToEndId: 'E1', at })
})

it('records no text that the acquirer wrote, and no Pix key', async () => {
  const { acquirer, written } = recorded({
    findCharge: async () => {
      throw new AcquirerUnavailable('The acquirer refused the query: João has closed his account')
    },
  })
  await acquirer.refund({ endToEndId: 'E1', refundId: ourId, amount: cents(100) })
  await acquirer.payouts?.send({ payoutId: ourId, amount: cents(1), pixKey: { key: 'joao@b.c', type: 'EMAIL' } })
  await expect(acquirer.findCharge(txid)).rejects.toThrow()
  expect(written).toHaveLength(3)
  expect(JSON.stringify(written)).not.toMatch(/João|joao/)
})

it.each([
  [new AcquirerUnavailable('The acquirer answered 503'), 'unknown', 'AcquirerUnavailable 503'],
  [new AcquirerUnavailable('The acquirer did not answer in time'), 'unknown', 'AcquirerUnavailable'],
  [
    new AcquirerUnavailable('…', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) }),
    'unknown',
    'AcquirerUnavailable ECONNREFUSED',
  ],
  [new TypeError('x'), 'error', 'TypeError'],
])('records %s by name and throws it on', async (thrown, outcome, error) => {
  const { acquirer, written } = recorded({
    createCharge: async () => {
      throw thrown
    },
    async *listPayments() {
      yield payment
      throw thrown
    },
  })
  await expect(acquirer.createCharge(chargeInput)).rejects.toBe(thrown)
  const payments = acquirer.listPayments({ from: at, to: at })[Symbol.asyncIterator]()
  expect(await payments.next()).toEqual({ done: false, value: payment })
  await expect(payments.next()).rejects.toBe(thrown)
  expect(inShort(written)).toEqual([
    ['createCharge', ourId, outcome, error],
    ['listPayments', null, outcome, error],
  ])
})

it('does not record a list that succeeds, but counts it in the metrics once, even when its reader stops early', async () => {
  const { acquirer, written, observed } = recorded()
  const range = { from: at, to: at }
  const outcomes = () => observed.map(({ operation, outcome }) => `${operation} ${outcome}`)
  for await (const found of acquirer.listPayments(range)) expect(found).toBe(payment)
  expect(outcomes()).toEqual(['listPayments listed'])
  for await (const found of acquirer.listPayments(range)) {
    expect(found).toBe(payment)
    break
  }
  expect(outcomes()).toEqual(Array(2).fill('listPayments listed'))
  expect(written).toEqual([])
})
