import { randomUUID } from 'node:crypto'
import { fromReais } from '../src/lib/money.ts'
import { fromTxid } from '../src/pix/ids.ts'
import { getInterBalance } from './balance.ts'
import { type HttpRequest, type HttpResponse, json, parseJson, problem } from './http.ts'
import type { Network } from './network.ts'
import { answerAccepted, notifyOfPayout, toPayoutRow } from './payouts.ts'
import { findPayout, findPayoutByReference, insertPayout, type PayoutRow } from './payouts-store.ts'
import { toInterPayout } from './sent-pix.ts'
import { isRecord } from './validate.ts'
import { getPayoutWebhook, putPayoutWebhook } from './webhooks.ts'

/**
 * The payouts of Inter's API Banking, their webhook and the balance. `place` is the method and the path without its
 * last segment, `last`. Null for any other path.
 */
export function routeInter(
  network: Network,
  { place, last }: { place: string; last: string },
  request: HttpRequest,
): Promise<HttpResponse> | null {
  if (place === 'POST /banking/v2' && last === 'pix') return postPix(network, request)
  if (place === 'GET /banking/v2/pix') return getPix(network, last)
  if (place === 'PUT /banking/v2/webhooks' && last === 'pix-pagamento') return putPayoutWebhook(network, request, 204)
  if (place === 'GET /banking/v2/webhooks' && last === 'pix-pagamento') return getPayoutWebhook(network)
  if (place === 'GET /banking/v2' && last === 'saldo') return getInterBalance(network)
  return null
}

const uuidShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * `POST /banking/v2/pix`. A repeated `x-id-idempotente` returns the first payout, whatever else is in the request, as
 * long as its fields have the right types.
 */
async function postPix(network: Network, request: HttpRequest): Promise<HttpResponse> {
  const body = parseJson(request.body)
  const { valor, descricao, destinatario } = isRecord(body) ? body : {}
  const key = request.headers['x-id-idempotente'] ?? randomUUID()
  const { tipo, chave } = isRecord(destinatario) ? destinatario : {}
  if (!uuidShape.test(key)) return invalid('O cabeçalho x-id-idempotente não é um UUID.', 'x-id-idempotente')
  if (typeof valor !== 'number') return invalid('O valor deve ser um número.', 'valor')
  if (tipo !== 'CHAVE' || typeof chave !== 'string')
    return invalid('O destinatário não respeita o schema.', 'destinatario')
  const id = key.replaceAll('-', '')
  const profile = await network.faultProfile.current()
  const info = typeof descricao === 'string' ? descricao : null
  const requested = { id, amount: fromReais(valor.toFixed(2)), key: chave, info }
  const kept = await findPayout(network.pool, id)
  if (kept) return json(200, toAccepted(kept))
  const row = toPayoutRow({ network, profile }, requested, { key: 'destinatario.chave', amount: 'valor' })
  if ('razao' in row) return invalid(row.razao, row.propriedade)
  const named = { ...row, reference: randomUUID() }
  if (!(await insertPayout(network.pool, named))) return await postPix(network, request)
  notifyOfPayout(network, named)
  return await answerAccepted({ network, profile }, named, json(200, toAccepted(named)))
}

async function getPix(network: Network, code: string): Promise<HttpResponse> {
  const payout = uuidShape.test(code) ? await findPayoutByReference(network.pool, code) : null
  if (!payout) return problem('NaoEncontrado', 'Não há Pix com este código de solicitação.')
  return json(200, toInterPayout(payout, network.clock.now()))
}

function toAccepted({ id, reference, requestedAt }: PayoutRow) {
  const day = requestedAt.toISOString().slice(0, 10)
  const code = reference ?? fromTxid(id)
  return { tipoRetorno: 'PROCESSADO', codigoSolicitacao: code, dataPagamento: day, dataOperacao: day }
}

function invalid(razao: string, propriedade: string): HttpResponse {
  return problem('RequisicaoInvalida', razao, [{ razao, propriedade }])
}
