import { cents, toReais } from '../src/lib/money.ts'
import { notifyReceiver } from './callbacks.ts'
import type { Behaviour } from './faults/traits.ts'
import { type HttpRequest, type HttpResponse, json, problem, type Violation } from './http.ts'
import { toChargeId } from './location.ts'
import type { Network } from './network.ts'
import { type Page, parsePage, toParameters } from './page.ts'
import { findPix, type PixFilter, type PixRow } from './pix-store.ts'
import { receiverKey } from './receiver-account.ts'
import { toDevolucao } from './returns.ts'
import { isEndToEndIdShape, isTxid } from './validate.ts'

/** `GET /pix/{e2eid}` */
export async function getPix(network: Network, endToEndId: string): Promise<HttpResponse> {
  const pix = isEndToEndIdShape(endToEndId) ? await findPix(network.pool, endToEndId, network.clock.now()) : null
  return pix
    ? json(200, toPix(pix, network.clock.now()))
    : problem('PixNaoEncontrado', 'Não há Pix com o e2eid informado.')
}

/** `GET /pix?inicio&fim`: payments that arrived between the two times, oldest first. Pages count from zero. */
export async function getPixList(network: Network, request: HttpRequest): Promise<HttpResponse> {
  const parsed = parseQuery(network, request.query)
  if ('violacoes' in parsed)
    return problem('PixConsultaInvalida', 'Os parâmetros não respeitam o schema.', parsed.violacoes)
  const { filter, page } = parsed
  const { total, rows } = await network.readPix(filter, page)
  return json(200, {
    parametros: toParameters(page, total),
    pix: rows.map((row) => toPix(row, filter.now)),
  })
}

/** Whether the PSP shows the payment by now: a slow or late payment reaches it after the payer has paid. */
export function isShown({ shownAt }: PixRow, now: Date): boolean {
  return shownAt === null || shownAt <= now
}

/**
 * The standard's Pix, and in addition `pagador` with the payer's whole account. The standard has no payer, and each PSP
 * that returns one has its own form. This is the simulator's own; encode-answer.ts reduces it to what a dialect shows.
 */
export function toPix(pix: PixRow, now: Date) {
  const { payer } = pix
  const returns = pix.returns.filter(({ requestedAt }) => requestedAt <= now)
  return {
    endToEndId: pix.endToEndId,
    ...(pix.txid !== null && { txid: pix.txid }),
    valor: toReais(cents(pix.amount)),
    componentesValor: { original: { valor: toReais(cents(pix.amount)) } },
    chave: receiverKey,
    horario: pix.paidAt.toISOString(),
    pagador: {
      ...(payer.type === 'PF' ? { cpf: payer.document } : { cnpj: payer.document }),
      nome: payer.name,
      ispbParticipante: payer.bankAccount.ispb,
      tipoConta: payer.bankAccount.type,
      agencia: payer.bankAccount.branch,
      conta: payer.bankAccount.number,
      digito: payer.bankAccount.digit,
      tipoChave: payer.pix.type,
      chave: payer.pix.key,
    },
    ...(returns.length > 0 && { devolucoes: returns.map((one) => toDevolucao(one, now)) }),
  }
}

/** Sends the receiver a callback about a Pix with its returns, as they are now. None before the PSP shows the Pix. */
export async function notifyOfPix(network: Network, endToEndId: string, behaviours?: Behaviour[]): Promise<void> {
  const now = network.clock.now()
  const pix = await findPix(network.pool, endToEndId, now)
  if (pix) await notifyReceiver(network, toPix(pix, now), behaviours)
}

type PixQuery = { filter: PixFilter; page: Page }

function parseQuery(network: Network, query: Record<string, string>): PixQuery | { violacoes: Violation[] } {
  const isBoolean = (text: string | undefined) => text === undefined || text === 'true' || text === 'false'
  const page = parsePage(query, {
    txid: query.txid !== undefined && !isTxid(query.txid),
    txIdPresente: !isBoolean(query.txIdPresente),
    devolucaoPresente: !isBoolean(query.devolucaoPresente),
    cpf: query.cpf !== undefined && (!/^\d{11}$/.test(query.cpf) || query.cnpj !== undefined),
    cnpj: query.cnpj !== undefined && !/^[0-9A-Z]{14}$/.test(query.cnpj),
  })
  if ('violacoes' in page) return page
  const filter = {
    from: page.from,
    to: page.to,
    now: network.clock.now(),
    chargeId: query.txid === undefined ? null : toChargeId(network, query.txid),
    hasTxid: readBoolean(query.txIdPresente),
    payerDocument: query.cpf ?? query.cnpj ?? null,
    hasReturn: readBoolean(query.devolucaoPresente),
  }
  return { filter, page }
}

function readBoolean(text: string | undefined): boolean | null {
  return text === undefined ? null : text === 'true'
}
