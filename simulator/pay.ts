import { assert } from '../src/lib/assert.ts'
import { parseDocument } from '../src/lib/document.ts'
import { type Cents, cents } from '../src/lib/money.ts'
import { isInternationalName } from '../src/lib/text.ts'
import { decodeBrCode } from '../src/pix/brcode.ts'
import type { AccountHolder } from '../src/pix/holder.ts'
import { normalizePixKey } from '../src/pix/key.ts'
import { expiryOf } from './charges.ts'
import { scheduleFollowUps } from './faults/follow-ups.ts'
import { amountMax, type Payable, planPixes } from './faults/plan.ts'
import { drawBehaviours } from './faults/profile.ts'
import type { Behaviour } from './faults/traits.ts'
import { readLocationPath, toLocationPath } from './location.ts'
import type { Network } from './network.ts'
import { planStatic } from './pay-static.ts'
import type { NewPix } from './pix-store.ts'
import type { ChargeWithPixes } from './store.ts'

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
  | 'amount_invalid'
  | 'payer_invalid'

export type PayOutcome = { ok: true; endToEndId: string } | { ok: false; code: PayRefusal; message: string }

/**
 * Acts as the payer's bank: reads the code, finds the charge at its location and pays once, unless a fault is injected.
 * A bank of another institution would fetch the signed payload (payload.ts) and verify it. This one belongs to the same
 * network and reads the charge itself. After the commit it calls `onPaid` with each resulting Pix.
 */
export async function pay(
  deps: { network: Network; onPaid: (pix: NewPix) => void },
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
    if (typeof pixes === 'string') return refused(pixes)
    const outcome = await send(deps, pixes)
    assert(outcome, 'a static code can be paid any number of times')
    return outcome
  }
  if (code.code.kind !== 'dynamic' || !code.code.location) return refused('static_not_supported')
  const { location } = code.code
  const path =
    toLocationPath(location, [network.baseUrl]) ?? toLocationPath(location, await network.listBaseUrls(undefined))
  if (path === null) return refused('not_of_this_network')
  const chargeId = readLocationPath(path)
  const charge = chargeId && (await network.findCharge(chargeId))
  if (!charge) return refused('charge_unknown')
  if (charge.removedAt) return refused('charge_removed')
  const now = network.clock.now()
  const payable = toPayable(charge)
  const profile = await network.faultProfile.current()
  const behaviours = drawBehaviours(profile, { ...payable, requested: input.behaviour })
  const refusal = findRefusal(payable, { now, behaviours })
  if (refusal) return refused(refusal)

  const requested = { amount: input.amount, payer: input.payer ? payer : null }
  const planned = planPixes({ now, chargeId: charge.id, profile, defaultPayer: payer }, payable, {
    requested,
    behaviours,
  })
  return (
    (await send(deps, planned)) ??
    refused((await network.findCharge(charge.id))?.removedAt ? 'charge_removed' : 'already_paid')
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

function toPayable(charge: ChargeWithPixes): Payable {
  const { txid, amount, pixes } = charge
  return { txid, amount: cents(amount), expiresAt: expiryOf(charge), isPaid: pixes.length > 0 }
}

/** Why the charge cannot be paid, or null. A bank that pays late or twice overlooks that it has expired or is paid. */
function findRefusal(
  { isPaid, expiresAt }: Payable,
  { now, behaviours }: { now: Date; behaviours: Behaviour[] },
): PayRefusal | null {
  if (isPaid) return behaviours.includes('twice') ? null : 'already_paid'
  if (now >= expiresAt) return behaviours.includes('late') ? null : 'charge_expired'
  return null
}

const messages: Record<PayRefusal, string> = {
  br_code_invalid: 'The code is not a valid BR Code.',
  static_not_supported: 'Only codes of charges and static codes can be paid here, not recurring ones.',
  not_of_this_network: 'The code belongs to another network: only charges and the key of this simulator can be paid.',
  charge_unknown: 'There is no charge at the location of this code.',
  charge_expired: 'The charge has expired.',
  charge_removed: 'The receiver has removed the charge: it cannot be paid any more.',
  already_paid: 'The charge is already paid.',
  amount_invalid: 'The amount is not one that a Pix can have, or the code has none and you named none.',
  payer_invalid: 'The payer is not plausible: check the name, the document, the bank account and the key.',
}

const brCodeFaults = {
  crc_mismatch: 'The checksum of the code is wrong: a character was changed or lost.',
  malformed: 'The code is not a BR Code.',
  not_pix: 'The code is a BR Code, but not one of Pix.',
  too_long: 'The code is longer than a BR Code can be.',
}

function refused(code: PayRefusal, message: string = messages[code]): PayOutcome {
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
