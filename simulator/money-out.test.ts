import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cents } from '../src/lib/money.ts'
import { createEmptyDatabase, type TestDatabase } from '../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../test/support/simulator.ts'
import type { Disturbance } from './disturb.ts'
import { receiverKey } from './receiver-account.ts'
import { slowMs } from './settlement.ts'

let database: TestDatabase
let simulator: TestSimulator
let next = 1

beforeAll(async () => {
  database = await createEmptyDatabase()
  simulator = await testSimulator(database.db.pool)
  await simulator.request('PUT', `/webhook/${receiverKey}`, { body: { webhookUrl: 'https://shop.example' } })
})
afterAll(async () => {
  await simulator.close()
  await database.drop()
})

const newId = () => `id${next++}`
const paid = async (valor = '10.00') => {
  const txid = txidOf(next++)
  const outcome = await simulator.pay({ uri: await simulator.charge(txid, valor) })
  if (!outcome.ok) throw new Error(outcome.message)
  return { txid, endToEndId: outcome.endToEndId }
}
const payout = (valor: unknown = '5.00', more: object = {}) => ({
  valor,
  pagador: { chave: receiverKey },
  favorecido: { chave: 'maria@example.com' },
  ...more,
})
const reported = () => simulator.callbacks.map(({ body }) => body)

describe('a return', () => {
  it('is created, fetched and shown with the Pix as in the standard', async () => {
    const { txid, endToEndId } = await paid()
    const path = `/pix/${endToEndId}/devolucao/${newId()}`
    const now = simulator.clock.now().toISOString()
    const taken = await simulator.request('PUT', path, { body: { valor: '4.00', descricao: 'Desculpe' } })
    const devolucao = {
      id: path.split('/').at(-1),
      rtrId: expect.stringMatching(/^D09089356\d{12}[A-Za-z0-9]{11}$/),
      valor: '4.00',
      natureza: 'ORIGINAL',
      descricao: 'Desculpe',
      horario: { solicitacao: now },
      status: 'EM_PROCESSAMENTO',
    }
    expect(taken).toMatchObject({ status: 201, body: devolucao })
    const done = { ...devolucao, horario: { solicitacao: now, liquidacao: now }, status: 'DEVOLVIDO' }
    expect(await simulator.request('GET', path)).toMatchObject({ status: 200, body: done })
    expect((await simulator.request('GET', `/pix/${endToEndId}`)).body.devolucoes).toEqual([done])
    expect((await simulator.request('GET', `/cob/${txid}`)).body.pix).toMatchObject([
      { endToEndId, devolucoes: [done] },
    ])
    const pix = expect.objectContaining({ endToEndId, txid, valor: '10.00', devolucoes: [done] })
    await expect.poll(reported).toContainEqual({ pix: [pix] })
  })

  it('is a filter of the list of Pix', async () => {
    simulator.clock.advance(3_600_000)
    const [returned, kept] = [await paid(), await paid()]
    await simulator.request('PUT', `/pix/${returned.endToEndId}/devolucao/${newId()}`, { body: { valor: '1.00' } })
    const now = simulator.clock.now().toISOString()
    const listed = async (devolucaoPresente?: string) => {
      const query = { inicio: now, fim: now, ...(devolucaoPresente && { devolucaoPresente }) }
      const { pix } = (await simulator.request('GET', '/pix', { query })).body
      return (Array.isArray(pix) ? pix : []).map((one) => one.endToEndId)
    }
    expect(await listed('true')).toEqual([returned.endToEndId])
    expect(await listed('false')).toEqual([kept.endToEndId])
    expect(await listed()).toHaveLength(2)
  })

  it.each([
    [{ valor: '0.00' }, 'devolucao.valor'],
    [{ valor: 1 }, 'devolucao.valor'],
    [{}, 'devolucao.valor'],
    [{ valor: '1.00', natureza: 'RETIRADA' }, 'devolucao.natureza'],
    [{ valor: '1.00', natureza: 'MED_FRAUDE' }, 'devolucao.natureza'],
    [{ valor: '1.00', descricao: 'x'.repeat(141) }, 'devolucao.descricao'],
    [{ valor: '1.00', descricao: '\u0000' }, 'devolucao.descricao'],
    [{ valor: '10.01' }, 'devolucao.valor'],
  ])('with %j is refused', async (body, propriedade) => {
    const { endToEndId } = await paid()
    const answer = await simulator.request('PUT', `/pix/${endToEndId}/devolucao/${newId()}`, { body })
    expect(answer).toMatchObject({ status: 400, body: { type: expect.stringMatching(/PixDevolucaoInvalida$/) } })
    expect(answer.body.violacoes).toContainEqual(expect.objectContaining({ propriedade }))
  })

  it('has an id of up to 35 letters and digits, unique for each Pix', async () => {
    const { endToEndId } = await paid()
    const put = (id: string, body: object = { valor: '1.00' }, pix = endToEndId) =>
      simulator.request('PUT', `/pix/${pix}/devolucao/${id}`, { body })
    for (const id of ['a-b', 'x'.repeat(36), '%20']) expect((await put(id)).status).toBe(400)
    expect((await put('x'.repeat(35))).status).toBe(201)
    expect((await put('same')).status).toBe(201)
    expect((await put('same')).body.status).toBe('DEVOLVIDO')
    expect((await put('same', { valor: '1.00', descricao: 'x' })).body.violacoes).toMatchObject([{ propriedade: 'id' }])
    expect((await put('same', { valor: '1.00' }, (await paid()).endToEndId)).status).toBe(201)
    expect((await put('other', { valor: '1.00' }, 'E1')).status).toBe(404)
    expect((await simulator.request('GET', `/pix/${endToEndId}/devolucao/none`)).status).toBe(404)
  })

  it('leaves the money for another return when it was rejected', async () => {
    const { endToEndId } = await paid('8000.01')
    const put = (valor: string) =>
      simulator.request('PUT', `/pix/${endToEndId}/devolucao/${newId()}`, { body: { valor } })
    await put('8000.01')
    expect((await simulator.request('GET', `/pix/${endToEndId}`)).body.devolucoes).toMatchObject([
      { status: 'NAO_REALIZADO', motivo: expect.stringMatching(/^AM04: /) },
    ])
    expect((await put('8000.00')).status).toBe(201)
    expect((await put('0.02')).status).toBe(400)
  })
})

describe('a payout', () => {
  it('is answered, fetched and reported as at Efí', async () => {
    const id = newId()
    const path = `/v3/gn/pix/${id}`
    const now = simulator.clock.now().toISOString()
    const body = payout('5.00', { pagador: { chave: receiverKey, infoPagador: 'Saque' } })
    const taken = await simulator.request('PUT', path, { body })
    expect(taken).toMatchObject({
      status: 201,
      body: { idEnvio: id, valor: '5.00', horario: { solicitacao: now }, status: 'EM_PROCESSAMENTO' },
    })
    const { e2eId } = taken.body
    expect(e2eId).toMatch(/^E09089356/)
    expect((await simulator.request('GET', `/v2/gn/pix/enviados/id-envio/${id}`)).body).toMatchObject({
      endToEndId: e2eId,
      idEnvio: id,
      valor: '5.00',
      chave: receiverKey,
      status: 'REALIZADO',
      infoPagador: 'Saque',
      horario: { solicitacao: now, liquidacao: now },
      favorecido: { chave: 'maria@example.com', identificacao: { nome: 'João Batista Pereira' } },
    })
    await expect.poll(reported).toContainEqual({
      pix: [
        {
          endToEndId: e2eId,
          chave: receiverKey,
          tipo: 'SOLICITACAO',
          status: 'REALIZADO',
          valor: '5.00',
          horario: now,
          infoPagador: 'Saque',
          gnExtras: { idEnvio: id },
        },
      ],
    })
    expect((await simulator.request('PUT', path, { body })).body).toMatchObject({ e2eId, status: 'REALIZADO' })
    const other = await simulator.request('PUT', path, { body: payout('5.01') })
    expect(other).toMatchObject({ status: 400, body: { violacoes: [{ propriedade: 'idEnvio' }] } })
  })

  it('is reported with its code when it is rejected', async () => {
    const id = newId()
    await simulator.request('PUT', `/v3/gn/pix/${id}`, { body: payout('9000.03') })
    const erro = { codigo: 'AC03', origem: 'SPI', motivo: expect.stringContaining('inexistente') }
    const rejected = { status: 'NAO_REALIZADO', horario: null, gnExtras: { idEnvio: id, erro } }
    await expect.poll(reported).toContainEqual({ pix: [expect.objectContaining(rejected)] })
    expect((await simulator.request('GET', `/v2/gn/pix/enviados/id-envio/${id}`)).body).toMatchObject({
      gnExtras: { erro },
    })
    expect(await simulator.returnPayout({ payoutId: id })).toMatchObject({ code: 'payout_unknown' })
  })

  it.each([
    [payout('0.00')],
    [payout(5)],
    [payout('5.00', { pagador: {} })],
    [payout('5.00', { pagador: { chave: 'joao@example.com' } })],
    [payout('5.00', { favorecido: { chave: 'nobody' } })],
    [payout('5.00', { pagador: { chave: receiverKey, infoPagador: '\u0000' } })],
    [payout('9000.90')],
    [undefined],
  ])('with %j is refused, and not stored', async (body) => {
    const id = newId()
    expect((await simulator.request('PUT', `/v3/gn/pix/${id}`, { body })).status).toBe(400)
    expect((await simulator.request('GET', `/v2/gn/pix/enviados/id-envio/${id}`)).status).toBe(404)
  })
})

describe('the outcome of outgoing money', () => {
  it('is the same after a restart', async () => {
    const { endToEndId } = await paid('8000.02')
    const [slow, rejected] = [newId(), newId()]
    await simulator.request('PUT', `/pix/${endToEndId}/devolucao/${slow}`, { body: { valor: '8000.02' } })
    await simulator.request('PUT', `/v3/gn/pix/${rejected}`, { body: payout('9000.20') })
    const again = await testSimulator(database.db.pool, { clock: simulator.clock })
    const returned = async () => (await again.request('GET', `/pix/${endToEndId}/devolucao/${slow}`)).body.status
    expect(await returned()).toBe('EM_PROCESSAMENTO')
    simulator.clock.advance(slowMs)
    expect(await returned()).toBe('DEVOLVIDO')
    const sent = await again.request('GET', `/v2/gn/pix/enviados/id-envio/${rejected}`)
    expect(sent.body).toMatchObject({ status: 'NAO_REALIZADO', gnExtras: { erro: { codigo: 'FRAD' } } })
    await again.close()
  })
})

describe('a disturbance', () => {
  it('affects requests, before or after they took effect, and no controls', async () => {
    const plan: Disturbance[] = []
    const disturbed = await testSimulator(database.db.pool, {
      disturb: ({ method, path }) => (method === 'GET' || path === '/oauth/token' ? 'none' : (plan.shift() ?? 'none')),
    })
    const id = newId()
    const put = () => disturbed.request('PUT', `/v3/gn/pix/${id}`, { body: payout() })
    const find = async () => (await disturbed.request('GET', `/v2/gn/pix/enviados/id-envio/${id}`)).status
    plan.push('time_out_before', 'error_500', 'time_out_after')
    expect([(await put()).status, await find()]).toEqual([504, 404])
    expect([(await put()).status, await find()]).toEqual([500, 404])
    expect([(await put()).status, await find()]).toEqual([504, 200])
    expect((await put()).status).toBe(201)
    plan.push('refused')
    expect(await disturbed.returnPayout({ payoutId: id, amount: cents(1) })).toMatchObject({ ok: true })
    expect(plan).toEqual(['refused'])
    await disturbed.close()
  })
})

describe('the sandbox', () => {
  it('has the controls of money that goes back, and answers as the functions do', async () => {
    const { endToEndId } = await paid()
    const post = (control: string, body: object) => simulator.request('POST', `/sandbox/${control}`, { body })
    const opened = await post('infraction', { endToEndId, amount: 100, reason: 'operational_failure' })
    expect(opened).toMatchObject({ status: 200, body: { id: expect.any(String) } })
    const decision = { reference: opened.body.id, decision: 'accept' }
    expect(await post('decision', decision)).toMatchObject({ status: 200, body: opened.body })
    expect(await post('decision', decision)).toMatchObject({
      status: 422,
      body: { violacoes: [{ propriedade: 'not_open' }] },
    })
    expect(await post('return', { endToEndId })).toMatchObject({ status: 200 })
    const id = newId()
    await simulator.request('PUT', `/v3/gn/pix/${id}`, { body: payout() })
    expect(await post('payout-return', { payoutId: id, amount: 500 })).toMatchObject({ status: 200 })
  })

  it('refuses an invalid request, and an unknown control', async () => {
    for (const control of ['payment', 'infraction', 'decision', 'return', 'payout-return']) {
      expect((await simulator.request('POST', `/sandbox/${control}`, { body: { endToEndId: 1 } })).status).toBe(400)
    }
    expect((await simulator.request('POST', '/sandbox/other', { body: {} })).status).toBe(404)
  })
})
