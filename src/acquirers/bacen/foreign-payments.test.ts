import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { HttpResponse } from '../../../simulator/http.ts'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../../simulator/receiver-account.ts'
import { createEmptyDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../../../test/support/simulator.ts'
import { type Acquirer, type Payment, UnreadableAnswer } from '../acquirer.ts'
import { createBacenAcquirer } from './adapter.ts'

type Pix = Record<string, unknown>

let database: TestDatabase
let simulator: TestSimulator
let acquirer: Acquirer
let nextTxid = 1
/** Applied to every Pix in the PSP's responses, to simulate a faulty PSP or an account with several keys. */
let change: (pix: Pix) => Pix = (pix) => pix

beforeAll(async () => {
  database = await createEmptyDatabase()
  simulator = await testSimulator(database.db.pool)
  acquirer = createBacenAcquirer({
    name: 'simulator',
    send: async (request) => applyChange(await simulator.handle(request)),
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: false,
    clock: simulator.clock,
  })
})
afterAll(async () => {
  await simulator.close()
  await database.drop()
})
beforeEach(() => {
  change = (pix) => pix
})

function applyChange(answer: HttpResponse): HttpResponse {
  const body = JSON.parse(answer.body) as { pix?: Pix[]; endToEndId?: string }
  if (body.pix) return { ...answer, body: JSON.stringify({ ...body, pix: body.pix.map(change) }) }
  return body.endToEndId === undefined ? answer : { ...answer, body: JSON.stringify(change(body)) }
}

async function createPaidCharge(): Promise<{ txid: string; endToEndId: string }> {
  const txid = txidOf(nextTxid++)
  const outcome = await simulator.pay({ uri: await simulator.charge(txid) })
  if (!outcome.ok) throw new Error(outcome.message)
  return { txid, endToEndId: outcome.endToEndId }
}

async function findInList(endToEndId: string): Promise<Payment[]> {
  const now = simulator.clock.now()
  const payments: Payment[] = []
  for await (const payment of acquirer.listPayments({ from: new Date(now.getTime() - 1000), to: now }))
    payments.push(payment)
  return payments.filter((payment) => payment.endToEndId === endToEndId)
}

describe('a payment to another key of the same account', () => {
  it('is ignored by findPayment and listPayments, even if it cannot be read', async () => {
    const { endToEndId } = await createPaidCharge()
    for (const named of [undefined, 'pedido42']) {
      change = (pix) => ({ ...pix, txid: named, chave: 'outra@example.com' })
      expect(await acquirer.findPayment(endToEndId)).toBeNull()
      expect(await findInList(endToEndId)).toEqual([])
      // Not even read: its payer is none of our business.
      change = (pix) => ({ ...pix, txid: named, chave: 'outra@example.com', valor: '7,77' })
      expect(await findInList(endToEndId)).toEqual([])
      expect(await acquirer.findPayment(endToEndId)).toBeNull()
    }
  })

  it('is ours when its txid is that of one of our charges: the key may have been changed since', async () => {
    const { txid, endToEndId } = await createPaidCharge()
    change = (pix) => ({ ...pix, chave: 'antiga@example.com', valor: '7,77' })
    await expect(acquirer.findPayment(endToEndId)).rejects.toThrow(UnreadableAnswer)
    change = (pix) => ({ ...pix, chave: 'antiga@example.com' })
    expect(await acquirer.findPayment(endToEndId)).toMatchObject({ txid })
    expect(await findInList(endToEndId)).toHaveLength(1)
    expect((await acquirer.findCharge(txid))?.payments).toHaveLength(1)
    // The static QR code of a payment link (a txid of 24 hex digits), printed before the configured key was changed.
    change = (pix) => ({ ...pix, txid: '0123456789abcdef01234567', chave: 'antiga@example.com' })
    expect(await findInList(endToEndId)).toHaveLength(1)
    for (const named of [txid, '0123456789abcdef01234567']) {
      const pix = [
        { endToEndId, txid: named, chave: 'antiga@example.com', valor: '1.00', horario: '2026-11-20T12:00:00Z' },
      ]
      expect(acquirer.readCallback({ pix })).toMatchObject([{ endToEndId }])
    }
  })

  it('is ours when the key is written differently or missing', async () => {
    const { txid, endToEndId } = await createPaidCharge()
    for (const chave of [receiverKey.toUpperCase(), undefined, null, '']) {
      change = (pix) => ({ ...pix, txid: undefined, chave })
      expect(await acquirer.findPayment(endToEndId)).toMatchObject({ endToEndId })
      expect(await findInList(endToEndId)).toHaveLength(1)
      expect((await acquirer.findCharge(txid))?.payments).toHaveLength(1)
    }
  })
})

describe('a payment that a charge lists', () => {
  it('is left out when its txid names another charge', async () => {
    const { txid } = await createPaidCharge()
    change = (pix) => ({ ...pix, txid: txidOf(4_000_000) })
    expect((await acquirer.findCharge(txid))?.payments).toEqual([])
  })

  it('is kept when its txid differs only in upper or lower case, or is missing', async () => {
    const { txid } = await createPaidCharge()
    for (const named of [txid.toUpperCase(), undefined]) {
      change = (pix) => ({ ...pix, txid: named })
      expect((await acquirer.findCharge(txid))?.payments).toHaveLength(1)
    }
  })
})
