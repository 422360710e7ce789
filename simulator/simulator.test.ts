import { setTimeout as sleep } from 'node:timers/promises'
import { compactVerify, createLocalJWKSet, decodeProtectedHeader } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { decodeBrCode } from '../src/pix/brcode.ts'
import { createEmptyDatabase, type TestDatabase } from '../test/support/database.ts'
import {
  baseUrl,
  cob,
  parse,
  request,
  type TestSimulator,
  testSimulator,
  tokenRequest,
  txidOf,
} from '../test/support/simulator.ts'
import { receiverKey, simulatorCredentials } from './receiver-account.ts'

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
const typeOf = (answer: { body: Record<string, unknown> }) => String(answer.body.type).split('/').at(-1)

describe('token', () => {
  it('is issued for the right credentials, with the grant as a form or as JSON', async () => {
    const answer = parse(await simulator.handle(tokenRequest()))
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'Bearer', expires_in: 3600 } })
    const asJson = tokenRequest(simulatorCredentials, '{"grant_type":"client_credentials"}')
    asJson.headers['content-type'] = 'application/json'
    expect((await simulator.handle(asJson)).status).toBe(200)
  })

  it('is refused for a wrong secret and for another grant', async () => {
    const wrong = { clientId: simulatorCredentials.clientId, clientSecret: 'wrong' }
    expect(parse(await simulator.handle(tokenRequest(wrong)))).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    })
    expect(parse(await simulator.handle(tokenRequest(simulatorCredentials, 'grant_type=password')))).toMatchObject({
      status: 400,
      body: { error: 'unsupported_grant_type' },
    })
  })

  it.each(['', 'Bearer ', 'Bearer 99999999999.x', 'Basic x'])('is required: %j is not one', async (authorization) => {
    const answer = await simulator.handle({ ...request('GET', `/cob/${txidOf(1)}`), headers: { authorization } })
    expect(answer).toMatchObject({ status: 401, headers: { 'content-type': 'application/problem+json' } })
  })

  it('expires by the clock', async () => {
    const own = await testSimulator(database.db.pool)
    const { access_token } = parse(await own.handle(tokenRequest())).body
    const send = () =>
      own.handle({ ...request('GET', '/x'), headers: { authorization: `Bearer ${String(access_token)}` } })
    own.clock.advance(3_599_000)
    expect((await send()).status).toBe(404)
    own.clock.advance(1000)
    expect((await send()).status).toBe(401)
  })
})

describe('a token in a request', () => {
  it('is accepted unchanged, and refused when any character is changed', async () => {
    const token = String(parse(await simulator.handle(tokenRequest())).body.access_token)
    const send = async (shown: string) =>
      (await simulator.handle({ ...request('GET', '/x'), headers: { authorization: `Bearer ${shown}` } })).status
    const [expiresAt = '', mask = '', signature = ''] = token.split('.')
    expect([await send(token), await send(token)]).toEqual([404, 404])
    expect(await send(`${Number(expiresAt) + 3600}.${mask}.${signature}`)).toBe(401)
    expect(await send(`${expiresAt}.${Number(mask) - 1}.${signature}`)).toBe(401)
    expect(await send(`${expiresAt}.${mask}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`)).toBe(401)
    expect(await send(`${token}A`)).toBe(401)
    expect(await send(token)).toBe(404)
  })
})

const removal = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' }
const remove = async (txid: string, body: object = removal) =>
  await simulator.request('PATCH', `/cob/${txid}`, { body })

describe('a charge that is removed', () => {
  it('says so, cannot be paid, and is not created again', async () => {
    const txid = newTxid()
    const uri = await simulator.charge(txid)
    expect(await remove(txid)).toMatchObject({ status: 200, body: { txid, revisao: 1, ...removal } })
    const found = await simulator.request('GET', `/cob/${txid}`)
    expect(found.body).toMatchObject({ revisao: 1, ...removal })
    const statusOf = async (revisao: string) =>
      (await simulator.request('GET', `/cob/${txid}`, { query: { revisao } })).status
    expect([await statusOf('1'), await statusOf('0'), await statusOf('2')]).toEqual([200, 400, 400])
    expect(await simulator.pay({ uri })).toMatchObject({ ok: false, code: 'charge_removed' })
    expect((await simulator.request('PUT', `/cob/${txid}`, { body: cob() })).status).toBe(400)
  })

  it('must be ATIVA, and nothing else of it can be changed', async () => {
    const [txid, paid] = [newTxid(), newTxid()]
    await simulator.charge(txid)
    const bodies = [{}, { status: 'ATIVA' }, { ...removal, valor: { original: '1.00' } }]
    for (const body of bodies) expect((await remove(txid, body)).status).toBe(400)
    await simulator.pay({ uri: await simulator.charge(paid) })
    expect((await remove(paid)).status).toBe(400)
    expect((await remove(txid)).status).toBe(200)
    expect((await remove(txid)).status).toBe(400)
    for (const unknown of [newTxid(), 'x']) expect((await remove(unknown)).status).toBe(404)
  })

  it('is either removed or paid, never both', async () => {
    for (let round = 0; round < 10; round++) {
      const txid = newTxid()
      const uri = await simulator.charge(txid)
      // Payments are stored at most every 20 ms. After a wait, this one is stored at once, together with the removal.
      await sleep(25)
      const [removed, paid] = await Promise.all([remove(txid), simulator.pay({ uri })])
      expect([removed.status, paid.ok]).toEqual(paid.ok ? [400, true] : [200, false])
    }
  })
})

describe('a charge', () => {
  it('is created, and read back unchanged', async () => {
    const txid = newTxid()
    const extra = {
      devedor: { cpf: '52998224725', nome: 'Maria' },
      solicitacaoPagador: 'Obrigado "pela" compra',
      infoAdicionais: [{ nome: 'Pedido', valor: '42' }],
    }
    const body = { ...cob('37.50'), ...extra, valor: { original: '37.50', modalidadeAlteracao: 0 } }
    const created = await simulator.request('PUT', `/cob/${txid}`, { body })
    expect(created).toMatchObject({
      status: 201,
      body: {
        txid,
        calendario: { criacao: simulator.clock.now().toISOString(), expiracao: 3600 },
        revisao: 0,
        status: 'ATIVA',
        valor: { original: '37.50', modalidadeAlteracao: 0 },
        chave: receiverKey,
        ...extra,
      },
    })
    expect(created.body.location).toMatch(/^127\.0\.0\.1:3000\/qr\/v2\/[A-Za-z0-9_-]{22}$/)
    const code = decodeBrCode(String(created.body.pixCopiaECola))
    expect(code).toMatchObject({ ok: true, code: { kind: 'dynamic', location: created.body.location } })
    expect(await simulator.request('GET', `/cob/${txid}`)).toEqual({ ...created, status: 200 })
  })

  it('expires after a day by default', async () => {
    const body = { ...cob(), calendario: {} }
    expect((await simulator.request('PUT', `/cob/${newTxid()}`, { body })).body.calendario).toMatchObject({
      expiracao: 86_400,
    })
  })

  it('is the same for the same content, and refused for other content', async () => {
    const txid = newTxid()
    const first = await simulator.request('PUT', `/cob/${txid}`, { body: cob() })
    simulator.clock.advance(1000)
    expect(await simulator.request('PUT', `/cob/${txid}`, { body: cob() })).toEqual({ ...first, status: 200 })
    for (const body of [cob('10.01'), cob('10.00', 3601), { ...cob(), solicitacaoPagador: 'x' }]) {
      const answer = await simulator.request('PUT', `/cob/${txid}`, { body })
      expect(answer.status).toBe(400)
      expect(typeOf(answer)).toBe('CobOperacaoInvalida')
      expect(answer.body.violacoes).toMatchObject([{ propriedade: 'txid' }])
    }
    expect(await simulator.request('GET', `/cob/${txid}`)).toEqual({ ...first, status: 200 })
  })

  it('is created once by fifty concurrent requests', async () => {
    const txid = newTxid()
    const requested = Array.from({ length: 50 }, () => simulator.request('PUT', `/cob/${txid}`, { body: cob() }))
    const answers = await Promise.all(requested)
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1)
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1)
  })

  it('is distinct from another whose txid differs only in case', async () => {
    const txid = `A${newTxid().slice(1)}`
    await simulator.charge(txid, '1.00')
    await simulator.charge(txid.toLowerCase(), '2.00')
    expect((await simulator.request('GET', `/cob/${txid}`)).body.valor).toEqual({ original: '1.00' })
  })

  it.each([
    ['cob', null],
    ['cob', []],
    ['cob.valor', { ...cob(), valor: undefined }],
    ['cob.chave', { ...cob(), chave: undefined }],
    ['cob.calendario', { ...cob(), calendario: undefined }],
    ['cob.chave', { ...cob(), chave: '7407c9c8-f78b-11ea-adc1-0242ac120002' }],
    ['cob.valor.original', cob('0.00')],
    ['cob.valor.original', cob('10')],
    ['cob.valor.original', cob('10.001')],
    ['cob.valor.original', cob(10)],
    ['cob.valor.original', cob('x10.00x')],
    ['cob.calendario.expiracao', cob('1.00', 0)],
    ['cob.calendario.expiracao', cob('1.00', '3600')],
    ['cob.calendario.expiracao', cob('1.00', 2 ** 31)],
    ['cob.devedor', { ...cob(), devedor: { cpf: '123', nome: 'x' } }],
    ['cob.solicitacaoPagador', { ...cob(), solicitacaoPagador: 'x'.repeat(141) }],
    ['cob', { ...cob(), solicitacaoPagador: 'nul\u0000' }],
    ['cob.infoAdicionais', { ...cob(), infoAdicionais: Array(51).fill({ nome: 'a', valor: 'b' }) }],
    ['cob.loc', { ...cob(), loc: { id: 1 } }],
  ])('is refused when %s is wrong: %j', async (propriedade, body) => {
    const answer = await simulator.request('PUT', `/cob/${newTxid()}`, { body })
    expect(answer).toMatchObject({ status: 400, headers: { 'content-type': 'application/problem+json' } })
    expect(typeOf(answer)).toBe('CobOperacaoInvalida')
    expect(answer.body.violacoes).toContainEqual({ razao: expect.any(String), propriedade })
  })

  it.each(['short', 'x'.repeat(36), `${'a'.repeat(30)}-`, `${'a'.repeat(30)}%00`])(
    'is refused under the txid %j',
    async (txid) => {
      expect((await simulator.request('PUT', `/cob/${txid}`, { body: cob() })).status).toBe(400)
      expect((await simulator.request('GET', `/cob/${txid}`)).status).toBe(404)
    },
  )

  it('is not found under an unused txid, and has no other revision', async () => {
    const answer = await simulator.request('GET', `/cob/${newTxid()}`)
    expect([answer.status, typeOf(answer)]).toEqual([404, 'CobNaoEncontrado'])
    const txid = newTxid()
    await simulator.charge(txid)
    expect((await simulator.request('GET', `/cob/${txid}`, { query: { revisao: '1' } })).status).toBe(400)
  })

  it('is refused for the amount that triggers a refusal, and leaves nothing', async () => {
    const txid = newTxid()
    expect(await simulator.request('PUT', `/cob/${txid}`, { body: cob('42204.22') })).toMatchObject({
      status: 400,
      body: { violacoes: [{ propriedade: 'cob.valor.original' }] },
    })
    expect((await simulator.request('GET', `/cob/${txid}`)).status).toBe(404)
  })

  it('is created but not answered for the amount that triggers a time-out, until the simulator closes', async () => {
    const own = await testSimulator(database.db.pool)
    const txid = newTxid()
    let answered: number | undefined
    const late = own.request('PUT', `/cob/${txid}`, { body: cob('50405.04') }).then(({ status }) => {
      answered = status
    })
    await expect.poll(async () => (await own.request('GET', `/cob/${txid}`)).status).toBe(200)
    expect((await own.request('PUT', `/cob/${txid}`, { body: cob('50405.04') })).status).toBe(200)
    expect(answered).toBeUndefined()
    await own.close()
    await late
    expect(answered).toBe(503)
  })
})

const read = async (uri: string, from = simulator) => {
  const decoded = decodeBrCode(uri)
  if (!decoded.ok || !decoded.code.location) throw new Error('Not a dynamic code')
  return await from.handle(request('GET', decoded.code.location.replace('127.0.0.1:3000', '')))
}

describe('the payload at the location', () => {
  it('is signed with a published key', async () => {
    const txid = newTxid()
    const answer = await read(await simulator.charge(txid, '12.34'))
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/jose' } })
    expect(decodeProtectedHeader(answer.body)).toMatchObject({ alg: 'ES256', jku: `${baseUrl}/qr/jwks.json` })
    const keys = JSON.parse((await simulator.handle(request('GET', '/qr/jwks.json'))).body)
    expect(keys.keys[0]).not.toHaveProperty('d')
    const { payload } = await compactVerify(answer.body, createLocalJWKSet(keys))
    const now = simulator.clock.now().toISOString()
    expect(JSON.parse(Buffer.from(payload).toString())).toEqual({
      calendario: { criacao: now, apresentacao: now, expiracao: 3600 },
      txid,
      revisao: 0,
      status: 'ATIVA',
      valor: { original: '12.34' },
      chave: receiverKey,
    })
  })

  it('is not found at another path', async () => {
    for (const path of ['/qr/v2/', '/qr/v2/x', `/qr/v2/${'a'.repeat(22)}`, `/qr/v2/${'A'.repeat(22)}`, '/qr/v2/%00']) {
      expect((await simulator.handle(request('GET', path))).status).toBe(404)
    }
  })

  it.each([
    ['cob.status', 'removed', async (txid: string) => void (await remove(txid))],
    ['status', 'paid', async (_: string, uri: string) => void (await simulator.pay({ uri }))],
    ['calendario.expiracao', 'expired', async () => simulator.clock.advance(60_000)],
  ])('is gone, with the reason %s, once the charge was %s', async (field, _, end) => {
    const txid = newTxid()
    const uri = await simulator.charge(txid, '1.00', 60)
    await end(txid, uri)
    const answer = parse(await read(uri))
    expect([answer.status, typeOf(answer)]).toEqual([410, 'CobPayloadNaoEncontrado'])
    expect(answer.body.violacoes).toMatchObject([{ propriedade: field }])
  })
})

describe('a callback address', () => {
  it('is registered, replaced and read back', async () => {
    expect((await simulator.request('GET', `/webhook/${receiverKey}`)).status).toBe(404)
    for (const webhookUrl of ['https://shop.example/a', 'https://shop.example/b']) {
      expect((await simulator.request('PUT', `/webhook/${receiverKey}`, { body: { webhookUrl } })).status).toBe(200)
      expect((await simulator.request('GET', `/webhook/${receiverKey}`)).body).toMatchObject({ webhookUrl })
    }
  })

  it.each([
    [receiverKey, {}],
    [receiverKey, { webhookUrl: 'x' }],
    [receiverKey, { webhookUrl: 'ftp://shop.example' }],
    ['other', { webhookUrl: 'https://shop.example' }],
  ])('is refused for the key %s: %j', async (chave, body) => {
    const answer = await simulator.request('PUT', `/webhook/${chave}`, { body })
    expect([answer.status, typeOf(answer)]).toEqual([400, 'WebhookOperacaoInvalida'])
  })
})

describe('state', () => {
  const others: TestSimulator[] = []
  const start = async (publicBaseUrl = baseUrl) => {
    const other = await testSimulator(database.db.pool, { clock: simulator.clock, publicBaseUrl })
    others.push(other)
    return other
  }
  afterEach(async () => {
    for (const other of others.splice(0)) await other.close()
  })

  it('is shared by simulators on one database: charges, tokens, keys and payments', async () => {
    const other = await start()
    const txid = newTxid()
    const uri = await simulator.charge(txid)
    const { access_token } = parse(await simulator.handle(tokenRequest())).body
    const headers = { authorization: `Bearer ${String(access_token)}` }
    const answer = await other.handle({ ...request('GET', `/cob/${txid}`), headers })
    expect(JSON.parse(answer.body)).toMatchObject({ status: 'ATIVA', pixCopiaECola: uri })
    expect(await other.handle(request('GET', '/qr/jwks.json'))).toEqual(
      await simulator.handle(request('GET', '/qr/jwks.json')),
    )
    expect(await other.pay({ uri })).toMatchObject({ ok: true })
    expect(await simulator.pay({ uri })).toMatchObject({ ok: false, code: 'already_paid' })
  })

  it('keeps open charges payable at their original location when the address changes', async () => {
    const txid = newTxid()
    const uri = await simulator.charge(txid)
    const moved = await start('https://pix.shop.example')
    const again = await moved.request('PUT', `/cob/${txid}`, { body: cob() })
    expect(again).toMatchObject({ status: 200, body: { pixCopiaECola: uri } })
    const { jku } = decodeProtectedHeader((await read(uri, moved)).body)
    expect(jku).toBe(`${baseUrl}/qr/jwks.json`)
    expect(await moved.pay({ uri })).toMatchObject({ ok: true })
  })

  it('is created once when several start at the same time on an empty database', async () => {
    const empty = await createEmptyDatabase()
    const started = await Promise.all(Array.from({ length: 6 }, () => testSimulator(empty.db.pool)))
    const keys = await Promise.all(started.map((one) => one.handle(request('GET', '/qr/jwks.json'))))
    expect(new Set(keys.map((answer) => answer.body)).size).toBe(1)
    await empty.drop()
  })

  it.each(['ftp://x', 'no address', `https://${'x'.repeat(49)}`])('is not opened under the address %j', async (url) => {
    await expect(start(url)).rejects.toThrow(/base URL/)
  })

  it('answers 503 when the database is gone', async () => {
    const empty = await createEmptyDatabase()
    const own = await testSimulator(empty.db.pool)
    await own.charge(txidOf(1))
    await empty.drop()
    expect(await own.request('GET', `/cob/${txidOf(1)}`)).toMatchObject({ status: 503 })
    expect(await own.request('PUT', `/cob/${txidOf(2)}`, { body: cob() })).toMatchObject({ status: 503 })
    expect(own.warnings).toHaveLength(2)
  })
})
