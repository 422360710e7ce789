import { type HttpRequest, type HttpResponse, json, problem } from './http.ts'
import type { Network } from './network.ts'
import { parsePage, toParameters } from './page.ts'
import { countPayouts, listPayouts } from './payouts-store.ts'
import { toSentPix } from './sent-pix.ts'

/** `GET /v2/gn/pix/enviados?inicio&fim` of Efí: payouts requested between the two times, oldest first. */
export async function getPayoutList(network: Network, request: HttpRequest): Promise<HttpResponse> {
  const asked = parsePage(request.query)
  if ('violacoes' in asked) {
    return problem('EnvioConsultaInvalida', 'Os parâmetros não respeitam o schema.', asked.violacoes)
  }
  const now = network.clock.now()
  const total = await countPayouts(network.pool, asked)
  const page = { limit: asked.pageSize, offset: asked.page * asked.pageSize }
  const rows = await listPayouts(network.pool, asked, page)
  return json(200, { parametros: toParameters(asked, total), pix: rows.map((row) => toSentPix(row, now)) })
}
