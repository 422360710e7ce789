import { type HttpRequest, type HttpResponse, problem } from './http.ts'

/**
 * What goes wrong with a request: it times out before or after it took effect, the PSP fails, the PSP refuses it, or
 * the PSP answers "not found" whether the record exists or not. Only `time_out_after` lets the request take effect.
 */
export type Disturbance = 'none' | 'time_out_before' | 'time_out_after' | 'error_500' | 'refused' | 'not_found'

/**
 * Decides the fault of each request. Called once per request in the order of arrival, so that a test may count or draw.
 * A slow function delays the answer.
 */
export type Disturb = (request: HttpRequest) => Disturbance | Promise<Disturbance>

/**
 * Answers as decided. A time-out is answered immediately with 504, as a gateway in front of the PSP would after its own
 * time limit. For the client the outcome is as unknown as without an answer, and a thousand of them take no time.
 */
export async function disturbed(disturbance: Disturbance, answer: () => Promise<HttpResponse>): Promise<HttpResponse> {
  if (disturbance === 'time_out_before') return timeoutResponse()
  if (disturbance === 'error_500') return problem('ErroInternoDoServidor', 'Ocorreu um erro inesperado.')
  if (disturbance === 'refused') return problem('RequisicaoInvalida', 'A requisição está duplicada.')
  if (disturbance === 'not_found') return problem('NaoEncontrado', 'Nada foi encontrado.')
  const answered = await answer()
  return disturbance === 'time_out_after' ? timeoutResponse() : answered
}

/** With this answer, the client knows as little as without any. */
export function timeoutResponse(): HttpResponse {
  return problem('IndisponibilidadePorTempoEsgotado', 'O serviço não respondeu a tempo.')
}
