import { type HttpRequest, type HttpResponse, problem } from './http.ts'

/**
 * What goes wrong: the answer is lost before or after the request took effect, the PSP fails before it, or it refuses, or says that it has
 * nothing of the kind, whatever is so.
 */
export type Disturbance = 'none' | 'time_out_before' | 'time_out_after' | 'error_500' | 'refused' | 'not_found'

/**
 * Decides for each request; called once, in the order in which they arrive, so that a test may count or draw lots. One that takes its time
 * delays the answer.
 */
export type Disturb = (request: HttpRequest) => Disturbance | Promise<Disturbance>

/**
 * Answers with what is decided. A time-out is answered at once, with 504, as a gateway before the PSP would have it after
 * its patience: to the client as unknown as silence, and a thousand of them take no time.
 */
export async function disturbed(disturbance: Disturbance, answer: () => Promise<HttpResponse>): Promise<HttpResponse> {
  if (disturbance === 'time_out_before') return timedOut()
  if (disturbance === 'error_500') return problem('ErroInterno', 'Ocorreu um erro inesperado.')
  if (disturbance === 'refused') return problem('RequisicaoInvalida', 'A requisição está duplicada.')
  if (disturbance === 'not_found') return problem('NaoEncontrado', 'Nada foi encontrado.')
  const answered = await answer()
  return disturbance === 'time_out_after' ? timedOut() : answered
}

/** As unknown to who asked as silence. */
export function timedOut(): HttpResponse {
  return problem('TempoEsgotado', 'O serviço não respondeu a tempo.')
}
