import { type Cents, cents } from '../../src/lib/money.ts'

/**
 * What can go wrong with a payment, each by an amount of its own: a charge of R$ 7,000.01 is paid without its txid, one of 7,000.02 slowly and
 * so on. The same words name a trait of a personality.
 */
export const behaviourAmounts = {
  /** The Pix arrives without the txid: nobody is told what it is for, and the charge stays open. */
  without_txid: cents(700_001),
  /** It arrives ten minutes after it was sent. */
  slow: cents(700_002),
  /** It arrives ten minutes after the charge has expired; at once when that was longer ago. */
  late: cents(700_003),
  /** A second Pix pays the same charge, under another endToEndId. */
  twice: cents(700_004),
  /** A cent less or more than the charge asks for, the half or the double. */
  other_amount: cents(700_005),
  /** From another person's account. */
  other_payer: cents(700_006),
  /** The receiver's PSP sends it back by itself, ten minutes later. */
  returned: cents(700_007),
  /** The payer contests it (MED), two days later. */
  contested: cents(700_008),
  /** The receiver's PSP tells nobody. */
  callback_never: cents(700_009),
  /** It tells twice. */
  callback_twice: cents(700_010),
  /** It tells a moment later, after payments that came after it. */
  callback_late: cents(700_011),
  /** Beside the true callback come forged ones. */
  callback_forged: cents(700_012),
} satisfies Record<string, Cents>

export type Behaviour = keyof typeof behaviourAmounts

/** What a bank may do beside: answer a request that took effect with a time-out, and reject what is to leave. */
const others = ['answer_lost', 'payout_rejected', 'return_rejected'] as const

export type Trait = Behaviour | (typeof others)[number]

/** How probable each is, from 0 to 1; what is not named does not happen. */
export type Traits = Partial<Record<Trait, number>>

export const behaviours = Object.keys(behaviourAmounts).filter(isBehaviour)
export const traitNames: Trait[] = [...behaviours, ...others]

const byAmount = new Map<number, Behaviour>(behaviours.map((behaviour) => [behaviourAmounts[behaviour], behaviour]))

/** What the amount of a charge asks for. */
export function behaviourOf(amount: number): Behaviour | null {
  return byAmount.get(amount) ?? null
}

function isBehaviour(text: string): text is Behaviour {
  return Object.hasOwn(behaviourAmounts, text)
}

/** Characters of a bank that have a name. */
export const presets = {
  honest: {},
  /** Loses what it should pass on. */
  forgetful: { without_txid: 0.2, callback_never: 0.5, answer_lost: 0.1 },
  /** Everything comes, and nothing in time. */
  late: { slow: 0.3, late: 0.2, callback_late: 0.5, answer_lost: 0.1 },
  /** Its customers pay as they like. */
  careless: { twice: 0.2, other_amount: 0.2, other_payer: 0.2, without_txid: 0.1 },
  /** Somebody else has learnt where callbacks are posted. */
  forged: { callback_forged: 0.6, callback_twice: 0.3, callback_late: 0.3 },
  /** Takes back what it gave, and refuses what it is asked for. */
  quarrelsome: { returned: 0.2, contested: 0.3, payout_rejected: 0.5, return_rejected: 0.3 },
  /** All of it. */
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
