import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import { startSimulatorServer } from '../../simulator/server.ts'
import { manualClock } from '../../test/support/clock.ts'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../../test/support/simulator.ts'
import { cents } from '../lib/money.ts'
import { createHttpSend, type HttpRequest, type HttpResponse, type Send } from './bacen/http.ts'
import { type ProtocolProfileOverrides, standardProfile, withOverrides } from './bacen/profile.ts'
import { probeAcquirer } from './probe.ts'
import type { Finding } from './probe-finding.ts'
import type { AcquirerSettings } from './settings.ts'

const clock = manualClock()
const callbackUrl = 'https://shop.example/callbacks/psp/secret'
let database: TestDatabase
let simulator: TestSimulator
let server: { url: string; close(): Promise<void> }
let http: { send: Send; close(): Promise<void> }

beforeAll(async () => {
  database = await createEmptyDatabase()
  simulator = await testSimulator(database.db.pool, { clock })
  server = await startSimulatorServer({ simulator, host: '127.0.0.1', port: 0 })
  http = createHttpSend({ baseUrl: server.url })
})
afterAll(async () => {
  await http.close()
  await server.close()
  await simulator.close()
  await database.drop()
})

const settingsOf = (
  overrides: ProtocolProfileOverrides = {},
  more: Partial<AcquirerSettings> = {},
): AcquirerSettings => ({
  name: 'psp',
  dialect: 'generic',
  environment: 'sandbox',
  hosts: { baseUrl: server.url },
  credentials: simulatorCredentials,
  chave: receiverKey,
  receiver: receiverAccount,
  tls: null,
  timeoutMs: 5_000,
  callbacks: {},
  fees: { payment: null, payout: null },
  profile: withOverrides(standardProfile, {
    offers: { payouts: true, disputes: true, balance: 'efi' },
    ...overrides,
  }),
  ...more,
})

type AlterAnswer = (request: HttpRequest, answer: HttpResponse) => HttpResponse

/** The findings by subject, and every request sent. */
async function probe(settings = settingsOf(), alterAnswer: AlterAnswer = (_, answer) => answer, wanted = callbackUrl) {
  const requests: HttpRequest[] = []
  const send: Send = async (request) => {
    requests.push(request)
    const answer = await http.send(request)
    // The server's Date is the machine's time, not that of the test's clock, with which the probe compares it.
    return alterAnswer(request, { ...answer, headers: { ...answer.headers, date: clock.now().toUTCString() } })
  }
  const findings = await probeAcquirer(settings, { send, clock, certificateExpiresAt: null, callbackUrl: wanted })
  const bySubject = Object.fromEntries(findings.map((finding) => [finding.subject, finding]))
  const findingOf = (subject: string): Finding => bySubject[subject] ?? expect.unreachable(`${subject} has no finding`)
  return { findings, findingOf, requests }
}

const json = (status: number, body: unknown): HttpResponse => ({ status, headers: {}, body: JSON.stringify(body) })
const isList = ({ path }: HttpRequest) => path === '/pix'

describe('a PSP', () => {
  it('that supports everything passes every check, by requests that only read', async () => {
    await simulator.request('PUT', `/webhook/${receiverKey}`, { body: { webhookUrl: callbackUrl } })
    await simulator.pay({ uri: await simulator.charge(txidOf(1)) })
    const { findings, requests } = await probe()
    expect(findings.map(({ subject, state }) => [subject, state])).toEqual([
      ['our certificate', 'skipped'],
      ['token', 'ok'],
      ['scopes', 'ok'],
      ['clock', 'ok'],
      ['charges', 'ok'],
      ['payments', 'ok'],
      ['pages', 'ok'],
      ['times', 'ok'],
      ['callbacks', 'ok'],
      ['payouts', 'ok'],
      ['disputes (MED)', 'ok'],
      ['balance', 'ok'],
    ])
    expect(new Set(requests.map(({ method, isToken }) => (isToken ? 'token' : method)))).toEqual(
      new Set(['token', 'GET']),
    )
    // The path of a callback is a secret.
    expect(JSON.stringify(findings)).not.toContain('secret')
  })

  it('that answers with bare lists passes, and their entries are checked', async () => {
    const { findingOf } = await probe(settingsOf(), (request, answer) => {
      if (isList(request)) return json(200, [{ endToEndId: 'E', valor: '1.00', horario: 'yesterday' }])
      return request.path.endsWith('/infracoes') || request.path.endsWith('/saldo') ? json(200, []) : answer
    })
    const line = (entries: number) => ({
      state: 'ok',
      said: expect.stringContaining(`has ${entries} on its first page`),
    })
    expect(findingOf('payments')).toMatchObject(line(1))
    expect(findingOf('times')).toMatchObject({ state: 'missing' })
    expect(findingOf('disputes (MED)')).toMatchObject(line(0))
    expect(findingOf('balance')).toMatchObject({ state: 'warning' })
  })

  it('that requires a UUID gets a new one with each request', async () => {
    const { requests } = await probe(settingsOf({ headers: { 'x-correlationID': '{uuid}' } }))
    const ids = requests.map(({ headers }) => headers['x-correlationID'])
    for (const id of ids) expect(id).toMatch(/^[\da-f-]{36}$/)
    expect(new Set(ids).size).toBe(requests.length)
  })

  it('that has no payouts or disputes gets no request for them', async () => {
    const { findingOf, requests } = await probe(
      settingsOf({ offers: { payouts: false, disputes: false, balance: 'none' } }),
    )
    expect(['payouts', 'disputes (MED)', 'balance'].map((subject) => findingOf(subject).state)).toEqual(
      Array(3).fill('skipped'),
    )
    expect(requests.filter(({ path }) => path.includes('/gn/'))).toEqual([])
  })

  it('that has switched its disputes off in this environment passes', async () => {
    const isDisputes = ({ path }: HttpRequest) => path.endsWith('/infracoes')
    const switchedOff = json(500, {
      type: 'https://pix.bcb.gov.br/api/v2/error/InfracaoErroInterno',
      title: 'Erro Interno',
      status: 500,
      detail: 'Funcionalidade desabilitada em ambiente de homologação.',
    })
    const { findingOf } = await probe(settingsOf(), (request, answer) => (isDisputes(request) ? switchedOff : answer))
    expect(findingOf('disputes (MED)')).toMatchObject({
      state: 'skipped',
      said: expect.stringContaining('not offered in this environment'),
      setting: null,
    })
    // Any other error counts.
    const broken = await probe(settingsOf(), (request, answer) =>
      isDisputes(request) ? json(500, { title: 'Erro Interno' }) : answer,
    )
    expect(broken.findingOf('disputes (MED)')).toMatchObject({ state: 'missing', setting: 'overrides.paths.disputes' })
  })
})

describe('what is missing is reported with the setting to change', () => {
  it('without a token nothing else is requested', async () => {
    const refused = await probe(settingsOf({}, { credentials: { clientId: 'x', clientSecret: 'y' } }))
    expect(refused.findingOf('token')).toMatchObject({
      state: 'missing',
      said: expect.stringContaining('invalid_client'),
      setting: 'clientId, clientSecret, overrides.token',
    })
    expect(refused.requests).toHaveLength(1)
    const page = { status: 400, headers: {}, body: '<center>No required SSL certificate was sent</center>' }
    const certificate = await probe(settingsOf(), () => page)
    expect(certificate.findingOf('token')).toMatchObject({ state: 'missing', setting: 'tls' })
    const { findings } = await probe(settingsOf(), () => {
      throw Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' })
    })
    expect(findings[1]).toMatchObject({ state: 'missing', said: expect.stringContaining('has expired') })
  })

  it.each<[string, string, AlterAnswer, Partial<Finding>]>([
    [
      'a clock that goes wrong',
      'clock',
      (_, answer) => ({ ...answer, headers: { ...answer.headers, date: 'Mon, 02 Mar 2026 14:00:00 GMT' } }),
      { state: 'warning', said: expect.stringContaining('3600 s ahead') },
    ],
    [
      'scopes that are not granted',
      'scopes',
      (request, answer) => (request.isToken ? json(200, { ...JSON.parse(answer.body), scope: 'cob.read' }) : answer),
      { state: 'warning', said: expect.stringContaining('cob.write') },
    ],
    [
      'a 404 of a gateway',
      'charges',
      (request, answer) => (request.path.startsWith('/cob') ? json(404, { message: 'Not Found' }) : answer),
      { state: 'missing', setting: 'baseUrl, overrides.paths.cob' },
    ],
    [
      'a refusal to report them',
      'charges',
      (request, answer) => (request.path.startsWith('/cob') ? json(403, { title: 'Acesso negado' }) : answer),
      { state: 'missing', said: '403: Acesso negado' },
    ],
    [
      '200 for a payout that does not exist',
      'payouts',
      (request, answer) => (request.path.includes('id-envio') ? json(200, {}) : answer),
      { state: 'missing' },
    ],
    [
      'no list',
      'payments',
      (request, answer) => (isList(request) ? json(200, { status: 'ok' }) : answer),
      { state: 'missing', setting: 'overrides.paths.pix' },
    ],
    [
      'a list of fewer days',
      'payments',
      (request, answer) => (isList(request) ? json(400, { detail: 'Período inválido' }) : answer),
      { state: 'missing', setting: 'overrides.paths.pix, overrides.list.daysMax' },
    ],
    [
      'an empty list that is answered 404',
      'payments',
      (request, answer) =>
        isList(request) ? json(404, { erros: [{ codigo: '4769515', mensagem: 'Não há informações.' }] }) : answer,
      { state: 'ok', said: expect.stringContaining('read as an empty list') },
    ],
    [
      'an empty list of disputes that is answered 404',
      'disputes (MED)',
      (request, answer) => (request.path.endsWith('/infracoes') ? json(404, { title: 'Não encontrado' }) : answer),
      { state: 'ok', said: expect.stringContaining('read as an empty list') },
    ],
    [
      'a balance in another form',
      'balance',
      (request, answer) => (request.path.endsWith('/saldo') ? json(200, { disponivel: 12.34 }) : answer),
      {
        state: 'warning',
        said: 'the PSP’s answer has no balance that can be read: the account’s balance is not compared with the ledger',
        setting: 'overrides.paths.balance, overrides.offers.balance',
      },
    ],
    [
      'a 404 for the list, the same as for unknown paths',
      'payments',
      (request, answer) =>
        isList(request) || request.path.startsWith('/guiche') ? json(404, { title: 'Não encontrado' }) : answer,
      { state: 'warning', setting: 'overrides.paths.pix' },
    ],
    [
      'smaller pages',
      'pages',
      (request, answer) =>
        isList(request)
          ? json(200, { parametros: { paginacao: { paginaAtual: 0, itensPorPagina: 50 } }, pix: [] })
          : answer,
      { state: 'warning', setting: 'overrides.list.pageSize: 50' },
    ],
    [
      'lists without the number of their pages',
      'pages',
      (request, answer) =>
        isList(request) ? json(200, { parametros: { paginacao: { paginaAtual: 0 } }, pix: [] }) : answer,
      { state: 'warning', said: expect.stringContaining('read until a page is not full'), setting: null },
    ],
    [
      'lists with the number of their pages, but without the page',
      'pages',
      (request, answer) =>
        isList(request) ? json(200, { parametros: { paginacao: { quantidadeDePaginas: 1 } }, pix: [] }) : answer,
      { state: 'ok' },
    ],
    [
      'pages from one',
      'pages',
      (request, answer) =>
        isList(request) ? json(200, { parametros: { paginacao: { paginaAtual: 1 } }, pix: [] }) : answer,
      { state: 'missing' },
    ],
    [
      'another address for callbacks',
      'callbacks',
      (request, answer) =>
        request.path.startsWith('/webhook') ? json(200, { webhookUrl: 'https://old.example/x' }) : answer,
      { state: 'warning', setting: 'callbacks.baseUrl' },
    ],
    [
      'no address for callbacks',
      'callbacks',
      (request, answer) => (request.path.startsWith('/webhook') ? json(404, { title: 'Não há webhook' }) : answer),
      { state: 'warning', setting: null },
    ],
  ])('%s', async (_, subject, alterAnswer, expected) => {
    const { findingOf } = await probe(settingsOf(), alterAnswer)
    expect(findingOf(subject)).toMatchObject(expected)
  })

  it('a certificate of another application', async () => {
    const unknown = json(401, { title: 'Não autorizado', detail: 'Login/senha inválido.' })
    const { findingOf } = await probe(settingsOf(), (request, answer) => (request.isToken ? answer : unknown))
    expect(findingOf('token').state).toBe('ok')
    expect(findingOf('application')).toMatchObject({
      state: 'missing',
      said: expect.stringContaining('the certificate belongs to another application'),
      setting: 'tls, clientId',
    })
  })

  it('an API that is not reached, whose application then gets no finding', async () => {
    const { findings, findingOf } = await probe(settingsOf(), (request, answer) => {
      if (request.isToken) return answer
      throw Object.assign(new Error('x'), { code: 'ECONNREFUSED' })
    })
    expect(findingOf('token').state).toBe('ok')
    expect(findingOf('charges')).toMatchObject({ state: 'missing', said: expect.stringContaining('ECONNREFUSED') })
    expect(findings.map(({ subject }) => subject)).not.toContain('application')
  })

  it('a wrong path for tokens, with the one that works', async () => {
    const token = { path: '/auth/server/oauth/token' }
    const nowhere = json(404, { message: 'no Route matched with those values' })
    const alter: AlterAnswer = ({ path }, answer) =>
      path === '/oauth/token' || !path.endsWith('/token') ? answer : nowhere
    const { findingOf, requests } = await probe(settingsOf({ token }, { dialect: 'bradesco' }), alter)
    expect(findingOf('token')).toMatchObject({
      state: 'missing',
      said: expect.stringContaining('/oauth/token issues one'),
      setting: 'overrides.token.path: /oauth/token',
    })
    expect(requests.slice(0, 3).map(({ path }) => path)).toEqual([token.path, '/v2/oauth/token', '/oauth/token'])
    expect(findingOf('charges').state).toBe('ok')
    const hosts = { baseUrl: `${server.url}/`, tokenUrl: server.url + token.path }
    const withTokenUrl = await probe(settingsOf({ token }, { dialect: 'bradesco', hosts }), alter)
    expect(withTokenUrl.findingOf('token').setting).toBe(`tokenUrl: ${server.url}/oauth/token`)
  })

  it('an address for callbacks that is too long for the PSP', async () => {
    const { findingOf } = await probe(
      settingsOf({}, { dialect: 'bb' }),
      undefined,
      `https://shop.example/${'x'.repeat(120)}`,
    )
    expect(findingOf('callbacks')).toMatchObject({
      state: 'missing',
      said: expect.stringContaining('141 characters, and Banco do Brasil allows 140'),
      setting: 'callbacks.baseUrl',
    })
  })

  it('agreed fees, when no payment of the list has its fee', async () => {
    const payment = { fixed: cents(0), basisPoints: 119, minimum: cents(0), maximum: null }
    const settings = settingsOf({}, { fees: { payment, payout: null } })
    await simulator.pay({ uri: await simulator.charge(txidOf(77)) })
    expect((await probe(settings)).findingOf('fees')).toMatchObject({ state: 'warning', setting: 'fees' })
    const entry = { endToEndId: 'E', valor: '1.00', horario: clock.now().toISOString(), gnExtras: { tarifa: '0.01' } }
    const { findingOf } = await probe(settings, (request, answer) =>
      isList(request) ? json(200, { pix: [entry] }) : answer,
    )
    expect(findingOf('fees')).toMatchObject({ state: 'ok', said: '1 of 1 payments have their fee' })
  })

  it('a path that does not exist', async () => {
    const { findingOf } = await probe(settingsOf({ paths: { cob: '/api/v9/cob' } }))
    expect(findingOf('charges')).toMatchObject({ state: 'warning', setting: 'baseUrl, overrides.paths.cob' })
  })
})
