import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { refusedPayoutAmount } from '../../simulator/payouts.ts'
import { type Exchange, recordExchanges } from '../../src/acquirers/record.ts'
import { sql } from '../../src/db/sql.ts'
import { insertExchanges } from '../../src/exchanges/store.ts'
import { freezePayouts, releasePayouts } from '../../src/ledger/payout-freeze.ts'
import { assert } from '../../src/lib/assert.ts'
import { newEndToEndId } from '../../src/pix/ids.ts'
import { approveProposal } from '../../src/proposals/decide.ts'
import { reconcile } from '../../src/reconciliation/run.ts'
import { findBreaches } from '../../src/verification.ts'
import { proposeSettlement, settlementProposal } from '../../src/withdrawals/settle-by-hand.ts'
import { reviewAfterLostCommits } from '../../src/withdrawals/store.ts'
import { manualClock } from '../support/clock.ts'
import { type Behaviour, type Gateway, openGateway, openPsp, type Psp, setBehaviour } from '../support/gateway.ts'
import { createTestLog } from '../support/logged-errors.ts'
import { createRandom } from '../support/random.ts'
import { listDiscrepancies } from '../support/reconciling.ts'
import { eventually } from '../support/webhooks.ts'
import { type Withdrawal, withdrawalBody } from '../support/withdrawals.ts'

/*
 * Payouts of PSPs that identify a payout by their own id: Inter returns it in an answer that may be lost, Sicoob before
 * any money moves.
 */
const moneyOut = { inter: 'POST /banking/v2/pix', sicoob: 'POST /pix-pagamentos/v2/pagamentos/confirmacao' }
const queries = { inter: 'GET /banking/v2/pix', sicoob: 'GET /pix-pagamentos/v2/pagamentos' }

describe.each(['inter', 'sicoob'] as const)('payouts at %s', (name) => {
  const clock = manualClock()
  let psp: Psp
  let gateway: Gateway
  /** The requests to the acquirer, as the service records them. */
  const exchanges: Exchange[] = []
  beforeAll(async () => {
    psp = await openPsp(name, clock, { payoutApi: name })
    const recorded = recordExchanges(psp.acquirer, { clock, write: (exchange) => void exchanges.push(exchange) })
    gateway = await openGateway([{ ...psp, acquirer: recorded }], { clock })
    const { body } = await gateway.create({ amount: 10_000_000 })
    await gateway.sendCallback(psp, await psp.pay(body.id))
    await gateway.until(body.id, 'PAID')
  })
  afterAll(async () => {
    await gateway.stop()
    await psp.close()
  })
  beforeEach(() => {
    setBehaviour(psp, 'well')
    psp.requests = []
  })
  afterEach(async () => {
    expect(await findBreaches(gateway.db)).toEqual([])
  })

  const withdraw = async (more: { amount?: number } = {}) => {
    const { status, body } = await gateway.call<Withdrawal>('/withdrawal', withdrawalBody(more))
    expect(status, JSON.stringify(body)).toBe(201)
    return body.id
  }
  const get = async (id: string) => (await gateway.call<Withdrawal>(`/withdrawal/${id}`)).body
  const countRequests = (what: string) => psp.requests.filter((one) => one.startsWith(what)).length
  const untilRequested = async (what: string, count = 1) =>
    await eventually(
      () => countRequests(what) >= count,
      () => `${what} was requested ${countRequests(what)} times: ${psp.requests.join()}`,
    )
  const check = async (ms = 30_000) => {
    clock.advance(ms)
    await gateway.runJob('withdrawals.check')
  }
  const until = async (id: string, status: string) => {
    let now = await get(id)
    for (let checks = 0; now.status !== status && checks < 200; checks++) {
      await check()
      now = await get(id)
    }
    expect(now.status, JSON.stringify(now)).toBe(status)
    return now
  }
  const propose = async (id: string, endToEndId: string | null, actor = 'cli:ana') =>
    await proposeSettlement(
      { db: gateway.db, clock },
      { id, by: { actor }, seen: { endToEndId, reason: 'not in the statement' } },
    )
  const approve = async (id: string, actor: string) => {
    const deps = { db: gateway.db, clock, wakeDeliveries: () => {} }
    return await approveProposal(deps, settlementProposal, { id, by: { actor } })
  }
  const reconcileAll = async () => {
    const window = { from: new Date(clock.now().getTime() - 24 * 60 * 60_000), to: new Date(clock.now().getTime() + 1) }
    const [acquirer] = gateway.acquirers.all
    assert(acquirer, 'there is one')
    const { state } = await reconcile({ ...gateway, log: createTestLog() }, { acquirer, kind: 'manual', window })
    expect(state).toBe('complete')
    return await listDiscrepancies(gateway.db, { acquirer: name, onlyOpen: true })
  }
  /** The payouts that the bank has made. */
  const made = async () => await psp.countPayouts()

  it('are sent once, and their outcome is posted', async () => {
    const before = await made()
    const id = await withdraw()
    expect(await until(id, 'PROCESSED')).toMatchObject({
      endToEnd: expect.stringMatching(/^E\w{31}$/),
      errorMessage: null,
    })
    expect([(await made()) - before, countRequests(moneyOut[name])]).toEqual([1, 1])
    // Neither PSP reports what the receiver sends back, so no check is scheduled.
    expect(await gateway.db.query(sql`select check_at from withdrawals where id = ${id}`)).toEqual([{ check_at: null }])
  })

  it('fail when the PSP refuses them immediately, and the money is available again', async () => {
    const available = await gateway.available()
    const id = await withdraw({ amount: refusedPayoutAmount })
    expect(await until(id, 'FAILED')).toMatchObject({ errorMessage: expect.stringContaining('Valor recusado') })
    expect(await gateway.available()).toBe(available)
  })

  it('fail with the reason when a bank rejects them later', async () => {
    // The simulated bank rejects this amount.
    const id = await withdraw({ amount: 900_005 })
    expect((await until(id, 'FAILED')).errorMessage).toMatch(/\([A-Z]{2}\d{2}\)|\((DUPL|FRAD)\)/)
  })

  it('are found again after a lost answer, and not sent twice', async () => {
    const before = await made()
    setBehaviour(psp, 'lost', moneyOut[name])
    const id = await withdraw()
    await untilRequested(moneyOut[name])
    expect((await get(id)).status).toBe('PROCESSING')
    setBehaviour(psp, 'down', queries[name])
    await check()
    await check()
    expect((await get(id)).status).toBe('PROCESSING')
    setBehaviour(psp, 'well')
    await until(id, 'PROCESSED')
    expect((await made()) - before).toBe(1)
  })

  it('are each made once, however many answers are lost', { timeout: 180_000 }, async () => {
    const before = await made()
    const random = createRandom(20_260_302)
    const behaviours: Behaviour[] = ['well', 'well', 'lost', 'down']
    psp.behaviour = ({ path }) => (/\/(pix|pagamentos)/.test(path) ? (random.pick(behaviours) ?? 'well') : 'well')
    const ids = await Promise.all(Array.from({ length: 40 }, async () => await withdraw()))
    const isSettled = async () => (await Promise.all(ids.map(get))).every(({ status }) => status === 'PROCESSED')
    for (let checks = 0; !(await isSettled()) && checks < 100; checks++) await check()
    expect(await isSettled()).toBe(true)
    expect((await made()) - before).toBe(ids.length)
  })

  it('are queried when the PSP sends a callback about them', async () => {
    setBehaviour(psp, 'down', queries[name])
    const before = await made()
    const id = await withdraw()
    await eventually(async () => (await referenceOf(id)) !== null && (await made()) > before)
    setBehaviour(psp, 'well')
    const reference = await referenceOf(id)
    const [suffix, body] =
      name === 'sicoob'
        ? (['/lancamento', { id: reference, status: 'FINALIZADO_SUCESSO', valor: '10.00' }] as const)
        : (['', [{ codigoSolicitacao: reference, status: 'EFETIVADO', valor: '10.00' }]] as const)
    expect(await gateway.post(psp, suffix, body)).toBe(200)
    await eventually(async () => (await get(id)).status === 'PROCESSED')
    // A callback about somebody else's payout is dropped.
    const foreign = JSON.parse(JSON.stringify(body).replaceAll(String(reference), `E${'9'.repeat(31)}`))
    expect(await gateway.post(psp, suffix, foreign)).toBe(200)
  })

  async function referenceOf(id: string): Promise<string | null> {
    const [row] = await gateway.db.query<{ acquirer_reference: string | null }>(sql`
      select acquirer_reference from withdrawals where id = ${id}`)
    return row?.acquirer_reference ?? null
  }

  it.runIf(name === 'inter')('stay in process when a repeat is refused after a lost answer', async () => {
    setBehaviour(psp, 'lost', moneyOut.inter)
    const id = await withdraw()
    await untilRequested(moneyOut.inter)
    setBehaviour(psp, 'refuses', moneyOut.inter)
    for (let checks = 0; checks < 30; checks++) await check()
    expect(countRequests(moneyOut.inter)).toBeGreaterThan(1)
    expect((await get(id)).status).toBe('PROCESSING')
    setBehaviour(psp, 'well')
    await until(id, 'PROCESSED')
  })

  it.runIf(name === 'inter')('are not requested again once the idempotency key may have expired', async () => {
    setBehaviour(psp, 'lost', moneyOut.inter)
    const id = await withdraw()
    await untilRequested(moneyOut.inter)
    setBehaviour(psp, 'well')
    psp.requests = []
    clock.advance(61 * 60_000)
    for (let checks = 0; checks < 5; checks++) await check(10 * 60_000)
    expect(countRequests(moneyOut.inter)).toBe(0)
    expect((await get(id)).status).toBe('PROCESSING')
  })

  it.runIf(name === 'inter')('are settled by two persons when the PSP can no longer be queried', async () => {
    const last = (id: string) =>
      exchanges.findLast(({ operation, recordId }) => operation === 'sendPayout' && recordId === id)
    const lost = async () => {
      setBehaviour(psp, 'lost', moneyOut.inter)
      const id = await withdraw()
      await eventually(() => last(id) !== undefined)
      setBehaviour(psp, 'refuses', moneyOut.inter)
      await check()
      return id
    }
    const available = await gateway.available()
    const [sent, unsent] = [await lost(), await lost()]
    const endToEndId = newEndToEndId({ ispb: '00416968', at: clock.now() })
    await expect(propose(unsent, null)).rejects.toThrow(/still queries the acquirer/)
    clock.advance(2 * 60 * 60_000)
    await expect(propose(unsent, null)).rejects.toThrow(/still queries the acquirer/)
    const now = clock.now()
    const areQueried = () => [sent, unsent].every((id) => (last(id)?.at ?? 0) > now)
    for (let checks = 0; !areQueried() && checks < 20; checks++) await check()
    await insertExchanges(gateway.db, exchanges)
    const before = newEndToEndId({ ispb: '00416968', at: new Date(clock.now().getTime() - 24 * 60 * 60_000) })
    for (const other of ['E1', before]) await expect(propose(sent, other)).rejects.toThrow(/endToEndId must be/)
    const proposals = [(await propose(sent, endToEndId)).id, (await propose(unsent, endToEndId)).id] as const
    await expect(approve(proposals[0], 'cli:ana')).rejects.toThrow(/another person/)
    expect(await get(sent)).toMatchObject({ status: 'PROCESSING' })
    // At the same time: one payout settles one withdrawal.
    const [first] = await Promise.allSettled(proposals.map(async (id) => await approve(id, 'cli:rui')))
    const [settled, open] = first?.status === 'fulfilled' ? [sent, unsent] : [unsent, sent]
    expect(await get(settled)).toMatchObject({ status: 'PROCESSED', endToEnd: endToEndId })
    expect(await get(open)).toMatchObject({ status: 'PROCESSING' })
    const { id: correction } = await propose(open, null)
    await approve(correction, 'cli:rui')
    await expect(approve(correction, 'cli:rui')).rejects.toThrow(/nothing is left to decide/)
    expect(await get(open)).toMatchObject({ status: 'FAILED', errorMessage: 'not in the statement' })
    await expect(propose(settled, null)).rejects.toThrow(/is PROCESSED/)
    expect(await gateway.available()).toBe(available - 1_000)
    setBehaviour(psp, 'well')
    // Only persons know that it was sent: a comparison cannot contradict them.
    expect(await reconcileAll()).toEqual([])
  })

  it.runIf(name === 'inter')('are settled by two persons during a payout freeze too', async () => {
    setBehaviour(psp, 'lost', moneyOut.inter)
    const id = await withdraw()
    await untilRequested(moneyOut.inter)
    setBehaviour(psp, 'well')
    await freezePayouts(gateway.db, { reason: 'a test', now: clock.now() })
    try {
      const frozenAt = clock.now().getTime()
      const isTooLate = ({ recordId, at }: Exchange) => recordId === id && at.getTime() > frozenAt + 2 * 60 * 60_000
      for (let checks = 0; !exchanges.some(isTooLate) && checks < 200; checks++) await check(5 * 60_000)
      await insertExchanges(gateway.db, exchanges)
      await approve((await propose(id, null)).id, 'cli:rui')
      expect(await get(id)).toMatchObject({ status: 'FAILED', errorMessage: 'not in the statement' })
    } finally {
      await releasePayouts({ db: gateway.db, clock }, { by: { actor: 'cli:rui' } })
    }
  })

  it.runIf(name === 'sicoob')('wait for two persons when the database lost the id of a confirmed payout', async () => {
    const before = await made()
    setBehaviour(psp, 'lost', moneyOut.sicoob)
    const [sent, unsent] = [await withdraw(), await withdraw()]
    await eventually(async () => (await made()) === before + 2)
    const endToEndId = await referenceOf(sent)
    await gateway.db.transaction(async (tx) => {
      await tx.query(sql`update withdrawals set acquirer_reference = null where id in (${sent}, ${unsent})`)
      await reviewAfterLostCommits(tx, clock.now())
    })
    setBehaviour(psp, 'well')
    const lostAt = clock.now().getTime()
    for (let checks = 0; checks < 10; checks++) await check()
    await insertExchanges(gateway.db, exchanges)
    await expect(propose(sent, endToEndId)).rejects.toThrow(/still queries the acquirer/)
    const isQueriedLate = (id: string) =>
      exchanges.some(({ recordId, at }) => recordId === id && at.getTime() > lostAt + 2 * 60 * 60_000)
    for (let checks = 0; !(isQueriedLate(sent) && isQueriedLate(unsent)) && checks < 200; checks++)
      await check(5 * 60_000)
    await insertExchanges(gateway.db, exchanges)
    expect([(await made()) - before, (await get(sent)).status]).toEqual([2, 'PROCESSING'])
    for (const [id, seen] of [
      [sent, endToEndId],
      [unsent, null],
    ] as const)
      await approve((await propose(id, seen)).id, 'cli:rui')
    expect(await get(sent)).toMatchObject({ status: 'PROCESSED', endToEnd: endToEndId })
    expect(await get(unsent)).toMatchObject({ status: 'FAILED', errorMessage: 'not in the statement' })
    expect(await reconcileAll()).toEqual([])
    // A withdrawal that is requested later is prepared and sent as usual.
    await until(await withdraw(), 'PROCESSED')
    expect((await made()) - before).toBe(3)
  })

  it.runIf(name === 'sicoob')('have one id, even when they are started again after a lost answer', async () => {
    const begin = 'POST /pix-pagamentos/v2/pagamentos'
    const before = await made()
    psp.behaviour = ({ method, path }) => (`${method} ${path}` === begin ? 'lost' : 'well')
    const id = await withdraw()
    await untilRequested(begin)
    expect([await referenceOf(id), countRequests(moneyOut.sicoob)]).toEqual([null, 0])
    setBehaviour(psp, 'well')
    await until(id, 'PROCESSED')
    expect([(await get(id)).endToEnd, (await made()) - before]).toEqual([await referenceOf(id), 1])
  })
})
