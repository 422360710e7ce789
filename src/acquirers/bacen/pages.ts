import { AcquirerUnavailable, type Range } from '../acquirer.ts'
import type { Client } from './client.ts'
import { count, type Json, list, record } from './read.ts'

const pageSize = 100
// A million entries in one range: beyond it the range is a mistake, or the PSP pages for ever.
const pagesMax = 10_000

type Asked = {
  path: string
  /** The member of the answer that has the entries. */
  member: string
  range: Range
  /** What else the list is asked for. */
  query?: Record<string, string>
}

/**
 * A list between two times, page by page from zero. Whole seconds are asked for, since a PSP refuses milliseconds, wide
 * enough to hold the range; what lies outside is for the caller to drop.
 */
export async function* listPages(client: Client, { path, member, range, query }: Asked): AsyncIterable<unknown> {
  for (let page = 0; page < pagesMax; page++) {
    const answer = await client({ method: 'GET', path, query: { ...query, ...toQuery(range, page) } })
    if (!answer.ok) throw new AcquirerUnavailable(`The acquirer refused to list ${member}: ${answer.reason}`)
    const entries = list(answer.body, member)
    if (!entries) throw new AcquirerUnavailable(`The acquirer answered with a list of ${member} that cannot be read`)
    yield* entries
    if (isLastPage(answer.body, page, entries.length)) return
  }
  throw new AcquirerUnavailable(`The acquirer has more pages of ${member} than can be`)
}

function toQuery({ from, to }: Range, page: number): Record<string, string> {
  return {
    inicio: toSeconds(Math.floor(from.getTime() / 1000)),
    fim: toSeconds(Math.ceil(to.getTime() / 1000)),
    'paginacao.paginaAtual': String(page),
    'paginacao.itensPorPagina': String(pageSize),
  }
}

function toSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

/** By the number of pages where the PSP tells it, else by a page that is not full. */
function isLastPage(body: Json, page: number, entries: number): boolean {
  if (entries === 0) return true
  const paging = record(record(body, 'parametros'), 'paginacao')
  const pages = count(paging, 'quantidadeDePaginas')
  return pages === null ? entries < (count(paging, 'itensPorPagina') ?? pageSize) : page + 1 >= pages
}
