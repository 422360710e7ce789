import type { Violation } from './http.ts'
import { parseCount, parseDateTime } from './validate.ts'

/** A page of a list between two times, as in every list of API Pix. Pages count from zero. */
export type Page = { from: Date; to: Date; page: number; pageSize: number }

/** The page, or its invalid parameters. `others` says of further parameters of the query whether they are invalid. */
export function parsePage(
  query: Record<string, string>,
  others: Record<string, boolean> = {},
): Page | { violacoes: Violation[] } {
  const from = parseDateTime(query.inicio)
  const to = parseDateTime(query.fim)
  const page = parseCount(query['paginacao.paginaAtual'], { min: 0, max: 999_999, absent: 0 })
  const pageSize = parseCount(query['paginacao.itensPorPagina'], { min: 1, max: 1000, absent: 100 })
  const faults: Record<string, boolean> = {
    inicio: from === null,
    fim: to === null || (from !== null && to < from),
    ...others,
    'paginacao.paginaAtual': page === null,
    'paginacao.itensPorPagina': pageSize === null,
  }
  const faulty = Object.keys(faults).filter((name) => faults[name])
  if (faulty.length === 0 && from && to && page !== null && pageSize !== null) return { from, to, page, pageSize }
  return { violacoes: faulty.map((name) => ({ razao: `O parâmetro ${name} não é válido.`, propriedade: name })) }
}

/** The description of the page within an answer. */
export function toParameters({ from, to, page, pageSize }: Page, total: number) {
  return {
    inicio: from.toISOString(),
    fim: to.toISOString(),
    paginacao: {
      paginaAtual: page,
      itensPorPagina: pageSize,
      quantidadeDePaginas: Math.max(1, Math.ceil(total / pageSize)),
      quantidadeTotalDeItens: total,
    },
  }
}
