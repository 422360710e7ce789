import { getBalance, getSicoobBalance } from './balance.ts'
import { getCharge, patchCharge, putCharge } from './charges.ts'
import { findInvalidRequest, toScope, toStandardPath } from './decode-request.ts'
import { putDefence, putDefenceFile } from './defences.ts'
import { getDisputes } from './disputes-list.ts'
import { encodeAnswer } from './encode-answer.ts'
import { type HttpRequest, type HttpResponse, problem } from './http.ts'
import type { Network } from './network.ts'
import { issueToken, sameText } from './oauth.ts'
import { getKeys, getPayload } from './payload.ts'
import { getPayout, getPayoutList, putPayout } from './payouts.ts'
import { routeInter } from './payouts-inter.ts'
import { routeSicoob } from './payouts-sicoob.ts'
import { getPix, getPixList } from './pix.ts'
import { getReturn, putReturn } from './returns.ts'
import { type Controls, postControl } from './sandbox.ts'
import { getWebhook, putWebhook } from './webhooks.ts'

/**
 * Answers a request to the network. Requests and answers are translated from and to the form of the simulated PSP
 * (quirks.ts); the routes below use the standard's form.
 */
export async function route(network: Network, controls: Controls, request: HttpRequest): Promise<HttpResponse> {
  const { method, path } = request
  const { clock, quirks, tokenLimit, secrets } = network
  // These need no access token. The /qr/ paths are open to anyone, as on the real network.
  if (method === 'POST' && path === quirks.tokenPath)
    return issueToken({ clock, quirks, tokenLimit, tokenKey: secrets.tokenKey }, request)
  if (method === 'GET' && path === '/qr/jwks.json') return getKeys(network)
  if (method === 'GET' && path.startsWith('/qr/v2/')) return getPayload(network, path)

  const scopes = network.readScopes(request)
  if (method === 'POST' && path.startsWith('/sandbox/')) {
    if (!scopes && !isController(network, request)) return unauthorized(quirks.tokenPath)
    return (await postControl(controls, path.slice('/sandbox/'.length), request)) ?? notFound()
  }
  const standardPath = toStandardPath(quirks, path)
  const answer =
    findInvalidRequest(quirks, request) ??
    findRefusal(quirks.tokenPath, scopes, method, standardPath) ??
    (await routePsp(network, standardPath ?? '', request))
  return encodeAnswer(quirks, { method, path: standardPath ?? '' }, answer)
}

/** True if the header `authorization` has the developer's control token, whatever form the PSP's own tokens have. */
function isController({ controlToken }: Network, { headers }: HttpRequest): boolean {
  return controlToken !== null && sameText(headers.authorization ?? '', `Bearer ${controlToken}`)
}

function findRefusal(
  tokenPath: string,
  scopes: string[] | null,
  method: string,
  standardPath: string | null,
): HttpResponse | null {
  if (!scopes) return unauthorized(tokenPath)
  if (standardPath === null) return notFound()
  const scope = toScope(method, standardPath)
  return scopes.includes(scope) ? null : problem('AcessoNegado', `O token não tem o escopo ${scope}.`)
}

/** `path` is in the standard's form. */
function routePsp(network: Network, path: string, request: HttpRequest): Promise<HttpResponse> | HttpResponse {
  const { method } = request
  const segments = path.split('/').slice(1).map(decode)
  const [resource, id] = segments
  const place = segments.length > 2 ? '' : `${method} /${resource}${id === undefined ? '' : '/…'}`
  if (place === 'PUT /cob/…') return putCharge(network, id ?? '', request)
  if (place === 'PATCH /cob/…') return patchCharge(network, id ?? '', request)
  if (place === 'GET /cob/…') return getCharge(network, id ?? '', request)
  if (place === 'GET /pix/…') return getPix(network, id ?? '')
  if (place === 'GET /pix') return getPixList(network, request)
  if (place === 'PUT /webhook/…') return putWebhook(network, id ?? '', request)
  if (place === 'GET /webhook/…') return getWebhook(network, id ?? '')
  return routeMoneyOut(network, segments, request) ?? notFound()
}

/**
 * Outgoing money: returns as in the standard, payouts and balance as at Efí, Inter or Sicoob, disputes as at Efí, and
 * defences in the simulator's own form. Null for any other path.
 */
function routeMoneyOut(network: Network, segments: string[], request: HttpRequest): Promise<HttpResponse> | null {
  const { method } = request
  const last = segments.at(-1) ?? ''
  const place = `/${segments.slice(0, -1).join('/')}`
  if (segments[0] === 'pix' && segments[2] === 'devolucao' && segments.length === 4) {
    const ids = { endToEndId: segments[1] ?? '', id: last }
    if (method === 'PUT') return putReturn(network, ids, request)
    if (method === 'GET') return getReturn(network, ids)
  }
  if (method === 'PUT' && place === '/v3/gn/pix') return putPayout(network, last, request)
  if (method === 'GET' && place === '/v2/gn/pix/enviados/id-envio') return getPayout(network, last)
  if (method === 'GET' && place === '/v2/gn/pix' && last === 'enviados') return getPayoutList(network, request)
  if (method === 'GET' && place === '/v2/gn' && last === 'saldo') return getBalance(network, request.query)
  if (segments[0] === 'banking') return routeInter(network, { place: `${method} ${place}`, last }, request)
  if (segments[0] === 'pix-pagamentos') return routeSicoob(network, { place: `${method} ${place}`, last }, request)
  if (`${method} ${place}/${last}` === 'GET /conta-corrente/v4/saldo') return getSicoobBalance(network)
  if (method === 'PUT' && `${segments[2]} ${segments[4]}` === 'infracoes defesa') {
    const ids = { reference: segments[3] ?? '', defenceId: segments[5] ?? '' }
    if (segments.length === 6) return putDefence(network, ids, request)
    if (segments.length === 8 && segments[6] === 'arquivos') return putDefenceFile(network, ids, last, request)
  }
  if (method === 'GET' && place === '/v2/gn' && last === 'infracoes')
    return getDisputes(network, network.quirks, request)
  return null
}

function unauthorized(tokenPath: string): HttpResponse {
  return problem('NaoAutenticado', `Obtenha um token em ${tokenPath}.`)
}

function notFound(): HttpResponse {
  return problem('NaoEncontrado', 'Não há nada neste endereço.')
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
