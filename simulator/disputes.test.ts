import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cents } from '../src/lib/money.ts'
import efiDocumented from '../test/fixtures/efi-infracoes.json' with { type: 'json' }
import { createEmptyDatabase, type TestDatabase } from '../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../test/support/simulator.ts'
import type { ControlOutcome } from './control.ts'
import { disputeWindowDays, returnAfterAcceptanceMs } from './disputes.ts'
import { receiverKey } from './receiver-account.ts'

let database: TestDatabase
let simulator: TestSimulator
let next = 1
const day = 86_400_000

beforeAll(async () => {
  database = await createEmptyDatabase()
  simulator = await testSimulator(database.db.pool)
})
afterAll(async () => {
  await simulator.close()
  await database.drop()
})

const paid = async (amount = '10.00') => {
  const outcome = await simulator.pay({ uri: await simulator.charge(txidOf(next++), amount) })
  if (!outcome.ok) throw new Error(outcome.message)
  return outcome.endToEndId
}
const idOf = (outcome: ControlOutcome) => {
  if (!outcome.ok) throw new Error(outcome.message)
  return outcome.id
}
const returnsOf = async (endToEndId: string) => (await simulator.request('GET', `/pix/${endToEndId}`)).body.devolucoes
const listed = async (query: Record<string, string> = {}) => {
  const now = simulator.clock.now().getTime()
  const inicio = new Date(now - 100 * day).toISOString()
  const fim = new Date(now).toISOString()
  return simulator.request('GET', '/v2/gn/infracoes', { query: { inicio, fim, ...query } })
}
const statusOf = async (id: string) => {
  const { infracoes } = (await listed()).body
  return (Array.isArray(infracoes) ? infracoes : []).find((entry) => entry.idInfracao === id)?.status
}

describe('a dispute', () => {
  it('is opened for the whole payment, and appears in the list', async () => {
    const endToEndId = await paid('12.34')
    const id = idOf(await simulator.openDispute({ endToEndId }))
    const toTime = (at: number) => `${new Date(at).toISOString().slice(0, 19)}Z`
    const now = simulator.clock.now().getTime()
    const { body } = await listed({ 'paginacao.itensPorPagina': '1000' })
    const documented = new Set(efiDocumented.infracoes.flatMap((one) => Object.keys(one)))
    const found = (body.infracoes as { idInfracao: string }[]).find((one) => one.idInfracao === id) ?? {}
    expect(Object.keys(found).filter((name) => !documented.has(name))).toEqual([])
    expect(found).toMatchObject({
      protocolo: expect.stringMatching(/^\d+$/),
      endToEndId,
      status: 'ABERTA',
      razao: 'Solicitacao de devolução',
      tipoSituacao: 'golpe',
      valor: '12.34',
      dadosAnalise: { abertura: toTime(now), prazoFinalizacao: toTime(now + 7 * day) },
      criadoEm: toTime(now),
      atualizadoEm: toTime(now),
    })
    expect(await returnsOf(endToEndId)).toBeUndefined()
  })

  it('returns the money a moment after its acceptance', async () => {
    await simulator.request('PUT', `/webhook/${receiverKey}`, { body: { webhookUrl: 'http://x.example' } })
    const endToEndId = await paid('10.00')
    const id = idOf(await simulator.openDispute({ endToEndId, amount: cents(400), reason: 'operational_failure' }))
    expect(await simulator.decideDispute({ reference: id, decision: 'accept' })).toEqual({ ok: true, id })
    expect(await statusOf(id)).toBe('ACEITA')
    expect(await returnsOf(endToEndId)).toMatchObject([{ status: 'EM_PROCESSAMENTO', natureza: 'MED_OPERACIONAL' }])
    simulator.clock.advance(returnAfterAcceptanceMs)
    expect(await statusOf(id)).toBe('ACEITA')
    expect(await returnsOf(endToEndId)).toMatchObject([
      { status: 'DEVOLVIDO', valor: '4.00', rtrId: expect.stringMatching(/^D/) },
    ])
    const reported = () => simulator.callbacks.map(({ body }) => body)
    const devolucoes = [expect.objectContaining({ valor: '4.00', status: 'DEVOLVIDO' })]
    const pix = [expect.objectContaining({ endToEndId, devolucoes })]
    await expect.poll(reported).toContainEqual({ pix })
    expect(await simulator.decideDispute({ reference: id, decision: 'reject' })).toMatchObject({ code: 'not_open' })
  })

  it.each([
    ['opened', [true, false, false]],
    ['changed', [false, true, false]],
    ['paid', [false, false, true]],
  ] as const)('is listed by the date that the PSP compares: %s', async (disputeDates, expected) => {
    const endToEndId = await paid()
    const paidAt = simulator.clock.now().getTime()
    simulator.clock.advance(day)
    const id = idOf(await simulator.openDispute({ endToEndId }))
    const openedAt = simulator.clock.now().getTime()
    simulator.clock.advance(day)
    await simulator.decideDispute({ reference: id, decision: 'reject' })
    const changedAt = simulator.clock.now().getTime()
    const other = await testSimulator(database.db.pool, { clock: simulator.clock, dialect: { disputeDates } })
    const isListed = async (at: number) => {
      const query = { inicio: new Date(at - 1000).toISOString(), fim: new Date(at + 1000).toISOString() }
      const { body } = await other.request('GET', '/v2/gn/infracoes', { query })
      return (body.infracoes as { idInfracao: string }[]).some((one) => one.idInfracao === id)
    }
    expect([await isListed(openedAt), await isListed(changedAt), await isListed(paidAt)]).toEqual(expected)
    await other.close()
  })

  it.each([
    ['reject', 'REJEITADA'],
    ['cancel', 'CANCELADA_EFI'],
  ] as const)('leaves the money in the account on %s, and another dispute may be opened', async (decision, status) => {
    const endToEndId = await paid()
    const id = idOf(await simulator.openDispute({ endToEndId }))
    expect(await simulator.openDispute({ endToEndId })).toMatchObject({ code: 'already_open' })
    await simulator.decideDispute({ reference: id, decision })
    expect(await statusOf(id)).toBe(status)
    expect(await returnsOf(endToEndId)).toBeUndefined()
    expect(await simulator.openDispute({ endToEndId })).toMatchObject({ ok: true })
  })

  it('takes only what is not returned yet, and never more than the whole payment', async () => {
    const endToEndId = await paid('10.00')
    const id = idOf(await simulator.openDispute({ endToEndId }))
    await simulator.request('PUT', `/pix/${endToEndId}/devolucao/a`, { body: { valor: '7.00' } })
    await simulator.decideDispute({ reference: id, decision: 'accept' })
    const returned = await returnsOf(endToEndId)
    expect(returned).toHaveLength(2)
    expect(returned).toContainEqual(expect.objectContaining({ valor: '3.00', natureza: 'MED_FRAUDE' }))
    const more = idOf(await simulator.openDispute({ endToEndId }))
    expect(await simulator.decideDispute({ reference: more, decision: 'accept' })).toMatchObject({
      code: 'nothing_left',
    })
    expect(await statusOf(more)).toBe('ABERTA')
  })

  it('blocks nothing once it is accepted and all of it was returned before', async () => {
    const blocked = async () => (await simulator.request('GET', '/v2/gn/saldo', { query: { bloqueios: 'true' } })).body
    const before = await blocked()
    const endToEndId = await paid('10.00')
    const id = idOf(await simulator.openDispute({ endToEndId, amount: cents(400) }))
    idOf(await simulator.returnUnannounced({ endToEndId, amount: cents(400) }))
    const open = await blocked()
    expect(open.bloqueios).not.toEqual(before.bloqueios)
    expect(await simulator.decideDispute({ reference: id, decision: 'accept' })).toEqual({ ok: true, id })
    expect(await statusOf(id)).toBe('ACEITA')
    expect((await blocked()).bloqueios).toEqual(before.bloqueios)
  })

  it('is decided once by ten concurrent decisions', async () => {
    const endToEndId = await paid()
    const reference = idOf(await simulator.openDispute({ endToEndId }))
    const all = await Promise.all(
      Array.from({ length: 10 }, () => simulator.decideDispute({ reference, decision: 'accept' })),
    )
    expect(all.filter(({ ok }) => ok)).toHaveLength(1)
    expect(await returnsOf(endToEndId)).toHaveLength(1)
  })

  it('is refused for an unknown payment, too large an amount, an unknown reference and after 80 days', async () => {
    const endToEndId = await paid()
    const open = (more: object) => simulator.openDispute({ endToEndId, ...more })
    expect(await open({ endToEndId: `E${'0'.repeat(31)}` })).toMatchObject({ code: 'payment_unknown' })
    expect(await open({ amount: cents(1001) })).toMatchObject({ code: 'amount_invalid' })
    const unknown = { reference: '00000000-0000-0000-0000-000000000000', decision: 'accept' } as const
    expect(await simulator.decideDispute(unknown)).toMatchObject({ code: 'infraction_unknown' })
    expect(await simulator.decideDispute({ ...unknown, reference: 'x' })).toMatchObject({ ok: false })
    simulator.clock.advance(disputeWindowDays * day + 1)
    expect(await open({})).toMatchObject({ code: 'too_late' })
  })

  it('is listed in pages, and only between two times', async () => {
    simulator.clock.advance(200 * day)
    for (let index = 0; index < 5; index++) idOf(await simulator.openDispute({ endToEndId: await paid() }))
    const pages = await Promise.all(
      [0, 1, 2].map((page) => listed({ 'paginacao.itensPorPagina': '2', 'paginacao.paginaAtual': String(page) })),
    )
    const found = pages.map(({ body }) => (Array.isArray(body.infracoes) ? body.infracoes : []))
    expect(found.map((page) => page.length)).toEqual([2, 2, 1])
    expect(new Set(found.flat().map(({ idInfracao }) => idInfracao)).size).toBe(5)
    expect(pages[0]?.body.parametros).toMatchObject({
      paginacao: { quantidadeDePaginas: 3, quantidadeTotalDeItens: 5, itensPorPagina: 2 },
    })
    expect(await listed({ inicio: 'yesterday' })).toMatchObject({
      status: 400,
      body: { violacoes: [{ propriedade: 'inicio' }] },
    })
  })
})

describe('an unannounced return', () => {
  it('takes what is left, or a part of it', async () => {
    const endToEndId = await paid('10.00')
    const part = idOf(await simulator.returnUnannounced({ endToEndId, amount: cents(1) }))
    const rest = idOf(await simulator.returnUnannounced({ endToEndId }))
    const returned = await returnsOf(endToEndId)
    expect(returned).toHaveLength(2)
    expect(returned).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ rtrId: part, valor: '0.01', natureza: 'MED_FRAUDE', status: 'DEVOLVIDO' }),
        expect.objectContaining({ rtrId: rest, valor: '9.99', natureza: 'MED_FRAUDE', status: 'DEVOLVIDO' }),
      ]),
    )
    expect(await simulator.returnUnannounced({ endToEndId })).toMatchObject({ code: 'nothing_left' })
    const refund = await simulator.request('PUT', `/pix/${endToEndId}/devolucao/a`, { body: { valor: '0.01' } })
    expect(refund.body).toMatchObject({ status: 400, violacoes: [{ razao: expect.stringContaining('AM09') }] })
  })

  it('is refused for more than is left, and for an unknown payment', async () => {
    const endToEndId = await paid('10.00')
    expect(await simulator.returnUnannounced({ endToEndId, amount: cents(1001) })).toMatchObject({
      code: 'amount_invalid',
    })
    expect(await simulator.returnUnannounced({ endToEndId: 'x' })).toMatchObject({ code: 'payment_unknown' })
  })
})

describe('the deadline of a dispute', () => {
  const disputed = async () => {
    const txid = txidOf(next)
    return { txid, id: idOf(await simulator.openDispute({ endToEndId: await paid() })) }
  }
  const pass = async (txid: string, seconds: number) =>
    await simulator.advance({ txids: [txid], payoutIds: [], seconds })
  const deadlineOf = async (id: string) => {
    const { infracoes } = (await listed()).body
    type Listed = { idInfracao: string; dadosAnalise: { prazoFinalizacao: string } }
    const found = (infracoes as Listed[]).find((one) => one.idInfracao === id)
    return Date.parse(found?.dadosAnalise.prazoFinalizacao ?? '')
  }

  it('comes closer while the dispute is open', async () => {
    const { txid, id } = await disputed()
    const before = await deadlineOf(id)
    await pass(txid, (2 * day) / 1000)
    expect(await deadlineOf(id)).toBe(before - 2 * day)
  })

  it.each([
    ['before', 0],
    ['after', 8 * day],
  ])('stays as it was when the dispute is accepted %s it', async (_, ms) => {
    const { txid, id } = await disputed()
    const before = await deadlineOf(id)
    simulator.clock.advance(ms)
    await simulator.decideDispute({ reference: id, decision: 'accept' })
    expect(await pass(txid, 3600)).toMatchObject({ disputes: 1, returns: 1 })
    expect(await deadlineOf(id)).toBe(before)
  })
})

const text = 'O cliente recebeu o produto no endereço do pedido.'

const disputed = async () => idOf(await simulator.openDispute({ endToEndId: await paid() }))
const putDefence = async (reference: string, id: string, justificativa = text, arquivos: string[] = []) =>
  await simulator.request('PUT', `/v2/gn/infracoes/${reference}/defesa/${id}`, { body: { justificativa, arquivos } })
const putFile = async (reference: string, defenceId: string, id: string, nome = 'prova.txt') => {
  const content = Buffer.from('prova')
  const sha256 = createHash('sha256').update(content).digest('hex')
  const body = { nome, tipo: 'text/plain', sha256, conteudo: content.toString('base64') }
  return await simulator.request('PUT', `/v2/gn/infracoes/${reference}/defesa/${defenceId}/arquivos/${id}`, { body })
}

describe('a defence', () => {
  it.each(['\u0000', '\u001b', '\ud800'])('is refused with the character %j in its text', async (character) => {
    const answer = await putDefence(await disputed(), randomUUID(), text + character)
    expect(answer).toMatchObject({ status: 422, body: { violacoes: [{ propriedade: 'justificativa' }] } })
  })

  it('is refused under the id of another dispute’s defence', async () => {
    const [one, other, id] = [await disputed(), await disputed(), randomUUID()]
    const first = await putDefence(one, id)
    expect(first.status).toBe(201)
    const answer = await putDefence(other, id)
    expect(answer).toMatchObject({ status: 422, body: { detail: expect.stringContaining('outra infração') } })
    expect(await putDefence(one, id)).toEqual({ ...first, status: 200 })
    expect((await putDefence(other, randomUUID())).status).toBe(201)
  })

  it('has ids without case', async () => {
    const [reference, id, file] = [await disputed(), randomUUID(), randomUUID()]
    const [bigId, bigFile] = [id.toUpperCase(), file.toUpperCase()]
    expect((await putFile(reference, bigId, bigFile)).body).toMatchObject({ idArquivo: file })
    const first = await putDefence(reference, bigId, text, [bigFile])
    expect(first).toMatchObject({ status: 201, body: { idDefesa: id } })
    expect(await putDefence(reference.toUpperCase(), bigId, text, [file])).toEqual({ ...first, status: 200 })
  })

  it('may have several lines', async () => {
    expect((await putDefence(await disputed(), randomUUID(), `${text}\r\n\n\tEntrega`)).status).toBe(201)
  })
})

it('a file is refused with a control character in its name', async () => {
  const answer = await putFile(await disputed(), randomUUID(), randomUUID(), 'prova\u0000.txt')
  expect(answer).toMatchObject({ status: 422, body: { violacoes: [{ propriedade: 'nome' }] } })
})
