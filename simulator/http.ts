/**
 * A request and its answer as plain data, so that tests can directly call the function that also serves HTTP. Header
 * names are in lower case; `path` has no query and is not decoded.
 */
export type HttpRequest = {
  method: string
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  body: string | undefined
  /** The client's address, if the request came over a socket. */
  address?: string
}

export type HttpResponse = { status: number; headers: Record<string, string>; body: string }

export type Violation = { razao: string; propriedade: string }

/**
 * The errors that this PSP uses: name, status and title. Those of requests, charges, payments, refunds and webhooks are
 * the Central Bank's, except NaoAutenticado, CobDuplicada and CobPayloadRemovido (below). PagamentoRecusado,
 * ComandoRecusado (both of the sandbox), and those of payouts (Envio…), disputes (Infrac…) and defences (Defesa…) are
 * the simulator's own.
 */
const problems = {
  RequisicaoInvalida: { status: 400, title: 'Requisição inválida.' },
  NaoAutenticado: { status: 401, title: 'Token de acesso ausente, inválido ou expirado.' },
  AcessoNegado: { status: 403, title: 'Acesso negado.' },
  NaoEncontrado: { status: 404, title: 'Não encontrado.' },
  CobNaoEncontrado: { status: 404, title: 'Cobrança não encontrada.' },
  CobDuplicada: { status: 400, title: 'Cobrança inválida.' },
  CobOperacaoInvalida: { status: 400, title: 'Cobrança inválida.' },
  CobConsultaInvalida: { status: 400, title: 'Consulta inválida.' },
  CobPayloadNaoEncontrado: { status: 404, title: 'Cobrança não encontrada.' },
  CobPayloadRemovido: { status: 410, title: 'Cobrança não mais exibida.' },
  PixNaoEncontrado: { status: 404, title: 'Pix não encontrado.' },
  PixConsultaInvalida: { status: 400, title: 'Consulta inválida.' },
  PixDevolucaoInvalida: { status: 400, title: 'Devolução inválida.' },
  PixDevolucaoNaoEncontrada: { status: 404, title: 'Devolução não encontrada.' },
  EnvioInvalido: { status: 400, title: 'Envio inválido.' },
  EnvioConsultaInvalida: { status: 400, title: 'Consulta inválida.' },
  EnvioNaoEncontrado: { status: 404, title: 'Envio não encontrado.' },
  InfracaoNaoEncontrada: { status: 404, title: 'Infração não encontrada.' },
  DefesaInvalida: { status: 422, title: 'Defesa inválida.' },
  InfracoesConsultaInvalida: { status: 400, title: 'Consulta inválida.' },
  PagamentoRecusado: { status: 422, title: 'O banco do pagador recusou o pagamento.' },
  ComandoRecusado: { status: 422, title: 'O simulador recusou o comando.' },
  WebhookOperacaoInvalida: { status: 400, title: 'Webhook inválido.' },
  WebhookNaoEncontrado: { status: 404, title: 'Webhook não encontrado.' },
  ErroInternoDoServidor: { status: 500, title: 'Erro interno.' },
  IndisponibilidadePorTempoEsgotado: { status: 504, title: 'Tempo esgotado.' },
  ServicoIndisponivel: { status: 503, title: 'Serviço indisponível.' },
} as const

export type ProblemName = keyof typeof problems

// The standard has one name for a charge that its location no longer shows; the status tells whether it may be shown
// again (404) or not (410). CobDuplicada is not in the standard: encode-answer.ts turns it into CobOperacaoInvalida, or
// into Efí's txid_duplicado.
const standardNames: Partial<Record<ProblemName, string>> = { CobPayloadRemovido: 'CobPayloadNaoEncontrado' }

export function json(status: number, value: unknown): HttpResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

export function problem(name: ProblemName, detail: string, violacoes: Violation[] = []): HttpResponse {
  const { status, title } = problems[name]
  return {
    status,
    headers: { 'content-type': 'application/problem+json' },
    body: JSON.stringify({
      type: `https://pix.bcb.gov.br/api/v2/error/${standardNames[name] ?? name}`,
      title,
      status,
      detail,
      ...(violacoes.length > 0 && { violacoes }),
    }),
  }
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
