import { describe, expect, it } from 'vitest'
import { receiverAccount } from '../../../simulator/receiver-account.ts'
import efiDocumented from '../../../test/fixtures/efi-infracoes.json' with { type: 'json' }
import { manualClock } from '../../../test/support/clock.ts'
import { txidOf } from '../../../test/support/simulator.ts'
import { cents } from '../../lib/money.ts'
import { type Acquirer, AcquirerUnavailable, type MoneyOut, NotOffered, UnreadableAnswer } from '../acquirer.ts'
import { createBacenAcquirer } from './adapter.ts'
import type { HttpRequest, HttpResponse } from './http.ts'
import { explainRejection, isTemporaryRejection } from './spi-codes.ts'

/** Answers in the PSPs' own forms: how they are read, and what must not be concluded from them. */
const clock = manualClock()
const endToEndId = `E${'1'.repeat(31)}`
const rtrId = `D${'1'.repeat(31)}`
const id = txidOf(1)
const pixKey = { key: '52998224725', type: 'CPF' } as const
const now = clock.now().toISOString()

const json = (status: number, body: unknown): HttpResponse => ({ status, headers: {}, body: JSON.stringify(body) })

type Psp = { acquirer: Acquirer; requests: string[] }

function psp(answer: (request: HttpRequest) => HttpResponse): Psp {
  const requests: string[] = []
  const acquirer = createBacenAcquirer({
    name: 'psp',
    send: async (request) => {
      if (request.isToken) return json(200, { access_token: 't', expires_in: 3600 })
      requests.push(`${request.method} ${request.path}`)
      return answer(request)
    },
    credentials: { clientId: 'a', clientSecret: 'b' },
    chave: receiverAccount.pix.key,
    receiver: receiverAccount,
    isRemote: true,
    profile: { offers: { payouts: true, disputes: true } },
    clock,
  })
  return { acquirer, requests }
}

const devolucao = { id, rtrId, valor: '1.00', horario: { solicitacao: now }, status: 'EM_PROCESSAMENTO' }
const enviado = { endToEndId, idEnvio: id, valor: '1.00', horario: {}, status: 'EM_PROCESSAMENTO' }

const operations = [
  {
    name: 'a refund',
    path: `/pix/${endToEndId}/devolucao/${id}`,
    taken: devolucao,
    done: 'DEVOLVIDO',
    send: ({ acquirer }: Psp) => acquirer.refund({ endToEndId, refundId: id, amount: cents(100) }),
    find: ({ acquirer }: Psp): Promise<MoneyOut | null> => acquirer.findRefund({ endToEndId, refundId: id }),
  },
  {
    name: 'a payout',
    path: `/v2/gn/pix/enviados/id-envio/${id}`,
    taken: enviado,
    done: 'REALIZADO',
    send: async ({ acquirer }: Psp) => acquirer.payouts?.send({ payoutId: id, amount: cents(100), pixKey }),
    find: async ({ acquirer }: Psp): Promise<MoneyOut | null> =>
      (await acquirer.payouts?.find({ payoutId: id })) ?? null,
  },
]

describe.each(operations)('$name', ({ path, taken, done, send, find }) => {
  it('that is refused counts as refused only once the PSP does not find it either', async () => {
    const refusing = psp(({ method }) =>
      method === 'PUT' ? json(422, { mensagem: 'Não.' }) : json(404, { nome: 'x' }),
    )
    expect(await send(refusing)).toEqual({ outcome: 'refused', reason: 'Não.' })
    expect(refusing.requests.at(-1)).toBe(`GET ${path}`)
  })

  it.each([400, 403, 404, 409, 422])(
    'that is refused with %i, and found when it is queried, is processing',
    async (status) => {
      const knowing = psp(({ method }) => (method === 'PUT' ? json(status, { nome: 'duplicado' }) : json(200, taken)))
      expect(await send(knowing)).toMatchObject({ outcome: 'processing' })
    },
  )

  it.each([401, 403, 408, 429, 500, 503])(
    'that is refused, and queried with the answer %i, has an unknown outcome',
    async (status) => {
      const blind = psp(({ method }) => (method === 'PUT' ? json(400, { nome: 'x' }) : json(status, { nome: 'x' })))
      await expect(send(blind)).rejects.toBeInstanceOf(AcquirerUnavailable)
    },
  )

  it.each([
    {},
    { message: 'Not Found' },
    { statusCode: 404, error: 'Not Found', message: 'Not Found' },
    { httpCode: '404', httpMessage: 'Not Found', moreInformation: 'No resources match requested URI' },
  ])('that is answered with 404 by a gateway in front of the API has an unknown outcome: %j', async (body) => {
    const behind = psp(() => json(404, body))
    await expect(send(behind)).rejects.toBeInstanceOf(AcquirerUnavailable)
    await expect(find(behind)).rejects.toBeInstanceOf(AcquirerUnavailable)
  })

  it.each([
    { type: 'https://pix.bcb.gov.br/api/v2/error/NaoEncontrado', title: 'Não encontrado.', status: 404 },
    { nome: 'pix_nao_encontrado', mensagem: 'Não há.' },
    { erros: [{ codigo: '4769515', mensagem: 'Não há.' }] },
    { mensagens: [{ mensagem: 'Não há.', codigo: '404' }] },
  ])('that the API itself does not find does not exist: %j', async (body) => {
    expect(await find(psp(() => json(404, body)))).toBeNull()
  })

  it.each([500, 502, 503, 504, 302])('that is answered with %i has an unknown outcome', async (status) => {
    await expect(send(psp(() => json(status, {})))).rejects.toBeInstanceOf(AcquirerUnavailable)
    await expect(find(psp(() => json(status, {})))).rejects.toBeInstanceOf(AcquirerUnavailable)
  })

  it.each(['EM_PROCESSAMENTO', 'AGENDADO', '', null, 7, undefined])('of status %j is processing', async (status) => {
    const answer = psp(() => json(200, { ...taken, status }))
    expect(await send(answer)).toMatchObject({ outcome: 'processing' })
    expect(await find(answer)).toMatchObject({ outcome: 'processing' })
  })

  it('that is done without a time is done now', async () => {
    const answer = psp(() => json(200, { ...taken, horario: null, status: done }))
    expect(await find(answer)).toMatchObject({ outcome: 'done', at: clock.now() })
  })

  it('that is rejected always has a reason', async () => {
    const bare = psp(() => json(200, { ...taken, status: 'NAO_REALIZADO' }))
    expect(await find(bare)).toEqual({ outcome: 'refused', reason: 'The acquirer rejected it without a reason.' })
    const coded = psp(() => json(200, { ...taken, status: 'NAO_REALIZADO', motivo: 'Rejeitado (AC07).' }))
    expect(await find(coded)).toMatchObject({ reason: 'The receiver’s account is closed. (AC07)' })
  })

  it('that is answered with another amount or id has an unknown outcome, which needs a person', async () => {
    const others = [{ valor: '1.01' }, { valor: 1.001 }, { id: 'other', idEnvio: 'other' }]
    for (const other of others) {
      await expect(send(psp(() => json(200, { ...taken, ...other })))).rejects.toBeInstanceOf(UnreadableAnswer)
    }
    await expect(find(psp(() => json(200, { ...taken, valor: null })))).rejects.toBeInstanceOf(UnreadableAnswer)
  })

  it('is not queried with an id that has other characters than letters and digits', async () => {
    const { acquirer } = psp(() => json(404, {}))
    await expect(acquirer.findRefund({ endToEndId, refundId: 'a-b' })).rejects.toThrow('letters and digits')
    await expect(acquirer.payouts?.find({ payoutId: '../x' })).rejects.toThrow('letters and digits')
  })
})

describe('the receiver of a payout', () => {
  const favorecido = {
    chave: '52998224725',
    identificacao: { nome: 'João', cpf: '529.982.247-25' },
    contaBanco: { codigoBanco: '09089356', agencia: '1', conta: '2', digito: '3', tipoConta: 'cc' },
  }
  const find = (receiver: unknown) =>
    psp(() => json(200, { ...enviado, status: 'REALIZADO', favorecido: receiver })).acquirer.payouts?.find({
      payoutId: id,
    })

  it('is returned when all of its fields are known', async () => {
    expect(await find(favorecido)).toMatchObject({ receiver: { document: '52998224725', pix: pixKey } })
  })

  it('is unknown when a part is missing or masked', async () => {
    const masked = { ...favorecido, identificacao: { nome: 'João', cpf: '***.982.247-**' } }
    for (const receiver of [masked, { ...favorecido, contaBanco: null }, { chave: '52998224725' }, null, 'x']) {
      expect(await find(receiver)).toMatchObject({ outcome: 'done', receiver: null })
    }
  })
})

describe('a return of a payout', () => {
  const find = (...devolucoes: object[]) =>
    psp(() =>
      json(200, { ...enviado, status: 'REALIZADO', horario: { liquidacao: now }, devolucoes }),
    ).acquirer.payouts?.find({
      payoutId: id,
    })

  it('makes the payout unreadable only if it is done and its amount or its id cannot be read', async () => {
    const done = { rtrId, valor: '0.40', status: 'DEVOLVIDO' }
    const returned = { endToEndIds: [rtrId], amount: 40, at: new Date(now) }
    expect(await find({ status: 'EM_PROCESSAMENTO' }, { status: 'NAO_REALIZADO' }, done)).toMatchObject({ returned })
    expect(await find({ status: 'EM_PROCESSAMENTO' })).toMatchObject({ outcome: 'done' })
    for (const missing of ['rtrId', 'valor'])
      await expect(find({ ...done, [missing]: undefined })).rejects.toThrow('a return that cannot be read')
  })
})

describe('callbacks', () => {
  const { acquirer } = psp(() => json(200, {}))
  const keysOf = (entry: object) => acquirer.readCallback({ pix: [entry] }).map(({ eventKey }) => eventKey)

  it('of a payout are recognized by our id, even with an unusual end-to-end id', () => {
    const sent = { endToEndId: 'E090893562021030PIf25a7868', tipo: 'SOLICITACAO', status: 'REALIZADO' }
    expect(acquirer.readCallback({ pix: [{ ...sent, gnExtras: { idEnvio: '123ABC' } }] })).toEqual([
      { eventKey: `${sent.endToEndId}:REALIZADO`, endToEndId: sent.endToEndId, txid: null, payoutId: '123ABC' },
    ])
    expect(keysOf({ ...sent, status: 'x y', gnExtras: { idEnvio: 'a' } })).toEqual([
      `${sent.endToEndId}:EM_PROCESSAMENTO`,
    ])
  })

  it('of returns give one event for each return and state', () => {
    const devolucoes = [
      { id: 'a', status: 'DEVOLVIDO' },
      { id: 'b', status: 'NAO_REALIZADO' },
      { rtrId, status: 'DEVOLVIDO' },
    ]
    expect(keysOf({ endToEndId, txid: id, devolucoes })).toEqual([
      `${endToEndId}:a:DEVOLVIDO`,
      `${endToEndId}:b:NAO_REALIZADO`,
      `${endToEndId}:${rtrId}:DEVOLVIDO`,
    ])
    expect(keysOf({ endToEndId, devolucoes: [] })).toEqual([endToEndId])
    expect(keysOf({ endToEndId, devolucoes: 'none' })).toEqual([endToEndId])
  })
})

describe('disputes', () => {
  const [documented] = efiDocumented.infracoes
  const listFrom = async (answer: HttpResponse) => {
    const { acquirer } = psp(() => answer)
    const found = []
    for await (const one of acquirer.disputes?.list({ from: clock.now(), to: clock.now() }) ?? []) found.push(one)
    return found
  }
  const list = async (...entries: unknown[]) => await listFrom(json(200, { infracoes: entries }))

  it('are read as Efí documents them, in every state', async () => {
    const found = await listFrom(json(200, efiDocumented))
    expect(found.map(({ status, state }) => [status, state])).toEqual([
      ['ABERTA', 'open'],
      ['EM_DEFESA', 'open'],
      ['ACEITA', 'accepted'],
      ['REJEITADA', 'rejected'],
      ['CANCELADA_EFI', 'canceled'],
    ])
    expect(found[0]).toEqual({
      reference: '8ad75c93-6150-422c-929e-822f361c7a6b',
      endToEndId: 'E09089356202312181249APId91a6304',
      amount: 10_000,
      reason: 'golpe',
      state: 'open',
      status: 'ABERTA',
      openedAt: new Date('2023-12-20T16:01:35Z'),
      deadline: new Date('2023-12-27T16:01:35Z'),
    })
    expect(found[1]).toMatchObject({ amount: 10_050, reason: 'Solicitacao de devolução' })
  })

  it('are read with the dates of an older list, and with the protocol where there is no id', async () => {
    const { dadosAnalise: _, criadoEm: __, idInfracao: ___, ...other } = documented ?? {}
    const found = await list({ ...other, atualizadoEm: null, dataCriacao: now, protocolo: 1313 })
    expect(found).toMatchObject([{ reference: '1313', openedAt: clock.now(), deadline: null }])
  })

  it('of an unrecognized state are unknown, never ended', async () => {
    const found = await list({ ...documented, status: 'SUSPENSA' }, { ...documented, status: null })
    expect(found).toMatchObject([
      { state: 'unknown', status: 'SUSPENSA' },
      { state: 'unknown', status: null },
    ])
  })

  it('that cannot be read are not skipped', async () => {
    const dateless = { dadosAnalise: {}, criadoEm: 'today', atualizadoEm: null }
    for (const other of [{ idInfracao: null, protocolo: null }, { valor: '100,00' }, { endToEndId: '' }, dateless]) {
      await expect(list({ ...documented, ...other })).rejects.toBeInstanceOf(AcquirerUnavailable)
    }
    await expect(list(null)).rejects.toBeInstanceOf(AcquirerUnavailable)
  })

  it('are not offered where the PSP has switched the list off, which is not an outage', async () => {
    const detail = 'Funcionalidade desabilitada em ambiente de homologação.'
    const type = 'https://pix.bcb.gov.br/api/v2/error/InfracaoErroInterno'
    await expect(listFrom(json(500, { type, title: 'Erro Interno', status: 500, detail }))).rejects.toBeInstanceOf(
      NotOffered,
    )
    const other = listFrom(json(500, { type, title: 'Erro Interno', status: 500, detail: 'Ocorreu um erro interno.' }))
    await expect(other).rejects.not.toBeInstanceOf(NotOffered)
  })
})

describe('returns of a payment', () => {
  const pix = { endToEndId, txid: id, valor: '10.00', horario: now }
  const med = { ...devolucao, natureza: 'MED_FRAUDE', status: 'DEVOLVIDO' }
  const find = (devolucoes: unknown) => psp(() => json(200, { ...pix, devolucoes })).acquirer.findPayment(endToEndId)

  it('are all that were not refused, ours and those under MED', async () => {
    const given = [
      med,
      { ...devolucao, natureza: 'ORIGINAL' },
      { ...devolucao, id: 'other', horario: null },
      { ...med, status: 'NAO_REALIZADO' },
      // Listed twice.
      med,
    ]
    const common = { id, endToEndId: rtrId, amount: 100, at: clock.now() }
    expect(await find(given)).toMatchObject({
      returns: [
        { ...common, nature: 'MED_FRAUDE', isDone: true },
        { ...common, nature: 'ORIGINAL' },
        { ...common, id: 'other', nature: 'ORIGINAL' },
      ],
    })
    expect(await find([{ ...med, status: 'EM_PROCESSAMENTO' }])).toMatchObject({ returns: [{ isDone: false }] })
    for (const none of [null, undefined, []]) expect(await find(none)).toMatchObject({ returns: [] })
  })

  it('that cannot be read are not skipped', async () => {
    for (const broken of ['x', ['x'], [{ ...med, valor: 'x' }], [{ ...med, id: '', rtrId: '' }]]) {
      await expect(find(broken)).rejects.toBeInstanceOf(AcquirerUnavailable)
    }
  })
})

describe('a reason', () => {
  it.each([
    [{ code: 'AC03', description: 'x' }, 'The receiver’s account does not exist, or its number is wrong. (AC03)'],
    [{ code: 'ZZ99', description: 'Não sei.' }, 'ZZ99: Não sei.'],
    [{ code: null, description: 'Negado por timeout' }, 'Negado por timeout'],
    [{ code: null, description: 'DUPL' }, 'The identifier of the payment was used before. (DUPL)'],
    [
      { code: null, description: 'Erro HT04: AB03' },
      'The settlement system stopped the payment because it took too long. (AB03)',
    ],
    [{ code: 'toString', description: null }, 'toString'],
    [{ code: null, description: '\u0000\n' }, 'The acquirer rejected it without a reason.'],
  ])('of %j reads well', (given, reason) => {
    expect(explainRejection(given)).toBe(reason)
  })

  it('is temporary by the first known code of the PSP’s text', () => {
    const texts = ['Erro HT04: AB03', 'AB03', 'AC03: AB03', 'HT04', null]
    expect(texts.map(isTemporaryRejection)).toEqual([true, true, false, false, false])
  })
})
