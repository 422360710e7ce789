import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { receiverAccount } from '../../../simulator/receiver-account.ts'
import { manualClock } from '../../../test/support/clock.ts'
import { txidOf } from '../../../test/support/simulator.ts'
import { cents } from '../../lib/money.ts'
import { type Acquirer, AcquirerUnavailable, UnreadableAnswer } from '../acquirer.ts'
import { createBacenAcquirer } from './adapter.ts'
import { createHttpSend, type HttpRequest, type HttpResponse, type Send } from './http.ts'

const clock = manualClock()
const txid = txidOf(1)
const input = { txid, amount: cents(1050), expiresInSeconds: 900 }

const open = (send: Send, timeoutMs = 1000): Acquirer =>
  createBacenAcquirer({
    name: 'psp',
    send,
    credentials: { clientId: 'a', clientSecret: 'b' },
    chave: '+5511999999999',
    receiver: receiverAccount,
    isRemote: true,
    timeoutMs,
    clock,
  })

const json = (status: number, body: unknown): HttpResponse => ({ status, headers: {}, body: JSON.stringify(body) })
const token = (expires_in: unknown = 3600) => json(200, { access_token: 't', token_type: 'Bearer', expires_in })
const cob = {
  txid,
  calendario: { criacao: '2026-03-02T15:00:00.000Z', expiracao: 900 },
  valor: { original: '10.50' },
  status: 'ATIVA',
  pixCopiaECola: '000201',
}
const charge = {
  txid,
  amount: 1050,
  uri: '000201',
  createdAt: new Date('2026-03-02T15:00:00.000Z'),
  expiresAt: new Date('2026-03-02T15:15:00.000Z'),
  status: 'active',
  payments: [],
}

/** A PSP that issues tokens and answers everything else the same, or as a function decides. */
function psp(answer: HttpResponse | ((request: HttpRequest) => HttpResponse | Promise<HttpResponse>)): Send {
  return async (request) => {
    if (request.isToken) return token()
    return typeof answer === 'function' ? answer(request) : answer
  }
}

describe('the token', () => {
  const counting = (expires_in: unknown = 3600) => {
    const seen = { tokens: 0, authorizations: new Set<string | undefined>() }
    const send: Send = async (request) => {
      if (!request.isToken) {
        seen.authorizations.add(request.headers.authorization)
        return json(200, cob)
      }
      seen.tokens++
      return json(200, { access_token: `t${seen.tokens}`, expires_in })
    }
    return { seen, acquirer: open(send) }
  }

  it('is requested once for many calls at the same time, and kept', async () => {
    const { seen, acquirer } = counting()
    await Promise.all(Array.from({ length: 20 }, () => acquirer.findCharge(txid)))
    await acquirer.findCharge(txid)
    expect(seen).toEqual({ tokens: 1, authorizations: new Set(['Bearer t1']) })
  })

  it('is renewed a minute before it expires, also if its lifetime is sent as text', async () => {
    const { seen, acquirer } = counting('3600')
    await acquirer.findCharge(txid)
    clock.advance(3_539_999)
    await acquirer.findCharge(txid)
    expect(seen.tokens).toBe(1)
    clock.advance(1)
    await acquirer.findCharge(txid)
    expect(seen.tokens).toBe(2)
  })

  it('is renewed once after a 401; a second 401 leaves the outcome unknown', async () => {
    let tokens = 0
    const valid = new Set(['Bearer t2'])
    const acquirer = open(async (request) => {
      if (request.isToken) return json(200, { access_token: `t${++tokens}`, expires_in: 3600 })
      return valid.has(request.headers.authorization ?? '') ? json(200, cob) : json(401, {})
    })
    expect(await acquirer.findCharge(txid)).toEqual(charge)
    expect(tokens).toBe(2)
    valid.clear()
    await expect(acquirer.findCharge(txid)).rejects.toBeInstanceOf(AcquirerUnavailable)
    expect(tokens).toBe(3)
  })

  it.each([json(401, { error: 'invalid_client' }), json(500, {}), json(200, {}), { ...token(), body: '<html>' }])(
    'that the PSP does not issue leaves the outcome of a charge unknown: %j',
    async (answer) => {
      const acquirer = open(async () => answer)
      await expect(acquirer.createCharge(input)).rejects.toBeInstanceOf(AcquirerUnavailable)
    },
  )

  it('that failed once is requested again', async () => {
    let failures = 1
    const acquirer = open(async (request) => {
      if (failures-- > 0) throw new Error('no route')
      return request.isToken ? token() : json(200, cob)
    })
    await expect(acquirer.findCharge(txid)).rejects.toBeInstanceOf(AcquirerUnavailable)
    expect(await acquirer.findCharge(txid)).toEqual(charge)
  })
})

describe('a charge', () => {
  it.each([
    ['as the standard has it', cob],
    ['with the code under another name', { ...cob, pixCopiaECola: undefined, brcode: '000201' }],
    ['with numbers as text and nulls', { ...cob, calendario: { ...cob.calendario, expiracao: '900' }, pix: null }],
    ['with another offset', { ...cob, calendario: { criacao: '2026-03-02T12:00:00-03:00', expiracao: 900 } }],
    ['with no offset', { ...cob, calendario: { criacao: '2026-03-02T15:00:00.000', expiracao: 900 } }],
    ['with the txid in upper case', { ...cob, txid: txid.toUpperCase() }],
    ['without its txid', { ...cob, txid: undefined }],
    ['with an amount in one decimal', { ...cob, valor: { original: '10.5' } }],
    ['with an amount as a number', { ...cob, valor: { original: 10.5 } }],
  ])('is read %s, after any 2xx', async (_, body) => {
    for (const status of [200, 201, 202]) {
      expect(await open(psp(json(status, body))).createCharge(input)).toEqual({ outcome: 'created', charge })
    }
  })

  it('gets its code from the location where the PSP returns nothing else', async () => {
    const body = { ...cob, pixCopiaECola: undefined, location: 'pix.example.com/qr/9d36b84fc70b478fb95c12729b90ca25' }
    const found = await open(psp(json(200, body))).findCharge(txid)
    expect(found?.uri).toMatch(/^000201.*pix\.example\.com\/qr\/9d36b84fc70b478fb95c12729b90ca255204.*6304[\dA-F]{4}$/)
  })

  it.each([undefined, ''])('without a location and with %j as its code is found, and has no code', async (code) => {
    const bare = { ...cob, status: 'CONCLUIDA', pixCopiaECola: code }
    const acquirer = open(psp(json(200, bare)))
    expect(await acquirer.findCharge(txid)).toEqual({ ...charge, uri: null, status: 'completed' })
    await expect(acquirer.createCharge(input)).rejects.toBeInstanceOf(AcquirerUnavailable)
  })

  it.each([
    ['Efí', 409, { nome: 'txid_duplicado', mensagem: 'Campo txid informado já foi utilizado' }],
    ['the standard', 400, { type: 'https://pix.bcb.gov.br/api/v2/error/CobOperacaoInvalida', title: 'x', status: 400 }],
    ['another', 422, { message: 'duplicate' }],
  ])('that %s refuses as a repeat is read back', async (_, status, body) => {
    const acquirer = open(psp((request) => (request.method === 'PUT' ? json(status, body) : json(200, cob))))
    expect(await acquirer.createCharge(input)).toEqual({ outcome: 'created', charge })
    expect(await acquirer.createCharge({ ...input, amount: cents(1) })).toMatchObject({ outcome: 'refused' })
  })

  it.each([
    [
      400,
      {
        title: 'Cobrança inválida.',
        detail: 'Corrija.',
        violacoes: [{ razao: 'Valor zero', propriedade: 'x', valor: '9' }],
      },
      'Corrija. Valor zero',
    ],
    [403, { title: 'Acesso negado' }, 'Acesso negado'],
    [400, { nome: 'x', mensagem: 'Chave inválida' }, 'Chave inválida'],
    [422, { erros: [{ codigo: '1', mensagem: 'Um' }, { mensagem: 'Dois' }] }, 'Um Dois'],
    [400, { statusCode: 400, error: 'Bad Request', message: 'Campo\u0000\nobrigatório' }, 'Campo obrigatório'],
    [404, {}, 'The acquirer answered 404'],
    [400, { detail: '🙂'.repeat(1000) }, '🙂'.repeat(300)],
  ])('that is refused with %i and %j has the reason: %s', async (status, body, reason) => {
    const acquirer = open(
      psp((request) => (request.method === 'PUT' ? json(status, body) : json(404, { title: 'Não há' }))),
    )
    expect(await acquirer.createCharge(input)).toEqual({ outcome: 'refused', reason })
  })

  it.each([
    json(200, []),
    json(200, null),
    json(200, {}),
    json(200, { ...cob, valor: { original: '10.505' } }),
    json(200, { ...cob, valor: { original: 10.505 } }),
    json(200, { ...cob, valor: { original: 1e21 } }),
    json(200, { ...cob, calendario: {} }),
    json(200, { ...cob, txid: txidOf(2) }),
    json(200, { ...cob, pix: [{ valor: '10.50' }] }),
    json(200, { ...cob, pix: {} }),
    { status: 200, headers: {}, body: '' },
    { status: 200, headers: {}, body: '{"txid"' },
    { status: 404, headers: {}, body: '<html>no such route</html>' },
    { status: 404, headers: {}, body: '' },
    json(302, {}),
    json(429, {}),
    json(408, {}),
    json(500, {}),
    json(503, cob),
  ])('is unknown after %j', async (answer) => {
    const acquirer = open(psp(answer))
    await expect(acquirer.createCharge(input)).rejects.toBeInstanceOf(AcquirerUnavailable)
    await expect(acquirer.findCharge(txid)).rejects.toBeInstanceOf(AcquirerUnavailable)
  })

  it('is unknown, not missing, when the query is refused', async () => {
    const acquirer = open(psp(json(403, { title: 'Acesso negado' })))
    await expect(acquirer.findCharge(txid)).rejects.toBeInstanceOf(AcquirerUnavailable)
    await expect(acquirer.findPayment('x')).rejects.toBeInstanceOf(AcquirerUnavailable)
  })
})

describe('payments', () => {
  const pix = { endToEndId: `E${'1'.repeat(31)}`, valor: '1.00', horario: '2026-03-02T15:00:00Z' }
  const whole = {
    cpf: '529.982.247-25',
    nome: 'Maria',
    ispbParticipante: '60701190',
    tipoConta: 'CHECKING',
    agencia: '1',
    conta: '2',
    digito: '3',
    tipoChave: 'CPF',
    chave: '52998224725',
  }
  const list = async (answers: unknown[], queries: Record<string, string>[] = [], found: string[] = []) => {
    const acquirer = open(
      psp((request) => {
        queries.push(request.query)
        return json(200, answers[Number(request.query['paginacao.paginaAtual'])] ?? { pix: [] })
      }),
    )
    const range = { from: new Date('2026-03-02T14:00:00.500Z'), to: new Date('2026-03-02T15:00:00.001Z') }
    for await (const payment of acquirer.listPayments(range)) found.push(payment.endToEndId)
    return found
  }

  it('have a payer only when all fields of the account are there and none is masked', async () => {
    const payerOf = async (pagador: unknown) => {
      const payment = await open(psp(json(200, { ...pix, pagador }))).findPayment(pix.endToEndId)
      return payment?.payer
    }
    expect(await payerOf(whole)).toMatchObject({ type: 'PF', name: 'Maria', document: '52998224725' })
    const partly = [undefined, null, 'x', { cpf: '52998224725', nome: 'Maria' }, { ...whole, cpf: '***.982.247-**' }]
    for (const pagador of partly) expect(await payerOf(pagador)).toBeNull()
  })

  it('are requested in whole seconds around the range', async () => {
    const queries: Record<string, string>[] = []
    await list([], queries)
    expect(queries).toEqual([
      {
        inicio: '2026-03-02T14:00:00Z',
        fim: '2026-03-02T15:00:01Z',
        'paginacao.paginaAtual': '0',
        'paginacao.itensPorPagina': '100',
      },
    ])
  })

  it('are read to the end when the PSP does not report the number of pages', async () => {
    const full = { pix: Array(100).fill(pix) }
    expect(await list([full, full, { pix: [pix] }, full])).toHaveLength(201)
    const short = { parametros: { paginacao: { itensPorPagina: 1 } }, pix: [pix] }
    expect(await list([short, short, { pix: null }])).toHaveLength(2)
    // A bare array: in pages, or the whole array again for every page.
    const bare = (from: number, length: number) =>
      Array.from({ length }, (_, n) => ({ ...pix, endToEndId: `E${String(from + n).padStart(31, '0')}` }))
    expect(await list([bare(0, 100), bare(100, 100), bare(200, 1), bare(0, 100)])).toHaveLength(201)
    expect(await list(Array(9).fill(bare(0, 250)))).toHaveLength(250)
  })

  it('that cannot be read are not skipped: the list fails after the readable ones', async () => {
    const seen: string[] = []
    await expect(list([{ pix: [{ ...pix, valor: '1,00' }, pix] }], [], seen)).rejects.toBeInstanceOf(UnreadableAnswer)
    // The others are yielded all the same.
    expect(seen).toEqual([pix.endToEndId])
    await expect(list([{ pix: 'none' }])).rejects.toBeInstanceOf(AcquirerUnavailable)
    await expect(list([{ status: 'ok' }])).rejects.toBeInstanceOf(AcquirerUnavailable)
    const other = open(psp(json(200, { ...pix, endToEndId: `e${'1'.repeat(31)}` })))
    await expect(other.findPayment(pix.endToEndId)).rejects.toBeInstanceOf(AcquirerUnavailable)
  })
})

describe('a PSP over HTTP', () => {
  const servers: Server[] = []
  const closers: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })

  type Listener = (request: IncomingMessage, answer: ServerResponse) => void

  async function listen(listener: Listener): Promise<{ url: string; paths: string[] }> {
    const paths: string[] = []
    const server = createServer((request, answer) => {
      paths.push(request.url ?? '')
      if (request.url === '/v2/oauth/token') answer.end(token().body)
      else listener(request, answer)
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v2/`, paths }
  }

  async function call(listener: Listener): Promise<unknown> {
    const { url, paths } = await listen(listener)
    const http = createHttpSend({ baseUrl: url })
    closers.push(http.close)
    const error = await open(http.send, 5000)
      .createCharge(input)
      .catch((thrown) => thrown)
    // After the token one request, under the path of the base URL; no redirect was followed.
    expect(paths).toEqual(['/v2/oauth/token', `/v2/cob/${txid}`])
    return error
  }

  const hostile: Record<string, Listener> = {
    'sends far too much': (_, answer) => {
      // It would be a valid charge if it were read to the end.
      const [start, end] = JSON.stringify({ ...cob, padding: '_' }).split('_')
      answer.write(start)
      for (let i = 0; i < 40; i++) answer.write('x'.repeat(64 * 1024))
      answer.end(end)
    },
    'sends broken JSON': (_, answer) => answer.end('{"txid":'),
    redirects: (_, answer) => answer.writeHead(302, { location: '/v2/elsewhere' }).end(),
    'redirects with 307': (_, answer) => answer.writeHead(307, { location: '/v2/elsewhere' }).end(),
    'never answers': () => {},
    'never ends its answer': (_, answer) => {
      answer.write('{')
      const timer = setInterval(() => answer.write(' '), 50)
      answer.on('close', () => clearInterval(timer))
    },
    'hangs up': (request) => request.socket.destroy(),
    'hangs up in the middle': (request, answer) => {
      answer.writeHead(200, { 'content-length': '1000' })
      answer.write('{', () => request.socket.destroy())
    },
    'talks nonsense': (request) => request.socket.end('nonsense\r\n\r\n'),
  }

  it.each(Object.entries(hostile))('that %s leaves the outcome unknown', async (_, listener) => {
    expect(await call(listener)).toBeInstanceOf(AcquirerUnavailable)
  })

  it('that is not reachable leaves the outcome unknown, with the cause', async () => {
    const http = createHttpSend({ baseUrl: 'http://127.0.0.1:1' })
    closers.push(http.close)
    const error = await open(http.send)
      .createCharge(input)
      .catch((thrown) => thrown)
    expect(error).toBeInstanceOf(AcquirerUnavailable)
    expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('that runs in this process and never answers leaves the outcome unknown, and blocks no later call', async () => {
    let isStuck = true
    const acquirer = open(async (request) => {
      if (isStuck) return new Promise(() => {})
      return request.isToken ? token() : json(200, cob)
    }, 50)
    await expect(acquirer.findCharge(txid)).rejects.toBeInstanceOf(AcquirerUnavailable)
    isStuck = false
    await expect.poll(() => acquirer.findCharge(txid).catch(() => null)).toEqual(charge)
  })

  it('whose token arrives after the time-out gets no request with it', async () => {
    const requests: string[] = []
    let release = (_: HttpResponse) => {}
    const acquirer = open(async (request) => {
      requests.push(request.isToken ? 'token' : 'charge')
      if (!request.isToken) return json(401, {})
      if (requests.length === 1) return token()
      return new Promise((resolve) => {
        release = resolve
      })
    }, 50)
    await expect(acquirer.createCharge(input)).rejects.toThrow('in time')
    release(token())
    await new Promise(setImmediate)
    expect(requests).toEqual(['token', 'charge', 'token'])
  })

  it('that issues tokens at another host gets the request there', async () => {
    const auth = await listen(() => {})
    const api = await listen((_, answer) => answer.end(JSON.stringify(cob)))
    const http = createHttpSend({ baseUrl: api.url, tokenUrl: `${auth.url}oauth/token` })
    closers.push(http.close)
    expect(await open(http.send).findCharge(txid)).toEqual(charge)
    expect([auth.paths, api.paths]).toEqual([['/v2/oauth/token'], [`/v2/cob/${txid}`]])
  })
})
