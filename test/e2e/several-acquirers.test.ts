import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { toTxid } from '../../src/pix/ids.ts'
import { expiryGraceMs } from '../../src/transactions/check.ts'
import { findBreaches } from '../../src/verification.ts'
import { manualClock } from '../support/clock.ts'
import {
  type Behaviour,
  type Created,
  type Gateway,
  openGateway,
  openPsp,
  type Psp,
  setBehaviour,
} from '../support/gateway.ts'
import { eventually } from '../support/webhooks.ts'

const clock = manualClock()
let alfa: Psp
let beta: Psp
let gateway: Gateway

beforeAll(async () => {
  ;[alfa, beta] = await Promise.all([openPsp('alfa', clock), openPsp('beta', clock)])
  gateway = await openGateway([alfa, beta], { clock })
})
afterAll(async () => {
  await gateway.stop()
  await Promise.all([alfa.close(), beta.close()])
})
beforeEach(() => {
  for (const psp of [alfa, beta]) Object.assign(psp, { behaviour: () => 'well', requests: [] })
})
afterEach(async () => {
  expect(await findBreaches(gateway.db)).toEqual([])
})

/** Advances the clock, and checks the transactions that are due. */
async function wait(ms: number): Promise<void> {
  gateway.clock.advance(ms)
  await gateway.runJob('transactions.check')
}

/** Without requests for the list of payments, which is read whenever that is due. */
const chargesOf = (psp: Psp) => psp.requests.filter((line) => line.includes('/cob/'))

const countChargeRequests = (psp: Psp, id: string, method: string) =>
  psp.requests.filter((line) => line === `${method} /cob/${toTxid(id)}`).length

describe('a charge', () => {
  it('is requested only from the first acquirer while it answers', async () => {
    const { status, body } = await gateway.create()
    expect(status).toBe(201)
    expect(await gateway.acquirersOf(body.id)).toEqual(['alfa'])
    expect(chargesOf(beta)).toEqual([])
  })

  it.each<Behaviour>(['down', 'lost'])(
    'is created by the next one when the first is %s, under the same txid',
    async (behaviour) => {
      setBehaviour(alfa, behaviour, 'PUT /cob')
      const { status, body } = await gateway.create()
      expect(status).toBe(201)
      expect(await gateway.acquirersOf(body.id)).toEqual(['beta', 'alfa'])
      const { body: charge } = await beta.bank.request('GET', `/cob/${toTxid(body.id)}`)
      expect(body.pixResponse?.uri).toBe(charge.pixCopiaECola)
      expect(await gateway.get(body.id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED', acquirer: 'beta' })
    },
  )

  it('waits less for a silent acquirer than its adapter does, because a client waits for the answer', async () => {
    setBehaviour(alfa, 'silent', 'PUT /cob')
    const { status, body } = await gateway.create()
    expect(status).toBe(201)
    expect(await gateway.acquirersOf(body.id)).toEqual(['beta', 'alfa'])
  })

  it('is requested nowhere else when the first refuses it', async () => {
    const { status, body } = await gateway.create({ amount: 4_220_422 })
    expect([status, body.code]).toEqual([422, 'acquirer_refused'])
    expect(chargesOf(beta)).toEqual([])
    expect(await gateway.acquirersOf(String(body.transactionId))).toEqual(['alfa'])
  })

  it('without any answer is kept, requested again in the same order, and has one code: of the first that answers', async () => {
    for (const psp of [alfa, beta]) setBehaviour(psp, 'lost', 'PUT /cob')
    const { status, body } = await gateway.create()
    expect([status, body.code]).toEqual([500, 'acquirer_unavailable'])
    const id = String(body.transactionId)
    expect(await gateway.acquirersOf(id)).toEqual(['alfa', 'beta'])
    expect((await gateway.get(id)).status).toBe('PENDING')
    setBehaviour(beta, 'well')
    await wait(5_000)
    await gateway.until(id, 'PIX_QRCODE_GENERATED')
    expect(await gateway.acquirersOf(id)).toEqual(['beta', 'alfa'])
    const { body: charge } = await beta.bank.request('GET', `/cob/${toTxid(id)}`)
    expect((await gateway.get(id)).pixResponse?.uri).toBe(charge.pixCopiaECola)
  })

  it('is repeated under its idempotency key with the first code, whichever acquirer answers now', async () => {
    const idempotencyKey = randomUUID()
    setBehaviour(alfa, 'lost', 'PUT /cob')
    const first = await gateway.create({ idempotencyKey })
    setBehaviour(alfa, 'well')
    expect(await gateway.create({ idempotencyKey })).toEqual(first)
    expect(countChargeRequests(alfa, first.body.id, 'PUT')).toBe(1)
  })

  it('with 200 concurrent requests is one transaction with one code, even if the first answers only every second time', async () => {
    let count = 0
    alfa.behaviour = ({ method }) => (method === 'PUT' && count++ % 2 === 0 ? 'lost' : 'well')
    const idempotencyKey = randomUUID()
    const answers = await Promise.all(Array.from({ length: 200 }, async () => await gateway.create({ idempotencyKey })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(({ body }) => body.pixResponse?.uri)).size).toBe(1)
    const [rows] = await gateway.db.query<{ count: number }>(sql`
      select count(*) from transactions where idempotency_key = ${idempotencyKey}`)
    expect(rows?.count).toBe(1)
  })
})

describe('routes', () => {
  it('share charges by weight: about 700 and 300 of 1,000, and the same for the same ids', async () => {
    const routes = [
      { minAmount: 5000, acquirers: [{ name: 'beta', weight: 1 }] },
      {
        clients: ['a-shop'],
        acquirers: [
          { name: 'alfa', weight: 70 },
          { name: 'beta', weight: 30 },
        ],
      },
    ]
    const routed = await openGateway([alfa, beta], { clock, routes })
    const keys = Array.from({ length: 1000 }, (_, index) => `weights-${index}`)
    const request = async (idempotencyKey: string, amount: number) => await routed.create({ amount, idempotencyKey })
    for (let from = 0; from < keys.length; from += 50)
      await Promise.all(keys.slice(from, from + 50).map(async (key) => await request(key, 1000)))
    expect((await request('weights-and-amount', 5000)).status).toBe(201)
    const shares = sql`select amount, acquirer, count(*) from transactions group by amount, acquirer order by amount, acquirer`
    // Key and client are the same each time, and so are the ids and the draws that depend on them.
    expect(await routed.db.query(shares)).toEqual([
      { amount: 1000, acquirer: 'alfa', count: 712 },
      { amount: 1000, acquirer: 'beta', count: 288 },
      { amount: 5000, acquirer: 'beta', count: 1 },
    ])
    await routed.stop()
  })

  it('skip an acquirer that did not answer recently, and come back to it', async () => {
    const frail = await openPsp('frail', clock, { hasBreaker: true })
    const guarded = await openGateway([frail, beta], { clock })
    const request = async () => await guarded.create()
    setBehaviour(frail, 'down')
    for (let count = 0; count < 5; count++) expect((await request()).status).toBe(201)
    await eventually(() => !frail.acquirer.isAvailable())
    const puts = () => frail.requests.filter((line) => line.startsWith('PUT')).length
    const before = puts()
    expect((await request()).status).toBe(201)
    expect(puts()).toBe(before)
    setBehaviour(frail, 'well')
    // The poll of its payments tests it again.
    await eventually(async () => {
      await guarded.runJob('transactions.poll')
      return frail.acquirer.isAvailable()
    })
    const { body } = await request()
    expect((await guarded.get(body.id)).acquirer).toBe('frail')
    await guarded.stop()
    await frail.close()
  })
})

it('an acquirer that is no longer configured leaves its records unchanged, and the jobs of others continue', async () => {
  const gone = await openPsp('gone', clock)
  const before = await openGateway([gone, alfa], { clock })
  const { body: left } = await before.create()
  await before.end()
  const after = await openGateway([alfa], { clock, successorOf: before })
  const { body: own } = await after.create()
  const statusOf = async ({ id }: Created) => (await after.get(id)).status
  after.clock.advance(1800_000 + expiryGraceMs)
  await after.runJob('transactions.check')
  await eventually(async () => (await statusOf(own)) === 'FAILED')
  expect(await statusOf(left)).toBe('PIX_QRCODE_GENERATED')
  await after.stop()
  await gone.close()
})
