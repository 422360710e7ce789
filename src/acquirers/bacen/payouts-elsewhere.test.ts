import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HttpResponse } from '../../../simulator/http.ts'
import { refusedPayoutAmount } from '../../../simulator/payouts.ts'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../../simulator/receiver-account.ts'
import { manualClock } from '../../../test/support/clock.ts'
import { createEmptyDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { type TestSimulator, testSimulator, tokenRequest, txidOf } from '../../../test/support/simulator.ts'
import { cents } from '../../lib/money.ts'
import { AcquirerUnavailable, NeedsPerson, type Payouts, UnreadableAnswer } from '../acquirer.ts'
import { dialects } from '../dialects.ts'
import { createBacenAcquirer } from './adapter.ts'
import type { HttpRequest } from './http.ts'

/**
 * Payouts in the documented shapes of Inter and Sicoob: the fixtures feed the adapter, and the simulator answers as
 * they do.
 */
const fixtureOf = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../test/fixtures/psp/${name}.json`, import.meta.url), 'utf8'))
const [interPsp, sicoobPsp] = [fixtureOf('inter'), fixtureOf('sicoob')]
const clock = manualClock()
const json = (status: number, body: unknown): HttpResponse => ({ status, headers: {}, body: JSON.stringify(body) })
const order = { payoutId: txidOf(1), amount: cents(1510), pixKey: { key: '52998224725', type: 'CPF' } } as const
const reference = { inter: interPsp.taken.codigoSolicitacao, sicoob: sicoobPsp.begun.endToEndId } as const

function open(
  name: 'inter' | 'sicoob',
  answer: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>,
  token: (request: HttpRequest) => HttpResponse | Promise<HttpResponse> = () =>
    json(200, { access_token: 't', expires_in: 300 }),
) {
  const received: HttpRequest[] = []
  const warnings: object[] = []
  const acquirer = createBacenAcquirer({
    name,
    send: async (request) => {
      received.push(request)
      return request.isToken ? await token(request) : await answer(request)
    },
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: true,
    profile: { ...dialects[name].profile, offers: { payouts: true, balance: name } },
    clock,
    log: { info() {}, warn: (data) => warnings.push(data) },
  })
  const payouts: Payouts = acquirer.payouts ?? expect.unreachable('it has payouts')
  return {
    acquirer,
    payouts,
    warnings,
    received,
    requests: () => received.filter(({ isToken }) => !isToken),
  }
}

describe('Inter', () => {
  const payoutIn = (status: string, erros: object[] = []) =>
    json(200, { ...interPsp.payout, transacaoPix: { ...interPsp.payout.transacaoPix, status, erros } })
  const find = async (status: string, erros?: object[]) => {
    const psp = open('inter', () => payoutIn(status, erros))
    return { found: await psp.payouts.find({ payoutId: order.payoutId, reference: reference.inter }), ...psp }
  }

  it('receives our id as the idempotency key', async () => {
    const { payouts, received, requests } = open('inter', () => json(200, interPsp.taken))
    expect(await payouts.send(order)).toEqual({ outcome: 'processing', endToEndId: null, reference: reference.inter })
    const [request] = requests()
    expect(request).toMatchObject({ method: 'POST', path: '/banking/v2/pix' })
    expect(request?.headers['x-id-idempotente']).toBe('00000000-0000-0000-0000-000000000001')
    const body = { valor: 15.1, descricao: order.payoutId, destinatario: { tipo: 'CHAVE', chave: '52998224725' } }
    expect(JSON.parse(request?.body ?? '')).toEqual(body)
    expect(received[0]?.body).toContain('pagamento-pix.write')
  })

  it('refuses nothing when a server without such a path answers 404', async () => {
    const body = { statusCode: 404, error: 'Not Found', message: 'Cannot POST /banking/v2/pix' }
    await expect(open('inter', () => json(404, body)).payouts.send(order)).rejects.toThrow(AcquirerUnavailable)
  })

  it.each(interPsp.states.done as string[])('reads %s as done', async (status) => {
    const { found } = await find(status)
    const at = new Date('2026-03-02T15:00:01.123Z')
    expect(found).toEqual({ outcome: 'done', endToEndId: 'E00416968202603021500abcdefghijk', at, receiver: null })
  })

  it.each(interPsp.states.refused as string[])('reads %s as refused: no money was sent', async (status) => {
    const { found } = await find(status, [interPsp.failed])
    expect(found).toEqual({ outcome: 'refused', reason: 'The receiver’s account is closed. (AC07)' })
    expect((await find(status)).found).toMatchObject({ outcome: 'refused', reason: expect.stringContaining(status) })
  })

  it.each(interPsp.states.processing as string[])('reads %s as processing', async (status) => {
    const { found, warnings } = await find(status)
    expect(found).toMatchObject({ outcome: 'processing' })
    expect(warnings).toEqual([])
  })

  it('reads an unknown state as processing and logs it', async () => {
    const { found, warnings } = await find('EM_ANALISE_DE_FRAUDE')
    expect(found).toMatchObject({ outcome: 'processing' })
    expect(warnings).toEqual([{ acquirer: 'inter', state: 'EM_ANALISE_DE_FRAUDE' }])
  })

  it('never takes a payout that has a reference for one that was not sent', async () => {
    const { payouts } = open('inter', () => json(404, { title: 'Não encontrado' }))
    await expect(payouts.find({ payoutId: order.payoutId, reference: reference.inter })).rejects.toThrow(
      AcquirerUnavailable,
    )
    expect(await payouts.find({ payoutId: order.payoutId })).toBeNull()
  })

  it('sends no payout that has a reference: it queries it', async () => {
    const { payouts, requests } = open('inter', () => payoutIn('PAGO'))
    expect(await payouts.send({ ...order, reference: reference.inter })).toMatchObject({ outcome: 'done' })
    expect(requests().map(({ method }) => method)).toEqual(['GET'])
  })

  it('is not believed about another payout, nor about one without a status', async () => {
    const answering = (changes: object) => async () => {
      const body = { ...interPsp.payout, transacaoPix: { ...interPsp.payout.transacaoPix, ...changes } }
      return await open('inter', () => json(200, body)).payouts.find({ ...order, reference: reference.inter })
    }
    await expect(answering({ codigoSolicitacao: randomUUID() })()).rejects.toThrow(UnreadableAnswer)
    await expect(answering({ status: null })()).rejects.toThrow(UnreadableAnswer)
    expect(await answering({ codigoSolicitacao: reference.inter.toUpperCase() })()).not.toBeNull()
  })

  it('writes times without an offset in Brasília time', async () => {
    const transacaoPix = { ...interPsp.payout.transacaoPix, status: 'PAGO', dataHoraMovimento: '2026-03-02 12:00:01' }
    const { payouts } = open('inter', () => json(200, { ...interPsp.payout, transacaoPix }))
    const found = await payouts.find({ ...order, reference: reference.inter })
    expect(found).toMatchObject({ at: new Date('2026-03-02T15:00:01Z') })
  })

  it('needs a person after it refused a repeat, and is not sent a payout again after an hour', async () => {
    const { payouts, requests } = open('inter', () => json(422, { title: 'Já existe' }))
    expect(await payouts.send(order)).toEqual({ outcome: 'refused', reason: 'Já existe' })
    const requestedAgo = (ms: number) => ({ ...order, firstRequestedAt: new Date(clock.now().getTime() - ms) })
    await expect(payouts.send(requestedAgo(60_000))).rejects.toThrow(NeedsPerson)
    expect(requests()).toHaveLength(2)
    await expect(payouts.send(requestedAgo(61 * 60_000))).rejects.toThrow(
      /search its statement for the description 0{31}1/,
    )
    await expect(payouts.find(requestedAgo(61 * 60_000))).rejects.toThrow(NeedsPerson)
    expect(await payouts.find(requestedAgo(60_000))).toBeNull()
    expect(requests()).toHaveLength(2)
  })

  it('sends callbacks that name a payout by the description that we gave it', () => {
    const { acquirer } = open('inter', () => json(200, {}))
    const notice = { endToEndId: 'E00416968202603021500abcdefghijk', txid: null, payoutId: txidOf(1) }
    expect(acquirer.readCallback(interPsp.callback)).toEqual([
      { ...notice, eventKey: `${reference.inter}:EFETIVADO`, payoutReference: reference.inter },
    ])
  })

  it('reports its balance', async () => {
    const { acquirer, requests } = open('inter', () => json(200, interPsp.balance))
    expect(await acquirer.readBalance?.()).toEqual({ available: 125_040, blocked: 3_075, disputed: null })
    expect(requests()[0]).toMatchObject({ method: 'GET', path: '/banking/v2/saldo' })
    const { acquirer: other } = open('inter', () => json(200, { disponivel: 'x' }))
    await expect(other.readBalance?.()).rejects.toThrow('cannot be read')
  })
})

describe('Sicoob', () => {
  const payoutIn = (estado: string) => json(200, { ...sicoobPsp.payout, estado, detalheRejeicao: sicoobPsp.rejection })
  const named = { ...order, reference: reference.sicoob }
  const find = async (estado: string) => {
    const psp = open('sicoob', () => payoutIn(estado))
    return { found: await psp.payouts.find(named), ...psp }
  }

  it('issues an id before any money moves, and is then asked to confirm', async () => {
    const { payouts, received, requests } = open('sicoob', ({ path }) =>
      json(200, path.endsWith('/confirmacao') ? { ...sicoobPsp.payout, estado: 'EM_PROCESSAMENTO' } : sicoobPsp.begun),
    )
    expect(await payouts.prepare?.(order)).toEqual({ outcome: 'prepared', reference: reference.sicoob })
    expect(await payouts.send(named)).toEqual({ outcome: 'processing', endToEndId: reference.sicoob })
    const [begin, confirm] = requests()
    expect(begin).toMatchObject({
      method: 'POST',
      path: '/pix-pagamentos/v2/pagamentos',
      body: '{"chave":"52998224725"}',
    })
    expect(confirm).toMatchObject({ method: 'POST', path: '/pix-pagamentos/v2/pagamentos/confirmacao' })
    const body = { endToEndId: reference.sicoob, valor: '15,10', meioIniciacao: 'CHAVE' }
    expect(JSON.parse(confirm?.body ?? '')).toEqual(body)
    expect(received[0]?.body).toContain('pixpagamentos_escrita')
  })

  it('reports the outcome in the states of its document', async () => {
    const at = new Date('2026-03-02T15:00:01.123Z')
    const done = { outcome: 'done', endToEndId: reference.sicoob, at, receiver: null }
    for (const state of sicoobPsp.states.done) expect((await find(state)).found).toEqual(done)
    for (const state of sicoobPsp.states.refused)
      expect((await find(state)).found).toEqual({ outcome: 'refused', reason: expect.stringContaining('AC07') })
    for (const state of sicoobPsp.states.processing)
      expect((await find(state)).found).toEqual({ outcome: 'processing', endToEndId: reference.sicoob })
    // Begun and not confirmed, or not carried out: it can be confirmed, once, under the same id.
    for (const state of sicoobPsp.states.notCarriedOut) expect((await find(state)).found).toBeNull()
    const { found, warnings } = await find('SUSPENSO')
    expect([found?.outcome, warnings]).toEqual(['processing', [{ acquirer: 'sicoob', state: 'SUSPENSO' }]])
  })

  it('is not believed about another payout or amount', async () => {
    for (const changes of [{ endToEndId: `E${'1'.repeat(31)}` }, { valor: 15.11 }, { valor: null }]) {
      const { payouts } = open('sicoob', () => json(200, { ...sicoobPsp.payout, ...changes }))
      await expect(payouts.send(named), JSON.stringify(changes)).rejects.toThrow(UnreadableAnswer)
    }
  })

  it('begins no payout under an id that is not an endToEndId', async () => {
    for (const endToEndId of [undefined, `E${'0'.repeat(30)}`, `E${'0'.repeat(30)}-`]) {
      const { payouts } = open('sicoob', () => json(200, { ...sicoobPsp.begun, endToEndId }))
      await expect(payouts.prepare?.(order)).rejects.toThrow('returned no endToEndId')
    }
  })

  it('needs a person if the database may have lost the id, and is not queried without one', async () => {
    const { payouts, requests } = open('sicoob', () => payoutIn('FINALIZADO'))
    const { payoutId } = order
    expect(await payouts.find({ payoutId })).toBeNull()
    await expect(payouts.find({ payoutId, isReferenceLost: true })).rejects.toThrow(NeedsPerson)
    expect(requests()).toEqual([])
  })

  it('refuses a payout with 400 only if it has not taken the payout', async () => {
    const answering = (existing: HttpResponse) => async () =>
      await open('sicoob', ({ method }) => (method === 'POST' ? json(400, { title: 'Não.' }) : existing)).payouts.send(
        named,
      )
    for (const notTaken of [json(404, { title: 'x' }), payoutIn(sicoobPsp.states.notCarriedOut[0])])
      expect(await answering(notTaken)()).toEqual({ outcome: 'refused', reason: 'Não.' })
    expect(await answering(payoutIn('EM_PROCESSAMENTO'))()).toMatchObject({ outcome: 'processing' })
    expect(await answering(payoutIn('FINALIZADO'))()).toMatchObject({ outcome: 'done' })
    await expect(answering(json(503, {}))()).rejects.toThrow(AcquirerUnavailable)
  })

  it('is unavailable, and does not refuse, when its 400 says so', async () => {
    const { payouts } = open('sicoob', () => json(400, sicoobPsp.unavailable))
    await expect(payouts.prepare?.(order)).rejects.toThrow(AcquirerUnavailable)
    await expect(payouts.send(named)).rejects.toThrow(AcquirerUnavailable)
  })

  it('sends callbacks that name a payout by its own id, in either form', () => {
    const { acquirer } = open('sicoob', () => json(200, {}))
    const [done, rejected] = sicoobPsp.callbacks
    const notice = { endToEndId: reference.sicoob, txid: null, payoutId: null, payoutReference: reference.sicoob }
    expect(acquirer.readCallback(done)).toEqual([{ ...notice, eventKey: `${reference.sicoob}:FINALIZADO_SUCESSO` }])
    expect(acquirer.readCallback(rejected)).toEqual([
      { ...notice, eventKey: `${reference.sicoob}:FINALIZADO_REJEICAO` },
    ])
  })

  it('reports the balance of the account whose number is in the query', async () => {
    const { acquirer, requests } = open('sicoob', () => json(200, sicoobPsp.balance))
    expect(await acquirer.readBalance?.()).toEqual({ available: 125_040, blocked: 3_075, disputed: null })
    expect(requests()[0]).toMatchObject({
      path: '/conta-corrente/v4/saldo',
      query: { numeroContaCorrente: '12345678' },
    })
  })
})

it.each(['inter', 'sicoob'] as const)('%s gets a request that may move money only once', async (name) => {
  const { payouts, requests } = open(name, () => json(503, {}))
  await expect(payouts.send({ ...order, reference: name === 'sicoob' ? reference.sicoob : null })).rejects.toThrow(
    AcquirerUnavailable,
  )
  expect(requests().filter(({ method }) => method === 'POST')).toHaveLength(1)
})

describe('the simulator', () => {
  let database: TestDatabase
  const simulators: Partial<Record<'inter' | 'sicoob', TestSimulator>> = {}
  beforeAll(async () => {
    database = await createEmptyDatabase()
    for (const name of ['inter', 'sicoob'] as const)
      simulators[name] = await testSimulator(database.db.pool, { clock, dialect: { payouts: name, balance: name } })
  })
  afterAll(async () => {
    for (const simulator of Object.values(simulators)) await simulator.close()
    await database.drop()
  })
  const at = (name: 'inter' | 'sicoob') => simulators[name] ?? expect.unreachable()
  const keysOf = (value: unknown): string[] => Object.keys(Object(value)).toSorted()

  it('answers with the fields that Inter documents', async () => {
    const body = { valor: 15.1, descricao: 'x', destinatario: { tipo: 'CHAVE', chave: '52998224725' } }
    const taken = await at('inter').request('POST', '/banking/v2/pix', { body })
    expect(keysOf(taken.body)).toEqual(keysOf(interPsp.taken))
    const shown = (await at('inter').request('GET', `/banking/v2/pix/${String(taken.body.codigoSolicitacao)}`)).body
    expect(keysOf(shown.transacaoPix)).toEqual(keysOf(interPsp.payout.transacaoPix))
    expect(keysOf((await at('inter').request('GET', '/banking/v2/saldo')).body)).toEqual(keysOf(interPsp.balance))
  })

  it('answers with the fields that Sicoob documents', async () => {
    const begun = await at('sicoob').request('POST', '/pix-pagamentos/v2/pagamentos', {
      body: { chave: '52998224725' },
    })
    expect(keysOf(begun.body)).toEqual(keysOf(sicoobPsp.begun))
    expect(keysOf(begun.body.proprietario)).toEqual(keysOf(sicoobPsp.begun.proprietario))
    const { endToEndId } = begun.body
    const path = `/pix-pagamentos/v2/pagamentos/${String(endToEndId)}`
    expect((await at('sicoob').request('GET', path)).status).toBe(404)
    const body = { endToEndId, valor: '15,1', meioIniciacao: 'CHAVE' }
    const taken = await at('sicoob').request('POST', '/pix-pagamentos/v2/pagamentos/confirmacao', { body })
    expect(taken.body).toMatchObject({ estado: 'EM_PROCESSAMENTO', valor: 15.1 })
    const shown = await at('sicoob').request('GET', path)
    expect(keysOf(shown.body)).toEqual(keysOf(sicoobPsp.payout))
    expect(keysOf(shown.body.destino)).toEqual(keysOf(sicoobPsp.payout.destino))
    expect((await at('sicoob').request('POST', '/pix-pagamentos/v2/pagamentos/confirmacao', { body })).status).toBe(400)
    expect(keysOf((await at('sicoob').request('GET', '/conta-corrente/v4/saldo')).body)).toEqual(
      keysOf(sicoobPsp.balance),
    )
  })

  it.each(['inter', 'sicoob'] as const)(
    '%s pays a payout once, refuses one by its amount, and does not know an id that it did not issue',
    async (name) => {
      const simulator = at(name)
      const { payouts } = open(name, simulator.handle, async () => await simulator.handle(tokenRequest()))
      const { balance } = await simulator.truth()
      const prepared = await payouts.prepare?.(order)
      const named = prepared?.outcome === 'prepared' ? prepared.reference : null
      const input = { ...order, payoutId: txidOf(name === 'inter' ? 11 : 12), reference: named }
      const sent = await payouts.send(input)
      const key = { payoutId: order.payoutId, reference: 'reference' in sent ? (sent.reference ?? null) : named }
      expect(await payouts.find(key)).toMatchObject({ outcome: 'done' })
      expect(await payouts.send(input)).toMatchObject(name === 'inter' ? sent : { outcome: 'done' })
      expect((await simulator.truth()).balance).toBe(balance - order.amount)
      const refused = { ...order, payoutId: txidOf(13), amount: refusedPayoutAmount }
      const again = await payouts.prepare?.(refused)
      const reference = again?.outcome === 'prepared' ? again.reference : null
      expect(await payouts.send({ ...refused, reference })).toMatchObject({ outcome: 'refused' })
      const other = { payoutId: order.payoutId, reference: name === 'inter' ? randomUUID() : `E${'0'.repeat(31)}` }
      if (name === 'inter') await expect(payouts.find(other)).rejects.toThrow(AcquirerUnavailable)
      else expect(await payouts.find(other)).toBeNull()
    },
  )
})
