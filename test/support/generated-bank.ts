import type { HttpRequest, HttpResponse, Send } from '../../src/acquirers/bacen/http.ts'
import { cents, toReais } from '../../src/lib/money.ts'

export type BankReturn = { id: string; amount: number; at: Date; nature: string }
export type BankPayment = {
  endToEndId: string
  txid: string | null
  amount: number
  at: Date
  fee: number | null
  returns: BankReturn[]
}
export type BankPayout = {
  endToEndId: string
  payoutId: string | null
  amount: number
  at: Date
  status: 'REALIZADO' | 'NAO_REALIZADO' | 'EM_PROCESSAMENTO'
}

/**
 * A bank that answers queries of the Central Bank's API Pix, and of Efí's API for payouts, with data that a test has
 * set. `send` replaces the adapter's socket.
 */
export type GeneratedBank = {
  payments: Map<string, BankPayment>
  payouts: Map<string, BankPayout>
  /** The number of requests. */
  requested: number
  /** The list that was requested last: it stays sorted while its pages are read. */
  sorted: { key: string; items: { at: Date }[] } | null
  send: Send
}

export function generatedBank(): GeneratedBank {
  const bank: GeneratedBank = {
    payments: new Map(),
    payouts: new Map(),
    requested: 0,
    sorted: null,
    send: async (request) => {
      bank.requested += 1
      return answer(bank, request)
    },
  }
  return bank
}

function answer(bank: GeneratedBank, { method, path, query }: HttpRequest): HttpResponse {
  if (path === '/oauth/token') return toAnswer({ access_token: 'token', token_type: 'Bearer', expires_in: 3600 })
  const [, first, second, third, fourth, fifth] = path.split('/').map(decodeURIComponent)
  if (first === 'cob' && second) return toAnswer(toCharge(bank, second))
  if (first === 'pix' && !second) return toList(bank, bank.payments.values(), query, toPix)
  if (first === 'pix' && third === 'devolucao') {
    const payment = bank.payments.get(second ?? '')
    const known = payment?.returns.find(({ id }) => id === fourth)
    return known && method === 'GET' ? toAnswer(toDevolucao(known)) : notFound
  }
  if (first === 'pix' && second) return toFound(bank.payments.get(second), toPix)
  if (path === '/v2/gn/pix/enviados') return toList(bank, bank.payouts.values(), query, toEnviado)
  if (fourth === 'enviados' && fifth === 'id-envio') {
    const id = path.split('/').at(-1)
    return toFound(
      [...bank.payouts.values()].find(({ payoutId }) => payoutId === id),
      toEnviado,
    )
  }
  return notFound
}

const notFound: HttpResponse = {
  status: 404,
  headers: { 'content-type': 'application/problem+json' },
  body: JSON.stringify({ title: 'Não encontrado', status: 404, detail: 'Recurso não encontrado' }),
}

function toAnswer(body: object): HttpResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

function toFound<Item>(item: Item | undefined, toBody: (item: Item) => object): HttpResponse {
  return item ? toAnswer(toBody(item)) : notFound
}

/** Sorted by time, as banks list. */
function toList<Item extends { at: Date; returns?: BankReturn[] }>(
  bank: GeneratedBank,
  all: Iterable<Item>,
  query: Record<string, string>,
  toBody: (item: Item) => object,
): HttpResponse {
  const [from, to] = [Date.parse(query.inicio ?? ''), Date.parse(query.fim ?? '')]
  const page = Number(query['paginacao.paginaAtual'])
  const size = Number(query['paginacao.itensPorPagina'])
  const key = JSON.stringify([query.inicio, query.fim, query.devolucaoPresente, toBody.name])
  if (page === 0 || bank.sorted?.key !== key) {
    const items = [...all].filter(
      ({ at, returns }) =>
        at.getTime() >= from && at.getTime() <= to && (query.devolucaoPresente !== 'true' || returns?.length),
    )
    bank.sorted = { key, items: items.toSorted((a, b) => a.at.getTime() - b.at.getTime()) }
  }
  const items = bank.sorted.items as Item[]
  return toAnswer({
    parametros: {
      inicio: query.inicio,
      fim: query.fim,
      paginacao: {
        paginaAtual: page,
        itensPorPagina: size,
        quantidadeDePaginas: Math.ceil(items.length / size),
        quantidadeTotalDeItens: items.length,
      },
    },
    pix: items.slice(page * size, (page + 1) * size).map(toBody),
  })
}

function toPix({ endToEndId, txid, amount, at, fee, returns }: BankPayment) {
  return {
    endToEndId,
    ...(txid !== null && { txid }),
    valor: toReais(cents(amount)),
    horario: at.toISOString(),
    ...(fee !== null && { gnExtras: { tarifa: toReais(cents(fee)) } }),
    ...(returns.length > 0 && { devolucoes: returns.map(toDevolucao) }),
  }
}

function toDevolucao({ id, amount, at, nature }: BankReturn) {
  return {
    id,
    rtrId: `D${id}`.slice(0, 32),
    valor: toReais(cents(amount)),
    natureza: nature,
    horario: { solicitacao: at.toISOString(), liquidacao: at.toISOString() },
    status: 'DEVOLVIDO',
  }
}

function toCharge({ payments }: GeneratedBank, txid: string) {
  const pix = [...payments.values()].filter((payment) => payment.txid === txid)
  return {
    txid,
    status: 'CONCLUIDA',
    calendario: { criacao: '2026-11-20T03:00:00.000Z', expiracao: 3600 },
    valor: { original: toReais(cents(pix[0]?.amount ?? 1)) },
    pixCopiaECola: '00020126',
    pix: pix.map(toPix),
  }
}

function toEnviado({ endToEndId, payoutId, amount, at, status }: BankPayout) {
  return {
    endToEndId,
    ...(payoutId !== null && { idEnvio: payoutId }),
    valor: toReais(cents(amount)),
    horario: { solicitacao: at.toISOString(), liquidacao: at.toISOString() },
    status,
  }
}
