import { type Cents, toReais } from '../../lib/money.ts'
import { encodeDynamicBrCode } from '../../pix/brcode.ts'
import type { AccountHolder } from '../../pix/holder.ts'
import { type Charge, type ChargeInput, type ChargeOutcome, type Removal, UnreadableAnswer } from '../acquirer.ts'
import { toTextFields } from './charge-texts.ts'
import { type Client, foundOrNull } from './client.ts'
import { readPayment } from './payments.ts'
import type { ProtocolProfile } from './profile.ts'
import { amount, count, dateTime, type Json, list, record, text } from './read.ts'

type Deps = {
  client: Client
  paths: ProtocolProfile['paths']
  chargeFields: ProtocolProfile['charge']
  chave: string
  receiver: AccountHolder
  onTextsRefused: (status: number) => void
}

// The standard's own default.
const expiresInSecondsDefault = 86_400
// The statuses with which known PSPs refuse a txid that they already have: 409 at some, the standard's 400, 422.
const mayMeanExisting = new Set([400, 409, 422])

/**
 * `PUT /cob/{txid}`. Some PSPs answer a repeat with the charge and some with a refusal, each in its own words; instead
 * of reading the words we query the charge. Only we use this txid, so a charge under it is ours.
 */
export async function createCharge(deps: Deps, input: ChargeInput): Promise<ChargeOutcome> {
  const answer = await deps.client({ method: 'PUT', path: toPath(deps, input.txid), body: toBody(deps, input) })
  if (answer.ok) return compare(input, readCharge(deps, input.txid, answer.body))
  if (!mayMeanExisting.has(answer.status)) return { outcome: 'refused', reason: answer.reason }
  const existing = await findCharge(deps, input.txid)
  if (existing) return compare(input, existing)
  if (input.texts === undefined) return { outcome: 'refused', reason: answer.reason }
  // The PSP may have refused one of the texts. No charge may fail because of a text, so it is sent again without them.
  const { texts: _, ...without } = input
  const second = await createCharge(deps, without)
  if (second.outcome === 'created') deps.onTextsRefused(answer.status)
  return second
}

/** `GET /cob/{txid}`: null only when the PSP itself says that there is none. */
export async function findCharge(deps: Deps, txid: string): Promise<Charge | null> {
  const body = foundOrNull(await deps.client({ method: 'GET', path: toPath(deps, txid) }))
  return body && readCharge(deps, txid, body)
}

/** `PATCH /cob/{txid}`. A PSP refuses it for a charge that was paid or removed before. */
export async function removeCharge(deps: Deps, txid: string): Promise<Removal> {
  const body = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' }
  const answer = await deps.client({ method: 'PATCH', path: toPath(deps, txid), body })
  return answer.ok ? { outcome: 'done' } : { outcome: 'refused', reason: answer.reason }
}

function toPath({ paths }: Deps, txid: string): string {
  return `${paths.cob}/${encodeURIComponent(txid)}`
}

/** The same for every repeat of a request: it depends on the input and the settings only. */
function toBody({ chave, chargeFields }: Deps, { expiresInSeconds, amount: requested, texts }: ChargeInput) {
  const charge = { calendario: { expiracao: expiresInSeconds }, valor: { original: toReais(requested) }, chave }
  return texts === undefined ? charge : { ...charge, ...toTextFields(texts, chargeFields) }
}

export const otherAmountReason = 'The acquirer holds a charge of another amount under this txid'

function compare(input: { amount: Cents }, charge: Charge): ChargeOutcome {
  if (charge.amount !== input.amount) return { outcome: 'refused', reason: otherAmountReason }
  const { uri } = charge
  if (uri === null) throw unreadable()
  return { outcome: 'created', charge: { ...charge, uri } }
}

function readCharge(deps: Deps, txid: string, body: Json): Charge {
  const calendar = record(body, 'calendario')
  const createdAt = dateTime(calendar, 'criacao')
  const expiresInSeconds = count(calendar, 'expiracao') ?? expiresInSecondsDefault
  const chargeAmount = amount(record(body, 'valor'), 'original')
  const uri = readUri(deps, body)
  const payments = list(body, 'pix')?.map(readPayment)
  // A charge under another txid would be somebody else's money. Case may differ: some PSPs change it.
  const isOther = (text(body, 'txid') ?? txid).toLowerCase() !== txid.toLowerCase()
  if (isOther || !createdAt || chargeAmount === null || !payments?.every((payment) => payment !== null)) {
    throw unreadable()
  }
  const expiresAt = new Date(createdAt.getTime() + expiresInSeconds * 1000)
  // A payment that names another charge belongs to that charge.
  const own = payments.filter((payment) => (payment.txid ?? txid).toLowerCase() === txid.toLowerCase())
  const status = statuses[text(body, 'status') ?? ''] ?? 'active'
  return { txid, amount: chargeAmount, uri, createdAt, expiresAt, status, payments: own }
}

function unreadable(): UnreadableAnswer {
  return new UnreadableAnswer('The acquirer answered with a charge that cannot be read')
}

const statuses: Record<string, Charge['status']> = {
  CONCLUIDA: 'completed',
  REMOVIDA_PELO_PSP: 'removed',
  REMOVIDA_PELO_USUARIO_RECEBEDOR: 'removed',
}

/** The copy-and-paste code; Sicoob has another name for it, and a PSP of an older version returns only the location. */
function readUri({ receiver }: Deps, body: Json): string | null {
  const code = text(body, 'pixCopiaECola') ?? text(body, 'brcode')
  if (code) return code
  const location = text(body, 'location') ?? text(record(body, 'loc'), 'location')
  if (!location) return null
  try {
    // The standard requires a city in the code. Payers' apps show the city of the document at the location instead.
    return encodeDynamicBrCode({ location, merchantName: receiver.name, merchantCity: 'BRASIL' })
  } catch {
    return null
  }
}
