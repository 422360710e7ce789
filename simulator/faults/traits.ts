import { type Cents, cents } from '../../src/lib/money.ts'

/**
 * What can go wrong with a payment, each triggered by an amount: a charge of R$ 7,000.01 is paid without its txid, one
 * of R$ 7,000.02 slowly, and so on. The same names are traits of a fault profile.
 */
export const behaviourAmounts = {
  /** The Pix arrives without the txid: nothing says what it is for, and the charge stays open. */
  without_txid: cents(700_001),
  /** It arrives ten minutes after it was sent. */
  slow: cents(700_002),
  /** It arrives ten minutes after the charge expired; immediately if that was longer ago. */
  late: cents(700_003),
  /** A second Pix pays the same charge, under another endToEndId. */
  twice: cents(700_004),
  /** A cent less or more than the charge's amount, half of it or double. */
  other_amount: cents(700_005),
  /** From another person's account. */
  other_payer: cents(700_006),
  /** The receiver's PSP returns it automatically, ten minutes later. */
  returned: cents(700_007),
  /** The payer disputes it (MED), two days later. */
  contested: cents(700_008),
  /** The receiver's PSP sends no callback. */
  callback_never: cents(700_009),
  /** It sends a second callback, which contains the payment twice. */
  callback_twice: cents(700_010),
  /** It sends the callback up to 1.5 seconds later, perhaps after those of later payments. */
  callback_late: cents(700_011),
  /** Forged callbacks arrive with the real one. */
  callback_forged: cents(700_012),
} satisfies Record<string, Cents>

export type Behaviour = keyof typeof behaviourAmounts

/** Faults of other requests: a request takes effect but is answered with a time-out, or outgoing money is rejected. */
const others = ['answer_lost', 'payout_rejected', 'return_rejected'] as const

export type Trait = Behaviour | (typeof others)[number]

/** Probability of each trait, from 0 to 1. A trait that is not named does not happen. */
export type Traits = Partial<Record<Trait, number>>

export const behaviours = Object.keys(behaviourAmounts).filter(isBehaviour)
export const traitNames: Trait[] = [...behaviours, ...others]

const byAmount = new Map<number, Behaviour>(behaviours.map((behaviour) => [behaviourAmounts[behaviour], behaviour]))

/** The behaviour that a charge's amount triggers. */
export function behaviourOf(amount: number): Behaviour | null {
  return byAmount.get(amount) ?? null
}

function isBehaviour(text: string): text is Behaviour {
  return Object.hasOwn(behaviourAmounts, text)
}

/** Named fault profiles. */
export const presets = {
  honest: {},
  /** Loses txids, callbacks and answers. */
  forgetful: { without_txid: 0.2, callback_never: 0.5, answer_lost: 0.1 },
  /** Payments and callbacks arrive late, and some answers are lost. */
  late: { slow: 0.3, late: 0.2, callback_late: 0.5, answer_lost: 0.1 },
  /** Payers pay twice, other amounts, from other accounts or without the txid. */
  careless: { twice: 0.2, other_amount: 0.2, other_payer: 0.2, without_txid: 0.1 },
  /** An attacker knows the callback address; real callbacks are repeated and late. */
  forged: { callback_forged: 0.6, callback_twice: 0.3, callback_late: 0.3 },
  /** Returns and disputes payments, and rejects payouts and returns. */
  quarrelsome: { returned: 0.2, contested: 0.3, payout_rejected: 0.5, return_rejected: 0.3 },
  /** All of them. */
  hostile: {
    without_txid: 0.04,
    slow: 0.05,
    late: 0.05,
    twice: 0.05,
    other_amount: 0.05,
    other_payer: 0.05,
    returned: 0.02,
    contested: 0.03,
    callback_never: 0.15,
    callback_twice: 0.2,
    callback_late: 0.3,
    callback_forged: 0.1,
    answer_lost: 0.03,
    payout_rejected: 0.2,
    return_rejected: 0.1,
  },
} satisfies Record<string, Traits>

export type PresetName = keyof typeof presets

export const presetNames = Object.keys(presets).filter(isPresetName)

function isPresetName(text: string): text is PresetName {
  return Object.hasOwn(presets, text)
}
