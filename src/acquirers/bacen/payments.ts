import { parseDocument } from '../../lib/document.ts'
import type { AccountHolder } from '../../pix/holder.ts'
import { isOwnTxid } from '../../pix/ids.ts'
import { detectPixKey, normalizePixKey, type PixKey } from '../../pix/key.ts'
import { type OnUnreadable, type Payment, type PaymentReturn, type Range, UnreadableAnswer } from '../acquirer.ts'
import { type Client, foundOrNull } from './client.ts'
import { type ListDeps, listBetween } from './pages.ts'
import type { ProtocolProfile } from './profile.ts'
import { amount, dateTime, isRecord, type Json, list, record, text } from './read.ts'

type Deps = { client: Client; paths: ProtocolProfile['paths']; chave: string }

/** `GET /pix/{e2eid}` */
export async function findPayment({ client, paths, chave }: Deps, endToEndId: string): Promise<Payment | null> {
  const body = foundOrNull(await client({ method: 'GET', path: `${paths.pix}/${encodeURIComponent(endToEndId)}` }))
  if (!body) return null
  // An endToEndId is case-sensitive: another case is another payment.
  if (text(body, 'endToEndId') !== endToEndId) throw unreadable()
  if (isForOtherKey(body, chave)) return null
  const payment = readPayment(body)
  if (!payment) throw unreadable()
  return payment
}

/** `GET /pix`, all pages; payments outside the range, and those to another key, are dropped here. */
export async function* listPayments(
  deps: ListDeps & Pick<Deps, 'paths' | 'chave'>,
  { withReturns = false, onUnreadable, ...range }: Range & { withReturns?: boolean } & OnUnreadable,
): AsyncIterable<Payment> {
  yield* listBetween(deps, {
    path: deps.paths.pix,
    field: 'pix',
    range,
    ...(withReturns && { query: { devolucaoPresente: 'true' } }),
    read: readPayment,
    isSkipped: (entry) => isForOtherKey(entry, deps.chave),
    timeOf: ({ paidAt }) => paidAt,
    ...(onUnreadable && { onUnreadable }),
  })
}

/**
 * The account may have other keys, and payments to them are not ours. A payment that names one of our codes is ours
 * nevertheless: its key may have been ours when the code was made.
 */
export function isForOtherKey(entry: unknown, chave: string): boolean {
  if (!isRecord(entry)) return false
  const key = text(entry, 'chave')
  return key !== null && !isSameKey(key, chave) && !isOwnTxid(text(entry, 'txid') ?? '')
}

/** Null if it cannot be read. The caller must not skip it then: it is money. */
export function readPayment(value: unknown): Payment | null {
  if (!isRecord(value)) return null
  const endToEndId = text(value, 'endToEndId')
  const paid = amount(value, 'valor')
  const paidAt = dateTime(value, 'horario')
  if (!endToEndId || paid === null || !paidAt) return null
  const returns = readReturns(value, paidAt)
  if (!returns) return null
  const payer = readPayer(record(value, 'pagador'))
  // Efí's own field; the standard has no fee.
  const fee = amount(record(value, 'gnExtras'), 'tarifa')
  return { endToEndId, txid: text(value, 'txid'), amount: paid, paidAt, payer, returns, fee }
}

/**
 * Null when one of the returns cannot be read. Returns that differ in nothing but their time are one return, which the
 * PSP lists twice.
 */
function readReturns(payment: Json, paidAt: Date): PaymentReturn[] | null {
  const entries = list(payment, 'devolucoes')
  if (!entries?.every(isRecord)) return null
  const returns = entries.filter((entry) => entry.status !== 'NAO_REALIZADO').map((entry) => readReturn(entry, paidAt))
  if (!returns.every((one) => one !== null)) return null
  const keyOf = ({ at: _, ...one }: PaymentReturn) => JSON.stringify(one)
  return [...new Map(returns.map((one) => [keyOf(one), one])).values()]
}

function readReturn(entry: Json, paidAt: Date): PaymentReturn | null {
  const times = record(entry, 'horario')
  const endToEndId = text(entry, 'rtrId')
  const id = text(entry, 'id') ?? endToEndId
  const returned = amount(entry, 'valor')
  // The standard's own default.
  const nature = text(entry, 'natureza') ?? 'ORIGINAL'
  // Both are optional in the standard: a return without a time counts all the same.
  const at = dateTime(times, 'liquidacao') ?? dateTime(times, 'solicitacao') ?? paidAt
  if (!id || returned === null) return null
  return { id, endToEndId, amount: returned, nature, isDone: entry.status === 'DEVOLVIDO', at }
}

/** The whole account holder, or null: a masked document or an incomplete account must not be passed on as complete. */
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

function unreadable(): UnreadableAnswer {
  return new UnreadableAnswer('The acquirer answered with a payment that cannot be read')
}

/** Ignores case, punctuation and a phone’s country code. */
export function isSameKey(one: string, other: string): boolean {
  return toBareKey(one) === toBareKey(other)
}

function toBareKey(key: string): string {
  return (detectPixKey(key)?.key ?? key).toLowerCase()
}
