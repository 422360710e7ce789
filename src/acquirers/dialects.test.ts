import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { receiverAccount } from '../../simulator/receiver-account.ts'
import { manualClock } from '../../test/support/clock.ts'
import { txidOf } from '../../test/support/simulator.ts'
import { cents } from '../lib/money.ts'
import { AcquirerUnavailable } from './acquirer.ts'
import { createBacenAcquirer } from './bacen/adapter.ts'
import type { HttpRequest, HttpResponse } from './bacen/http.ts'
import { fillPlaceholders } from './bacen/profile.ts'
import { type DialectName, dialectNames, dialects } from './dialects.ts'

const txid = txidOf(1)
const endToEndId = `E${'1'.repeat(31)}`
const clock = manualClock()
const cob = {
  txid,
  calendario: { criacao: '2026-03-02T15:00:00Z', expiracao: 900 },
  valor: { original: '10.50' },
  pixCopiaECola: '000201',
}
const json = (status: number, body: unknown): HttpResponse => ({ status, headers: {}, body: JSON.stringify(body) })
const values = { clientId: 'the id', appKey: 'the key', account: '12345' }

/** An acquirer with this dialect, at a PSP that answers so. */
function open(name: DialectName, answer: (request: HttpRequest) => HttpResponse = () => json(200, cob)) {
  const requests: HttpRequest[] = []
  const { needsSecret, profile } = dialects[name]
  const acquirer = createBacenAcquirer({
    name,
    send: async (request) => {
      requests.push(request)
      return request.isToken ? json(200, { access_token: 't', expires_in: 300 }) : answer(request)
    },
    credentials: { clientId: 'the id', clientSecret: needsSecret ? 's&p' : null },
    chave: 'a@b.example',
    receiver: receiverAccount,
    isRemote: true,
    profile: fillPlaceholders(profile, values),
    clock,
  })
  return { acquirer, requests }
}

const basic = `Basic ${Buffer.from('the id:s&p').toString('base64')}`
const standard = 'scope=cob.read+cob.write+pix.read+pix.write+webhook.read+webhook.write'

/** From each PSP's documentation: the request for a token, and the paths of a charge and of a payment. */
const expected: Record<DialectName, { token: string; body: string; authorization?: string; cob: string; pix: string }> =
  {
    generic: {
      token: '/oauth/token',
      body: 'grant_type=client_credentials',
      authorization: basic,
      cob: '/cob',
      pix: '/pix',
    },
    efi: {
      token: '/oauth/token',
      body: '{"grant_type":"client_credentials"}',
      authorization: basic,
      cob: '/v2/cob',
      pix: '/v2/pix',
    },
    bb: {
      token: '/oauth/token',
      body: `grant_type=client_credentials&${standard}`,
      authorization: basic,
      cob: '/pix/v2/cob',
      pix: '/pix/v2/pix',
    },
    itau: {
      token: '/api/oauth/token',
      body: 'grant_type=client_credentials&client_id=the+id&client_secret=s%26p',
      cob: '/pix_recebimentos/v2/cob',
      pix: '/pix_recebimentos/v2/pix',
    },
    sicredi: {
      token: '/oauth/token',
      body: `grant_type=client_credentials&${standard}`,
      authorization: basic,
      cob: '/api/v3/cob',
      pix: '/api/v2/pix',
    },
    sicoob: {
      token: '/auth/realms/cooperado/protocol/openid-connect/token',
      body: `grant_type=client_credentials&client_id=the+id&${standard}`,
      cob: '/pix/api/v2/cob',
      pix: '/pix/api/v2/pix',
    },
    inter: {
      token: '/oauth/v2/token',
      body: `grant_type=client_credentials&client_id=the+id&client_secret=s%26p&${standard}`,
      cob: '/pix/v2/cob',
      pix: '/pix/v2/pix',
    },
    santander: {
      token: '/oauth/token',
      body: 'grant_type=client_credentials&client_id=the+id&client_secret=s%26p',
      cob: '/api/v1/cob',
      pix: '/api/v1/pix',
    },
    bradesco: {
      token: '/auth/server/oauth/token',
      body: 'grant_type=client_credentials',
      authorization: basic,
      cob: '/v2/cob',
      pix: '/v2/pix',
    },
  }

describe.each(dialectNames)('%s', (name) => {
  it('gets requests for a token and a charge in its own form', async () => {
    const { acquirer, requests } = open(name)
    expect(await acquirer.createCharge({ txid, amount: cents(1050), expiresInSeconds: 900 })).toMatchObject({
      outcome: 'created',
    })
    const [token, charge] = requests
    const { body, token: path, authorization, cob: charges } = expected[name]
    expect(token).toMatchObject({ method: 'POST', path, body })
    expect(token?.headers.authorization).toBe(authorization)
    expect(charge).toMatchObject({ method: 'PUT', path: `${charges}/${txid}` })
    expect(charge?.headers.authorization).toBe('Bearer t')
  })

  it('gets list requests in whole seconds, and never for more days than it allows', async () => {
    const { acquirer, requests } = open(name, () => json(200, { pix: [] }))
    const range = { from: new Date('2026-02-20T15:00:00.123Z'), to: clock.now() }
    for await (const _ of acquirer.listPayments(range)) expect.unreachable()
    const lists = requests.filter(({ isToken }) => !isToken)
    const { daysMax } = dialects[name].profile.list
    const longestMs = (daysMax ?? 10) * 24 * 60 * 60_000
    // The range is 123 ms shorter than ten days.
    expect(lists).toHaveLength(daysMax === null ? 1 : Math.ceil(10 / daysMax))
    for (const { path, query } of lists) {
      expect(path).toBe(expected[name].pix)
      expect([query.inicio, query.fim].join()).toMatch(/^[\dT:-]{19}Z,[\dT:-]{19}Z$/)
      expect(Date.parse(query.fim ?? '') - Date.parse(query.inicio ?? '')).toBeLessThanOrEqual(longestMs)
    }
    expect(lists[0]?.query.inicio).toBe('2026-02-20T15:00:00Z')
    expect(lists.at(-1)?.query.fim).toBe('2026-03-02T15:00:00Z')
  })

  it('lists its sources and what is unconfirmed', () => {
    const { sources, unconfirmed, hosts, ispb } = dialects[name]
    expect(sources.length).toBeGreaterThan(0)
    expect(unconfirmed.length).toBeGreaterThan(0)
    for (const source of sources) expect(source).toMatch(/^https:\/\//)
    for (const host of [hosts.production, hosts.sandbox]) expect(host?.baseUrl ?? 'https://').toMatch(/^https:\/\//)
    if (name !== 'generic')
      expect([ispb, hosts.production]).toEqual([expect.stringMatching(/^\d{8}$/), expect.anything()])
  })
})

describe('a further value that a PSP requires', () => {
  const find = async (name: DialectName) => {
    const { acquirer, requests } = open(name)
    await acquirer.findCharge(txid)
    await acquirer.findCharge(txid)
    return requests.filter(({ isToken }) => !isToken)
  }

  it('is sent in the query or in a header', async () => {
    for (const { query } of await find('bb')) expect(query).toEqual({ 'gw-dev-app-key': 'the key' })
    for (const { headers } of await find('sicoob')) expect(headers).toMatchObject({ client_id: 'the id' })
    for (const { headers } of await find('inter')) expect(headers).toMatchObject({ 'x-conta-corrente': '12345' })
    for (const { headers } of await find('itau')) expect(headers).toMatchObject({ 'x-itau-apikey': 'the id' })
    const ids = (await find('itau')).map(({ headers }) => headers['x-itau-correlationID'])
    expect(ids[0]).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/)
    expect(new Set(ids).size).toBe(2)
  })

  it('is not sent where it is not set', () => {
    expect(fillPlaceholders(dialects.inter.profile, { clientId: 'x' }).headers).toEqual({})
    expect(fillPlaceholders(dialects.efi.profile, { clientId: 'x' }).registrationHeaders).toEqual({})
    const set = fillPlaceholders(dialects.efi.profile, { clientId: 'x', skipMtlsChecking: 'true' })
    expect(set.registrationHeaders).toEqual({ 'x-skip-mtls-checking': 'true' })
  })
})

it('a refund at Itaú has 30 seconds, elsewhere 10, and the query after it 10', async () => {
  for (const [name, timeoutMs] of [
    ['itau', 30_000],
    ['efi', 10_000],
  ] as const) {
    const { acquirer, requests } = open(name, () => json(404, { title: 'Não há' }))
    const startedAt = performance.now()
    await acquirer.refund({ endToEndId, refundId: 'r1', amount: cents(1) })
    const [refund, lookup] = requests.filter(({ isToken }) => !isToken)
    const endedAt = performance.now()
    for (const [request, ms] of [
      [refund, timeoutMs],
      [lookup, 10_000],
    ] as const) {
      expect(request?.endsAt).toBeGreaterThanOrEqual(startedAt + ms)
      expect(request?.endsAt).toBeLessThanOrEqual(endedAt + ms)
    }
  }
})

describe('an answer', () => {
  const existing = (request: HttpRequest, refused: HttpResponse) =>
    request.method === 'PUT' ? refused : json(200, cob)

  it.each([
    ['efi', 409, { nome: 'txid_duplicado', mensagem: 'Campo txid informado já foi utilizado anteriormente' }],
    [
      'bb',
      400,
      { erros: [{ codigo: '4769515', versao: '1', mensagem: 'Txid já existe.', ocorrencia: 'CHOM00000062' }] },
    ],
    ['bb', 422, { statusCode: 422, error: 'Unprocessable Entity', message: 'Txid já existe.' }],
    ['itau', 422, { title: 'x', violacoes: [{ razao: '422 : {"codigo":"1","mensagem":"Txid já existe."}' }] }],
  ] as const)('of %s that refuses a repeat (%i) is followed by a query', async (name, status, body) => {
    const { acquirer } = open(name, (request) => existing(request, json(status, body)))
    const created = await acquirer.createCharge({ txid, amount: cents(1050), expiresInSeconds: 900 })
    expect(created).toMatchObject({ outcome: 'created' })
  })

  it.each([
    [{ detail: 'Corrija.', violacoes: [{ razao: 'Valor zero', propriedade: 'cob.valor' }] }, 'Corrija. Valor zero'],
    [{ nome: 'valor_invalido', mensagem: 'Valor inválido' }, 'Valor inválido'],
    [
      {
        erros: [
          { codigo: '1', mensagem: 'Um' },
          { codigo: '2', mensagem: 'Dois' },
        ],
      },
      'Um Dois',
    ],
    [[{ codigo: '1', mensagem: 'Um' }], 'Um'],
    [{ statusCode: 400, error: 'Bad Request', message: 'Bad Credentials' }, 'Bad Credentials'],
    [{ title: 'T', violacoes: [{ razao: '422 UNPROCESSABLE: {"mensagem":"Chave sem conta"}' }] }, 'T Chave sem conta'],
    [{ mensagens: [{ mensagem: 'Chave inválida', codigo: 'X' }] }, 'Chave inválida'],
    [{ error: 'insufficient_scope', error_description: 'Token has no cob.write' }, 'Token has no cob.write'],
    [{ error: 'invalid_client', errorMessage: 'Client disabled' }, 'Client disabled'],
  ])('that refuses says why: %j', async (body, reason) => {
    const { acquirer } = open('generic', (request) => (request.method === 'PUT' ? json(403, body) : json(404, {})))
    const refused = await acquirer.createCharge({ txid, amount: cents(1), expiresInSeconds: 900 })
    expect(refused).toEqual({ outcome: 'refused', reason })
  })

  it.each([
    { message: 'no Route matched with those values' },
    { timestamp: 1, status: 404, error: 'Not Found', path: '/v9/cob' },
    { type: 'about:blank', title: 'Not Found', status: 404, detail: 'No static resource v9/cob.' },
    ...['GET', 'PATCH'].map((method) => ({ statusCode: 404, error: 'Not Found', message: `Cannot ${method} /v9/cob` })),
  ])('404 of a server without such a path is an error: %j', async (body) => {
    const { acquirer } = open('sicredi', () => json(404, body))
    await expect(acquirer.findCharge(txid)).rejects.toThrow(/check baseUrl and overrides.paths/)
    await expect(acquirer.removeCharge(txid)).rejects.toThrow(/check baseUrl and overrides.paths/)
  })

  it('404 of the PSP itself means that there is no such charge', async () => {
    for (const body of [
      { nome: 'cobranca_nao_encontrada', mensagem: 'x' },
      { type: 'https://pix.bcb.gov.br/api/v2/error/CobNaoEncontrado', title: 'x', status: 404 },
      { erros: [{ codigo: '4769515', mensagem: 'Não há informações para os dados informados.' }] },
    ])
      expect(await open('bb', () => json(404, body)).acquirer.findCharge(txid)).toBeNull()
  })

  it('404 to a list, as from Banco do Brasil, is an empty page, and the following parts of the range are read', async () => {
    const nothing = json(404, {
      erros: [{ codigo: '4769515', mensagem: 'Não há informações para os dados informados.' }],
    })
    const pix = { endToEndId, txid, valor: '10.50', horario: '2026-03-01T14:00:00Z' }
    const isLast = ({ query }: HttpRequest) => query.fim === '2026-03-02T15:00:00Z'
    for (const name of dialectNames) {
      const { acquirer, requests } = open(name, (request) => (isLast(request) ? json(200, { pix: [pix] }) : nothing))
      const found: string[] = []
      for await (const one of acquirer.listPayments({ from: new Date('2026-02-20T15:00:00Z'), to: clock.now() }))
        found.push(one.endToEndId)
      expect(found).toEqual([endToEndId])
      expect(requests.filter(({ isToken }) => !isToken)).toHaveLength(name === 'bb' ? 3 : 1)
    }
  })

  it('404 to a list is an error when a proxy wrote it, or when an earlier page announced this one', async () => {
    const read = async (answer: (request: HttpRequest) => HttpResponse) => {
      const { acquirer } = open('bb', answer)
      const found: string[] = []
      for await (const one of acquirer.listPayments({ from: new Date('2026-03-01T15:00:00Z'), to: clock.now() }))
        found.push(one.endToEndId)
      return found
    }
    for (const body of [{}, { message: 'no Route matched with those values' }])
      await expect(read(() => json(404, body))).rejects.toThrow(AcquirerUnavailable)
    const pix = { endToEndId, txid, valor: '10.50', horario: '2026-03-02T14:00:00Z' }
    const first = (paginacao: object) => (request: HttpRequest) =>
      request.query['paginacao.paginaAtual'] === '0'
        ? json(200, { parametros: { paginacao }, pix: [pix] })
        : json(404, { erros: [{ mensagem: 'Não há informações.' }] })
    await expect(read(first({ itensPorPagina: 1, quantidadeDePaginas: 2 }))).rejects.toThrow(/refused to list/)
    expect(await read(first({ itensPorPagina: 1 }))).toEqual([endToEndId])
    const empty = (quantidadeDePaginas: number) => () =>
      json(200, { parametros: { paginacao: { itensPorPagina: 1, quantidadeDePaginas } }, pix: [] })
    await expect(read(empty(2))).rejects.toThrow(/an empty page of pix, and more pages follow/)
    expect(await read(empty(1))).toEqual([])
  })

  it('of Efí about a sent Pix is read as documented: it names neither the receiver nor why it failed', async () => {
    const { sentPix, states } = JSON.parse(readFileSync('test/fixtures/psp/efi.json', 'utf8'))
    const find = async (status: string) => {
      const { acquirer } = open('efi', () => json(200, { ...sentPix, status }))
      return await acquirer.payouts?.find({ payoutId: sentPix.idEnvio })
    }
    const at = new Date(sentPix.horario.liquidacao)
    const done = { outcome: 'done', endToEndId: sentPix.endToEndId, at, receiver: null }
    for (const status of states.done) expect(await find(status)).toEqual(done)
    for (const status of states.processing) expect(await find(status)).toMatchObject({ outcome: 'processing' })
    for (const status of states.refused)
      expect(await find(status)).toEqual({ outcome: 'refused', reason: 'The acquirer rejected it without a reason.' })
  })

  it('has the fee where the PSP lists it, and Efí’s list of sent Pix is read in either form', async () => {
    const pix = { endToEndId, txid, valor: '10.50', horario: '2026-03-02T14:00:00.000Z', gnExtras: { tarifa: '0.13' } }
    expect(await open('efi', () => json(200, pix)).acquirer.findPayment(endToEndId)).toMatchObject({ fee: 13 })
    const sent = {
      endToEndId,
      idEnvio: 'A1',
      valor: '0.01',
      status: 'REALIZADO',
      horario: { solicitacao: '2026-03-02T14:00:00.000Z', liquidacao: '2026-03-02T14:00:01.000Z' },
      favorecido: { chave: 'a@b.example', identificacao: { nome: 'x', cpf: '***.456.789-**' } },
    }
    for (const body of [{ pix: [sent] }, [sent]]) {
      const { acquirer, requests } = open('efi', () => json(200, body))
      const found = []
      const range = { from: new Date('2026-03-02T13:00:00Z'), to: clock.now() }
      for await (const payout of acquirer.payouts?.list?.(range) ?? []) found.push(payout)
      expect(found).toEqual([
        { payoutId: 'A1', endToEndId, amount: 1, at: new Date('2026-03-02T14:00:00Z'), status: 'done', fee: null },
      ])
      expect(requests.at(-1)?.path).toBe('/v2/gn/pix/enviados')
    }
  })

  it('of Sicoob may have another field name for the code, and nulls', async () => {
    const body = { ...cob, pixCopiaECola: null, brcode: '000201', devedor: null, pix: null, infoAdicionais: null }
    const created = await open('sicoob', () => json(200, body)).acquirer.findCharge(txid)
    expect(created).toMatchObject({ uri: '000201', payments: [] })
  })
})
