import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../../test/support/simulator.ts'
import { receiverKey } from '../receiver-account.ts'
import { slowMs } from '../settlement.ts'
import { isSpiCode } from '../spi-codes.ts'
import { findNextTxid } from '../store.ts'
import { disputedAfterMs } from './follow-ups.ts'
import { createFaultProfile, drawBehaviours, honestProfile } from './profile.ts'
import { type Behaviour, behaviourAmounts, behaviours, presets, type Trait, traitNames } from './traits.ts'

let database: TestDatabase
let simulator: TestSimulator
let next = 1

beforeAll(async () => {
  database = await createEmptyDatabase()
  simulator = await testSimulator(database.db.pool)
  await simulator.request('PUT', `/webhook/${receiverKey}`, { body: { webhookUrl: 'http://shop.example' } })
})
afterAll(async () => {
  await simulator.close()
  await database.drop()
})
beforeEach(async () => {
  await simulator.personality({ name: 'honest' })
  simulator.callbacks.length = 0
})

type Entry = { endToEndId: string; txid?: string; valor: string; chave: string; horario: string }
type Pix = Entry & { devolucoes?: object[]; pagador: { cpf: string } }

async function paid(
  behaviour: Behaviour | undefined,
  { amount = '10.00', txid = txidOf(next++), expiracao = 3600 } = {},
) {
  const uri = await simulator.charge(txid, amount, expiracao)
  const outcome = await simulator.pay({ uri, ...(behaviour && { behaviour }) })
  if (!outcome.ok) throw new Error(outcome.message)
  return { txid, uri, endToEndId: outcome.endToEndId }
}
const chargeOf = async (txid: string) =>
  (await simulator.request('GET', `/cob/${txid}`)).body as { status: string; pix?: Pix[] }
const pixOf = async (endToEndId: string) => await simulator.request('GET', `/pix/${endToEndId}`)
const listed = async (query: Record<string, string> = {}) => {
  const now = simulator.clock.now().getTime()
  const range = { inicio: new Date(now - 40 * 86_400_000).toISOString(), fim: new Date(now).toISOString() }
  const { body } = await simulator.request('GET', '/pix', {
    query: { ...range, 'paginacao.itensPorPagina': '1000', ...query },
  })
  return body.pix as Pix[]
}
const reported = () => simulator.callbacks.flatMap(({ body }) => (body as { pix: Entry[] }).pix)
const truthOf = async (txid: string) => (await simulator.truth()).payments.filter(({ paysTxid }) => paysTxid === txid)

describe('a draw of faults', () => {
  const everything = Object.fromEntries(traitNames.map((trait) => [trait, 0.5]))
  const txids = Array.from({ length: 2000 }, (_, index) => txidOf(index))
  const draws = (seed: number, order: string[]) => {
    const profile = createFaultProfile({ name: 'hostile', seed, traits: everything })
    return new Map(
      order.map((txid) => [txid, drawBehaviours(profile, { txid, amount: 1000, requested: undefined }).join()]),
    )
  }

  it('is the same for the same seed, in any order of draws', () => {
    const [one, other] = [draws(7, txids), draws(7, txids.toReversed())]
    for (const txid of txids) expect(other.get(txid)).toBe(one.get(txid))
  })

  it('is different for another seed', () => {
    const [one, other] = [draws(7, txids), draws(8, txids)]
    expect(txids.filter((txid) => one.get(txid) === other.get(txid)).length).toBeLessThan(20)
  })

  it.each(traitNames)('has %s as often as its probability says, and no other fault', (trait: Trait) => {
    const profile = createFaultProfile({ name: 'honest', seed: 3, traits: { [trait]: 0.2 } })
    const drawn = txids.filter((txid) => profile.has(trait, txid)).length
    // Six standard deviations on either side of 400.
    expect(drawn).toBeGreaterThan(290)
    expect(drawn).toBeLessThan(510)
    expect(traitNames.filter((other) => other !== trait && txids.some((txid) => profile.has(other, txid)))).toEqual([])
  })

  it('has no fault for an honest bank', () => {
    const profile = createFaultProfile(honestProfile)
    expect(txids.flatMap((txid) => drawBehaviours(profile, { txid, amount: 1000, requested: undefined }))).toEqual([])
  })

  it('prefers the requested behaviour, then that of the amount', () => {
    const hostile = createFaultProfile({ name: 'hostile', seed: 1, traits: everything })
    const [txid] = txids
    if (txid === undefined) throw new Error('no txid')
    expect(drawBehaviours(hostile, { txid, amount: behaviourAmounts.late, requested: 'twice' })).toEqual(['twice'])
    expect(drawBehaviours(hostile, { txid, amount: behaviourAmounts.late, requested: 'honest' })).toEqual([])
    expect(drawBehaviours(hostile, { txid, amount: behaviourAmounts.late, requested: undefined })).toEqual(['late'])
  })
})

describe('a payment', () => {
  it('without its txid cannot be attributed, and leaves the charge open', async () => {
    const { txid, endToEndId } = await paid('without_txid')
    expect(await chargeOf(txid)).toMatchObject({ status: 'ATIVA' })
    expect(await chargeOf(txid)).not.toHaveProperty('pix')
    const { body } = await pixOf(endToEndId)
    expect(body).toMatchObject({ valor: '10.00' })
    expect(body).not.toHaveProperty('txid')
    expect((await listed({ txIdPresente: 'false' })).map((pix) => pix.endToEndId)).toContain(endToEndId)
    expect((await listed({ txIdPresente: 'true' })).map((pix) => pix.endToEndId)).not.toContain(endToEndId)
    expect(await listed({ txid })).toEqual([])
    await expect.poll(reported).toEqual([expect.objectContaining({ endToEndId })])
    expect(reported()[0]).not.toHaveProperty('txid')
    expect(await truthOf(txid)).toMatchObject([{ endToEndId, txid: null, amount: 1000, behaviours: ['without_txid'] }])
  })

  it('is shown nowhere for ten minutes when it is slow', async () => {
    const { txid, endToEndId, uri } = await paid('slow')
    expect((await pixOf(endToEndId)).status).toBe(404)
    expect(await chargeOf(txid)).toMatchObject({ status: 'ATIVA' })
    expect(await truthOf(txid)).toEqual([])
    // The payer's bank knows that it has paid.
    expect(await simulator.pay({ uri })).toMatchObject({ ok: false, code: 'already_paid' })
    simulator.clock.advance(slowMs)
    const horario = simulator.clock.now().toISOString()
    expect((await pixOf(endToEndId)).body).toMatchObject({ txid, horario })
    expect(await chargeOf(txid)).toMatchObject({ status: 'CONCLUIDA', pix: [{ endToEndId }] })
    expect(await listed({ txid })).toHaveLength(1)
  })

  it('arrives ten minutes after the charge expired when it is late', async () => {
    const { txid, endToEndId } = await paid('late', { expiracao: 60 })
    simulator.clock.advance(60_000 + slowMs - 1)
    expect(await listed({ txid })).toEqual([])
    simulator.clock.advance(1)
    expect(await listed({ txid })).toMatchObject([{ endToEndId, horario: simulator.clock.now().toISOString() }])
  })

  it('can pay a charge that expired long ago, but not at an honest bank', async () => {
    const uri = await simulator.charge(txidOf(next++), '10.00', 60)
    simulator.clock.advance(60_000 + slowMs)
    expect(await simulator.pay({ uri })).toMatchObject({ code: 'charge_expired' })
    const outcome = await simulator.pay({ uri, behaviour: 'late' })
    expect(outcome).toMatchObject({ ok: true })
    expect((await pixOf(outcome.ok ? outcome.endToEndId : '')).status).toBe(200)
  })

  it('arrives twice, under two ids', async () => {
    const { txid } = await paid('twice')
    const { status, pix = [] } = await chargeOf(txid)
    expect(status).toBe('CONCLUIDA')
    expect(pix).toHaveLength(2)
    expect(new Set(pix.map(({ endToEndId }) => endToEndId)).size).toBe(2)
    expect(pix.map((one) => one.txid)).toEqual([txid, txid])
    expect((await truthOf(txid)).map(({ isSecond }) => isSecond).toSorted()).toEqual([false, true])
    await expect.poll(() => reported().length).toBe(2)
  })

  it('can pay a charge that is already paid', async () => {
    const { txid, uri } = await paid(undefined)
    expect(await simulator.pay({ uri, behaviour: 'twice' })).toMatchObject({ ok: true })
    expect(await simulator.pay({ uri, behaviour: 'late' })).toMatchObject({ code: 'already_paid' })
    expect(await listed({ txid })).toHaveLength(2)
  })

  it('has another amount', async () => {
    const amounts = new Set<string | undefined>()
    for (let tries = 0; tries < 60; tries += 1) {
      const { txid } = await paid('other_amount')
      amounts.add((await listed({ txid }))[0]?.valor)
    }
    expect([...amounts].toSorted()).toEqual(['10.01', '20.00', '5.00', '9.99'])
  })

  it.each([
    ['smaller', '0.01', ['0.02']],
    ['larger', '9999999999.99', ['4999999999.99', '9999999999.98']],
  ])('has another amount even when it cannot be %s', async (_, amount, others) => {
    for (let tries = 0; tries < 8; tries += 1) {
      const { txid } = await paid('other_amount', { amount })
      expect(others).toContain((await listed({ txid }))[0]?.valor)
    }
  })

  it('comes from another person’s account', async () => {
    const { txid } = await paid('other_payer')
    expect(await listed({ txid })).toMatchObject([{ pagador: { cpf: '39053344705', nome: 'José Carlos Ferreira' } }])
  })

  it('is returned by the bank ten minutes later', async () => {
    const { endToEndId, txid } = await paid('returned')
    expect((await pixOf(endToEndId)).body).not.toHaveProperty('devolucoes')
    expect(await listed({ txid, devolucaoPresente: 'true' })).toEqual([])
    simulator.clock.advance(slowMs)
    const devolucoes = [{ valor: '10.00', natureza: 'ORIGINAL', status: 'DEVOLVIDO' }]
    expect((await pixOf(endToEndId)).body).toMatchObject({ devolucoes })
    expect(await listed({ txid, devolucaoPresente: 'true' })).toMatchObject([{ devolucoes }])
    expect(await truthOf(txid)).toMatchObject([{ amount: 1000, returned: 1000 }])
  })

  it('is disputed two days later', async () => {
    const { endToEndId } = await paid('contested')
    const disputes = async () => {
      const now = simulator.clock.now().getTime()
      const range = { inicio: new Date(now - 3 * 86_400_000).toISOString(), fim: new Date(now + 1000).toISOString() }
      const { body } = await simulator.request('GET', '/v2/gn/infracoes', { query: range })
      return (body.infracoes as { endToEndId: string }[]).filter((one) => one.endToEndId === endToEndId)
    }
    simulator.clock.advance(disputedAfterMs - 1)
    expect(await disputes()).toEqual([])
    simulator.clock.advance(1)
    expect(await disputes()).toMatchObject([{ status: 'ABERTA', valor: '10.00' }])
    // Decided by the payment's id: no control has returned the dispute's own.
    expect(await simulator.decideDispute({ reference: endToEndId, decision: 'reject' })).toMatchObject({ ok: true })
    expect(await disputes()).toMatchObject([{ status: 'REJEITADA' }])
    const again = await simulator.decideDispute({ reference: endToEndId, decision: 'accept' })
    expect(again).toMatchObject({ code: 'infraction_unknown' })
  })
})

describe('a callback', () => {
  it('never arrives', async () => {
    const { txid } = await paid('callback_never')
    // Another payment's callback arrived in the meantime.
    const { endToEndId } = await paid(undefined)
    await expect.poll(reported).toMatchObject([{ endToEndId }])
    expect(await listed({ txid })).toHaveLength(1)
  })

  it('arrives twice', async () => {
    const { endToEndId } = await paid('callback_twice')
    await expect.poll(() => reported().map((pix) => pix.endToEndId)).toEqual([endToEndId, endToEndId, endToEndId])
  })

  it('arrives out of order', async () => {
    const uris = []
    for (let tries = 0; tries < 12; tries += 1) uris.push(await simulator.charge(txidOf(next++)))
    // All at once: on a slow machine, the callbacks of payments made one by one would stay in order.
    const outcomes = await Promise.all(uris.map((uri) => simulator.pay({ uri, behaviour: 'callback_late' })))
    const made = outcomes.map((outcome) => (outcome.ok ? outcome.endToEndId : outcome.code))
    await expect.poll(() => reported().length).toBe(12)
    const order = reported().map(({ endToEndId }) => endToEndId)
    expect(order).not.toEqual(made)
    expect(order.toSorted()).toEqual(made.toSorted())
  })

  it('arrives together with forged ones', async () => {
    // The forged callbacks need another charge to name.
    await simulator.charge(txidOf(900_000))
    for (let tries = 0; tries < 6; tries += 1) {
      simulator.callbacks.length = 0
      const { endToEndId, txid } = await paid('callback_forged')
      await expect.poll(() => simulator.callbacks.length).toBe(2)
      const [forged = [], mixed = []] = simulator.callbacks.map(({ body }) => (body as { pix: Entry[] }).pix)
      const isTrue = (entry: Entry) => entry.endToEndId === endToEndId && entry.txid === txid
      expect(forged.filter(isTrue)).toEqual([])
      expect(mixed.filter(isTrue)).toHaveLength(1)
      expect(forged.filter((entry) => entry.chave !== receiverKey)).toHaveLength(1)
      const invented = forged.filter((entry) => entry.endToEndId !== endToEndId)
      expect(invented).toHaveLength(2)
      for (const entry of invented) expect((await pixOf(entry.endToEndId)).status).toBe(404)
      expect(forged.filter((entry) => entry.endToEndId === endToEndId && entry.txid !== txid)).toHaveLength(1)
    }
  })

  it('can be forged for every charge with the txid of another one', async () => {
    for (const index of [1, 2]) await simulator.charge(txidOf(900_000 + index))
    const { rows } = await database.db.pool.query<{ id: string; txid: string }>(
      'select id, txid from simulator.charges order by id',
    )
    const txids = rows.map(({ txid }) => txid)
    const found = await Promise.all(rows.map(async ({ id }) => await findNextTxid(database.db.pool, id)))
    expect(found).toEqual([...txids.slice(1), txids[0]])
  })
})

describe('an answer', () => {
  it('is lost once, after the request took effect', async () => {
    await simulator.personality({ traits: { answer_lost: 1 } })
    const txid = txidOf(next++)
    const body = { calendario: { expiracao: 60 }, valor: { original: '1.00' }, chave: receiverKey }
    expect((await simulator.request('PUT', `/cob/${txid}`, { body })).status).toBe(504)
    expect((await simulator.request('PUT', `/cob/${txid}`, { body })).status).toBe(200)
    await simulator.personality({ name: 'honest' })
    const { endToEndId } = await paid(undefined)
    await simulator.personality({ traits: { answer_lost: 1 } })
    const place = `/pix/${endToEndId}/devolucao/a`
    expect((await simulator.request('PUT', place, { body: { valor: '1.00' } })).status).toBe(504)
    expect((await simulator.request('GET', place)).body).toMatchObject({ valor: '1.00', status: 'DEVOLVIDO' })
    const payout = { valor: '1.00', pagador: { chave: receiverKey }, favorecido: { chave: 'a@example.com' } }
    expect((await simulator.request('PUT', '/v3/gn/pix/lost1', { body: payout })).status).toBe(504)
    expect((await simulator.request('PUT', '/v3/gn/pix/lost1', { body: payout })).status).toBe(201)
  })
})

it('rejected payouts and returns have the reason codes of the Pix system', async () => {
  await simulator.personality({ seed: 5, traits: { payout_rejected: 1, return_rejected: 1 } })
  const payout = { valor: '1.00', pagador: { chave: receiverKey }, favorecido: { chave: 'a@example.com' } }
  const codes = new Set<string>()
  for (let index = 0; index < 150; index += 1) {
    await simulator.request('PUT', `/v3/gn/pix/rejected${index}`, { body: payout })
    const { body } = await simulator.request('GET', `/v2/gn/pix/enviados/id-envio/rejected${index}`)
    expect(body).toMatchObject({ status: 'NAO_REALIZADO' })
    codes.add((body as { gnExtras: { erro: { codigo: string } } }).gnExtras.erro.codigo)
  }
  expect([...codes].every(isSpiCode)).toBe(true)
  expect(codes.size).toBeGreaterThan(20)
  const { endToEndId } = await paid(undefined)
  await simulator.request('PUT', `/pix/${endToEndId}/devolucao/b`, { body: { valor: '1.00' } })
  const { body } = await simulator.request('GET', `/pix/${endToEndId}/devolucao/b`)
  expect(body).toMatchObject({ status: 'NAO_REALIZADO', motivo: expect.stringMatching(/^[A-Z]{2}\w\w: /) })
})

describe('an amount', () => {
  it.each(behaviours)('triggers %s', async (behaviour) => {
    const amount = (behaviourAmounts[behaviour] / 100).toFixed(2)
    const { txid } = await paid(undefined, { amount })
    simulator.clock.advance(3_600_000 + slowMs)
    expect((await truthOf(txid))[0]?.behaviours).toEqual([behaviour])
  })

  it('affects only its own charge: charges of similar amounts are paid normally', async () => {
    for (const amount of ['7000.00', '7000.13']) {
      const { txid } = await paid(undefined, { amount })
      expect(await truthOf(txid)).toMatchObject([{ behaviours: [] }])
    }
  })
})

describe('a fault profile', () => {
  it('is stored, so that a process that starts later has it too', async () => {
    const profile = await simulator.personality({ name: 'careless', seed: 11, traits: { twice: 1 } })
    expect(profile).toEqual({ name: 'careless', seed: 11, traits: { ...presets.careless, twice: 1 } })
    const later = await testSimulator(database.db.pool, { clock: simulator.clock })
    expect(await later.personality()).toEqual(profile)
    const txid = txidOf(next++)
    await later.pay({ uri: await later.charge(txid) })
    expect((await truthOf(txid)).some(({ isSecond }) => isSecond)).toBe(true)
    await later.close()
  })

  it('keeps what a request without a name leaves out', async () => {
    const change = async (body: object) => (await simulator.request('POST', '/sandbox/personality', { body })).body
    await change({ name: 'late', seed: 3, traits: { twice: 1 } })
    const traits = { ...presets.late, twice: 1 }
    expect(await change({ seed: 7 })).toEqual({ name: 'late', seed: 7, traits })
    const later = await testSimulator(database.db.pool, { clock: simulator.clock, personality: { seed: 8 } })
    expect(await later.personality()).toEqual({ name: 'late', seed: 8, traits })
    await later.close()
    expect(await change({ name: 'late' })).toEqual({ name: 'late', seed: 1, traits: presets.late })
  })

  it('is refused when it is invalid', async () => {
    const request = async (body: object) => (await simulator.request('POST', '/sandbox/personality', { body })).status
    expect(await request({ name: 'wicked' })).toBe(400)
    expect(await request({ traits: { twice: 2 } })).toBe(400)
    expect(await request({ traits: { thrice: 1 } })).toBe(400)
    expect(await request({ seed: -1 })).toBe(400)
    expect((await simulator.request('POST', '/sandbox/personality', { body: {} })).body).toEqual(honestProfile)
  })
})

it('the true balance is what has arrived, less what went back and what was paid out', async () => {
  const before = (await simulator.truth()).balance
  const { endToEndId } = await paid('twice')
  expect((await simulator.truth()).balance).toBe(before + 2000)
  await simulator.request('PUT', `/pix/${endToEndId}/devolucao/c`, { body: { valor: '4.00' } })
  const payout = { valor: '3.00', pagador: { chave: receiverKey }, favorecido: { chave: 'a@example.com' } }
  await simulator.request('PUT', '/v3/gn/pix/held', { body: payout })
  expect((await simulator.truth()).balance).toBe(before + 2000 - 400 - 300)
})
