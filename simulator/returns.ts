import { type Cents, cents, fromReais, toReais } from '../src/lib/money.ts'
import { newReturnId } from '../src/pix/ids.ts'
import { lateAnswerMs } from './charges.ts'
import { timeoutResponse } from './disturb.ts'
import { rejectionOf } from './faults/profile.ts'
import { type HttpRequest, type HttpResponse, json, parseJson, problem, type Violation } from './http.ts'
import { type Network, waitUnlessClosed } from './network.ts'
import { notifyOfPix } from './pix.ts'
import { receiverAccount } from './receiver-account.ts'
import { findReturn, insertReturn, type ReturnRow } from './returns-store.ts'
import { notifyWhenSettled, slowMs, stateOf } from './settlement.ts'
import { type SpiCode, spiCodes } from './spi-codes.ts'
import { isEndToEndIdShape, isReturnOrPayoutId, parseReturnRequest } from './validate.ts'

/** A return of R$ 8,000.01 is accepted, and ends NAO_REALIZADO. */
export const rejectedReturnAmount = cents(800_001)
/** A return of R$ 8,000.02 stays EM_PROCESSAMENTO for {@link slowMs} by the clock, and is then done. */
export const slowReturnAmount = cents(800_002)
/** A return of R$ 8,000.03 is done, but the request is answered only after {@link lateAnswerMs}. */
export const lateReturnAmount = cents(800_003)
/** A return of R$ 8,000.04 is refused immediately. */
export const refusedReturnAmount = cents(800_004)

/** The reason for {@link rejectedReturnAmount}: the balance is insufficient. A fault profile draws any reason. */
const returnRejection: SpiCode = 'AM04'

/** `PUT /pix/{e2eid}/devolucao/{id}` is idempotent: the same content gives the same return. */
export async function putReturn(
  network: Network,
  { endToEndId, id }: { endToEndId: string; id: string },
  request: HttpRequest,
): Promise<HttpResponse> {
  if (!isReturnOrPayoutId(id)) return invalid('O id não respeita o schema.', 'id')
  const body = parseReturnRequest(parseJson(request.body))
  if (Array.isArray(body)) return invalidReturn(body)
  const amount = fromReais(body.valor)
  if (!amount) return invalid('O campo devolucao.valor não respeita o schema.', 'devolucao.valor')
  if (amount === refusedReturnAmount) {
    return invalid('Valor recusado pelo simulador: este valor serve para testar a recusa.', 'devolucao.valor')
  }
  const profile = await network.faultProfile.current()
  const rejection = amount === rejectedReturnAmount ? returnRejection : rejectionOf(profile, 'return_rejected', id)
  const row = toRow(network, { endToEndId, id, amount, description: body.descricao ?? null, rejection })
  const outcome = isEndToEndIdShape(endToEndId) ? await insertReturn(network.pool, row) : 'pix_unknown'
  if (outcome === 'pix_unknown') return problem('PixNaoEncontrado', 'Não há Pix com o e2eid informado.')
  if (outcome === 'too_late') return invalid(refusals.too_late, 'e2eid')
  if (outcome === 'too_much') return invalid(refusals.too_much, 'devolucao.valor')
  if (outcome === 'exists') return answerRepeat(network, row)
  notifyOfReturn(network, row)
  if (profile.has('answer_lost', id)) return timeoutResponse()
  if (amount === lateReturnAmount && !(await waitUnlessClosed(network, lateAnswerMs))) {
    return problem('ServicoIndisponivel', 'O simulador foi encerrado.')
  }
  return json(201, toDevolucao(row, null))
}

/** `GET /pix/{e2eid}/devolucao/{id}` */
export async function getReturn(
  network: Network,
  { endToEndId, id }: { endToEndId: string; id: string },
): Promise<HttpResponse> {
  const isShape = isEndToEndIdShape(endToEndId) && isReturnOrPayoutId(id)
  const row = isShape ? await findReturn(network.pool, { endToEndId, id }) : null
  if (!row) return problem('PixDevolucaoNaoEncontrada', 'Não há devolução com o id informado para o e2eid.')
  return json(200, toDevolucao(row, network.clock.now()))
}

/** Sends the receiver a callback about the Pix with all its returns when this one is settled. */
export function notifyOfReturn(network: Network, row: ReturnRow): void {
  notifyWhenSettled(network, row, async () => await notifyOfPix(network, row.endToEndId))
}

const refusals = {
  too_late: 'A devolução viola a janela de tempo permitida, de 90 dias desde a liquidação do Pix (DT05).',
  too_much: 'A devolução, em conjunto com as demais, excederia o valor do Pix originário (AM09).',
  other_content: 'O id já foi utilizado por outra requisição de devolução deste Pix.',
}

function toRow(
  network: Network,
  input: { endToEndId: string; id: string; amount: Cents; description: string | null; rejection: SpiCode | null },
): ReturnRow {
  const now = network.clock.now()
  return {
    ...input,
    returnId: newReturnId({ ispb: receiverAccount.bankAccount.ispb, at: now }),
    nature: 'ORIGINAL',
    requestedAt: now,
    settlesAt: input.amount === slowReturnAmount ? new Date(now.getTime() + slowMs) : now,
  }
}

async function answerRepeat(network: Network, requested: ReturnRow): Promise<HttpResponse> {
  const stored = await findReturn(network.pool, requested)
  if (
    stored &&
    stored.amount === requested.amount &&
    stored.description === requested.description &&
    stored.nature === requested.nature
  ) {
    return json(201, toDevolucao(stored, network.clock.now()))
  }
  return invalid(refusals.other_content, 'id')
}

function invalid(razao: string, propriedade: string): HttpResponse {
  return invalidReturn([{ razao, propriedade }])
}

function invalidReturn(violacoes: Violation[]): HttpResponse {
  const detail = 'A requisição não respeita o schema ou não faz sentido semanticamente.'
  return problem('PixDevolucaoInvalida', detail, violacoes)
}

/** The standard's Devolucao as it is at `now`. With null, as it was when it was accepted. */
export function toDevolucao(row: ReturnRow, now: Date | null) {
  const state = now ? stateOf(row, now) : 'processing'
  return {
    id: row.id,
    rtrId: row.returnId,
    valor: toReais(cents(row.amount)),
    natureza: row.nature,
    ...(row.description !== null && { descricao: row.description }),
    horario: {
      solicitacao: row.requestedAt.toISOString(),
      ...(state === 'done' && { liquidacao: row.settlesAt.toISOString() }),
    },
    status: statuses[state],
    ...(state === 'rejected' && row.rejection && { motivo: `${row.rejection}: ${spiCodes[row.rejection]}` }),
  }
}

const statuses = { processing: 'EM_PROCESSAMENTO', done: 'DEVOLVIDO', rejected: 'NAO_REALIZADO' } as const
