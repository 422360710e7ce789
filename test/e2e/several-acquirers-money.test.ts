import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordAttribution } from '../../src/attribution/attribute.ts'
import { recordReversal } from '../../src/attribution/reverse.ts'
import { sql } from '../../src/db/sql.ts'
import { explainRecord } from '../../src/explain/explain.ts'
import { toTxid } from '../../src/pix/ids.ts'
import { expiryGraceMs } from '../../src/transactions/check.ts'
import { findBreaches } from '../../src/verification.ts'
import { type CreatedWithdrawal, createWithdrawal } from '../../src/withdrawals/create.ts'
import type { CreateWithdrawalInput } from '../../src/withdrawals/schema.ts'
import { manualClock } from '../support/clock.ts'
import { type Gateway, openGateway, openPsp, type Psp, setBehaviour } from '../support/gateway.ts'
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
  for (const psp of [alfa, beta]) Object.assign(psp, { behaviour: () => 'well', requests: [] })
})
afterEach(async () => {
  expect(await findBreaches(gateway.db)).toEqual([])
})

/** A charge with the code of beta, after alfa accepted it and its answer was lost. */
async function createAtBoth(): Promise<string> {
  setBehaviour(alfa, 'lost', 'PUT /cob')
  const { status, body } = await gateway.create()
  expect(status).toBe(201)
  setBehaviour(alfa, 'well')
  return body.id
}

/** Advances the clock, and checks the transactions and refunds that are due. */
async function wait(ms: number): Promise<void> {
  gateway.clock.advance(ms)
  await gateway.runJob('transactions.check')
  await gateway.runJob('transactions.check-refunds')
}

/** Creates a transaction and pays it at this PSP. */
async function payInto(psp: Psp, amount: number, at = gateway): Promise<void> {
  const { body } = await at.create({ amount })
  await at.sendCallback(psp, await psp.pay(body.id))
  await at.until(body.id, 'PAID')
}

/** Pays into the account at the PSP, for a charge that the gateway did not create. */
async function payUnknown(psp: Psp, txid: string, behaviour?: 'without_txid'): Promise<{ endToEndId: string }> {
  const uri = await psp.bank.charge(txid, '7.00')
  const outcome = await psp.bank.pay({ uri, ...(behaviour && { behaviour }) })
  if (!outcome.ok) throw new Error(outcome.message)
  return (await psp.bank.request('GET', `/pix/${outcome.endToEndId}`)).body as { endToEndId: string }
}

type SuspendedRow = { kind: string; acquirer: string; status: string; amount: number; transaction_id: string | null }

async function findSuspended(endToEndId: string): Promise<SuspendedRow | null> {
  const [row] = await gateway.db.query<SuspendedRow>(sql`
    select kind, acquirer, status, amount, transaction_id from suspense_payments where end_to_end = ${endToEndId}`)
  return row ?? null
}

async function untilSuspended(endToEndId: string, status: string): Promise<void> {
  await eventually(
    async () => {
      const suspended = await findSuspended(endToEndId)
      // The PSP completes a return a moment later.
      if (suspended?.status === 'returning') {
        gateway.clock.advance(60_000)
        await gateway.runJob('suspense.check')
      }
      return suspended?.status === status
    },
    () => `${endToEndId} is not ${status}`,
  )
}

const returnsAt = async (psp: Psp, endToEndId = '') =>
  (await psp.bank.request('GET', `/pix/${endToEndId}`)).body.devolucoes

/** Is a request about a payout of the gateway, not the list of sent Pix, which the poller requests from time to time. */
const isPayout = (line: string) => /^(?:PUT \/v3\/gn\/pix\/|GET \/v2\/gn\/pix\/enviados\/)/.test(line)

const countChargeRequests = (psp: Psp, id: string, method: string) =>
  psp.requests.filter((line) => line === `${method} /cob/${toTxid(id)}`).length

describe('a payment at the first, whose answer was lost', () => {
  it('is credited, and its refund goes to the acquirer that holds the money', async () => {
    const id = await createAtBoth()
    const payment = await alfa.pay(id)
    const events = sql`select snapshot from events where record_id = ${id} order by sequence`
    expect(await gateway.sendCallback(alfa, payment)).toBe(200)
    await gateway.until(id, 'PAID')
    expect(await gateway.get(id)).toMatchObject({
      acquirer: 'alfa',
      endToEnd: payment.endToEndId,
      receiver: { name: 'alfa' },
    })
    expect(await gateway.acquirersOf(id)).toEqual(['alfa', 'beta'])
    // Earlier events have the record as it was then.
    expect(await gateway.db.query(events)).toMatchObject([
      { snapshot: { acquirer: 'beta' } },
      { snapshot: { acquirer: 'alfa' } },
    ])
    expect((await gateway.call(`/transaction/${id}/refund`, { idempotencyKey: randomUUID() })).status).toBe(201)
    await eventually(async () => {
      await wait(60_000)
      return (await gateway.get(id)).status === 'REFUNDED'
    })
    // One return, however many times it is requested.
    expect(new Set(alfa.requests.filter((line) => /^PUT .*devolucao/.test(line))).size).toBe(1)
    expect(await returnsAt(alfa, payment.endToEndId)).toHaveLength(1)
    expect(beta.requests.filter((line) => /devolucao/.test(line))).toEqual([])
  })

  it('is found in the list without a callback', async () => {
    const id = await createAtBoth()
    const { endToEndId } = await alfa.pay(id)
    await gateway.runJob('transactions.poll')
    await gateway.until(id, 'PAID')
    expect(await gateway.get(id)).toMatchObject({ acquirer: 'alfa', endToEnd: endToEndId })
  })

  it('is found at the expiry of the code even if the other acquirer does not answer then', async () => {
    const id = await createAtBoth()
    await alfa.pay(id)
    setBehaviour(alfa, 'down', 'GET /pix')
    setBehaviour(beta, 'down', 'GET /cob')
    await wait(1800_000 + expiryGraceMs)
    await gateway.until(id, 'PAID')
    expect((await gateway.get(id)).acquirer).toBe('alfa')
  })
})

it('an unpaid code expires when all acquirers that may have its charge confirm it, and not earlier', async () => {
  const id = await createAtBoth()
  setBehaviour(alfa, 'down', 'GET /cob')
  await wait(1800_000 + expiryGraceMs)
  await eventually(() => countChargeRequests(alfa, id, 'GET') > 0 && countChargeRequests(beta, id, 'GET') > 0)
  setBehaviour(alfa, 'well')
  const requested = countChargeRequests(alfa, id, 'GET')
  expect((await gateway.get(id)).status).toBe('PIX_QRCODE_GENERATED')
  await eventually(async () => {
    await wait(60_000)
    return (await gateway.get(id)).status === 'FAILED'
  })
  expect(countChargeRequests(alfa, id, 'GET')).toBeGreaterThan(requested)
})

it('a transaction that is paid at both is credited once, and the other payment is returned automatically', async () => {
  const id = await createAtBoth()
  const before = await gateway.available()
  const payments = [await alfa.pay(id), await beta.pay(id)] as const
  await Promise.all([gateway.sendCallback(alfa, payments[0]), gateway.sendCallback(beta, payments[1])])
  await gateway.until(id, 'PAID')
  const { acquirer, endToEnd } = await gateway.get(id)
  const [holder, other] = acquirer === 'alfa' ? [alfa, beta] : [beta, alfa]
  const duplicate = payments.find(({ endToEndId }) => endToEndId !== endToEnd)?.endToEndId ?? ''
  await untilSuspended(duplicate, 'returned')
  expect(await findSuspended(duplicate)).toMatchObject({ kind: 'duplicate', acquirer: other.name, transaction_id: id })
  expect(await returnsAt(other, duplicate)).toMatchObject([{ valor: '10.00', status: 'DEVOLVIDO' }])
  expect(await returnsAt(holder, endToEnd)).toBeUndefined()
  expect((await gateway.available()) - before).toBe(1000)
  const { summary, ...explained } = (await explainRecord(gateway, id)) ?? {}
  expect(explained).toMatchObject({ acquirer: holder.name, otherAcquirers: [other.name] })
  expect(summary).toContain(`It was paid again: R$ 10,00 at ${other.name} (${duplicate}); the duplicate was returned`)
  // However many times both are reported again.
  await Promise.all([gateway.sendCallback(alfa, payments[0]), gateway.runJob('transactions.poll')])
  await wait(60_000)
  expect(await returnsAt(other, duplicate)).toHaveLength(1)
})

describe('outgoing money', () => {
  it('is sent by the first, and queried only there when its answer was lost', async () => {
    await payInto(alfa, 50_000)
    setBehaviour(alfa, 'lost', 'PUT /v3')
    const { status, body } = await gateway.call<Withdrawal>('/withdrawal', withdrawalBody())
    expect(status).toBe(201)
    const get = async () => (await gateway.call<Withdrawal>(`/withdrawal/${body.id}`)).body
    await eventually(() => alfa.requests.some((line) => isPayout(line)))
    setBehaviour(alfa, 'down')
    expect((await get()).status).toBe('PROCESSING')
    const checkUntil = async (condition: () => boolean | Promise<boolean>) =>
      await eventually(async () => {
        gateway.clock.advance(5 * 60_000)
        await gateway.runJob('withdrawals.check')
        return await condition()
      })
    await checkUntil(() => alfa.requests.some((line) => isPayout(line) && line.startsWith('GET')))
    expect(await get()).toMatchObject({ status: 'PROCESSING', acquirer: 'alfa' })
    setBehaviour(alfa, 'well')
    await checkUntil(async () => (await get()).status === 'PROCESSED')
    expect(beta.requests.filter(isPayout)).toEqual([])
    expect(alfa.requests.filter((line) => isPayout(line) && line.startsWith('PUT'))).toHaveLength(1)
  })

  it('leaves only through the acquirer that received it', async () => {
    const [one, other] = await Promise.all([openPsp('one', clock), openPsp('other', clock)])
    const before = await openGateway([one], { clock })
    await payInto(one, 50_000, before)
    await before.end()
    const after = await openGateway([one, other], {
      clock,
      routes: [{ acquirers: [{ name: 'other', weight: 1 }] }],
      successorOf: before,
    })
    // The route names the other one, which holds nothing.
    const { status, body } = await after.call<Withdrawal>('/withdrawal', withdrawalBody({ amount: 20_000 }))
    expect(status).toBe(201)
    expect((await after.call<Withdrawal>(`/withdrawal/${body.id}`)).body.acquirer).toBe('one')
    await after.end()

    const alone = await openGateway([other], { clock, successorOf: before })
    const refused = await alone.call('/withdrawal', withdrawalBody({ amount: 20_000 }))
    expect([refused.status, refused.body.code]).toEqual([422, 'withdrawal_not_possible'])
    expect(refused.body.detail).toContain('is more than any payout account has free at the moment')
    expect(other.requests.filter(isPayout)).toEqual([])
    await alone.stop()
    await Promise.all([one.close(), other.close()])
  })

  it('of two merchants at once does not exceed what one acquirer holds', async () => {
    const [one, other] = await Promise.all([openPsp('one', clock), openPsp('other', clock)])
    const first = await openGateway([one, other], { clock })
    const second = await openGateway([other, one], { clock, beside: first })
    await payInto(one, 20_000, first)
    await payInto(other, 20_000, second)
    const { db, acquirers } = first
    const callers = await db.query<{ merchantId: string; clientId: string }>(sql`
      select merchant_id as "merchantId", client_id as "clientId" from clients`)
    let created: Promise<CreatedWithdrawal[]> = Promise.resolve([])
    await db.transaction(async (tx) => {
      // Both have read what the acquirers hold, or wait for that, before either inserts.
      await tx.query(sql`lock table withdrawals in share row exclusive mode`)
      created = Promise.all(
        callers.map(async (caller) => {
          const input = withdrawalBody({ amount: 15_000 }) as CreateWithdrawalInput
          return await createWithdrawal({ db, clock, acquirers }, { ...caller, by: null, input })
        }),
      )
      const countWaiting = async () =>
        (
          await db.query(sql`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
        ).length
      await eventually(async () => (await countWaiting()) === 2)
    })
    expect((await created).map(({ row }) => row.acquirer).sort()).toEqual(['one', 'other'])
    await second.end()
    await first.stop()
    await Promise.all([one.close(), other.close()])
  })

  it('is refused when no acquirer supports payouts', async () => {
    const withoutPayouts = await openPsp('nopayouts', clock, { hasPayouts: false })
    const other = await openGateway([withoutPayouts], { clock })
    const { status, body } = await other.call('/withdrawal', withdrawalBody())
    expect([status, body.code]).toEqual([422, 'withdrawal_not_possible'])
    expect(body.detail).toContain('no configured acquirer sends payouts')
    await other.stop()
    await withoutPayouts.close()
  })
})

describe('a payment without a transaction', () => {
  it.each([
    ['reported by a callback, and then listed', true, txidOf(1).slice(0, 26), undefined],
    ['reported by a callback, without a txid', true, txidOf(2), 'without_txid' as const],
    ['listed only, without a txid', false, txidOf(3), 'without_txid' as const],
    ['listed only, with another’s txid', false, 'anothershopsorder000000000001', undefined],
  ])('goes into suspense once the acquirer has confirmed it: %s', async (_, isReported, txid, behaviour) => {
    await gateway.runJob('transactions.poll')
    const payment = await payUnknown(beta, txid, behaviour)
    const before = await gateway.available()
    if (isReported) await gateway.sendCallback(beta, payment, payment)
    await gateway.runJob('transactions.poll')
    await untilSuspended(payment.endToEndId, 'held')
    await gateway.sendCallback(beta, payment)
    await gateway.runJob('transactions.poll')
    expect(await findSuspended(payment.endToEndId)).toMatchObject({
      kind: 'unattributed',
      acquirer: 'beta',
      amount: 700,
    })
    expect(await gateway.available()).toBe(before)
  })

  it('from before the first poll of its account is ignored, also by the next polls, which read a little further back', async () => {
    const early = await payUnknown(beta, txidOf(4), 'without_txid')
    gateway.clock.advance(1)
    await gateway.db.query(sql`delete from acquirer_cursors where acquirer = 'beta'`)
    await gateway.runJob('transactions.poll')
    const { endToEndId } = await payUnknown(beta, txidOf(5), 'without_txid')
    await gateway.runJob('transactions.poll')
    await untilSuspended(endToEndId, 'held')
    await eventually(
      async () =>
        (await gateway.db.query(sql`select from jobs where name = 'transactions.settle-unattributed'`)).length === 0,
    )
    expect(await findSuspended(early.endToEndId)).toBeNull()
  })

  it('pays nothing at an acquirer that got no request for its charge, whatever its txid', async () => {
    const { body } = await gateway.create({ amount: 700 })
    expect(await gateway.acquirersOf(body.id)).toEqual(['alfa'])
    const payment = await payUnknown(beta, toTxid(body.id))
    await gateway.sendCallback(beta, payment)
    await untilSuspended(payment.endToEndId, 'held')
    expect(await findSuspended(payment.endToEndId)).toMatchObject({ kind: 'unattributed', acquirer: 'beta' })
    expect((await gateway.get(body.id)).status).toBe('PIX_QRCODE_GENERATED')
  })

  describe('whose attribution to the transaction that it names was reversed', () => {
    async function reverseNamed() {
      const { body } = await gateway.create({ amount: 700 })
      const { endToEndId } = await payUnknown(beta, toTxid(body.id))
      await gateway.runJob('transactions.poll')
      await untilSuspended(endToEndId, 'held')
      const { db } = gateway
      const [suspended] = await db.query<{ id: string }>(sql`
        select id from suspense_payments where end_to_end = ${endToEndId}`)
      const change = { id: suspended?.id ?? '', by: { actor: 'cli:test' } }
      const deps = { db, clock, wakeDeliveries: () => {} }
      const attributeTo = async (id: string) => await recordAttribution(deps, { ...change, transactionId: id })
      await attributeTo(body.id)
      await recordReversal(deps, change)
      return { id: body.id, endToEndId, attributeTo }
    }

    it('is taken out of suspense when the bank returns it', async () => {
      const { id, endToEndId } = await reverseNamed()
      expect(await beta.bank.returnUnannounced({ endToEndId })).toMatchObject({ ok: true })
      await gateway.runJob('transactions.poll-returns')
      await untilSuspended(endToEndId, 'returned')
      expect((await gateway.get(id)).status).toBe('REFUNDED')
    })

    it('is blocked at its next transaction when it is disputed', async () => {
      const { endToEndId, attributeTo } = await reverseNamed()
      const { body } = await gateway.create({ amount: 700 })
      await attributeTo(body.id)
      expect(await beta.bank.openDispute({ endToEndId })).toMatchObject({ ok: true })
      await gateway.runJob('transactions.disputes')
      expect((await gateway.get(body.id)).status).toBe('BLOCKED')
    })
  })

  it('with a txid in the form of the gateway’s is checked for five minutes, since its transaction may not be committed yet, and then goes into suspense', async () => {
    const payment = await payUnknown(beta, toTxid(randomUUID()))
    await gateway.sendCallback(beta, payment)
    await eventually(() => beta.requests.includes(`GET /pix/${payment.endToEndId}`))
    expect(await findSuspended(payment.endToEndId)).toBeNull()
    await eventually(async () => {
      gateway.clock.advance(60_000)
      return (await findSuspended(payment.endToEndId))?.status === 'held'
    })
  })
})
