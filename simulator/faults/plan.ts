import { assert } from '../../src/lib/assert.ts'
import { type Cents, cents } from '../../src/lib/money.ts'
import type { AccountHolder } from '../../src/pix/holder.ts'
import { newEndToEndId } from '../../src/pix/ids.ts'
import type { NewPix } from '../pix-store.ts'
import { slowMs } from '../settlement.ts'
import type { FaultProfile } from './profile.ts'
import type { Behaviour } from './traits.ts'

/** What a payer's bank knows of the charge. */
export type Payable = { txid: string; amount: Cents; expiresAt: Date; isPaid: boolean }

/** Pays instead of the expected payer. This person does not exist. */
export const otherPayer: AccountHolder = {
  type: 'PF',
  name: 'José Carlos Ferreira',
  document: '39053344705',
  bankAccount: { type: 'SAVINGS', branch: '3120', number: '90817', digit: '6', ispb: '00360305' },
  pix: { key: '39053344705', type: 'CPF' },
}

type RequestedPayment = { amount?: Cents | undefined; payer: AccountHolder | null }

/**
 * The Pix that one payment makes: usually one. An explicit amount or payer is kept. If the charge is already paid, the
 * Pix can only be a second one.
 */
export function planPixes(
  { now, chargeId, profile, defaultPayer }: PlanDeps,
  charge: Payable,
  { requested, behaviours }: { requested: RequestedPayment; behaviours: Behaviour[] },
): NewPix[] {
  const has = (behaviour: Behaviour) => behaviours.includes(behaviour)
  const payer = requested.payer ?? (has('other_payer') ? otherPayer : defaultPayer)
  const paidAt = arrivesAt(charge, behaviours, now)
  const first = {
    chargeId,
    txid: has('without_txid') ? null : charge.txid,
    amount: requested.amount ?? (has('other_amount') ? toOtherAmount(profile, charge) : charge.amount),
    paidAt,
    payer,
    shownAt: paidAt > now ? paidAt : null,
    behaviours,
  }
  const second = { ...first, txid: charge.txid, isSecond: true }
  return [...(charge.isPaid ? [] : [{ ...first, isSecond: false }]), ...(has('twice') ? [second] : [])].map((pix) => ({
    ...pix,
    endToEndId: newEndToEndId({ ispb: payer.bankAccount.ispb, at: paidAt }),
  }))
}

export type PlanDeps = { now: Date; chargeId: string; profile: FaultProfile; defaultPayer: AccountHolder }

function arrivesAt({ expiresAt }: Payable, behaviours: Behaviour[], now: Date): Date {
  const lateAt = behaviours.includes('late') ? expiresAt.getTime() + slowMs : 0
  const slowAt = behaviours.includes('slow') ? now.getTime() + slowMs : 0
  return new Date(Math.max(now.getTime(), lateAt, slowAt))
}

function toOtherAmount(profile: FaultProfile, { txid, amount }: Payable): Cents {
  const others = [amount - 1, amount + 1, Math.floor(amount / 2), amount * 2].filter(
    (other) => other > 0 && other <= amountMax,
  )
  const chosen = others[Math.floor(profile.draw('amount', txid) * others.length)]
  assert(chosen, 'an amount has a neighbour that a Pix can have')
  return cents(chosen)
}

/** The maximum of a Pix message: \d{1,10}\.\d{2}. */
export const amountMax = cents(999_999_999_999)
