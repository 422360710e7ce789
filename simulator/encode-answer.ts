import { cents, fromReais, toReais } from '../src/lib/money.ts'
import { type HttpResponse, json, parseJson, problem } from './http.ts'
import { plain, type Quirks } from './quirks.ts'
import { isRecord } from './validate.ts'

type Json = Record<string, unknown>

/** Encodes an answer of the standard as this PSP gives it. `path` is the standard's. */
export function encodeAnswer(
  quirks: Quirks,
  request: { method: string; path: string },
  answer: HttpResponse,
): HttpResponse {
  if (quirks === plain) return answer
  const body = parseJson(answer.body)
  if (answer.status >= 400) return isRecord(body) ? encodeProblem(quirks, request, body) : answer
  const [, resource, id, part] = request.path.split('/')
  const isPut = request.method === 'PUT'
  if (resource === 'webhook' && isPut) return { ...answer, status: Number(quirks.webhookStatus) }
  if (!isRecord(body)) return answer
  if (resource === 'cob') return toJson(isPut ? quirks.chargeStatus : answer.status, encodeCharge(quirks, body))
  if (quirks.hasMaskedPayouts && request.path.startsWith(sentPixPath)) return toJson(answer.status, maskSentPix(body))
  if (resource !== 'pix') return answer
  if (id === undefined && quirks.emptyList === '404' && Array.isArray(body.pix) && body.pix.length === 0)
    return encodeAnswer(quirks, request, problem('NaoEncontrado', 'Não há informações para os dados informados.'))
  if (part === 'devolucao') return isPut ? toJson(quirks.returnStatus, body) : answer
  return toJson(
    answer.status,
    id === undefined ? { ...body, pix: encodeList(quirks, body.pix) } : encodePix(quirks, body),
  )
}

/** The address and the body of a callback as this PSP sends it. */
export function encodeCallback(quirks: Quirks, url: string, body: unknown): { url: string; body: unknown } {
  if (quirks === plain || !isRecord(body) || !Array.isArray(body.pix)) return { url, body }
  const pix = encodeList({ ...quirks, hasListedFee: true }, body.pix)
  return {
    url: quirks.hasPixSuffix ? url : url.replace(/\/pix$/, ''),
    body: quirks.callbackBody === 'list' ? pix : { ...body, pix },
  }
}

const sentPixPath = '/v2/gn/pix/enviados'

/** Masks one sent Pix, or a list of them. */
function maskSentPix(body: Json): Json {
  if (Array.isArray(body.pix)) return { ...body, pix: body.pix.map((one) => (isRecord(one) ? maskSentPix(one) : one)) }
  const { gnExtras: _, favorecido, ...others } = body
  const { chave, identificacao } = Object(favorecido)
  const { nome, cpf, cnpj } = Object(identificacao)
  const document = cpf === undefined ? { cnpj } : { cpf: `***.${cpf.slice(3, 6)}.${cpf.slice(6, 9)}-**` }
  return { ...others, favorecido: { chave, identificacao: { nome, ...document } } }
}

function toJson(status: string | number, body: Json): HttpResponse {
  return json(Number(status), body)
}

function encodeCharge(quirks: Quirks, { pixCopiaECola, ...charge }: Json): Json {
  const encoded = {
    ...charge,
    ...encodeTxid(quirks, charge),
    ...(quirks.code !== 'location' && { [quirks.code]: pixCopiaECola }),
    ...(charge.pix !== undefined && { pix: encodeList(quirks, charge.pix) }),
  }
  if (!quirks.hasNulls) return encoded
  const valor = { modalidadeAlteracao: null, retirada: null, ...Object(charge.valor) }
  return { devedor: null, solicitacaoPagador: null, infoAdicionais: null, pix: null, ...encoded, valor }
}

function encodeList(quirks: Quirks, list: unknown): unknown {
  return Array.isArray(list) ? list.map((pix) => (isRecord(pix) ? encodePix(quirks, pix) : pix)) : list
}

function encodePix(quirks: Quirks, { pagador, ...pix }: Json): Json {
  return {
    ...(quirks.hasNulls && { infoPagador: null, devolucoes: null }),
    ...pix,
    ...encodeTxid(quirks, pix),
    ...(isRecord(pagador) && encodePayer(quirks, pagador)),
    // A payout has its own fee, which this PSP does not report.
    ...(quirks.feeBasisPoints !== null &&
      quirks.hasListedFee &&
      isRecord(pagador) &&
      toFee(quirks.feeBasisPoints, pix)),
  }
}

function encodeTxid({ txidCase }: Quirks, { txid }: Json): Json {
  return txidCase === 'upper' && typeof txid === 'string' ? { txid: txid.toUpperCase() } : {}
}

function encodePayer({ payer }: Quirks, pagador: Json): Json {
  if (payer === 'none') return {}
  const { cpf, cnpj, nome } = pagador
  return { pagador: payer === 'account' ? pagador : { ...(cpf === undefined ? { cnpj } : { cpf }), nome } }
}

function toFee(basisPoints: number, pix: Json): Json {
  const amount = fromReais(String(pix.valor)) ?? cents(0)
  const fee = cents(Math.round((amount * basisPoints) / 10_000))
  return { gnExtras: { ...Object(pix.gnExtras), tarifa: toReais(fee) } }
}

/** The standard's problem in the PSP's own shape. */
function encodeProblem(quirks: Quirks, request: { method: string }, problem: Json): HttpResponse {
  const type = String(problem.type).replace('CobDuplicada', 'CobOperacaoInvalida')
  const status = Number(problem.status)
  const reasons = Array.isArray(problem.violacoes) ? problem.violacoes.filter(isRecord).map(({ razao }) => razao) : []
  const message = [...new Set([problem.detail, ...reasons])].join(' ')
  const name = String(problem.type).split('/').at(-1) ?? ''
  if (quirks.errors === 'name') {
    const isRepeat = name === 'CobDuplicada'
    return json(isRepeat ? 409 : status, { nome: efiErrorNames[name] ?? toSnakeCase(name), mensagem: message })
  }
  if (quirks.errors === 'list')
    return status === 401 || status === 403 ? gatewayError(status, message) : errorList(status, message)
  if (quirks.errors === 'wrapped' && status === 400 && request.method !== 'GET') {
    const razao = JSON.stringify({ codigo: '422', mensagem: message })
    return withProblemType(400, { ...problem, type, violacoes: [{ razao, propriedade: 'body' }] })
  }
  return withProblemType(status, { ...problem, type })
}

function withProblemType(status: number, body: Json): HttpResponse {
  return { ...json(status, body), headers: { 'content-type': 'application/problem+json' } }
}

/** Banco do Brasil's own gateway answers like this, before a request reaches the API. */
function gatewayError(statusCode: number, message: string): HttpResponse {
  const error = statusCode === 401 ? 'Unauthorized' : 'Forbidden'
  return json(statusCode, { statusCode, error, message, attributes: { error: message } })
}

function errorList(status: number, mensagem: string): HttpResponse {
  return json(status, {
    erros: [{ codigo: '4769515', versao: '1', mensagem, ocorrencia: 'CHOM00000062715498140101' }],
  })
}

// As far as they are known.
const efiErrorNames: Record<string, string> = {
  CobDuplicada: 'txid_duplicado',
  CobNaoEncontrado: 'cobranca_nao_encontrada',
  CobOperacaoInvalida: 'valor_invalido',
  PixNaoEncontrado: 'pix_nao_encontrado',
  WebhookNaoEncontrado: 'webhook_nao_encontrado',
  WebhookOperacaoInvalida: 'webhook_invalido',
}

function toSnakeCase(name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
}
