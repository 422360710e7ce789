import { cents, toReais } from '../src/lib/money.ts'
import { type HttpRequest, type HttpResponse, json, problem } from './http.ts'
import { countInfractions, type InfractionRow, listInfractions } from './infractions-store.ts'
import type { Network } from './network.ts'
import { parsePage, toParameters } from './page.ts'

/**
 * `GET /v2/gn/infracoes?inicio&fim`, as Efí has it: the contests that were opened, decided or sent back between the two,
 * oldest first.
 */
export async function getInfractions(network: Network, request: HttpRequest): Promise<HttpResponse> {
  const asked = parsePage(request.query)
  if ('violacoes' in asked) {
    return problem('InfracaoConsultaInvalida', 'Os parâmetros não respeitam o schema.', asked.violacoes)
  }
  const now = network.clock.now()
  const filter = { from: asked.from, to: asked.to, now }
  const total = await countInfractions(network.pool, filter)
  const page = { limit: asked.pageSize, offset: asked.page * asked.pageSize }
  const rows = await listInfractions(network.pool, filter, page)
  return json(200, { parametros: toParameters(asked, total), infracoes: rows.map((row) => toInfracao(row, now)) })
}

function toInfracao(row: InfractionRow, now: Date) {
  return {
    idInfracao: row.id,
    protocolo: String(row.protocol),
    endToEndId: row.endToEndId,
    tipo: 'pedido de devolução',
    status: toStatus(row, now),
    razao: reasons[row.reason],
    valor: toReais(cents(row.amount)),
    dataCriacao: row.openedAt.toISOString(),
    dataUltimaModificacao: row.changedAt.toISOString(),
  }
}

function toStatus({ state, returnSettlesAt }: InfractionRow, now: Date): string {
  return state === 'accepted' && returnSettlesAt && now >= returnSettlesAt ? 'devolvida' : statuses[state]
}

const statuses = { open: 'aberta', accepted: 'aceita', rejected: 'rejeitada', canceled: 'cancelada' } as const

const reasons = { fraud: 'Fundada suspeita de fraude', operational_failure: 'Falha operacional' } as const
