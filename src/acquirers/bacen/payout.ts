import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { parseDocument } from '../../lib/document.ts'
import { type Cents, cents, toReais } from '../../lib/money.ts'
import type { AccountHolder } from '../../pix/holder.ts'
import { detectPixKey, type PixKey } from '../../pix/key.ts'
import {
  type MoneyOut,
  type OnUnreadable,
  type PayoutFound,
  type PayoutListed,
  type PayoutOrder,
  type Payouts,
  type Range,
  UnreadableAnswer,
} from '../acquirer.ts'
import { foundOrNull } from './client.ts'
import { type ListDeps, listBetween } from './pages.ts'
import type { ProtocolProfile } from './profile.ts'
import { amount, anyText, dateTime, isRecord, type Json, list, record, text } from './read.ts'
import { explainRejection } from './spi-codes.ts'

type Deps = ListDeps & { paths: ProtocolProfile['paths']; chave: string; clock: Clock }

const payoutIdShape = /^[a-zA-Z0-9]{1,35}$/

/** Efí's payouts: the standard has none. */
export function createEfiPayouts(deps: Deps): Payouts {
  return {
    prepare: null,
    send: (input) => sendPayout(deps, input),
    find: ({ payoutId }) => findPayout(deps, payoutId),
    reportsReturns: true,
    list: (range) => listPayouts(deps, range),
  }
}

/**
 * `PUT /v3/gn/pix/{idEnvio}`. The PSP may refuse a request because it accepted the same request before. So the refusal
 * counts only if no payout is found under our id.
 */
async function sendPayout(deps: Deps, input: PayoutOrder): Promise<MoneyOut> {
  const path = `${deps.paths.payout}/${checked(input.payoutId)}`
  const answer = await deps.client({ method: 'PUT', path, body: toBody(deps, input), isOnce: true })
  if (answer.ok) return readPayout(deps, input, answer.body)
  const existing = await queryPayout(deps, input.payoutId)
  return existing ? readPayout(deps, input, existing) : { outcome: 'refused', reason: answer.reason }
}

async function findPayout(deps: Deps, payoutId: string): Promise<PayoutFound | null> {
  const body = await queryPayout(deps, payoutId)
  if (!body) return null
  const found = readPayout(deps, { payoutId }, body)
  const returned = found.outcome === 'done' ? readReturned(body, found.at) : null
  return returned ? { ...found, returned } : found
}

/** `GET /v2/gn/pix/enviados/id-envio/{idEnvio}`: null only when the PSP itself says that there is none. */
async function queryPayout({ client, paths }: Deps, payoutId: string): Promise<Json | null> {
  return foundOrNull(await client({ method: 'GET', path: `${paths.sentPix}/id-envio/${checked(payoutId)}` }))
}

/** `GET /v2/gn/pix/enviados`, all pages; payouts outside the range are dropped here. */
async function* listPayouts(
  { paths, ...deps }: Deps,
  { onUnreadable, ...range }: Range & OnUnreadable,
): AsyncIterable<PayoutListed> {
  yield* listBetween(deps, {
    path: paths.sentPix,
    field: 'pix',
    range,
    read: readListed,
    timeOf: ({ at }) => at,
    ...(onUnreadable && { onUnreadable }),
  })
}

function readListed(entry: unknown): PayoutListed | null {
  if (!isRecord(entry)) return null
  const times = record(entry, 'horario')
  const endToEndId = text(entry, 'endToEndId') ?? text(entry, 'e2eId')
  const sent = amount(entry, 'valor')
  const at = dateTime(times, 'solicitacao') ?? dateTime(times, 'liquidacao') ?? dateTime(entry, 'horario')
  if (!endToEndId || sent === null || !at) return null
  const status = listedStatuses[text(entry, 'status') ?? ''] ?? 'processing'
  const fee = amount(record(entry, 'gnExtras'), 'tarifa')
  return { payoutId: text(entry, 'idEnvio'), endToEndId, amount: sent, at, status, fee }
}

const listedStatuses: Record<string, PayoutListed['status']> = { REALIZADO: 'done', NAO_REALIZADO: 'refused' }

function checked(payoutId: string): string {
  assert(payoutIdShape.test(payoutId), 'the id of a payout has 1 to 35 letters and digits')
  return payoutId
}

function toBody({ chave }: Deps, { amount: sent, pixKey }: PayoutOrder) {
  return { valor: toReais(sent), pagador: { chave }, favorecido: { chave: pixKey.key } }
}

function readPayout(
  { clock }: Deps,
  requested: { payoutId: string; amount?: Cents; pixKey?: PixKey },
  body: Json,
): MoneyOut {
  const sent = amount(body, 'valor')
  const key = text(record(body, 'favorecido'), 'chave')
  const isOther =
    (text(body, 'idEnvio') ?? requested.payoutId).toLowerCase() !== requested.payoutId.toLowerCase() ||
    (requested.amount !== undefined && sent !== requested.amount) ||
    (requested.pixKey !== undefined && key !== null && detectPixKey(key)?.key !== requested.pixKey.key)
  if (isOther || sent === null) {
    throw new UnreadableAnswer('The acquirer answered with another payout than the requested one')
  }
  const endToEndId = text(body, 'endToEndId') ?? text(body, 'e2eId')
  const status = text(body, 'status')
  if (status === 'NAO_REALIZADO') return { outcome: 'refused', reason: readReason(body) }
  if (status !== 'REALIZADO') return { outcome: 'processing', endToEndId }
  const times = record(body, 'horario')
  const at = dateTime(times, 'liquidacao') ?? dateTime(times, 'solicitacao') ?? dateTime(body, 'horario') ?? clock.now()
  return { outcome: 'done', endToEndId, at, receiver: readReceiver(record(body, 'favorecido')) }
}

function readReason(body: Json): string {
  const error = record(record(body, 'gnExtras'), 'erro')
  return explainRejection({
    code: text(error, 'codigo'),
    description: anyText(error, 'motivo') ?? anyText(body, 'motivo'),
  })
}

/** The whole account holder, or null: a masked document or an incomplete account must not be passed on as complete. */
function readReceiver(receiver: Json): AccountHolder | null {
  const identity = record(receiver, 'identificacao')
  const account = record(receiver, 'contaBanco')
  const document = parseDocument(text(identity, 'cpf') ?? text(identity, 'cnpj') ?? '')
  const pix = detectPixKey(text(receiver, 'chave') ?? '')
  const name = text(identity, 'nome')
  const type = text(account, 'tipoConta')
  const branch = text(account, 'agencia')
  const number = text(account, 'conta')
  const digit = text(account, 'digito')
  const ispb = text(account, 'codigoBanco')
  if (!document || !pix || !name || !type || !branch || !number || !digit || !ispb) return null
  const bankAccount = { type, branch, number, digit, ispb }
  return { type: document.type === 'CPF' ? 'PF' : 'PJ', name, document: document.value, bankAccount, pix }
}

/** The total that the receiver has sent back in all parts. A part that is not done needs no other field. */
function readReturned(body: Json, sentAt: Date): PayoutFound['returned'] | null {
  const entries = list(body, 'devolucoes')
  const parts = entries
    ?.filter((entry) => !isRecord(entry) || text(entry, 'status') === 'DEVOLVIDO')
    .map((entry) => readPart(entry, sentAt))
  if (!parts?.every((part) => part !== null)) {
    throw new UnreadableAnswer('The acquirer answered with a return that cannot be read')
  }
  const done = parts.toSorted((a, b) => a.at.getTime() - b.at.getTime())
  const last = done.at(-1)
  if (!last) return null
  const total = done.reduce((sum, part) => sum + part.amount, 0)
  // Parts may share an id.
  const endToEndIds = [...new Set(done.map((part) => part.endToEndId).toReversed())].toReversed()
  return { endToEndIds, amount: cents(total), at: last.at }
}

function readPart(entry: unknown, sentAt: Date) {
  if (!isRecord(entry)) return null
  const times = record(entry, 'horario')
  const endToEndId = text(entry, 'rtrId')
  const part = amount(entry, 'valor')
  // A part without a time came back all the same.
  const at = dateTime(times, 'liquidacao') ?? dateTime(times, 'solicitacao') ?? sentAt
  if (!endToEndId || part === null) return null
  return { endToEndId, amount: part, at }
}
