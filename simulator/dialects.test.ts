import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../test/support/database.ts'
import {
  clientId,
  controlToken,
  fetched,
  inOtherFormat,
  openPsp,
  type Psp,
  requestForms,
  requestPspToken,
  scope,
  sendRequest,
  toCode,
} from '../test/support/psp.ts'
import { cob, txidOf } from '../test/support/simulator.ts'
import { eventually } from '../test/support/webhooks.ts'
import { type DialectName, dialectNames, quirksOf } from './dialects.ts'
import { changeQuirks, describeQuirks, type Quirks } from './quirks.ts'
import { receiverKey } from './receiver-account.ts'

const names = dialectNames as DialectName[]
const psps = new Map<DialectName, Psp>()
let database: TestDatabase
let count = 0
beforeAll(async () => {
  database = await createEmptyDatabase()
  for (const name of names) psps.set(name, await openPsp(database.db.pool, name))
})
afterAll(async () => {
  for (const psp of psps.values()) await psp.close()
  await database.drop()
})

describe.each(names)('%s', (name) => {
  let psp: Psp
  let txid: string
  beforeEach(() => {
    psp = psps.get(name) ?? expect.unreachable()
    txid = txidOf(++count)
  })
  const call = async (method: string, path: string, body?: unknown) =>
    await sendRequest(psp, requestForms[name], method, path, body)
  const charges = (rest: string) => `${requestForms[name].charges}/cob/${rest}`
  const pix = (rest: string) => `${requestForms[name].pix}/${rest}`

  it('issues a token for a request in this PSP’s form', async () => {
    const answer = await requestPspToken(psp, requestForms[name])
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'Bearer', expires_in: expect.any(Number) } })
  })

  it('issues none for wrong credentials, in another format, or at another path', async () => {
    const { token } = requestForms[name]
    const others = Object.values(requestForms).filter(({ token: { path } }) => path !== token.path)
    for (const other of others) expect((await requestPspToken(psp, other)).body).not.toHaveProperty('access_token')
    const converted = await requestPspToken(psp, { ...requestForms[name], token: inOtherFormat(token) })
    // Only the generic PSP accepts both formats.
    expect(converted.status).toBe(name === 'generic' ? 200 : 400)
    const outsider = { ...token, body: token.body.replace(clientId, 'other'), headers: { ...token.headers } }
    if (token.headers && 'authorization' in token.headers)
      outsider.headers = { ...token.headers, authorization: 'Basic eDp5' }
    expect(await requestPspToken(psp, { ...requestForms[name], token: outsider })).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    })
    const anonymous = { ...token, headers: { 'content-type': token.headers?.['content-type'] ?? '' }, body: '' }
    expect((await requestPspToken(psp, { ...requestForms[name], token: anonymous })).status).toBeGreaterThanOrEqual(400)
  })

  it('creates, shows and lists a charge that is paid, and returns a part', async () => {
    const made = await call('PUT', charges(txid), cob('12.00'))
    expect(made.status).toBe(['bb', 'santander'].includes(name) ? 200 : 201)
    const { location, txid: reported } = made.body
    expect([reported, typeof location]).toEqual([txid, 'string'])

    const uri = toCode(made)
    const paid = await psp.simulator.pay({ uri })
    const endToEndId = paid.ok ? paid.endToEndId : expect.unreachable(paid.message)
    const shown = await call('GET', charges(txid))
    expect(shown.body).toMatchObject({ status: 'CONCLUIDA', pix: [{ endToEndId, valor: '12.00' }] })
    expect((await call('GET', pix(`pix/${endToEndId}`))).body).toMatchObject({ endToEndId, txid, valor: '12.00' })

    const list = await call('GET', pix(`pix?${range()}`))
    expect(list.body.pix).toEqual(expect.arrayContaining([expect.objectContaining({ endToEndId })]))

    const returned = await call('PUT', pix(`pix/${endToEndId}/devolucao/d1`), { valor: '2.00' })
    expect(returned.status).toBe(['bb', 'sicredi', 'sicoob'].includes(name) ? 200 : 201)
    expect((await call('GET', pix(`pix/${endToEndId}/devolucao/d1`))).body).toMatchObject({ status: 'DEVOLVIDO' })
    expect((await call('GET', pix(`pix?${range()}&devolucaoPresente=true`))).body.pix).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ endToEndId, devolucoes: [expect.objectContaining({ id: 'd1' })] }),
      ]),
    )
  })

  it('has payouts and disputes in Efí’s form only if the PSP has them', async () => {
    const has = name === 'generic' || name === 'efi'
    const sent = await call('PUT', `/v3/gn/pix/p${count}`, payout())
    expect(sent.status).toBe(has ? 201 : 404)
    expect((await call('GET', `/v2/gn/infracoes?${range()}`)).status).toBe(has ? 200 : 404)
    const list = await call('GET', `/v2/gn/pix/enviados?${range()}`)
    expect(list.status).toBe(has ? 200 : 404)
    if (has) {
      expect(list.body.pix).toEqual(expect.arrayContaining([expect.objectContaining({ idEnvio: `p${count}` })]))
    }
  })

  it('registers an address, and calls it when a charge is paid', async () => {
    const url = `https://guiche.test/${name}`
    const registered = await call('PUT', pix(`webhook/${receiverKey}`), { webhookUrl: url })
    if (name === 'efi') {
      // The address answered a call without a certificate.
      expect(registered).toMatchObject({ status: 400, body: { nome: 'webhook_invalido' } })
      psp.simulator.answerWithoutCertificate.status = 403
      expect((await call('PUT', pix(`webhook/${receiverKey}`), { webhookUrl: url })).status).toBe(201)
    } else expect(registered.status).toBe(name === 'inter' ? 204 : 200)
    expect((await call('GET', pix(`webhook/${receiverKey}`))).body).toMatchObject({ webhookUrl: url })

    const made = await call('PUT', charges(txid), cob('10.00'))
    const paid = await psp.simulator.pay({ uri: toCode(made) })
    expect(paid.ok).toBe(true)
    const isReported = ({ body }: { body: unknown }) => JSON.stringify(body).includes(txid)
    await eventually(() => psp.simulator.callbacks.some(isReported))
    const reported = psp.simulator.callbacks.find(isReported)
    expect(reported?.url).toBe(`${url}/pix`)
    expect(reported?.body).toMatchObject(name === 'inter' ? [{ txid }] : { pix: [{ txid }] })
  })

  it('refuses in its own format', async () => {
    const unknown = await call('GET', charges('0'.repeat(32)))
    const nobody = await fetched(psp, {
      method: 'GET',
      path: `${charges(txid)}?${requestForms[name].query ?? ''}`,
      headers: requestForms[name].headers?.(),
    })
    if (name === 'efi') {
      expect(unknown).toMatchObject({ status: 404, body: { nome: 'cobranca_nao_encontrada' } })
      expect(nobody).toMatchObject({ status: 401, body: { mensagem: expect.any(String) } })
    } else if (name === 'bb') {
      expect(unknown).toMatchObject({
        status: 404,
        body: { erros: [{ codigo: '4769515', ocorrencia: expect.any(String) }] },
      })
      expect(nobody).toMatchObject({ status: 401, body: { statusCode: 401, error: 'Unauthorized' } })
    } else {
      expect(unknown).toMatchObject({ status: 404, type: 'application/problem+json', body: { status: 404 } })
      expect(nobody).toMatchObject({ status: 401, type: 'application/problem+json', body: { status: 401 } })
    }
  })
})

describe('quirks', () => {
  it('refuse the repeat of a charge, at Efí with 409', async () => {
    const [psp, form, path] = [at('efi'), requestForms.efi, `/v2/cob/${txidOf(++count)}`]
    expect((await sendRequest(psp, form, 'PUT', path, cob())).status).toBe(201)
    expect(await sendRequest(psp, form, 'PUT', path, cob())).toMatchObject({
      status: 409,
      body: { nome: 'txid_duplicado' },
    })
    expect((await sendRequest(psp, form, 'GET', path)).body).toMatchObject({ status: 'ATIVA' })
  })

  it.each(['sicredi', 'itau'] as const)('refuse the repeat of a charge at %s as the standard does', async (name) => {
    const psp = await openPsp(database.db.pool, name, ['repeatedCharge=refused'])
    const path = `${requestForms[name].charges}/cob/${txidOf(++count)}`
    expect((await sendRequest(psp, requestForms[name], 'PUT', path, cob())).status).toBe(201)
    const repeated = await sendRequest(psp, requestForms[name], 'PUT', path, cob())
    expect(repeated).toMatchObject({ status: 400, body: { type: expect.stringContaining('/CobOperacaoInvalida') } })
    await psp.close()
  })

  it('report Efí’s fee only in the callback of a payment, and nothing about the payer', async () => {
    const headers = { 'x-skip-mtls-checking': 'true' }
    const address = { webhookUrl: 'https://guiche.test/efi/fees' }
    await sendRequest(at('efi'), requestForms.efi, 'PUT', `/v2/webhook/${receiverKey}`, address, headers)
    const shown = await paidAt('efi', '100.00')
    expect(shown).not.toHaveProperty('gnExtras')
    const { callbacks } = at('efi').simulator
    const isReported = ({ body }: { body: unknown }) => JSON.stringify(body).includes(String(shown.endToEndId))
    await eventually(() => callbacks.some(isReported))
    expect(callbacks.find(isReported)?.body).toMatchObject({ pix: [{ gnExtras: { tarifa: '1.19' } }] })
    expect(shown).not.toHaveProperty('pagador')
    expect(await paidAt('generic', '100.00')).toMatchObject({ pagador: { conta: expect.any(String) } })
    expect((await paidAt('bb', '100.00')).pagador).toEqual({ cpf: expect.any(String), nome: expect.any(String) })
    // As Inter's own SDK reads it (ValueComponent).
    expect((await paidAt('inter', '100.00')).componentesValor).toEqual({ original: { valor: '100.00' } })
  })

  it('show a sent Pix at Efí as documented: the receiver’s CPF masked, and no reason of a rejection', async () => {
    const send = async (id: string, valor: string) => {
      const body = { valor, pagador: { chave: receiverKey }, favorecido: { chave: '52998224725' } }
      expect((await sendRequest(at('efi'), requestForms.efi, 'PUT', `/v3/gn/pix/${id}`, body)).status).toBe(201)
      return (await sendRequest(at('efi'), requestForms.efi, 'GET', `/v2/gn/pix/enviados/id-envio/${id}`)).body
    }
    const { sentPix } = JSON.parse(readFileSync('test/fixtures/psp/efi.json', 'utf8'))
    const shown = await send(`m${++count}`, '5.00')
    expect(Object.keys(shown).toSorted()).toEqual(Object.keys(sentPix).toSorted())
    expect(shown.favorecido).toMatchObject({ identificacao: { cpf: '***.982.247-**' } })
    expect(Object.keys(Object(shown.favorecido))).toEqual(Object.keys(sentPix.favorecido))
    expect(await send(`m${++count}`, '9000.05')).toMatchObject({ status: 'NAO_REALIZADO' })
    expect(await send(`m${++count}`, '9000.05')).not.toHaveProperty('gnExtras')
  })

  it('register an address at Efí that accepts any call, only if the client asks to skip the mTLS check', async () => {
    const [psp, path] = [at('efi'), `/v2/webhook/${receiverKey}`]
    psp.simulator.answerWithoutCertificate.status = 200
    const register = async (headers?: Record<string, string>) => {
      const body = { webhookUrl: 'https://guiche.test/efi/open' }
      return (await sendRequest(psp, requestForms.efi, 'PUT', path, body, headers)).status
    }
    expect(await register()).toBe(400)
    expect(await register({ 'x-skip-mtls-checking': 'true' })).toBe(201)
  })

  it('require the keys of Banco do Brasil, Sicoob and Itaú with each request', async () => {
    const path = `/cob/${txidOf(1)}`
    const without = { query: undefined, headers: undefined }
    expect(await sendRequest(at('bb'), { ...requestForms.bb, ...without }, 'GET', `/pix/v2${path}`)).toMatchObject({
      status: 403,
      body: { statusCode: 403, error: 'Forbidden' },
    })
    expect(
      (await sendRequest(at('sicoob'), { ...requestForms.sicoob, ...without }, 'GET', `/pix/api/v2${path}`)).status,
    ).toBe(403)
    const itau = `/pix_recebimentos/v2${path}`
    expect((await sendRequest(at('itau'), { ...requestForms.itau, ...without }, 'GET', itau)).status).toBe(403)
    const wrong = { ...requestForms.itau, headers: () => ({ 'x-itau-apikey': clientId, 'x-correlationID': '1' }) }
    expect((await sendRequest(at('itau'), wrong, 'GET', itau)).status).toBe(400)
  })

  it('refuse milliseconds at Santander, and a long period at Banco do Brasil', async () => {
    const precise = 'inicio=2026-01-01T00:00:00.000Z&fim=2026-01-02T00:00:00.000Z'
    expect(await sendRequest(at('santander'), requestForms.santander, 'GET', `/api/v1/pix?${precise}`)).toMatchObject({
      status: 400,
      body: { violacoes: [{ propriedade: 'inicio' }, { propriedade: 'fim' }] },
    })
    expect(
      (await sendRequest(at('itau'), requestForms.itau, 'GET', `/pix_recebimentos/v2/pix?${precise}`)).status,
    ).toBe(200)
    const long = 'inicio=2026-01-01T00:00:00Z&fim=2026-01-07T00:00:00Z'
    expect((await sendRequest(at('bb'), requestForms.bb, 'GET', `/pix/v2/pix?${long}`)).status).toBe(400)
  })

  it('answer an empty list with 404 at Banco do Brasil', async () => {
    const empty = 'inicio=2026-01-01T00:00:00Z&fim=2026-01-02T00:00:00Z'
    expect(await sendRequest(at('bb'), requestForms.bb, 'GET', `/pix/v2/pix?${empty}`)).toMatchObject({
      status: 404,
      body: { erros: [{ codigo: '4769515', mensagem: 'Não há informações para os dados informados.' }] },
    })
    expect(await sendRequest(at('itau'), requestForms.itau, 'GET', `/pix_recebimentos/v2/pix?${empty}`)).toMatchObject({
      status: 200,
      body: { pix: [] },
    })
  })

  it('name the code brcode and keep nulls at Sicoob, and return only the location at Santander', async () => {
    const sicoob = await sendRequest(
      at('sicoob'),
      requestForms.sicoob,
      'PUT',
      `/pix/api/v2/cob/${txidOf(++count)}`,
      cob(),
    )
    expect(sicoob.body).toMatchObject({ brcode: expect.stringMatching(/^0002/), devedor: null, pix: null })
    expect(sicoob.body).not.toHaveProperty('pixCopiaECola')
    const santander = await sendRequest(
      at('santander'),
      requestForms.santander,
      'PUT',
      `/api/v1/cob/${txidOf(++count)}`,
      cob(),
    )
    expect(santander.body).toMatchObject({ location: expect.any(String) })
    expect(JSON.stringify(santander.body)).not.toContain('0002')
  })

  it('refuse the same address twice at Itaú, and one without https at Inter', async () => {
    const path = `/pix_recebimentos/v2/webhook/${receiverKey}`
    const address = { webhookUrl: 'https://guiche.test/once' }
    expect((await sendRequest(at('itau'), requestForms.itau, 'PUT', path, address)).status).toBe(200)
    expect(await sendRequest(at('itau'), requestForms.itau, 'PUT', path, address)).toMatchObject({
      status: 400,
      body: { violacoes: [{ razao: expect.stringContaining('422') }] },
    })
    const open = { webhookUrl: 'http://guiche.test/open' }
    expect(
      (await sendRequest(at('inter'), requestForms.inter, 'PUT', `/pix/v2/webhook/${receiverKey}`, open)).status,
    ).toBe(400)
  })

  it('limit the token requests of one client address at Sicredi', async () => {
    const psp = await openPsp(database.db.pool, 'sicredi', ['tokensPerMinute=2'])
    const statuses = [1, 2, 3].map(async () => (await requestPspToken(psp, requestForms.sicredi)).status)
    expect((await Promise.all(statuses)).toSorted()).toEqual([200, 200, 429])
    psp.simulator.clock.advance(60_000)
    expect((await requestPspToken(psp, requestForms.sicredi)).status).toBe(200)
    await psp.close()
  })

  it('grant fewer scopes than requested, and refuse requests that need the others', async () => {
    const psp = await openPsp(database.db.pool, 'sicredi', ['deniedScopes=webhook.write,pix.write'])
    expect((await requestPspToken(psp, requestForms.sicredi)).body.scope).toBe(
      'cob.read cob.write pix.read webhook.read',
    )
    const path = `/api/v2/webhook/${receiverKey}`
    const refused = await sendRequest(psp, requestForms.sicredi, 'PUT', path, { webhookUrl: 'https://guiche.test/x' })
    expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('webhook.write') } })
    await psp.close()
  })

  it('accept the grant in the query at Santander only', async () => {
    const inQuery = { ...requestForms.inter.token, query: 'grant_type=client_credentials' }
    const body = inQuery.body.replace('grant_type=client_credentials&', '')
    const refused = await requestPspToken(at('inter'), { ...requestForms.inter, token: { ...inQuery, body } })
    expect(refused).toMatchObject({ status: 400, body: { error: 'unsupported_grant_type' } })
  })

  it('require a scope if the PSP does', async () => {
    for (const name of ['bb', 'sicredi', 'sicoob', 'inter'] as const) {
      const { token } = requestForms[name]
      const unnamed = { ...requestForms[name], token: { ...token, body: token.body.replace(`&${scope}`, '') } }
      expect(await requestPspToken(at(name), unnamed)).toMatchObject({ status: 400, body: { error: 'invalid_scope' } })
    }
  })

  it('can be set one by one: the case of a txid, and a callback without suffix', async () => {
    const psp = await openPsp(database.db.pool, 'generic', ['txidCase=upper', 'hasPixSuffix=false'])
    await sendRequest(psp, requestForms.generic, 'PUT', `/webhook/${receiverKey}`, {
      webhookUrl: 'https://guiche.test/bare',
    })
    const txid = txidOf(0xabcdef00 + ++count)
    const made = await sendRequest(psp, requestForms.generic, 'PUT', `/cob/${txid}`, cob())
    expect(made.body.txid).toBe(txid.toUpperCase())
    await psp.simulator.pay({ uri: String(made.body.pixCopiaECola) })
    await eventually(() => psp.simulator.callbacks.length > 0)
    expect(psp.simulator.callbacks).toMatchObject([
      { url: 'https://guiche.test/bare', body: { pix: [{ txid: txid.toUpperCase() }] } },
    ])
    await psp.close()
  })

  it('are refused when invalid, with the valid values', () => {
    const plain = quirksOf('generic')
    expect(() => changeQuirks(plain, ['colour=red'])).toThrow(/payer=account\|person\|none/)
    expect(() => changeQuirks(plain, ['payer=all'])).toThrow('payer=account|person|none')
    expect(() => changeQuirks(plain, ['hasNulls'])).toThrow('name=value')
    expect(() => changeQuirks(plain, ['tokensPerMinute=0'])).toThrow('tokensPerMinute=<integer>|null')
    expect(changeQuirks(plain, ['tokensPerMinute=null', 'requiredQuery=key', 'chargeStatus=200'])).toEqual({
      ...plain,
      requiredQuery: 'key',
      chargeStatus: '200',
    } satisfies Quirks)
    expect(describeQuirks()).toHaveLength(Object.keys(plain).length)
  })
})

describe('the controls', () => {
  it('accept the control token, in any dialect', async () => {
    const psp = at('sicoob')
    const made = await sendRequest(psp, requestForms.sicoob, 'PUT', `/pix/api/v2/cob/${txidOf(++count)}`, cob())
    const body = JSON.stringify({ uri: made.body.brcode })
    const request = { method: 'POST', path: '/sandbox/payment', body }
    expect((await fetched(psp, request)).status).toBe(401)
    expect((await fetched(psp, { ...request, headers: { authorization: 'Bearer another' } })).status).toBe(401)
    const paid = await fetched(psp, { ...request, headers: { authorization: `Bearer ${controlToken}` } })
    expect(paid).toMatchObject({ status: 200, body: { endToEndId: expect.any(String) } })
    // It is not a token of the PSP.
    const headers = { authorization: `Bearer ${controlToken}`, client_id: clientId }
    expect((await fetched(psp, { method: 'GET', path: `/pix/api/v2/cob/${txidOf(count)}`, headers })).status).toBe(401)
  })
})

/** A payment as the PSP shows it. */
async function paidAt(name: DialectName, amount: string): Promise<Record<string, unknown>> {
  const [psp, form] = [at(name), requestForms[name]]
  const made = await sendRequest(psp, form, 'PUT', `${form.charges}/cob/${txidOf(++count)}`, cob(amount))
  const paid = await psp.simulator.pay({ uri: toCode(made) })
  const endToEndId = paid.ok ? paid.endToEndId : expect.unreachable(paid.message)
  return (await sendRequest(psp, form, 'GET', `${form.pix}/pix/${endToEndId}`)).body
}

// Around the time of the test's clock.
function range(): string {
  return 'inicio=2026-03-01T00:00:00Z&fim=2026-03-04T00:00:00Z'
}

function payout() {
  return { valor: '5.00', pagador: { chave: receiverKey }, favorecido: { chave: 'loja@example.com' } }
}

function at(name: DialectName): Psp {
  return psps.get(name) ?? expect.unreachable()
}
