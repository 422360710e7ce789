import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Disturbance } from '../../../simulator/disturb.ts'
import { latePayoutAmount, refusedPayoutAmount, slowPayoutAmount } from '../../../simulator/payouts.ts'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../../simulator/receiver-account.ts'
import {
  lateReturnAmount,
  refusedReturnAmount,
  rejectedReturnAmount,
  slowReturnAmount,
} from '../../../simulator/returns.ts'
import { startSimulatorServer } from '../../../simulator/server.ts'
import { slowMs } from '../../../simulator/settlement.ts'
import { listCodes, rejectedPayoutAmounts } from '../../../simulator/spi-codes.ts'
import { createEmptyDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../../../test/support/simulator.ts'
import { cents } from '../../lib/money.ts'
import { type Acquirer, AcquirerUnavailable, type Payouts } from '../acquirer.ts'
import { createBacenAcquirer } from './adapter.ts'
import { createHttpSend, type Send } from './http.ts'
import { rejections } from './spi-codes.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(() => database.drop())

let next = 1
const newId = () => txidOf(next++)
const pixKey = { key: '52998224725', type: 'CPF' } as const

type Transport = { send: Send; close: () => Promise<void> }

async function inProcess(simulator: TestSimulator): Promise<Transport> {
  return { send: (request) => simulator.handle(request), close: async () => {} }
}

async function overHttp(simulator: TestSimulator): Promise<Transport> {
  const server = await startSimulatorServer({ simulator, host: '127.0.0.1', port: 0 })
  const http = createHttpSend({ baseUrl: server.url })
  const close = async () => {
    await http.close()
    await server.close()
  }
  return { send: http.send, close }
}

describe.each([
  ['in process', inProcess],
  ['over HTTP', overHttp],
])('the simulator %s', (_, open) => {
  let simulator: TestSimulator
  let acquirer: Acquirer
  /** For answers that are deliberately late. */
  let impatient: Acquirer
  let payouts: Payouts
  let transport: Transport
  let disturbances: Disturbance[]

  beforeEach(async () => {
    disturbances = []
    simulator = await testSimulator(database.db.pool, {
      disturb: ({ method }) => (method === 'PUT' ? (disturbances.shift() ?? 'none') : 'none'),
    })
    transport = await open(simulator)
    const openFor = (timeoutMs: number) =>
      createBacenAcquirer({
        name: 'simulator',
        send: transport.send,
        credentials: simulatorCredentials,
        chave: receiverKey,
        receiver: receiverAccount,
        isRemote: false,
        profile: { offers: { payouts: true, disputes: true } },
        timeoutMs,
        clock: simulator.clock,
      })
    acquirer = openFor(60_000)
    impatient = openFor(2_000)
    if (!acquirer.payouts) throw new Error('there are payouts')
    payouts = acquirer.payouts
  })
  afterEach(async () => {
    await simulator.close()
    await transport.close()
  })

  const paid = async (amount = 10_000_000) => {
    const created = await acquirer.createCharge({ txid: newId(), amount: cents(amount), expiresInSeconds: 900 })
    if (created.outcome === 'refused') throw new Error(created.reason)
    const outcome = await simulator.pay({ uri: created.charge.uri })
    if (!outcome.ok) throw new Error(outcome.message)
    return outcome.endToEndId
  }
  const returnId = expect.stringMatching(/^D09089356\d{12}[A-Za-z0-9]{11}$/)

  describe('refunds', () => {
    it('returns a part, then the rest, and no more', async () => {
      const endToEndId = await paid(1000)
      const part = { endToEndId, refundId: newId(), amount: cents(400) }
      expect(await acquirer.findRefund(part)).toBeNull()
      expect(await acquirer.refund(part)).toEqual({ outcome: 'processing', endToEndId: returnId })
      const done = { outcome: 'done', endToEndId: returnId, at: simulator.clock.now(), receiver: null }
      expect(await acquirer.findRefund(part)).toEqual(done)
      expect(await acquirer.refund(part)).toEqual(done)
      const tooMuch = await acquirer.refund({ endToEndId, refundId: newId(), amount: cents(601) })
      expect(tooMuch).toEqual({ outcome: 'refused', reason: expect.stringContaining('AM09') })
      const rest = { endToEndId, refundId: newId(), amount: cents(600) }
      expect(await acquirer.refund(rest)).toMatchObject({ outcome: 'processing' })
      expect(await acquirer.findPayment(endToEndId)).toMatchObject({
        amount: 1000,
        returns: [
          { id: part.refundId, amount: 400, nature: 'ORIGINAL', isDone: true },
          { id: rest.refundId, amount: 600, nature: 'ORIGINAL' },
        ],
      })
    })

    it('accepts of thirty at once only as many as the payment covers', async () => {
      const endToEndId = await paid(1000)
      const outcomes = await Promise.all(
        Array.from({ length: 30 }, () => acquirer.refund({ endToEndId, refundId: newId(), amount: cents(300) })),
      )
      expect(outcomes.filter(({ outcome }) => outcome === 'processing')).toHaveLength(3)
    })

    it('never accepts the same id for another amount', async () => {
      const input = { endToEndId: await paid(1000), refundId: newId(), amount: cents(400) }
      await acquirer.refund(input)
      await expect(acquirer.refund({ ...input, amount: cents(401) })).rejects.toBeInstanceOf(AcquirerUnavailable)
    })

    it('is refused after 90 days, and for a payment that does not exist', async () => {
      const endToEndId = await paid(1000)
      simulator.clock.advance(90 * 86_400_000)
      const taken = { endToEndId, refundId: newId(), amount: cents(1) }
      expect(await acquirer.refund(taken)).toMatchObject({ outcome: 'processing' })
      simulator.clock.advance(1)
      const late = await acquirer.refund({ endToEndId, refundId: newId(), amount: cents(1) })
      expect(late).toEqual({ outcome: 'refused', reason: expect.stringContaining('90 dias') })
      expect(await acquirer.refund(taken)).toMatchObject({ outcome: 'done' })
      const none = await acquirer.refund({ endToEndId: `E${'0'.repeat(31)}`, refundId: newId(), amount: cents(1) })
      expect(none).toMatchObject({ outcome: 'refused' })
    })

    it('shows what is refused, rejected, slow and answered too late', async () => {
      const endToEndId = await paid()
      const refund = async (amount: number, by = acquirer) => {
        const input = { endToEndId, refundId: newId(), amount: cents(amount) }
        return { input, outcome: await by.refund(input).catch((error: unknown) => error) }
      }
      const refused = await refund(refusedReturnAmount)
      expect(refused.outcome).toEqual({ outcome: 'refused', reason: expect.stringContaining('Valor recusado') })
      expect(await acquirer.findRefund(refused.input)).toBeNull()

      const rejected = await refund(rejectedReturnAmount)
      expect(rejected.outcome).toMatchObject({ outcome: 'processing' })
      const reason = 'The balance of the paying account or bank does not cover the amount. (AM04)'
      expect(await acquirer.findRefund(rejected.input)).toEqual({ outcome: 'refused', reason })

      const slow = await refund(slowReturnAmount)
      expect(await acquirer.findRefund(slow.input)).toMatchObject({ outcome: 'processing' })
      simulator.clock.advance(slowMs)
      expect(await acquirer.findRefund(slow.input)).toMatchObject({ outcome: 'done', at: simulator.clock.now() })

      const late = await refund(lateReturnAmount, impatient)
      expect(late.outcome).toBeInstanceOf(AcquirerUnavailable)
      expect(await acquirer.findRefund(late.input)).toMatchObject({ outcome: 'done' })
    })

    it.each(['time_out_before', 'time_out_after', 'error_500'] as const)('is settled after %s', async (fault) => {
      const endToEndId = await paid(1000)
      const input = { endToEndId, refundId: newId(), amount: cents(1000) }
      disturbances = [fault]
      await expect(acquirer.refund(input)).rejects.toBeInstanceOf(AcquirerUnavailable)
      const found = await acquirer.findRefund(input)
      expect(found?.outcome ?? null).toBe(fault === 'time_out_after' ? 'done' : null)
      expect(await acquirer.refund(input)).not.toMatchObject({ outcome: 'refused' })
      expect(await acquirer.findRefund(input)).toMatchObject({ outcome: 'done' })
    })

    it('sends a callback when one ends, as an event of its own', async () => {
      await acquirer.registerCallback('http://127.0.0.1:3000/callbacks/simulator/secret')
      const endToEndId = await paid(1000)
      const [done, other] = [newId(), newId()]
      await acquirer.refund({ endToEndId, refundId: done, amount: cents(1) })
      await acquirer.refund({ endToEndId, refundId: other, amount: cents(2) })
      await expect.poll(() => simulator.callbacks).toHaveLength(3)
      const notices = simulator.callbacks.flatMap(({ body }) => acquirer.readCallback(body))
      expect(new Set(notices.map(({ eventKey }) => eventKey))).toEqual(
        new Set([endToEndId, `${endToEndId}:${done}:DEVOLVIDO`, `${endToEndId}:${other}:DEVOLVIDO`]),
      )
      for (const notice of notices) expect(notice).toMatchObject({ endToEndId, payoutId: null })
    })
  })

  describe('payouts', () => {
    it('are sent once, however often they are requested', async () => {
      const input = { payoutId: newId(), amount: cents(1000), pixKey }
      expect(await payouts.find({ payoutId: input.payoutId })).toBeNull()
      const sent = await payouts.send(input)
      expect(sent).toEqual({ outcome: 'processing', endToEndId: expect.stringMatching(/^E09089356/) })
      const found = await payouts.find({ payoutId: input.payoutId })
      expect(found).toEqual({
        outcome: 'done',
        endToEndId: sent.outcome === 'refused' ? null : sent.endToEndId,
        at: simulator.clock.now(),
        receiver: {
          type: 'PF',
          name: 'João Batista Pereira',
          document: '52998224725',
          bankAccount: { type: 'CHECKING', branch: '0001', number: '7654321', digit: '0', ispb: '18236120' },
          pix: pixKey,
        },
      })
      const again = await Promise.all(Array.from({ length: 20 }, () => payouts.send(input)))
      for (const one of again)
        expect(one).toMatchObject({ endToEndId: found && 'endToEndId' in found && found.endToEndId })
    })

    it('are never sent under the same id with another amount or to another key', async () => {
      const input = { payoutId: newId(), amount: cents(1000), pixKey }
      await payouts.send(input)
      const other = { key: 'maria@example.com', type: 'EMAIL' } as const
      for (const changed of [{ amount: cents(1001) }, { pixKey: other }]) {
        await expect(payouts.send({ ...input, ...changed })).rejects.toBeInstanceOf(AcquirerUnavailable)
      }
    })

    it('show every rejection of the settlement system, each with its sentence', async () => {
      expect(Object.keys(rejections).toSorted()).toEqual(listCodes().toSorted())
      expect(rejectedPayoutAmounts.size).toBe(24)
      for (const [amount, code] of rejectedPayoutAmounts) {
        const input = { payoutId: newId(), amount: cents(amount), pixKey }
        expect(await payouts.send(input)).toMatchObject({ outcome: 'processing' })
        const reason = expect.stringMatching(new RegExp(`^[A-Z].*\\. \\(${code}\\)$`))
        expect(await payouts.find({ payoutId: input.payoutId })).toEqual({ outcome: 'refused', reason })
      }
    })

    it('show what is refused, slow and answered too late', async () => {
      const refused = { payoutId: newId(), amount: refusedPayoutAmount, pixKey }
      expect(await payouts.send(refused)).toEqual({ outcome: 'refused', reason: expect.stringContaining('Valor') })
      expect(await payouts.find({ payoutId: refused.payoutId })).toBeNull()

      const slow = { payoutId: newId(), amount: slowPayoutAmount, pixKey }
      await payouts.send(slow)
      expect(await payouts.find({ payoutId: slow.payoutId })).toMatchObject({ outcome: 'processing' })
      simulator.clock.advance(slowMs)
      expect(await payouts.find({ payoutId: slow.payoutId })).toMatchObject({ outcome: 'done' })

      const late = { payoutId: newId(), amount: latePayoutAmount, pixKey }
      await expect(impatient.payouts?.send(late)).rejects.toBeInstanceOf(AcquirerUnavailable)
      expect(await payouts.find({ payoutId: late.payoutId })).toMatchObject({ outcome: 'done' })
      expect(await payouts.send(late)).toMatchObject({ outcome: 'done' })
    })

    it.each(['time_out_before', 'time_out_after', 'error_500'] as const)('are settled after %s', async (fault) => {
      const input = { payoutId: newId(), amount: cents(5), pixKey }
      disturbances = [fault]
      await expect(payouts.send(input)).rejects.toBeInstanceOf(AcquirerUnavailable)
      expect((await payouts.find({ payoutId: input.payoutId }))?.outcome ?? null).toBe(
        fault === 'time_out_after' ? 'done' : null,
      )
      await payouts.send(input)
      expect(await payouts.find({ payoutId: input.payoutId })).toMatchObject({ outcome: 'done' })
    })

    it('cause a callback with our own id when they end', async () => {
      await acquirer.registerCallback('http://127.0.0.1:3000/callbacks/simulator/secret')
      const [done, rejected] = [newId(), newId()]
      await payouts.send({ payoutId: done, amount: cents(5), pixKey })
      await payouts.send({ payoutId: rejected, amount: cents(900_003), pixKey })
      await expect.poll(() => simulator.callbacks).toHaveLength(2)
      const notices = simulator.callbacks.flatMap(({ body }) => acquirer.readCallback(body))
      const named = notices.map(({ payoutId, eventKey }) => [payoutId, eventKey.replace(/^E[^:]*:/, '')])
      expect(named.toSorted(([a], [b]) => String(a).localeCompare(String(b)))).toEqual([
        [done, 'REALIZADO'],
        [rejected, 'NAO_REALIZADO'],
      ])
    })
  })
})
