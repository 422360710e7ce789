import { createHmac } from 'node:crypto'
import { listCodes, type SpiCode } from '../spi-codes.ts'
import { type Behaviour, behaviourOf, behaviours, type PresetName, presets, type Trait, type Traits } from './traits.ts'

/**
 * A bank's fault profile, as requested and returned. `traits` are added to those of the named preset. If both have a
 * trait, the probability in `traits` is used.
 */
export type FaultProfileFields = { name: PresetName; seed: number; traits: Traits }

export type FaultProfile = FaultProfileFields & {
  /**
   * True if the trait applies to the key. The same seed and key always give the same answer, whatever was drawn before.
   */
  has(trait: Trait, key: string): boolean
  /** A number from 0 to below 1, derived from the seed and the key. */
  draw(what: string, key: string): number
}

export const honestProfile: FaultProfileFields = { name: 'honest', seed: 1, traits: {} }

/**
 * @param profile its `traits` are added to those of its name. A `key` is the txid of a charge, the endToEndId of a Pix,
 * the id of a payout or return, or `remove` and the txid for the removal of a charge.
 */
export function createFaultProfile({ name, seed, traits }: FaultProfileFields): FaultProfile {
  const all: Traits = { ...presets[name], ...traits }
  const draw = (what: string, key: string) =>
    createHmac('sha256', String(seed)).update(`${what} ${key}`).digest().readUIntBE(0, 6) / 2 ** 48
  return {
    name,
    seed,
    traits: all,
    has: (trait, key) => {
      const probability = all[trait] ?? 0
      return probability > 0 && draw(trait, key) < probability
    },
    draw,
  }
}

/**
 * The faults of a payment: the requested one, if any; else the one that the charge's amount triggers; else those that
 * the bank's fault profile draws, which can be several.
 */
export function drawBehaviours(
  profile: FaultProfile,
  { txid, amount, requested }: { txid: string; amount: number; requested: Behaviour | 'honest' | undefined },
): Behaviour[] {
  if (requested !== undefined) return requested === 'honest' ? [] : [requested]
  const byAmount = behaviourOf(amount)
  return byAmount ? [byAmount] : behaviours.filter((behaviour) => profile.has(behaviour, txid))
}

/** The rejection code of a payout or a return, or null. All codes are equally likely. */
export function rejectionOf(
  profile: FaultProfile,
  trait: 'payout_rejected' | 'return_rejected',
  key: string,
): SpiCode | null {
  if (!profile.has(trait, key)) return null
  const codes = listCodes()
  return codes[Math.floor(profile.draw('code', key) * codes.length)] ?? null
}
