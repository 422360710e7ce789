import { type Cents, cents, fromReais, toReais } from '../src/lib/money.ts'
import type { AccountHolder } from '../src/pix/holder.ts'
import { newEndToEndId, newReturnId } from '../src/pix/ids.ts'
import { detectPixKey, type PixKey } from '../src/pix/key.ts'
import { notifyPayoutWebhook, notifyReceiver } from './callbacks.ts'
import { lateAnswerMs } from './charges.ts'
import { type ControlOutcome, refused } from './control.ts'
import { timeoutResponse } from './disturb.ts'
import { type FaultProfile, rejectionOf } from './faults/profile.ts'
import { type HttpRequest, type HttpResponse, json, parseJson, problem, type Violation } from './http.ts'
import { type Network, waitUnlessClosed } from './network.ts'
import { parsePage, toParameters } from './page.ts'
import {
  countPayouts,
  findPayout,
  insertPayout,
  insertPayoutReturn,
  listPayouts,
  type PayoutRow,
} from './payouts-store.ts'
import { receiverAccount, receiverKey } from './receiver-account.ts'
import { toPayoutCallback, toSentPix, toSentPixCallback } from './sent-pix.ts'
import { notifyWhenSettled, type Settlement, slowMs, stateOf } from './settlement.ts'
import { rejectedPayoutAmounts } from './spi-codes.ts'
import { inTransaction } from './transaction.ts'
import { isReturnOrPayoutId, parsePayoutRequest } from './validate.ts'

/**
 * A payout of R$ 9,000.90 is refused immediately. Those of 9,000.01 to 9,000.24 are rejected later: {@link
 * rejectedPayoutAmounts}.
 */
export const refusedPayoutAmount = cents(900_090)
/** A payout of R$ 9,000.91 stays EM_PROCESSAMENTO for {@link slowMs} by the clock, and is then done. */
export const slowPayoutAmount = cents(900_091)
/** A payout of R$ 9,000.92 is done, but the request is answered only after {@link lateAnswerMs}. */
export const latePayoutAmount = cents(900_092)

/** `PUT /v3/gn/pix/{idEnvio}` of Efí. It is idempotent: the same content gives the same payout. */
export async function putPayout(network: Network, id: string, request: HttpRequest): Promise<HttpResponse> {
  if (!isReturnOrPayoutId(id)) return invalid([{ razao: 'O idEnvio não respeita o schema.', propriedade: 'idEnvio' }])
  const body = parsePayoutRequest(parseJson(request.body))
  if (Array.isArray(body)) return invalid(body)
  const profile = await network.faultProfile.current()
  if (body.pagador.chave !== receiverKey)
    return invalid([violation('A chave do pagador não pertence a este usuário.', 'pagador.chave')])
  const requested = {
    id,
    amount: fromReais(body.valor),
    key: body.favorecido.chave,
    info: body.pagador.infoPagador ?? null,
  }
  const row = toPayoutRow({ network, profile }, requested, { key: 'favorecido.chave', amount: 'valor' })
  if ('razao' in row) return invalid([row])
  if (!(await insertPayout(network.pool, row))) return answerRepeat(network, row)
  notifyOfPayout(network, row)
  return await answerAccepted({ network, profile }, row, json(201, toAccepted(row)))
}

/** Answers an accepted payout: lost or late, if its amount or the network's fault profile says so. */
export async function answerAccepted(
  { network, profile }: { network: Network; profile: FaultProfile },
  { id, amount }: PayoutRow,
  answer: HttpResponse,
): Promise<HttpResponse> {
  if (profile.has('answer_lost', id)) return timeoutResponse()
  if (amount === latePayoutAmount && !(await waitUnlessClosed(network, lateAnswerMs)))
    return problem('ServicoIndisponivel', 'O simulador foi encerrado.')
  return answer
}

/** `GET /v2/gn/pix/enviados/id-envio/{idEnvio}` */
export async function getPayout(network: Network, id: string): Promise<HttpResponse> {
  const payout = isReturnOrPayoutId(id) ? await findPayout(network.pool, id) : null
  if (!payout) return problem('EnvioNaoEncontrado', 'Nenhum Pix enviado com o idEnvio informado.')
  return json(200, toSentPix(payout, network.clock.now()))
}

/** Sends this PSP's client a callback about the outcome of a payout. */
export function notifyOfPayout(network: Network, row: Settlement & { id: string }): void {
  notifyWhenSettled(network, row, async () => {
    const payout = await findPayout(network.pool, row.id)
    if (!payout) return
    const now = network.clock.now()
    if (network.quirks.payouts === 'efi') await notifyReceiver(network, toSentPixCallback(payout, now))
    else await notifyPayoutWebhook(network, payout.endToEndId, toPayoutCallback(network.quirks.payouts, payout, now))
  })
}

export type PayoutRequest = { id: string; amount: Cents | null; key: string; info: string | null; endToEndId?: string }

/** The requested payout, or the reason of its refusal, with the field's name at this PSP. */
export function toPayoutRow(
  { network, profile }: { network: Network; profile: FaultProfile },
  { id, amount, key, info, endToEndId }: PayoutRequest,
  fields: { key: string; amount: string },
): PayoutRow | Violation {
  const pixKey = detectPixKey(key)
  if (!pixKey) return violation('A chave do favorecido não é uma chave Pix.', fields.key)
  if (!amount) return violation('O valor não respeita o schema.', fields.amount)
  if (amount === refusedPayoutAmount) {
    return violation('Valor recusado pelo simulador: este valor serve para testar a recusa.', fields.amount)
  }
  const now = network.clock.now()
  return {
    id,
    endToEndId: endToEndId ?? newPayoutEndToEndId(now),
    amount,
    info,
    receiver: toHolder(pixKey),
    requestedAt: now,
    settlesAt: amount === slowPayoutAmount ? new Date(now.getTime() + slowMs) : now,
    rejection: rejectedPayoutAmounts.get(amount) ?? rejectionOf(profile, 'payout_rejected', id),
    returns: [],
  }
}

export function newPayoutEndToEndId(at: Date): string {
  return newEndToEndId({ ispb: receiverAccount.bankAccount.ispb, at })
}

async function answerRepeat(network: Network, payout: PayoutRow): Promise<HttpResponse> {
  const stored = await findPayout(network.pool, payout.id)
  const isSame =
    stored?.amount === payout.amount &&
    stored.receiver.pix.key === payout.receiver.pix.key &&
    stored.info === payout.info
  if (stored && isSame)
    return json(201, { ...toAccepted(stored), status: toSentPix(stored, network.clock.now()).status })
  return invalid([violation('O idEnvio já foi utilizado por outro envio.', 'idEnvio')])
}

function toAccepted(row: PayoutRow) {
  return {
    idEnvio: row.id,
    e2eId: row.endToEndId,
    valor: toReais(cents(row.amount)),
    horario: { solicitacao: row.requestedAt.toISOString() },
    status: 'EM_PROCESSAMENTO',
  }
}

function violation(razao: string, propriedade: string): Violation {
  return { razao, propriedade }
}

function invalid(violacoes: Violation[]): HttpResponse {
  return problem('EnvioInvalido', 'A requisição não respeita o schema ou não faz sentido semanticamente.', violacoes)
}

/** `GET /v2/gn/pix/enviados?inicio&fim` of Efí: payouts requested between the two times, oldest first. */
export async function getPayoutList(network: Network, request: HttpRequest): Promise<HttpResponse> {
  const page = parsePage(request.query)
  if ('violacoes' in page) {
    return problem('EnvioConsultaInvalida', 'Os parâmetros não respeitam o schema.', page.violacoes)
  }
  const now = network.clock.now()
  const total = await countPayouts(network.pool, page)
  const slice = { limit: page.pageSize, offset: page.page * page.pageSize }
  const rows = await listPayouts(network.pool, page, slice)
  return json(200, { parametros: toParameters(page, total), pix: rows.map((row) => toSentPix(row, now)) })
}

/** The holder of a key that receives money. The simulator has no DICT: every key has a made-up holder. */
export function toHolder(pix: PixKey): AccountHolder {
  const bankAccount = { type: 'CHECKING', branch: '0001', number: '7654321', digit: '0', ispb: '18236120' }
  if (pix.type === 'CNPJ') return { type: 'PJ', name: 'Fornecedora Simulada Ltda', document: pix.key, bankAccount, pix }
  const document = pix.type === 'CPF' ? pix.key : '11144477735'
  return { type: 'PF', name: 'João Batista Pereira', document, bankAccount, pix }
}

/** Acts as the receiver of a payout who sends back all or a part of it. The result's id is the return's. */
export async function returnPayout(
  network: Network,
  { payoutId, amount }: { payoutId: string; amount?: Cents },
): Promise<ControlOutcome> {
  const returnedAt = network.clock.now()
  const outcome = await inTransaction(network.pool, async (client): Promise<ControlOutcome> => {
    const payout = await findPayout(client, payoutId, { isLocked: true })
    if (!payout || stateOf(payout, returnedAt) !== 'done') return refused('payout_unknown')
    const left = payout.returns.reduce((rest, one) => rest - one.amount, payout.amount)
    if (left === 0) return refused('nothing_left')
    const returned = amount ?? left
    if (returned < 1 || returned > left) return refused('amount_invalid')
    const returnId = newReturnId({ ispb: payout.receiver.bankAccount.ispb, at: returnedAt })
    await insertPayoutReturn(client, { payoutId, returned: { returnId, amount: returned, returnedAt } })
    return { ok: true, id: returnId }
  })
  if (outcome.ok) notifyOfPayout(network, { id: payoutId, settlesAt: returnedAt, rejection: null })
  return outcome
}
