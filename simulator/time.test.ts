import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../test/support/simulator.ts'

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
