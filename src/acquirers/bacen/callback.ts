import { type CallbackNotice, type SkipReason, UnreadableCallback } from '../acquirer.ts'
import type { Client } from './client.ts'
import { isForOtherKey } from './payments.ts'
import type { ProtocolProfile } from './profile.ts'
import { isRecord, type Json, list, record, text } from './read.ts'

// 32 letters and digits by the standard. Their parts (bank, time, the bank's own number) are not checked.
const endToEndIdShape = /^[A-Za-z0-9]{32}$/
// The shape of a txid, of our ids of refunds and payouts, and of the PSPs' ids that are no end-to-end id.
const identifierShape = /^[A-Za-z0-9]{1,35}$/

/**
 * Reads `{ "pix": [ … ] }`, several payments in one call. An entry without the end-to-end id of a payment, or with a
 * Pix key that is not ours, is skipped; the valid entries still count. If no entry can be read, the call is rejected as
 * unreadable. A call without `pix` contains no payment: Efí's test at the registration
 * (`{ "evento": "teste_webhook" }`), other PSPs' empty calls, notices of functions that we do not use. Inter's
 * documentation shows the list itself as the body. Sicoob sends one payout as the body, and Inter a list of payouts in a
 * form of its own.
 */
export function readCallback(
  { chave }: { chave: string },
  body: unknown,
  onSkipped: (reason: SkipReason) => void = () => {},
): CallbackNotice[] {
  const sent = isRecord(body) ? readSicoobPayout(body) : null
  if (sent) return [sent]
  if (body === undefined || body === null || (isRecord(body) && body.pix === undefined)) return []
  const entries = isRecord(body) ? body.pix : body
  if (!Array.isArray(entries)) throw new UnreadableCallback('The callback has no list of payments')
  const notices: CallbackNotice[] = []
  let unreadable = 0
  for (const entry of entries) {
    const read = readNotice(entry, chave)
    if (typeof read !== 'string') notices.push(...read)
    else onSkipped(read)
    if (read === 'unreadable_entry') unreadable += 1
  }
  if (unreadable > 0 && unreadable === entries.length)
    throw new UnreadableCallback('No payment of the callback can be read')
  return notices
}

function readNotice(entry: unknown, chave: string): CallbackNotice[] | SkipReason {
  if (!isRecord(entry)) return 'unreadable_entry'
  const sent = readInterPayout(entry)
  if (sent) return [sent]
  const endToEndId = text(entry, 'endToEndId')
  const txid = identifierOrNull(text(entry, 'txid'))
  const payoutId = identifierOrNull(text(record(entry, 'gnExtras'), 'idEnvio'))
  // A payout is identified by our own id; a PSP's sandbox may give it an end-to-end id of another length.
  const shape = payoutId === null ? endToEndIdShape : identifierShape
  if (!endToEndId || !shape.test(endToEndId)) return 'unreadable_entry'
  // For a payout it is not documented which key `chave` is.
  if (payoutId === null && isForOtherKey(entry, chave)) return 'other_key'
  return readEvents(entry, payoutId).map((event) => ({
    eventKey: [endToEndId, ...event].join(':'),
    endToEndId,
    txid,
    payoutId,
  }))
}

// A UUID, as Inter writes it.
const codeShape = /^[A-Za-z0-9-]{1,64}$/
const stateShape = /^[\p{Lu}_]{1,40}$/u

/** `{ codigoSolicitacao, descricaoPagamento, endToEnd?, status, … }`: the description is our own id of the payout. */
function readInterPayout(entry: Json): CallbackNotice | null {
  const code = text(entry, 'codigoSolicitacao')
  if (!code || !codeShape.test(code)) return null
  const endToEndId = identifierOrNull(text(entry, 'endToEnd')) ?? code
  const payoutId = identifierOrNull(text(entry, 'descricaoPagamento'))
  return { eventKey: `${code}:${stateOf(entry)}`, endToEndId, txid: null, payoutId, payoutReference: code }
}

/**
 * `{ id, status, valor, … }`, or the same object in the field `payload`: in Sicoob's documentation the example and the
 * schema differ. The schema names the status `estado`.
 */
function readSicoobPayout(body: Json): CallbackNotice | null {
  const entry = isRecord(body.payload) ? body.payload : body
  const id = text(entry, 'id')
  if (body.pix !== undefined || !id || !endToEndIdShape.test(id)) return null
  return { eventKey: `${id}:${stateOf(entry)}`, endToEndId: id, txid: null, payoutId: null, payoutReference: id }
}

function stateOf(entry: Json): string {
  const state = text(entry, 'status') ?? text(entry, 'estado') ?? ''
  return stateShape.test(state) ? state : 'UNKNOWN'
}

/**
 * The events of an entry: one for each of its returns. Without returns, for a payout one event named by its status.
 * Else the incoming payment, whose event key is only its end-to-end id.
 */
function readEvents(entry: Json, payoutId: string | null): string[][] {
  const returns = (list(entry, 'devolucoes') ?? []).filter(isRecord).map(readReturnEvent)
  if (returns.length > 0) return returns
  return payoutId === null ? [[]] : [[statusOf(entry)]]
}

function readReturnEvent(entry: Json): string[] {
  const id = identifierOrNull(text(entry, 'id') ?? text(entry, 'rtrId')) ?? 'return'
  return [id, statusOf(entry)]
}

/** The status as a part of the event key: an unknown one counts as processing. */
function statusOf(entry: Json): string {
  const status = text(entry, 'status')
  return status && statuses.has(status) ? status : 'EM_PROCESSAMENTO'
}

const statuses = new Set(['EM_PROCESSAMENTO', 'REALIZADO', 'DEVOLVIDO', 'NAO_REALIZADO'])

function identifierOrNull(id: string | null): string | null {
  return id !== null && identifierShape.test(id) ? id : null
}

/**
 * `PUT /webhook/{chave}`. Throws an `Error`, not an `AcquirerUnavailable`, if the PSP refuses: the address or the key
 * is wrong, and repeating the request will not help. Some PSPs refuse to register the same address twice: then we read
 * the registered one.
 */
export async function registerCallback(
  deps: { client: Client; chave: string; paths: ProtocolProfile['paths']; registrationHeaders: Record<string, string> },
  url: string,
): Promise<void> {
  await registerAt(deps, `${deps.paths.webhook}/${encodeURIComponent(deps.chave)}`, url)
}

/** Registers the address for callbacks about payouts, where the PSP has another path for it. */
export async function registerPayoutCallback(deps: Parameters<typeof registerCallback>[0], url: string): Promise<void> {
  await registerAt(deps, deps.paths.payoutWebhook, url)
}

async function registerAt(
  { client, registrationHeaders: headers }: Parameters<typeof registerCallback>[0],
  path: string,
  url: string,
): Promise<void> {
  const answer = await client({ method: 'PUT', path, headers, body: { webhookUrl: url } })
  if (answer.ok) return
  const current = await client({ method: 'GET', path })
  if (current.ok && text(current.body, 'webhookUrl') === url) return
  throw new Error(`The acquirer refused the address for callbacks: ${answer.reason}`)
}
