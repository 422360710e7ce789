import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cents } from '../src/lib/money.ts'
import { encodeDynamicBrCode, encodeStaticBrCode } from '../src/pix/brcode.ts'
import { isEndToEndId } from '../src/pix/ids.ts'
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

const newTxid = () => txidOf(next++)
const merchant = { merchantName: 'LOJA', merchantCity: 'SAO PAULO' }
// A code with only a key, from the Central Bank's manual.
const staticCode =
  '00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D'

describe('a payment', () => {
  it('shows in the charge, under its own id and in the list', async () => {
    const txid = newTxid()
    const outcome = await simulator.pay({ uri: await simulator.charge(txid, '25.90') })
    if (!outcome.ok) throw new Error(outcome.message)
    const { endToEndId } = outcome
    expect(isEndToEndId(endToEndId)).toBe(true)
    expect(endToEndId).toMatch(/^E60701190202603021500/)
    const charge = await simulator.request('GET', `/cob/${txid}`)
    const horario = simulator.clock.now().toISOString()
    const pix = { endToEndId, txid, valor: '25.90', chave: receiverKey, horario, pagador: { cpf: '52998224725' } }
    expect(charge.body).toMatchObject({ status: 'CONCLUIDA', pix: [pix] })
    expect((await simulator.request('GET', `/pix/${endToEndId}`)).body).toMatchObject(pix)
    const query = { inicio: horario, fim: horario, txid }
    expect((await simulator.request('GET', '/pix', { query })).body.pix).toMatchObject([pix])
  })

  it('is accepted once from twenty concurrent ones', async () => {
    const uri = await simulator.charge(newTxid())
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => simulator.pay({ uri })))
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1)
    const losers = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.code]))
    expect(losers).toEqual(Array(19).fill('already_paid'))
  })

  it('of a static code is made any number of times, with its txid and the amount of the code or of the payer', async () => {
    const code = { key: receiverKey, txid: 'balcao1', ...merchant }
    const fixed = encodeStaticBrCode({ ...code, amount: cents(1_250) })
    const open = encodeStaticBrCode({ ...code, amount: null })
    const outcomes = [await simulator.pay({ uri: fixed }), await simulator.pay({ uri: open, amount: cents(700) })]
    const ids = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.endToEndId] : []))
    expect(new Set(ids).size).toBe(2)
    const shown = await Promise.all(ids.map(async (id) => (await simulator.request('GET', `/pix/${id}`)).body))
    expect(shown).toMatchObject([
      { txid: 'balcao1', valor: '12.50' },
      { txid: 'balcao1', valor: '7.00' },
    ])
    expect(await simulator.pay({ uri: open })).toMatchObject({ ok: false, code: 'amount_invalid' })
  })

  it('can be of another amount, and from another payer', async () => {
    const txid = newTxid()
    const payer = {
      name: 'Padaria do Zé',
      document: '11.222.333/0001-81',
      bankAccount: { ispb: '00000000', branch: '1' },
      pix: { key: 'PADARIA@example.com', type: 'EMAIL' as const },
    }
    const outcome = await simulator.pay({ uri: await simulator.charge(txid), amount: cents(999), payer })
    expect(outcome).toMatchObject({ ok: true, endToEndId: expect.stringMatching(/^E00000000/) })
    expect((await simulator.request('GET', `/cob/${txid}`)).body).toMatchObject({
      valor: { original: '10.00' },
      pix: [
        {
          valor: '9.99',
          pagador: {
            cnpj: '11222333000181',
            nome: 'Padaria do Zé',
            ispbParticipante: '00000000',
            agencia: '1',
            conta: '45678',
            tipoChave: 'EMAIL',
            chave: 'padaria@example.com',
          },
        },
      ],
    })
  })

  it('is refused by the checks of the payer’s bank', async () => {
    const pay = async (uri: string) => {
      const outcome = await simulator.pay({ uri })
      return outcome.ok ? 'paid' : outcome.code
    }
    const uri = await simulator.charge(newTxid(), '1.00', 60)
    const elsewhere = encodeDynamicBrCode({ location: 'pix.bank.example/qr/v2/aaaaaaaaaaaaaaaaaaaaaa', ...merchant })
    const lookalike = encodeDynamicBrCode({ location: `127.0.0.1:30001/qr/v2/${'A'.repeat(22)}`, ...merchant })
    const unknown = encodeDynamicBrCode({ location: `127.0.0.1:3000/qr/v2/${'A'.repeat(22)}`, ...merchant })
    const noToken = encodeDynamicBrCode({ location: '127.0.0.1:3000/qr/v2/../../oauth', ...merchant })
    expect(await pay('')).toBe('br_code_invalid')
    expect(await pay('x'.repeat(513))).toBe('br_code_invalid')
    expect(await pay(`${uri.slice(0, -1)}${uri.endsWith('0') ? '1' : '0'}`)).toBe('br_code_invalid')
    expect(await pay(uri.replace('SAO PAULO', 'SAO PAULA'))).toBe('br_code_invalid')
    // Of a key at another bank.
    expect(await pay(staticCode)).toBe('not_of_this_network')
    expect(await pay(elsewhere)).toBe('not_of_this_network')
    expect(await pay(lookalike)).toBe('not_of_this_network')
    expect(await pay(unknown)).toBe('charge_unknown')
    expect(await pay(noToken)).toBe('charge_unknown')
    simulator.clock.advance(59_999)
    const late = await simulator.charge(newTxid(), '1.00', 60)
    expect(await pay(uri)).toBe('paid')
    expect(await pay(uri)).toBe('already_paid')
    simulator.clock.advance(60_000)
    expect(await pay(late)).toBe('charge_expired')
    expect(await pay(uri)).toBe('already_paid')
  })

  it.each([
    { document: '52998224724' },
    { name: '' },
    { name: 'x\u0000' },
    { bankAccount: { ispb: '123' } },
    { bankAccount: { number: '' } },
    { pix: { key: 'x', type: 'EVP' as const } },
  ])('is refused from an implausible payer: %j', async (payer) => {
    expect(await simulator.pay({ uri: staticCode, payer })).toMatchObject({ ok: false, code: 'payer_invalid' })
  })

  it('is refused with the amount zero', async () => {
    const uri = await simulator.charge(newTxid())
    expect(await simulator.pay({ uri, amount: cents(0) })).toMatchObject({ ok: false, code: 'amount_invalid' })
  })
})

describe('a callback', () => {
  const register = () =>
    simulator.request('PUT', `/webhook/${receiverKey}`, { body: { webhookUrl: 'https://shop.example/callbacks/x' } })
  const payOne = async () => {
    simulator.callbacks.length = 0
    const outcome = await simulator.pay({ uri: await simulator.charge(newTxid()) })
    return outcome.ok ? outcome.endToEndId : outcome.code
  }

  it('is not sent before an address is registered', async () => {
    await payOne()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(simulator.callbacks).toEqual([])
  })

  it('has the payment as in the list', async () => {
    await register()
    const endToEndId = await payOne()
    await expect.poll(() => simulator.callbacks).toHaveLength(1)
    const { body } = await simulator.request('GET', `/pix/${endToEndId}`)
    expect(simulator.callbacks).toEqual([{ url: 'https://shop.example/callbacks/x/pix', body: { pix: [body] } }])
  })

  it('is tried three times, and its failure is then only logged', async () => {
    await register()
    simulator.answers.push(500, new Error('no route'), 302)
    await payOne()
    await expect.poll(() => simulator.warnings).toContain('The simulator gave up on a callback')
    expect(simulator.callbacks).toHaveLength(3)
  })

  it('is abandoned when the simulator closes', async () => {
    await register()
    const own = await testSimulator(database.db.pool)
    own.answers.push(500, 500)
    await own.pay({ uri: await own.charge(newTxid()) })
    await expect.poll(() => own.callbacks).toHaveLength(1)
    await own.close()
    expect(own.callbacks).toHaveLength(1)
  })
})

describe('the list of payments', () => {
  it('has pages that count from zero', async () => {
    simulator.clock.advance(3_600_000)
    const inicio = simulator.clock.now().toISOString()
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      simulator.clock.advance(1000)
      const outcome = await simulator.pay({ uri: await simulator.charge(newTxid()) })
      if (outcome.ok) ids.push(outcome.endToEndId)
    }
    const page = async (paginaAtual: number) => {
      const query = { inicio, fim: simulator.clock.now().toISOString(), 'paginacao.itensPorPagina': '2' }
      const { body } = await simulator.request('GET', '/pix', {
        query: { ...query, 'paginacao.paginaAtual': `${paginaAtual}` },
      })
      expect(body.parametros).toMatchObject({
        inicio,
        paginacao: { paginaAtual, itensPorPagina: 2, quantidadeDePaginas: 3, quantidadeTotalDeItens: 5 },
      })
      return Array.isArray(body.pix) ? body.pix.map((pix) => pix.endToEndId) : []
    }
    expect([await page(0), await page(1), await page(2), await page(3)]).toEqual([
      ids.slice(0, 2),
      ids.slice(2, 4),
      ids.slice(4),
      [],
    ])
  })

  it('is filtered', async () => {
    const range = { inicio: '2026-01-01T00:00:00-03:00', fim: '2027-01-01T00:00:00Z' }
    const count = async (query: Record<string, string>) => {
      const { body } = await simulator.request('GET', '/pix', { query: { ...range, ...query } })
      return Array.isArray(body.pix) ? body.pix.length : body.type
    }
    const all = await count({})
    expect(await count({ cnpj: '11222333000181' })).toBe(1)
    expect(await count({ cpf: '52998224725' })).toBe(Number(all) - 1)
    expect(await count({ txIdPresente: 'true' })).toBe(all)
    expect(await count({ txIdPresente: 'false' })).toBe(0)
    expect(await count({ devolucaoPresente: 'true' })).toBe(0)
    expect(await count({ txid: 'f'.repeat(32) })).toBe(0)
  })

  it.each<Record<string, string>>([
    { inicio: '' },
    { inicio: '2026-01-01' },
    { fim: '2026-13-01T00:00:00Z' },
    { fim: '2025-01-01T00:00:00Z' },
    { 'paginacao.paginaAtual': '-1' },
    { 'paginacao.itensPorPagina': '0' },
    { 'paginacao.itensPorPagina': '1001' },
    { cpf: '52998224725', cnpj: '11222333000181' },
    { txid: 'x' },
    { txIdPresente: 'yes' },
  ])('is refused for %j', async (query) => {
    const range = { inicio: '2026-01-01T00:00:00Z', fim: '2026-12-01T00:00:00Z' }
    const answer = await simulator.request('GET', '/pix', { query: { ...range, ...query } })
    expect(answer).toMatchObject({ status: 400, body: { type: expect.stringContaining('PixConsultaInvalida') } })
    expect(answer.body.violacoes).toContainEqual({ razao: expect.any(String), propriedade: Object.keys(query)[0] })
  })

  it('has no payment that was not made', async () => {
    expect((await simulator.request('GET', `/pix/E${'1'.repeat(31)}`)).status).toBe(404)
    expect((await simulator.request('GET', '/pix/%00')).status).toBe(404)
  })
})

describe('POST /sandbox/payment', () => {
  it('pays, refuses with the reason, and reads strictly', async () => {
    const uri = await simulator.charge(newTxid())
    const post = (body: unknown) => simulator.request('POST', '/sandbox/payment', { body })
    expect(await post({ uri, amount: '1' })).toMatchObject({ status: 400 })
    expect(await post({ uri, amount: 5, payer: { name: 'Ana' } })).toMatchObject({
      status: 200,
      body: { endToEndId: expect.stringMatching(/^E/) },
    })
    expect(await post({ uri })).toMatchObject({ status: 422, body: { violacoes: [{ propriedade: 'already_paid' }] } })
  })
})

const advance = async (txid: string, seconds: number) =>
  await simulator.advance({ txids: [txid], payoutIds: [], seconds })

describe('a charge', () => {
  it('whose only Pix came without its txid expires when time passes for it', async () => {
    const txid = newTxid()
    const uri = await simulator.charge(txid, '10.00', 3600)
    expect(await simulator.pay({ uri, behaviour: 'without_txid' })).toMatchObject({ ok: true })
    expect(await advance(txid, 3600)).toMatchObject({ charges: 1 })
    expect(await simulator.pay({ uri })).toMatchObject({ code: 'charge_expired' })
  })

  it('that is paid keeps its expiry', async () => {
    const txid = newTxid()
    const uri = await simulator.charge(txid, '10.00', 3600)
    expect(await simulator.pay({ uri })).toMatchObject({ ok: true })
    expect(await advance(txid, 3600)).toMatchObject({ charges: 0 })
  })
})

describe('a slow payment', () => {
  it('is reported when time passes for it, and again at its original time, with its new time', async () => {
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
    const txid = newTxid()
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
