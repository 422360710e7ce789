import { isDeepStrictEqual } from 'node:util'
import { assert } from '../src/lib/assert.ts'
import { cents, fromReais, toReais } from '../src/lib/money.ts'
import { createDynamicEncoder } from '../src/pix/brcode.ts'
import { timeoutResponse } from './disturb.ts'
import { type HttpRequest, type HttpResponse, json, parseJson, problem } from './http.ts'
import { toChargeId, toLocation } from './location.ts'
import { type Network, waitUnlessClosed } from './network.ts'
import { isShown, toPix } from './pix.ts'
import { merchantCity, merchantName, receiverKey } from './receiver-account.ts'
import { type ChargeRow, type ChargeWithPixes, removeCharge } from './store.ts'
import { type ChargeRequest, isRecord, isTxid, parseChargeRequest } from './validate.ts'

/** A charge of R$ 42,204.22 is refused, so that a merchant can test a refusal. */
export const refusedAmount = cents(4_220_422)
/**
 * A charge of R$ 50,405.04 is created, but the answer to the creating request is sent only after {@link lateAnswerMs},
 * longer than a client usually waits: its outcome is unknown until the client queries it. Later requests for it are
 * answered immediately.
 */
export const lateAmount = cents(5_040_504)
export const lateAnswerMs = 30_000

const expiresInSecondsDefault = 86_400
const removedStatus = 'REMOVIDA_PELO_USUARIO_RECEBEDOR'

const toCode = createDynamicEncoder({ merchantName, merchantCity })

/**
 * `PUT /cob/{txid}`. A repeated request with the same content returns the same charge. It is refused if the charge was
 * removed, and always by a PSP that refuses repeated requests (`quirks.repeatedCharge`).
 */
export async function putCharge(network: Network, txid: string, request: HttpRequest): Promise<HttpResponse> {
  if (!isTxid(txid)) return invalidCharge([{ razao: 'O txid não respeita o schema.', propriedade: 'txid' }])
  const body = parseChargeRequest(parseJson(request.body), receiverKey)
  if (Array.isArray(body)) return invalidCharge(body)
  const details = toDetails(body)
  const charge = toRow(network, txid, body, details)
  if (charge.amount === refusedAmount) {
    const razao = 'Valor recusado pelo simulador: este valor serve para testar a recusa.'
    return invalidCharge([{ razao, propriedade: 'cob.valor.original' }])
  }
  if (await network.insertCharge(charge)) {
    if ((await network.faultProfile.current()).has('answer_lost', txid)) return timeoutResponse()
    if (charge.amount !== lateAmount || (await waitUnlessClosed(network, lateAnswerMs)))
      return json(201, toCob(charge, charge.createdAt, details))
    return problem('ServicoIndisponivel', 'O simulador foi encerrado.')
  }
  const existing = await network.findCharge(charge.id)
  assert(existing, 'a charge is never deleted')
  if (network.quirks.repeatedCharge === 'refused') {
    return problem('CobDuplicada', 'O campo txid informado já foi utilizado em outra cobrança.')
  }
  if (isSameContent(existing, charge) && existing.removedAt === null)
    return json(200, toCob(existing, network.clock.now()))
  return invalidCharge([
    { razao: 'A cobrança já existe, e a presente requisição busca alterá-la.', propriedade: 'txid' },
  ])
}

/** `PATCH /cob/{txid}`: only to remove a charge that is ATIVA. This PSP changes nothing else of a charge. */
export async function patchCharge(network: Network, txid: string, request: HttpRequest): Promise<HttpResponse> {
  const id = isTxid(txid) ? toChargeId(network, txid) : null
  const found = id && (await network.findCharge(id))
  if (!found) return problem('CobNaoEncontrado', 'Não há cobrança com o txid informado.')
  const body = parseJson(request.body)
  if (!isRecord(body) || body.status !== removedStatus)
    return invalidCharge([{ razao: 'O campo cob.status não respeita o schema.', propriedade: 'cob.status' }])
  if (Object.keys(body).length > 1)
    return invalidCharge([{ razao: 'A remoção não admite outras alterações.', propriedade: 'cob.status' }])
  const now = network.clock.now()
  if (!(await removeCharge(network.pool, { id: found.id, now })))
    return invalidCharge([
      { razao: 'A cobrança não está ATIVA, e a presente requisição busca alterá-la.', propriedade: 'cob.status' },
    ])
  if ((await network.faultProfile.current()).has('answer_lost', `remove ${txid}`)) return timeoutResponse()
  return json(200, toCob({ ...found, removedAt: now }, now))
}

/**
 * `GET /cob/{txid}`. An expired charge stays ATIVA, as at every known PSP. Only the current revision of a charge is
 * kept.
 */
export async function getCharge(network: Network, txid: string, request: HttpRequest): Promise<HttpResponse> {
  const charge = isTxid(txid) ? await network.findCharge(toChargeId(network, txid)) : null
  if (!charge) return problem('CobNaoEncontrado', 'Não há cobrança com o txid informado.')
  const { revisao } = request.query
  if (revisao !== undefined && revisao !== String(revisionOf(charge))) {
    const razao = 'O parâmetro revisao corresponde a uma revisão inexistente.'
    return problem('CobConsultaInvalida', razao, [{ razao, propriedade: 'revisao' }])
  }
  return json(200, toCob(charge, network.clock.now()))
}

export function expiryOf({ createdAt, expiresInSeconds }: ChargeRow): Date {
  return new Date(createdAt.getTime() + expiresInSeconds * 1000)
}

/** Only the removal changes a charge. */
function revisionOf({ removedAt }: ChargeRow): number {
  return removedAt ? 1 : 0
}

/** Fields that the answer to a charge and the payload at its location share. */
export function toCobBase(charge: ChargeRow, { isPaid, details }: { isPaid: boolean; details?: Details }) {
  const base = {
    calendario: { criacao: charge.createdAt.toISOString(), expiracao: charge.expiresInSeconds },
    txid: charge.txid,
    revisao: revisionOf(charge),
    status: isPaid ? 'CONCLUIDA' : charge.removedAt ? removedStatus : 'ATIVA',
    valor: { original: toReais(cents(charge.amount)) },
    chave: receiverKey,
  }
  // Most charges have none.
  if (charge.details === null) return base
  const { modalidadeAlteracao, ...others } = details ?? parseDetails(charge.details)
  // Undefined fields are left out of the answer.
  return { ...base, valor: { ...base.valor, modalidadeAlteracao }, ...others }
}

function parseDetails(text: string): Details {
  const details: unknown = JSON.parse(text)
  assert(isRecord(details), 'the details of a charge are an object')
  return details
}

function toCob(charge: ChargeRow & Partial<ChargeWithPixes>, now: Date, details?: Details) {
  const location = toLocation(charge)
  const shown = charge.pixes?.filter((pix) => isShown(pix, now)) ?? []
  const isPaid = shown.length > 0
  const cob = {
    ...toCobBase(charge, { isPaid, ...(details && { details }) }),
    location,
    pixCopiaECola: toCode(location),
  }
  return isPaid ? { ...cob, pix: shown.map((pix) => toPix(pix, now)) } : cob
}

/** The optional fields of a charge. */
type Details = { modalidadeAlteracao?: unknown; [field: string]: unknown }

function toDetails({
  devedor,
  solicitacaoPagador,
  infoAdicionais,
  valor: { modalidadeAlteracao },
}: ChargeRequest): Details {
  return { modalidadeAlteracao, devedor, solicitacaoPagador, infoAdicionais }
}

function toRow(network: Network, txid: string, body: ChargeRequest, fields: Details): ChargeRow {
  const amount = fromReais(body.valor.original)
  assert(amount, 'the amount of a charge was checked')
  // Undefined fields are left out.
  const details = JSON.stringify(fields)
  return {
    id: toChargeId(network, txid),
    txid,
    amount,
    expiresInSeconds: body.calendario.expiracao ?? expiresInSecondsDefault,
    createdAt: network.clock.now(),
    baseUrl: network.baseUrl,
    details: details === '{}' ? null : details,
    removedAt: null,
  }
}

function isSameContent(one: ChargeRow, other: ChargeRow): boolean {
  return (
    one.amount === other.amount &&
    one.expiresInSeconds === other.expiresInSeconds &&
    isDeepStrictEqual(JSON.parse(one.details ?? 'null'), JSON.parse(other.details ?? 'null'))
  )
}

function invalidCharge(violacoes: Parameters<typeof problem>[2]): HttpResponse {
  return problem('CobOperacaoInvalida', 'A requisição não respeita o schema ou está semanticamente errada.', violacoes)
}
