import { cents, toReais } from '../src/lib/money.ts'
import { countDisputes, type ListedDispute, listDisputes } from './disputes-store.ts'
import { type HttpRequest, type HttpResponse, json, problem } from './http.ts'
import type { Network } from './network.ts'
import { parsePage, toParameters } from './page.ts'
import type { Quirks } from './quirks.ts'
import { receiverAccount, receiverKey } from './receiver-account.ts'

/** The time that the Central Bank's rule gives for the analysis of a dispute. Efí returns its end. */
export const analysisMs = 7 * 86_400_000

/**
 * `GET /v2/gn/infracoes?inicio&fim`, written from Efí's documentation ("Listar infrações MED") and the types of its SDK
 * (sdk-node-apis-efi, `medList`): fields, states and errors are Efí's. An accepted dispute stays ACEITA: only the
 * payment shows its return.
 */
export async function getDisputes(network: Network, quirks: Quirks, request: HttpRequest): Promise<HttpResponse> {
  if (quirks.isDisputeListOff) return switchedOff()
  const page = parsePage(request.query)
  if ('violacoes' in page) {
    return problem('InfracoesConsultaInvalida', 'Os parâmetros de consulta não respeitam o schema.', page.violacoes)
  }
  const now = network.clock.now()
  const filter = { from: page.from, to: page.to, now, by: quirks.disputeDates }
  const total = await countDisputes(network.pool, filter)
  const slice = { limit: page.pageSize, offset: page.page * page.pageSize }
  const rows = await listDisputes(network.pool, filter, slice)
  return json(200, { parametros: toParameters(page, total), infracoes: rows.map(toInfracao) })
}

function toInfracao(row: ListedDispute) {
  const isDecided = row.state !== 'open'
  const { nome, documento } = { nome: receiverAccount.name, documento: receiverAccount.document }
  return {
    idInfracao: row.id,
    endToEndId: row.endToEndId,
    protocolo: String(row.protocol),
    dataTransacao: toTime(row.paidAt),
    valor: toReais(cents(row.amount)),
    chave: receiverKey,
    status: row.state === 'open' && row.defence !== null ? 'EM_DEFESA' : statuses[row.state],
    razao: 'Solicitacao de devolução',
    ...(row.defence !== null && { defesa: row.defence }),
    tipoSituacao: situations[row.reason],
    identificadorTicket: [row.protocol],
    dadosAnalise: {
      abertura: toTime(row.openedAt),
      prazoFinalizacao: toTime(row.deadlineAt ?? new Date(row.openedAt.getTime() + analysisMs)),
      ...(row.defenceAt && { recebimentoDefesa: toTime(row.defenceAt) }),
      ...(isDecided && { finalizacao: toTime(row.changedAt) }),
    },
    origem: { nomeParticipante: 'BANCO SIMULADO', conta: '10001', nome: 'Pagador', documento: '00000000000' },
    destino: { nomeParticipante: 'Efí S/A', conta: receiverAccount.bankAccount.number, nome, documento },
    criadoEm: toTime(row.openedAt),
    atualizadoEm: toTime(row.changedAt),
  }
}

/** In whole seconds, as in the documentation's examples. */
function toTime(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`
}

function switchedOff(): HttpResponse {
  const body = {
    type: 'https://pix.bcb.gov.br/api/v2/error/InfracaoErroInterno',
    title: 'Erro Interno',
    status: 500,
    detail: 'Funcionalidade desabilitada em ambiente de homologação.',
  }
  return json(500, body)
}

const statuses = { open: 'ABERTA', accepted: 'ACEITA', rejected: 'REJEITADA', canceled: 'CANCELADA_EFI' } as const

const situations = { fraud: 'golpe', operational_failure: 'outro' } as const
