import type { KeyObject } from 'node:crypto'
import { parseDocument } from '../src/lib/document.ts'
import { type Cents, cents, fromReais } from '../src/lib/money.ts'
import { isInternationalName } from '../src/lib/text.ts'
import { decodeBrCode } from '../src/pix/brcode.ts'
import type { AccountHolder } from '../src/pix/holder.ts'
import { normalizePixKey } from '../src/pix/key.ts'
import { scheduleFollowUps } from './faults/follow-ups.ts'
import { amountMax, type Payable, planPixes } from './faults/plan.ts'
import { drawBehaviours } from './faults/profile.ts'
import type { Behaviour } from './faults/traits.ts'
import { type HttpResponse, parseJson } from './http.ts'
import { readJws, readPublicKey, verifyJws } from './jws.ts'
import { readLocationPath, resolveLocation, toKeysUrl } from './location.ts'
import type { Network } from './network.ts'
import { planStatic } from './pay-static.ts'
import type { NewPix } from './pix-store.ts'
import { isRecord } from './validate.ts'

export type PayInput = {
  /** The copy-and-paste code. */
  uri: string
  /** Pays this amount instead of the charge's, so that a merchant can test a differing amount. */
  amount?: Cents
  payer?: PayerInput
  /** What goes wrong, or `honest` for nothing. Without it, the charge's amount or the bank's fault profile decides. */
  behaviour?: Behaviour | 'honest'
}

export type PayRefusal =
  | 'br_code_invalid'
  | 'static_not_supported'
  | 'not_of_this_network'
  | 'charge_unknown'
  | 'charge_expired'
  | 'charge_removed'
  | 'already_paid'
  | 'payload_invalid'
  | 'amount_invalid'
  | 'payer_invalid'
  | 'unavailable'

export type PayOutcome = { ok: true; endToEndId: string } | { ok: false; code: PayRefusal; message: string }

/** Sends a GET for a path to the receiver's PSP. */
type Fetch = (path: string) => Promise<HttpResponse>

/**
 * Acts as the payer's bank: reads the code, fetches the charge at its location, verifies the signature and pays once,
 * unless a fault is injected. After the commit it calls `onPaid` with each resulting Pix.
 */
export async function pay(
  deps: { network: Network; fetch: Fetch; onPaid: (pix: NewPix) => void },
  input: PayInput,
): Promise<PayOutcome> {
  const { network } = deps
  const payer = completePayer(input.payer)
  if (!payer) return refused('payer_invalid')
  if (input.amount !== undefined && (input.amount < 1 || input.amount > amountMax)) return refused('amount_invalid')

  const code = decodeBrCode(input.uri)
  if (!code.ok) return refused('br_code_invalid', brCodeFaults[code.reason])
  if (code.code.kind === 'static') {
    const pixes = await planStatic(network, code.code, { input, payer })
    return typeof pixes === 'string' ? refused(pixes) : ((await send(deps, pixes)) ?? refused('unavailable'))
  }
  if (code.code.kind !== 'dynamic' || !code.code.location) return refused('static_not_supported')
  const { location } = code.code
  const place =
    resolveLocation(location, [network.baseUrl]) ?? resolveLocation(location, await network.listBaseUrls(undefined))
  const chargeId = place && readLocationPath(place.path)
  if (!place) return refused('not_of_this_network')
  if (!chargeId) return refused('charge_unknown')

  const read = await fetchCharge(deps, place)
  const charge = read.ok ? read.charge : await recallCharge(network, chargeId, read)
  if (!charge) return read.ok ? refused('charge_unknown') : read
  const profile = await network.faultProfile.current()
  const behaviours = drawBehaviours(profile, { ...charge, requested: input.behaviour })
  if (!read.ok && !isOverlooked(read.code, behaviours)) return read

  const now = network.clock.now()
  const requested = { amount: input.amount, payer: input.payer ? payer : null }
  const planned = planPixes({ now, chargeId, profile, defaultPayer: payer }, charge, { requested, behaviours })
  return (
    (await send(deps, planned)) ??
    refused((await network.findCharge(chargeId))?.removedAt ? 'charge_removed' : 'already_paid')
  )
}

/** Makes the payments. Null if none could be made. */
async function send(
  { network, onPaid }: { network: Network; onPaid: (pix: NewPix) => void },
  planned: NewPix[],
): Promise<PayOutcome | null> {
  const made: NewPix[] = []
  for (const pix of planned) if (await network.insertPix(pix)) made.push(pix)
  const [first] = made
  if (!first) return null
  await scheduleFollowUps(network, first, first.behaviours)
  for (const pix of made) onPaid(pix)
  return { ok: true, endToEndId: first.endToEndId }
}

type Refused = Extract<PayOutcome, { ok: false }>
type Readable = { ok: true; charge: Payable }

/** The stored charge, if its location has expired or is paid but the bank pays anyway. Null for any other refusal. */
async function recallCharge(network: Network, chargeId: string, { code }: Refused): Promise<Payable | null> {
  if (code !== 'already_paid' && code !== 'charge_expired') return null
  const charge = await network.findCharge(chargeId)
  if (!charge) return null
  const expiresAt = new Date(charge.createdAt.getTime() + charge.expiresInSeconds * 1000)
  return { txid: charge.txid, amount: cents(charge.amount), expiresAt, isPaid: charge.pixes.length > 0 }
}

/** A bank that pays late or twice ignores these refusals. */
function isOverlooked(code: PayRefusal, behaviours: Behaviour[]): boolean {
  return behaviours.includes(code === 'charge_expired' ? 'late' : 'twice')
}

async function fetchCharge(
  deps: { network: Network; fetch: Fetch },
  place: { baseUrl: string; path: string },
): Promise<Readable | Refused> {
  const answer = await deps.fetch(place.path)
  if (answer.status === 404) return refused('charge_unknown')
  if (answer.status === 410) return refused(goneReasons[goneField(answer)] ?? 'charge_expired')
  if (answer.status !== 200) return refused('unavailable')
  const payload = await verifyPayload(deps.fetch, place.baseUrl, answer.body)
  return payload ? readPayload(payload, deps.network.clock.now()) : refused('payload_invalid')
}

const goneReasons: Record<string, PayRefusal> = { status: 'already_paid', 'cob.status': 'charge_removed' }

/** What the answer for a charge that can no longer be paid names as the reason (payload.ts). */
function goneField(answer: HttpResponse): string {
  const body = parseJson(answer.body)
  const [violation] = isRecord(body) && Array.isArray(body.violacoes) ? body.violacoes : []
  return isRecord(violation) ? String(violation.propriedade) : ''
}

/**
 * The payload, if it is signed with a key that the location's own host publishes. Without the check of `jku` anyone
 * could sign a payload with their own key and name their own server.
 */
export async function verifyPayload(fetch: Fetch, baseUrl: string, text: string): Promise<unknown> {
  const jws = readJws(text)
  if (jws === null || jws.header.jku !== toKeysUrl(baseUrl)) return null
  const key = toKeys((await fetch('/qr/jwks.json')).body).get(jws.header.kid)
  return key ? verifyJws(jws, key) : null
}

let known: { text: string; keys: Map<unknown, KeyObject> } = { text: '', keys: new Map() }

/** Imports published keys once and caches them, as a bank does. */
function toKeys(text: string): typeof known.keys {
  if (known.text === text) return known.keys
  const set = parseJson(text)
  const published = isRecord(set) && Array.isArray(set.keys) ? set.keys.filter(isRecord) : []
  known = { text, keys: new Map(published.map((jwk) => [jwk.kid, readPublicKey(jwk)])) }
  return known.keys
}

/** Reads the fields that a bank needs of a payload, and refuses what cannot be paid. */
function readPayload(payload: unknown, now: Date): Readable | Refused {
  if (!isRecord(payload) || !isRecord(payload.valor) || !isRecord(payload.calendario)) return refused('payload_invalid')
  const { txid, status, valor, calendario } = payload
  const amount = typeof valor.original === 'string' ? fromReais(valor.original) : null
  const createdAt = new Date(typeof calendario.criacao === 'string' ? calendario.criacao : Number.NaN)
  const expiresAt = createdAt.getTime() + Number(calendario.expiracao) * 1000
  if (typeof txid !== 'string' || !amount || Number.isNaN(expiresAt)) return refused('payload_invalid')
  if (status !== 'ATIVA') return refused('already_paid')
  if (now.getTime() >= expiresAt) return refused('charge_expired')
  return { ok: true, charge: { txid, amount, expiresAt: new Date(expiresAt), isPaid: false } }
}

const messages: Record<PayRefusal, string> = {
  br_code_invalid: 'The code is not a valid BR Code.',
  static_not_supported: 'Only codes of charges and static codes can be paid here, not recurring ones.',
  not_of_this_network: 'The code belongs to another network: only charges and the key of this simulator can be paid.',
  charge_unknown: 'There is no charge at the location of this code.',
  charge_expired: 'The charge has expired.',
  charge_removed: 'The receiver has removed the charge: it cannot be paid any more.',
  already_paid: 'The charge is already paid.',
  payload_invalid: 'The charge at the location is not signed by the institution that holds it.',
  amount_invalid: 'The amount is not one that a Pix can have, or the code has none and you named none.',
  payer_invalid: 'The payer is not plausible: check the name, the document, the bank account and the key.',
  unavailable: 'The institution of the receiver does not answer.',
}

const brCodeFaults = {
  crc_mismatch: 'The checksum of the code is wrong: a character was changed or lost.',
  malformed: 'The code is not a BR Code.',
  not_pix: 'The code is a BR Code, but not one of Pix.',
  too_long: 'The code is longer than a BR Code can be.',
}

function refused(code: PayRefusal, message: string = messages[code]): Refused {
  return { ok: false, code, message }
}

/** The fields of a payer that matter to the caller. The others have defaults. */
export type PayerInput = Partial<Omit<AccountHolder, 'bankAccount'>> & {
  bankAccount?: Partial<AccountHolder['bankAccount']>
}

/** The default payer. She does not exist; her document passes the check digits. */
export const defaultPayer: AccountHolder = {
  type: 'PF',
  name: 'Maria Aparecida da Silva',
  document: '52998224725',
  bankAccount: { type: 'CHECKING', branch: '0912', number: '45678', digit: '1', ispb: '60701190' },
  pix: { key: '52998224725', type: 'CPF' },
}

/** The whole account holder, with document and key in their normal form. Null if a field is not plausible. */
export function completePayer(input: PayerInput = {}): AccountHolder | null {
  const document = parseDocument(input.document ?? defaultPayer.document)
  const name = input.name ?? defaultPayer.name
  const bankAccount = { ...defaultPayer.bankAccount, ...input.bankAccount }
  if (!document || name.length > 255 || !isInternationalName(name)) return null
  if (!/^[\dA-Z]{8}$/.test(bankAccount.ispb)) return null
  if (Object.values(bankAccount).some((text) => !/^[\w -]{1,40}$/.test(text))) return null
  const pix = normalizePixKey(input.pix ?? { key: document.value, type: document.type })
  return pix && { type: document.type === 'CPF' ? 'PF' : 'PJ', name, document: document.value, bankAccount, pix }
}
