import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findBreaches } from '../../src/books.ts'
import { sql } from '../../src/db/sql.ts'
import { toTxid } from '../../src/pix/ids.ts'
import { expiryGraceMs } from '../../src/transactions/check.ts'
import { manualClock } from '../support/clock.ts'
import { type Gateway, type Mood, openGateway, openPsp, type Psp } from '../support/gateway.ts'
import type { Transaction } from '../support/payments.ts'
import { txidOf } from '../support/simulator.ts'
import { eventually } from '../support/webhooks.ts'
import { type Withdrawal, withdrawalBody } from '../support/withdrawals.ts'

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
  for (const psp of [alfa, beta]) Object.assign(psp, { mood: () => 'well', asked: [] })
})
afterEach(async () => {
  expect(await findBreaches(gateway.db)).toEqual([])
})

/** How it answers requests like `PUT /cob`; all others are answered. */
function set(psp: Psp, mood: Mood, what = ''): void {
  psp.mood = ({ method, path }) => (`${method} ${path}`.startsWith(what) ? mood : 'well')
}

type Created = { id: string; code?: string; transactionId?: string; pixResponse?: { uri: string } }

async function create(more: object = {}): Promise<{ status: number; body: Created }> {
  return await gateway.call<Created>('/transaction', { amount: 1000, paymentMethod: 'PIX', pix: {}, ...more })
}

const get = async (id: string) => (await gateway.call<Transaction & { acquirer: string }>(`/transaction/${id}`)).body

async function until(id: string, status: string): Promise<void> {
  await eventually(
    async () => (await get(id)).status === status,
    () => `${id} is not ${status}`,
  )
}

/** Who was asked for its charge: whose code it has, or who holds the money, before the others. */
async function acquirersOf(id: string): Promise<string[]> {
  const [row] = await gateway.db.query<{ acquirer: string; other_acquirers: string[] }>(sql`
    select acquirer, other_acquirers from transactions where id = ${id}`)
  return row ? [row.acquirer, ...row.other_acquirers] : []
}

/** With the code of beta, after alfa took the charge and its answer was lost. */
async function createAtBoth(): Promise<string> {
  set(alfa, 'lost', 'PUT /cob')
  const { status, body } = await create()
  expect(status).toBe(201)
  set(alfa, 'well')
  return body.id
}

/** Moves the clock and has the jobs of transactions look. */
async function wait(ms: number): Promise<void> {
  gateway.clock.advance(ms)
  await gateway.runJob('transactions.check')
}

const available = async () => (await gateway.call<{ available: number }>('/balance')).body.available

/** A transaction that is paid. */
async function payInto(psp: Psp, amount: number): Promise<void> {
  const { body } = await create({ amount })
  await gateway.tell(psp, await psp.pay(body.id))
  await until(body.id, 'PAID')
}

/** A payment to the account that names none of our transactions. */
async function payUnnamed(psp: Psp, txid: string, behaviour?: 'without_txid'): Promise<{ endToEndId: string }> {
  const uri = await psp.bank.charge(txid, '7.00')
  const outcome = await psp.bank.pay({ uri, ...(behaviour && { behaviour }) })
  if (!outcome.ok) throw new Error(outcome.message)
  return (await psp.bank.ask('GET', `/pix/${outcome.endToEndId}`)).body as { endToEndId: string }
}

type Held = { kind: string; acquirer: string; status: string; amount: number; transaction_id: string | null }

async function heldAs(endToEndId: string): Promise<Held | null> {
  const [row] = await gateway.db.query<Held>(sql`
    select kind, acquirer, status, amount, transaction_id from suspense_payments where end_to_end = ${endToEndId}`)
  return row ?? null
}

async function untilHeld(endToEndId: string, status: string): Promise<void> {
  await eventually(
    async () => {
      const held = await heldAs(endToEndId)
      // What is sent back is done there a moment later.
      if (held?.status === 'returning') {
        gateway.clock.advance(60_000)
        await gateway.runJob('suspense.check')
      }
      return held?.status === status
    },
    () => `${endToEndId} is not ${status}`,
  )
}

const returnsAt = async (psp: Psp, endToEndId = '') => (await psp.bank.ask('GET', `/pix/${endToEndId}`)).body.devolucoes

const isPayout = (line: string) => /^(?:PUT|GET) \/v[23]\/gn\/pix/.test(line)

const askedFor = (psp: Psp, id: string, method: string) =>
  psp.asked.filter((line) => line === `${method} /cob/${toTxid(id)}`).length

describe('a charge', () => {
  it('is asked of the first alone while that answers', async () => {
    const { status, body } = await create()
    expect(status).toBe(201)
    expect(await acquirersOf(body.id)).toEqual(['alfa'])
    expect(beta.asked).toEqual([])
  })

  it.each<Mood>(['down', 'lost'])('is made by the next one when the first is %s, under the same txid', async (mood) => {
    set(alfa, mood, 'PUT /cob')
    const { status, body } = await create()
    expect(status).toBe(201)
    expect(await acquirersOf(body.id)).toEqual(['beta', 'alfa'])
    const { body: charge } = await beta.bank.ask('GET', `/cob/${toTxid(body.id)}`)
    expect(body.pixResponse?.uri).toBe(charge.pixCopiaECola)
    expect(await get(body.id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED', acquirer: 'beta' })
  })

  it('waits five seconds for one that says nothing, not for as long as that takes', async () => {
    set(alfa, 'silent', 'PUT /cob')
    const startedAt = performance.now()
    const { status, body } = await create()
    expect(status).toBe(201)
    expect(await acquirersOf(body.id)).toEqual(['beta', 'alfa'])
    // The adapter itself would wait for ten.
    expect(performance.now() - startedAt).toBeLessThan(9_500)
  })

  it('that the first refuses is asked of nobody else', async () => {
    const { status, body } = await create({ amount: 4_220_422 })
    expect([status, body.code]).toEqual([422, 'acquirer_refused'])
    expect(beta.asked).toEqual([])
    expect(await acquirersOf(String(body.transactionId))).toEqual(['alfa'])
  })

  it('that nobody answers for is kept, asked for again in the same order, and has one code: of the first that answers', async () => {
    for (const psp of [alfa, beta]) set(psp, 'lost', 'PUT /cob')
    const { status, body } = await create()
    expect([status, body.code]).toEqual([500, 'acquirer_unavailable'])
    const id = String(body.transactionId)
    expect(await acquirersOf(id)).toEqual(['alfa', 'beta'])
    expect((await get(id)).status).toBe('PENDING')
    set(beta, 'well')
    await wait(5_000)
    await until(id, 'PIX_QRCODE_GENERATED')
    expect(await acquirersOf(id)).toEqual(['beta', 'alfa'])
    const { body: charge } = await beta.bank.ask('GET', `/cob/${toTxid(id)}`)
    expect((await get(id)).pixResponse?.uri).toBe(charge.pixCopiaECola)
  })

  it('is repeated under its idempotency key with the code of the first time, whoever answers by now', async () => {
    const idempotencyKey = randomUUID()
    set(alfa, 'lost', 'PUT /cob')
    const first = await create({ idempotencyKey })
    set(alfa, 'well')
    expect(await create({ idempotencyKey })).toEqual(first)
    expect(askedFor(alfa, first.body.id, 'PUT')).toBe(1)
  })

  it('that 200 ask for at once is one transaction with one code, though the first answers every other time', async () => {
    let count = 0
    alfa.mood = ({ method }) => (method === 'PUT' && count++ % 2 === 0 ? 'lost' : 'well')
    const idempotencyKey = randomUUID()
    const answers = await Promise.all(Array.from({ length: 200 }, async () => await create({ idempotencyKey })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(({ body }) => body.pixResponse?.uri)).size).toBe(1)
    const [rows] = await gateway.db.query<{ count: number }>(sql`
      select count(*) from transactions where idempotency_key = ${idempotencyKey}`)
    expect(rows?.count).toBe(1)
  })
})

describe('routes', () => {
  it('share charges by their weights: of 1,000 some 700 and 300, and the same for the same ids', async () => {
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
    const ask = async (idempotencyKey: string, amount: number) =>
      await routed.call('/transaction', { amount, paymentMethod: 'PIX', pix: {}, idempotencyKey })
    await Promise.all(keys.map(async (key) => await ask(key, 1000)))
    expect((await ask('weights-and-amount', 5000)).status).toBe(201)
    const shares = sql`select amount, acquirer, count(*) from transactions group by amount, acquirer order by amount, acquirer`
    // Key and client are the same each time, hence the ids and what is drawn by them.
    expect(await routed.db.query(shares)).toEqual([
      { amount: 1000, acquirer: 'alfa', count: 705 },
      { amount: 1000, acquirer: 'beta', count: 295 },
      { amount: 5000, acquirer: 'beta', count: 1 },
    ])
    await routed.stop()
  })

  it('pass over one that did not answer lately, and come back to it', async () => {
    const frail = await openPsp('frail', clock, { hasBreaker: true })
    const guarded = await openGateway([frail, beta], { clock })
    const ask = async () => await guarded.call<Created>('/transaction', { amount: 1000, paymentMethod: 'PIX', pix: {} })
    set(frail, 'down')
    for (let count = 0; count < 5; count++) expect((await ask()).status).toBe(201)
    await eventually(() => !frail.acquirer.isAvailable())
    const puts = () => frail.asked.filter((line) => line.startsWith('PUT')).length
    const before = puts()
    expect((await ask()).status).toBe(201)
    expect(puts()).toBe(before)
    set(frail, 'well')
    // The poll of its payments is what tries.
    await eventually(async () => {
      await guarded.runJob('transactions.poll')
      return frail.acquirer.isAvailable()
    })
    const { body } = await ask()
    expect((await guarded.call(`/transaction/${body.id}`)).body.acquirer).toBe('frail')
    await guarded.stop()
    await frail.close()
  })
})

describe('a payment at the first, whose answer was lost', () => {
  it('is credited, and its refund goes to who holds the money', async () => {
    const id = await createAtBoth()
    const payment = await alfa.pay(id)
    const events = sql`select snapshot from events where record_id = ${id} order by sequence`
    expect(await gateway.tell(alfa, payment)).toBe(200)
    await until(id, 'PAID')
    expect(await get(id)).toMatchObject({ acquirer: 'alfa', endToEnd: payment.endToEndId, receiver: { name: 'alfa' } })
    expect(await acquirersOf(id)).toEqual(['alfa', 'beta'])
    // What was told before is as it was then.
    expect(await gateway.db.query(events)).toMatchObject([
      { snapshot: { acquirer: 'beta' } },
      { snapshot: { acquirer: 'alfa' } },
    ])
    expect((await gateway.call(`/transaction/${id}/refund`, { idempotencyKey: randomUUID() })).status).toBe(201)
    await eventually(async () => {
      await wait(60_000)
      return (await get(id)).status === 'REFUNDED'
    })
    expect(alfa.asked.filter((line) => /^PUT .*devolucao/.test(line))).toHaveLength(1)
    expect(beta.asked.filter((line) => /devolucao/.test(line))).toEqual([])
  })

  it('is found by the list when no callback tells of it', async () => {
    const id = await createAtBoth()
    const { endToEndId } = await alfa.pay(id)
    await gateway.runJob('transactions.poll')
    await until(id, 'PAID')
    expect(await get(id)).toMatchObject({ acquirer: 'alfa', endToEnd: endToEndId })
  })

  it('is found at the end of the code though the other one does not answer then', async () => {
    const id = await createAtBoth()
    // Older than what is read of its list by then.
    await gateway.db.query(sql`
      insert into acquirer_cursors (acquirer, listed_until) values ('alfa', 'infinity'), ('beta', 'infinity')
      on conflict (acquirer) do nothing`)
    await alfa.pay(id)
    set(alfa, 'down', 'GET /pix')
    set(beta, 'down', 'GET /cob')
    await wait(1800_000 + expiryGraceMs)
    await until(id, 'PAID')
    expect((await get(id)).acquirer).toBe('alfa')
  })
})

it('a code that nobody paid expires when all that were asked say so, and not before', async () => {
  const id = await createAtBoth()
  set(alfa, 'down', 'GET /cob')
  await wait(1800_000 + expiryGraceMs)
  await eventually(() => askedFor(alfa, id, 'GET') > 0 && askedFor(beta, id, 'GET') > 0)
  set(alfa, 'well')
  const asked = askedFor(alfa, id, 'GET')
  expect((await get(id)).status).toBe('PIX_QRCODE_GENERATED')
  await eventually(async () => {
    await wait(60_000)
    return (await get(id)).status === 'FAILED'
  })
  expect(askedFor(alfa, id, 'GET')).toBeGreaterThan(asked)
})

it('a transaction that is paid at both is credited once, and the other payment goes back by itself', async () => {
  const id = await createAtBoth()
  const before = await available()
  const payments = [await alfa.pay(id), await beta.pay(id)] as const
  await Promise.all([gateway.tell(alfa, payments[0]), gateway.tell(beta, payments[1])])
  await until(id, 'PAID')
  const { acquirer, endToEnd } = await get(id)
  const [holder, other] = acquirer === 'alfa' ? [alfa, beta] : [beta, alfa]
  const surplus = payments.find(({ endToEndId }) => endToEndId !== endToEnd)?.endToEndId ?? ''
  await untilHeld(surplus, 'returned')
  expect(await heldAs(surplus)).toMatchObject({ kind: 'surplus', acquirer: other.name, transaction_id: id })
  expect(await returnsAt(other, surplus)).toMatchObject([{ valor: '10.00', status: 'DEVOLVIDO' }])
  expect(await returnsAt(holder, endToEnd)).toBeUndefined()
  expect((await available()) - before).toBe(1000)
  // However often both are told of again.
  await Promise.all([gateway.tell(alfa, payments[0]), gateway.runJob('transactions.poll')])
  await wait(60_000)
  expect(await returnsAt(other, surplus)).toHaveLength(1)
})

describe('money that leaves', () => {
  it('is sent by the first, and asked for there alone when its answer was lost', async () => {
    await payInto(alfa, 50_000)
    set(alfa, 'lost', 'PUT /v3')
    const { status, body } = await gateway.call<Withdrawal>('/withdrawal', withdrawalBody())
    expect([status, body.acquirer ?? 'alfa']).toEqual([201, 'alfa'])
    const find = async () => (await gateway.call<Withdrawal>(`/withdrawal/${body.id}`)).body
    await eventually(() => alfa.asked.some((line) => isPayout(line)))
    set(alfa, 'down')
    expect((await find()).status).toBe('PROCESSING')
    gateway.clock.advance(10 * 60_000)
    await gateway.runJob('withdrawals.check')
    await eventually(() => alfa.asked.some((line) => isPayout(line) && line.startsWith('GET')))
    expect(await find()).toMatchObject({ status: 'PROCESSING', acquirer: 'alfa' })
    set(alfa, 'well')
    await eventually(async () => {
      gateway.clock.advance(5 * 60_000)
      await gateway.runJob('withdrawals.check')
      return (await find()).status === 'PROCESSED'
    })
    expect(beta.asked.filter(isPayout)).toEqual([])
    expect(alfa.asked.filter((line) => isPayout(line) && line.startsWith('PUT'))).toHaveLength(1)
  })

  it('is refused where no acquirer sends any', async () => {
    const poor = await openPsp('poor', clock, { hasPayouts: false })
    const other = await openGateway([poor], { clock })
    const { status, body } = await other.call('/withdrawal', withdrawalBody())
    expect([status, body.code]).toEqual([422, 'withdrawal_not_possible'])
    expect(body.detail).toContain('no acquirer of this service sends money out')
    await other.stop()
    await poor.close()
  })
})

describe('a payment that names no transaction', () => {
  it.each([
    ['told of by a callback, and then listed', true, txidOf(1).slice(0, 26), undefined],
    ['told of by a callback, without a txid', true, txidOf(2), 'without_txid' as const],
    ['listed only, without a txid', false, txidOf(3), 'without_txid' as const],
    ['listed only, with another’s txid', false, 'anothershopsorder000000000001', undefined],
  ])('is held once the acquirer has confirmed it: %s', async (_, isTold, txid, behaviour) => {
    await gateway.runJob('transactions.poll')
    const payment = await payUnnamed(beta, txid, behaviour)
    const before = await available()
    if (isTold) await gateway.tell(beta, payment, payment)
    await gateway.runJob('transactions.poll')
    await untilHeld(payment.endToEndId, 'held')
    await gateway.tell(beta, payment)
    await gateway.runJob('transactions.poll')
    expect(await heldAs(payment.endToEndId)).toMatchObject({ kind: 'orphan', acquirer: 'beta', amount: 700 })
    expect(await available()).toBe(before)
  })

  it('but one that looks like ours is waited for, since it may be under way, and held five minutes later', async () => {
    const payment = await payUnnamed(beta, toTxid(randomUUID()))
    await gateway.tell(beta, payment)
    await eventually(() => beta.asked.includes(`GET /pix/${payment.endToEndId}`))
    expect(await heldAs(payment.endToEndId)).toBeNull()
    await eventually(async () => {
      gateway.clock.advance(60_000)
      return (await heldAs(payment.endToEndId))?.status === 'held'
    })
  })
})

it('an acquirer that is no longer configured leaves its records as they are, and the jobs of others go on', async () => {
  const gone = await openPsp('gone', clock)
  const before = await openGateway([gone, alfa], { clock })
  const { body: left } = await before.call<Created>('/transaction', { amount: 1000, paymentMethod: 'PIX', pix: {} })
  await before.end()
  const after = await openGateway([alfa], { clock, successorOf: before })
  const { body: own } = await after.call<Created>('/transaction', { amount: 1000, paymentMethod: 'PIX', pix: {} })
  const statusOf = async ({ id }: Created) => (await after.call<Transaction>(`/transaction/${id}`)).body.status
  after.clock.advance(1800_000 + expiryGraceMs)
  await after.runJob('transactions.check')
  await eventually(async () => (await statusOf(own)) === 'FAILED')
  expect(await statusOf(left)).toBe('PIX_QRCODE_GENERATED')
  await after.stop()
  await gone.close()
})
