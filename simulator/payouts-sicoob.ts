import { fromReais } from '../src/lib/money.ts'
import { detectPixKey } from '../src/pix/key.ts'
import { type HttpRequest, type HttpResponse, json, parseJson, problem } from './http.ts'
import type { Network } from './network.ts'
import { answerAccepted, newPayoutEndToEndId, notifyOfPayout, toHolder, toPayoutRow } from './payouts.ts'
import { findPayout, findPayoutStart, insertPayout, insertPayoutStart } from './payouts-store.ts'
import { toSicoobPayout } from './sent-pix.ts'
import { isEndToEndIdShape, isRecord } from './validate.ts'
import { getPayoutWebhook, putPayoutWebhook } from './webhooks.ts'

/** Sicoob's API Pix Pagamentos. Null for any other path. */
export function routeSicoob(
  network: Network,
  { place, last }: { place: string; last: string },
  request: HttpRequest,
): Promise<HttpResponse> | null {
  if (place === 'POST /pix-pagamentos/v2' && last === 'pagamentos') return postStart(network, request)
  if (place === 'POST /pix-pagamentos/v2/pagamentos' && last === 'confirmacao')
    return postConfirmation(network, request)
  if (place === 'PUT /pix-pagamentos/v2/pagamentos' && last === 'webhook')
    return putPayoutWebhook(network, request, 200)
  if (place === 'GET /pix-pagamentos/v2/pagamentos' && last === 'webhook') return getPayoutWebhook(network)
  if (place === 'GET /pix-pagamentos/v2/pagamentos') return getPayment(network, last)
  return null
}

const keyTypes = { CPF: 'CPF', CNPJ: 'CNPJ', EMAIL: 'EMAIL', PHONE: 'TELEFONE', EVP: 'EVP' } as const

/** `POST /pagamentos`: returns the holder of the key, and the id for the confirmation. No money moves. */
async function postStart(network: Network, request: HttpRequest): Promise<HttpResponse> {
  const body = parseJson(request.body)
  const pixKey = isRecord(body) && typeof body.chave === 'string' ? detectPixKey(body.chave) : null
  if (!pixKey) return invalid('A chave informada não foi encontrada.', 'chave')
  const at = network.clock.now()
  const endToEndId = newPayoutEndToEndId(at)
  await insertPayoutStart(network.pool, { endToEndId, key: pixKey.key, at })
  const { type, name, document } = toHolder(pixKey)
  return json(200, {
    endToEndId,
    chave: pixKey.key,
    tipo: keyTypes[pixKey.type],
    proprietario: { tipo: type === 'PF' ? 'FISICO' : 'JURIDICO', nome: name, identificador: document },
  })
}

const amountShape = /^\d{1,18}(,\d{1,2})?$/

/** `POST /pagamentos/confirmacao`: one payment for one id, however often it is confirmed. */
async function postConfirmation(network: Network, request: HttpRequest): Promise<HttpResponse> {
  const body = parseJson(request.body)
  const { endToEndId, valor, meioIniciacao } = isRecord(body) ? body : {}
  const id = typeof endToEndId === 'string' && isEndToEndIdShape(endToEndId) ? endToEndId : ''
  if (typeof valor !== 'string' || !amountShape.test(valor)) return invalid('O valor não respeita o schema.', 'valor')
  if (meioIniciacao !== 'CHAVE') return invalid('Só há pagamentos por chave.', 'meioIniciacao')
  const key = await findPayoutStart(network.pool, id)
  if (key === null) return invalid('Não há pagamento iniciado com este endToEndId.', 'endToEndId')
  const kept = await findPayout(network.pool, id)
  if (kept) return invalid('O pagamento já foi efetivado.', 'endToEndId')
  const profile = await network.faultProfile.current()
  const [reais = '', decimals = ''] = valor.split(',')
  const requested = { id, endToEndId: id, amount: fromReais(`${reais}.${decimals.padEnd(2, '0')}`), key, info: null }
  const row = toPayoutRow({ network, profile }, requested, { key: 'chave', amount: 'valor' })
  if ('razao' in row) return invalid(row.razao, row.propriedade)
  if (!(await insertPayout(network.pool, row))) return invalid('O pagamento já foi efetivado.', 'endToEndId')
  notifyOfPayout(network, row)
  const taken = { ...toSicoobPayout(row, network.clock.now()), estado: 'EM_PROCESSAMENTO', detalheRejeicao: undefined }
  return await answerAccepted({ network, profile }, row, json(200, taken))
}

async function getPayment(network: Network, endToEndId: string): Promise<HttpResponse> {
  const payout = isEndToEndIdShape(endToEndId) ? await findPayout(network.pool, endToEndId) : null
  if (!payout) return problem('NaoEncontrado', 'Entidade não encontrada.')
  return json(200, toSicoobPayout(payout, network.clock.now()))
}

function invalid(razao: string, propriedade: string): HttpResponse {
  return problem('RequisicaoInvalida', 'A requisição possui dados inválidos.', [{ razao, propriedade }])
}
