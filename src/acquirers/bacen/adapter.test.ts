import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../../simulator/receiver-account.ts'
import { startSimulatorServer } from '../../../simulator/server.ts'
import { createEmptyDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../../../test/support/simulator.ts'
import { cents } from '../../lib/money.ts'
import { type Acquirer, AcquirerUnavailable, type Payment } from '../acquirer.ts'
import { createBacenAcquirer } from './adapter.ts'
import { createHttpSend, type Send } from './http.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(() => database.drop())

let next = 1
const newTxid = () => txidOf(next++)

async function inProcess(simulator: TestSimulator): Promise<{ send: Send; close: () => Promise<void> }> {
  return { send: (request) => simulator.handle(request), close: async () => {} }
}

async function overHttp(simulator: TestSimulator): Promise<{ send: Send; close: () => Promise<void> }> {
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
  let closeTransport: () => Promise<void>

  beforeEach(async () => {
    simulator = await testSimulator(database.db.pool)
    const transport = await open(simulator)
    closeTransport = transport.close
    const openFor = (timeoutMs: number) =>
      createBacenAcquirer({
        name: 'simulator',
        send: transport.send,
        credentials: simulatorCredentials,
        chave: receiverKey,
        receiver: receiverAccount,
        isRemote: false,
        timeoutMs,
        clock: simulator.clock,
      })
    acquirer = openFor(60_000)
    impatient = openFor(2_000)
  })
  afterEach(async () => {
    await simulator.close()
    await closeTransport()
  })

  const create = async (txid: string, amount = 1050) => {
    const created = await acquirer.createCharge({ txid, amount: cents(amount), expiresInSeconds: 900 })
    if (created.outcome === 'refused') throw new Error(created.reason)
    return created.charge
  }
  const pay = async (uri: string, amount?: number) => {
    const outcome = await simulator.pay({ uri, ...(amount && { amount: cents(amount) }) })
    if (!outcome.ok) throw new Error(outcome.message)
    return outcome.endToEndId
  }

  it('creates a charge, gets the same for a repeat, and finds it', async () => {
    const txid = newTxid()
    const createdAt = simulator.clock.now()
    const charge = await create(txid)
    expect(charge).toEqual({
      txid,
      amount: 1050,
      uri: expect.stringMatching(/^000201.*127\.0\.0\.1:3000\/qr\/v2\/.*6304[0-9A-F]{4}$/),
      createdAt,
      expiresAt: new Date(createdAt.getTime() + 900_000),
      status: 'active',
      payments: [],
    })
    simulator.clock.advance(5000)
    expect(await create(txid)).toEqual(charge)
    expect(await acquirer.findCharge(txid)).toEqual(charge)
    expect(await acquirer.findCharge(newTxid())).toBeNull()
  })

  it('removes a charge, which then cannot be paid', async () => {
    const { txid, uri } = await create(newTxid())
    expect(await acquirer.removeCharge(txid)).toEqual({ outcome: 'done' })
    expect(await acquirer.findCharge(txid)).toMatchObject({ status: 'removed' })
    await expect(pay(uri)).rejects.toThrow()
    expect(await acquirer.removeCharge(txid)).toMatchObject({ outcome: 'refused' })
  })

  it('refuses the same txid with another amount, but not with another expiry', async () => {
    const txid = newTxid()
    const charge = await create(txid)
    const other = await acquirer.createCharge({ txid, amount: cents(1051), expiresInSeconds: 900 })
    expect(other).toEqual({ outcome: 'refused', reason: expect.stringContaining('another amount') })
    const later = await acquirer.createCharge({ txid, amount: cents(1050), expiresInSeconds: 901 })
    expect(later).toEqual({ outcome: 'created', charge })
  })

  it('reports why a charge was refused', async () => {
    const txid = newTxid()
    const refused = await acquirer.createCharge({ txid, amount: cents(4_220_422), expiresInSeconds: 900 })
    expect(refused).toEqual({ outcome: 'refused', reason: expect.stringContaining('Valor recusado') })
    expect(await acquirer.findCharge(txid)).toBeNull()
  })

  it('does not know the outcome of a charge that is answered too late, and finds it afterwards', async () => {
    const input = { txid: newTxid(), amount: cents(5_040_504), expiresInSeconds: 900 }
    await expect(impatient.createCharge(input)).rejects.toBeInstanceOf(AcquirerUnavailable)
    expect(await acquirer.findCharge(input.txid)).toMatchObject({ amount: 5_040_504 })
    expect(await acquirer.createCharge(input)).toMatchObject({ outcome: 'created' })
  })

  it('finds a payment by its charge, by its id and in the list', async () => {
    simulator.clock.advance(next * 3_600_000)
    const from = simulator.clock.now()
    const charges = await Promise.all([newTxid(), newTxid(), newTxid()].map((txid) => create(txid)))
    const payments: Payment[] = []
    for (const { uri, txid } of charges) {
      simulator.clock.advance(1500)
      const endToEndId = await pay(uri, 777)
      const payment = await acquirer.findPayment(endToEndId)
      expect(payment).toEqual({
        endToEndId,
        txid,
        amount: 777,
        paidAt: simulator.clock.now(),
        payer: {
          type: 'PF',
          name: 'Maria Aparecida da Silva',
          document: '52998224725',
          bankAccount: { type: 'CHECKING', branch: '0912', number: '45678', digit: '1', ispb: '60701190' },
          pix: { key: '52998224725', type: 'CPF' },
        },
        returns: [],
        fee: null,
      })
      expect((await acquirer.findCharge(txid))?.payments).toEqual([payment])
      if (payment) payments.push(payment)
    }
    const list = async (start: Date, end: Date) => {
      const listed: Payment[] = []
      for await (const payment of acquirer.listPayments({ from: start, to: end })) listed.push(payment)
      return listed
    }
    const [first, second, third] = payments
    expect(await list(from, simulator.clock.now())).toEqual(payments)
    // Both ends are included, to the millisecond, although the request has whole seconds.
    if (!first || !second || !third) throw new Error('three were paid')
    expect(await list(second.paidAt, second.paidAt)).toEqual([second])
    expect(await list(new Date(first.paidAt.getTime() + 1), new Date(third.paidAt.getTime() - 1))).toEqual([second])
    expect(await acquirer.findPayment(`E${'0'.repeat(31)}`)).toBeNull()
    expect(await acquirer.findPayment('a/../b?c#d')).toBeNull()
  })

  it('lists more than one page of payments', async () => {
    simulator.clock.advance(next * 7_200_000)
    const from = simulator.clock.now()
    // A few at once: each must be answered within its time-out.
    for (let count = 0; count < 205; count += 5)
      await Promise.all(Array.from({ length: 5 }, async () => await pay((await create(newTxid())).uri)))
    const ids = new Set<string>()
    for await (const payment of acquirer.listPayments({ from, to: simulator.clock.now() })) ids.add(payment.endToEndId)
    expect(ids.size).toBe(205)
  })

  it('registers the address for callbacks, and reads them', async () => {
    await acquirer.registerCallback('http://127.0.0.1:3000/callbacks/simulator/secret')
    const txid = newTxid()
    const endToEndId = await pay((await create(txid)).uri)
    await expect.poll(() => simulator.callbacks).toHaveLength(1)
    const [callback] = simulator.callbacks
    expect(callback?.url).toBe('http://127.0.0.1:3000/callbacks/simulator/secret/pix')
    expect(acquirer.readCallback(callback?.body)).toEqual([{ eventKey: endToEndId, endToEndId, txid, payoutId: null }])
    await expect(acquirer.registerCallback('ftp://x')).rejects.toThrow(/webhookUrl/)
  })

  it('renews a token that has expired', async () => {
    await create(newTxid())
    simulator.clock.advance(7_200_000)
    await create(newTxid())
  })
})
