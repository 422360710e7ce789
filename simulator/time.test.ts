import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manualClock } from '../test/support/clock.ts'
import { createEmptyDatabase, type TestDatabase } from '../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../test/support/simulator.ts'
import { receiverKey } from './receiver-account.ts'
import { slowMs } from './settlement.ts'

let database: TestDatabase
let simulator: TestSimulator
let next = 1

beforeAll(async () => {
  database = await createEmptyDatabase()
  simulator = await testSimulator(database.db.pool)
})
afterAll(async () => {
  await simulator.close()
  await database.drop()
})

const advance = async (txid: string, seconds: number) =>
  await simulator.advance({ txids: [txid], payoutIds: [], seconds })

describe('a charge', () => {
  it('whose only Pix came without its txid expires when time passes for it', async () => {
    const txid = txidOf(next++)
    const uri = await simulator.charge(txid, '10.00', 3600)
    expect(await simulator.pay({ uri, behaviour: 'without_txid' })).toMatchObject({ ok: true })
    expect(await advance(txid, 3600)).toMatchObject({ charges: 1 })
    expect(await simulator.pay({ uri })).toMatchObject({ code: 'charge_expired' })
  })

  it('that is paid keeps its expiry', async () => {
    const txid = txidOf(next++)
    const uri = await simulator.charge(txid, '10.00', 3600)
    expect(await simulator.pay({ uri })).toMatchObject({ ok: true })
    expect(await advance(txid, 3600)).toMatchObject({ charges: 0 })
  })
})

describe('a slow payment', () => {
  it('is reported again at its original time as it is then', async () => {
    const clock = manualClock()
    // The payment is planned with the first time that is read, and stored shortly before its Pix arrives.
    let isPlanned = true
    const now = () => {
      const at = clock.now()
      if (!isPlanned) clock.advance(slowMs - 500)
      isPlanned = true
      return at
    }
    const own = await testSimulator(database.db.pool, { clock: { ...clock, now } })
    await own.request('PUT', `/webhook/${receiverKey}`, { body: { webhookUrl: 'http://shop.example' } })
    const txid = txidOf(next++)
    const uri = await own.charge(txid)
    isPlanned = false
    const paid = await own.pay({ uri, behaviour: 'slow' })
    if (!paid.ok) throw new Error(paid.message)
    const horario = clock.now().toISOString()
    expect(await own.advance({ txids: [txid], payoutIds: [], seconds: 600 })).toMatchObject({ payments: 1 })
    clock.advance(500)
    await expect.poll(() => own.callbacks.length).toBe(2)
    const pix = [expect.objectContaining({ endToEndId: paid.endToEndId, horario })]
    expect(own.callbacks.map(({ body }) => body)).toEqual([{ pix }, { pix }])
    await own.close()
  })
})

describe('the deadline of a dispute', () => {
  const day = 86_400
  const disputed = async () => {
    const txid = txidOf(next++)
    const paid = await simulator.pay({ uri: await simulator.charge(txid) })
    const opened = paid.ok ? await simulator.openDispute({ endToEndId: paid.endToEndId }) : paid
    if (!opened.ok) throw new Error(opened.message)
    return { txid, id: opened.id }
  }
  const deadlineOf = async (id: string) => {
    const now = simulator.clock.now().getTime()
    const query = { inicio: new Date(now - 30 * day * 1000).toISOString(), fim: new Date(now).toISOString() }
    const { infracoes } = (await simulator.request('GET', '/v2/gn/infracoes', { query })).body
    type Listed = { idInfracao: string; dadosAnalise: { prazoFinalizacao: string } }
    const found = (infracoes as Listed[]).find((one) => one.idInfracao === id)
    return Date.parse(found?.dadosAnalise.prazoFinalizacao ?? '')
  }

  it('comes closer while the dispute is open', async () => {
    const { txid, id } = await disputed()
    const before = await deadlineOf(id)
    await advance(txid, 2 * day)
    expect(await deadlineOf(id)).toBe(before - 2 * day * 1000)
  })

  it.each([
    ['before', 0],
    ['after', 8 * day],
  ])('stays as it was when the dispute is accepted %s it', async (_, seconds) => {
    const { txid, id } = await disputed()
    const before = await deadlineOf(id)
    simulator.clock.advance(seconds * 1000)
    await simulator.decideDispute({ reference: id, decision: 'accept' })
    expect(await advance(txid, 3600)).toMatchObject({ disputes: 1, returns: 1 })
    expect(await deadlineOf(id)).toBe(before)
  })
})
