import { parseDocument } from '../../lib/document.ts'
import type { AccountHolder } from '../../pix/holder.ts'
import { normalizePixKey, type PixKey } from '../../pix/key.ts'
import { AcquirerUnavailable, type Payment } from '../acquirer.ts'
import { type Client, foundOrNull } from './client.ts'
import { amount, count, dateTime, isRecord, type Json, list, record, text } from './read.ts'

type Deps = { client: Client }

const pageSize = 100
// A million payments in one range: beyond it the range is a mistake, or the PSP pages for ever.
const pagesMax = 10_000

/** `GET /pix/{e2eid}` */
export async function findPayment({ client }: Deps, endToEndId: string): Promise<Payment | null> {
  const body = foundOrNull(await client({ method: 'GET', path: `/pix/${encodeURIComponent(endToEndId)}` }))
  if (!body) return null
  const payment = readPayment(body)
  // Case matters in an endToEndId: another one is another payment.
  if (payment?.endToEndId !== endToEndId) throw unreadable()
  return payment
}

/**
 * `GET /pix`, page by page from zero. Whole seconds are asked for, since a PSP refuses milliseconds, wide enough to hold
 * the range; what lies outside is dropped here.
 */
export async function* listPayments({ client }: Deps, range: { from: Date; to: Date }): AsyncIterable<Payment> {
  for (let page = 0; page < pagesMax; page++) {
    const answer = await client({ method: 'GET', path: '/pix', query: toQuery(range, page) })
    if (!answer.ok) throw new AcquirerUnavailable(`The acquirer refused to list payments: ${answer.reason}`)
    const entries = list(answer.body, 'pix')
    if (!entries) throw unreadable()
    for (const entry of entries) {
      const payment = readPayment(entry)
      if (!payment) throw unreadable()
      if (payment.paidAt >= range.from && payment.paidAt <= range.to) yield payment
    }
    if (isLastPage(answer.body, page, entries.length)) return
  }
  throw new AcquirerUnavailable('The acquirer has more pages of payments than can be')
}

/** Null for what is no payment. A payment that cannot be read is never passed over: it is money. */
export function readPayment(value: unknown): Payment | null {
  if (!isRecord(value)) return null
  const endToEndId = text(value, 'endToEndId')
  const paid = amount(value, 'valor')
  const paidAt = dateTime(value, 'horario')
  if (!endToEndId || paid === null || !paidAt) return null
  return { endToEndId, txid: text(value, 'txid'), amount: paid, paidAt, payer: readPayer(record(value, 'pagador')) }
}

/** The whole account holder, or null: a masked document or half an account would be passed on as if it were known. */
function readPayer(payer: Json): AccountHolder | null {
  const document = parseDocument(text(payer, 'cpf') ?? text(payer, 'cnpj') ?? '')
  const name = text(payer, 'nome')
  const type = text(payer, 'tipoConta')
  const branch = text(payer, 'agencia')
  const number = text(payer, 'conta')
  const digit = text(payer, 'digito')
  const ispb = text(payer, 'ispbParticipante')
  const pix = readKey(payer)
  if (!document || !name || !type || !branch || !number || !digit || !ispb || !pix) return null
  const bankAccount = { type, branch, number, digit, ispb }
  return { type: document.type === 'CPF' ? 'PF' : 'PJ', name, document: document.value, bankAccount, pix }
}

function readKey(payer: Json): PixKey | null {
  const key = text(payer, 'chave')
  const type = keyTypes.find((known) => known === payer.tipoChave)
  return key && type ? normalizePixKey({ key, type }) : null
}

const keyTypes = ['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP'] as const

function toQuery({ from, to }: { from: Date; to: Date }, page: number): Record<string, string> {
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

function unreadable(): AcquirerUnavailable {
  return new AcquirerUnavailable('The acquirer answered with payments that cannot be read')
}
