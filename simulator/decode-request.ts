import { type HttpRequest, type HttpResponse, problem } from './http.ts'
import type { Quirks } from './quirks.ts'
import { simulatorAppKey, simulatorCredentials } from './receiver-account.ts'

const uuidShape = /^\{?[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\}?$/i
const millisecondsShape = /T\d\d:\d\d:\d\d\.\d/
const payoutPaths = /^\/v[23]\/gn\/pix(\/|$)/
const interPaths = /^\/banking\/v2\/(pix|webhooks)(\/|$)/
const sicoobPaths = /^\/pix-pagamentos\/v2\/pagamentos(\/|$)/
const balancePath = '/v2/gn/saldo'
const interBalancePath = '/banking/v2/saldo'
const sicoobBalancePath = '/conta-corrente/v4/saldo'
const disputePaths = /^\/v2\/gn\/infracoes(\/|$)/
const defencePaths = /^\/v2\/gn\/infracoes\/[^/]+\/defesa\//

/**
 * The error for a request that lacks the key this PSP requires, or names a longer period or a more precise time than it
 * accepts. Null if there is none.
 */
export function findInvalidRequest(quirks: Quirks, { query, headers }: HttpRequest): HttpResponse | null {
  const { requiredQuery, requiredHeader } = quirks
  if (requiredQuery !== null && query[requiredQuery] !== simulatorAppKey)
    return problem('AcessoNegado', `O parâmetro ${requiredQuery} está ausente ou é de outra aplicação.`)
  if (requiredHeader === 'client_id' && headers.client_id !== simulatorCredentials.clientId)
    return problem('AcessoNegado', 'O cabeçalho client_id está ausente ou é de outra aplicação.')
  if (requiredHeader === 'x-itau-apikey') {
    if (headers['x-itau-apikey'] !== simulatorCredentials.clientId)
      return problem('AcessoNegado', 'O cabeçalho x-itau-apikey está ausente ou é de outra aplicação.')
    const ids = ['x-itau-correlationid', 'x-correlationid'].flatMap((name) => headers[name] ?? [])
    if (!ids.every((id) => uuidShape.test(id)))
      return problem('RequisicaoInvalida', 'Um cabeçalho de correlação não é um UUID.')
  }
  if (quirks.listDaysMax === null && quirks.acceptsMilliseconds) return null
  const days = (Date.parse(query.fim ?? '') - Date.parse(query.inicio ?? '')) / 86_400_000
  if (quirks.listDaysMax !== null && days > quirks.listDaysMax)
    return problem('PixConsultaInvalida', `O período consultado é de no máximo ${quirks.listDaysMax} dias.`)
  const precise = ['inicio', 'fim'].filter((name) => millisecondsShape.test(query[name] ?? ''))
  if (quirks.acceptsMilliseconds || precise.length === 0) return null
  return problem(
    'PixConsultaInvalida',
    'Os parâmetros não respeitam o schema.',
    precise.map((propriedade) => ({ razao: `O parâmetro ${propriedade} não é válido.`, propriedade })),
  )
}

/** The standard's path for a path of this PSP. Null if the PSP has no such path. */
export function toStandardPath(quirks: Quirks, path: string): string | null {
  if (payoutPaths.test(path)) return quirks.hasPayouts && quirks.payouts === 'efi' ? path : null
  if (interPaths.test(path)) return quirks.hasPayouts && quirks.payouts === 'inter' ? path : null
  if (sicoobPaths.test(path)) return quirks.hasPayouts && quirks.payouts === 'sicoob' ? path : null
  if (path === interBalancePath) return quirks.balance === 'inter' ? path : null
  if (path === sicoobBalancePath) return quirks.balance === 'sicoob' ? path : null
  if (defencePaths.test(path)) return quirks.hasDisputes && quirks.hasDefences ? path : null
  if (disputePaths.test(path)) return quirks.hasDisputes ? path : null
  if (path === balancePath) return quirks.balance === 'efi' ? path : null
  const { chargesPath, pixPath } = quirks
  if (isUnder(path, chargesPath, '/cob')) return path.slice(chargesPath.length)
  if (isUnder(path, pixPath, '/pix') || isUnder(path, pixPath, '/webhook')) return path.slice(pixPath.length)
  return null
}

function isUnder(path: string, prefix: string, resource: string): boolean {
  const end = prefix.length + resource.length
  if (!path.startsWith(prefix) || !path.startsWith(resource, prefix.length)) return false
  return path.length === end || path[end] === '/'
}

/** The scope that a request to this path of the standard requires. */
export function toScope(method: string, path: string): string {
  if (payoutPaths.test(path)) return method === 'GET' ? 'gn.pix.send.read' : 'gn.pix.send'
  const right = method === 'GET' ? 'read' : 'write'
  if (interPaths.test(path)) return `${path.includes('/webhooks') ? 'webhook-banking' : 'pagamento-pix'}.${right}`
  if (sicoobPaths.test(path)) {
    if (path.endsWith('/webhook')) return 'pixpagamentos_webhook'
    return method === 'GET' ? 'pixpagamentos_consulta' : 'pixpagamentos_escrita'
  }
  if (path === interBalancePath) return 'extrato.read'
  if (path === sicoobBalancePath) return 'cco_consulta'
  if (path === balancePath) return 'gn.balance.read'
  if (disputePaths.test(path)) return `gn.infractions.${right}`
  return `${path.split('/')[1]}.${right}`
}
