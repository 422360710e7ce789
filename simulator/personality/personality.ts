import { createHmac } from 'node:crypto'
import { listCodes, type SpiCode } from '../spi-codes.ts'
import { type Behaviour, behaviourOf, behaviours, type PresetName, presets, type Trait, type Traits } from './traits.ts'

/** A bank's character, as it is asked for and as it is told. `traits` are added to those of the name, or take their place. */
export type Character = { name: PresetName; seed: number; traits: Traits }

export type Personality = Character & {
  /** Whether it does so with this one. The same seed and key give the same answer, whatever else was asked for before. */
  has(trait: Trait, key: string): boolean
  /** A number from 0 up to 1, by the seed and the key. */
  draw(what: string, key: string): number
}

export const honest: Character = { name: 'honest', seed: 1, traits: {} }

/** @param character its `traits` on top of those that its name has. A `key` is the txid, or the id of a payout or return. */
export function createPersonality({ name, seed, traits }: Character): Personality {
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
 * What goes wrong with a payment: what was asked for alone, else what the amount of the charge asks for alone, else what the bank's
 * character makes of it, which may be several.
 */
export function fateOf(
  personality: Personality,
  { txid, amount, asked }: { txid: string; amount: number; asked: Behaviour | 'honest' | undefined },
): Behaviour[] {
  if (asked !== undefined) return asked === 'honest' ? [] : [asked]
  const byAmount = behaviourOf(amount)
  return byAmount ? [byAmount] : behaviours.filter((behaviour) => personality.has(behaviour, txid))
}

/** Why a payout or a return is rejected, or null. Every code has its turn. */
export function rejectionOf(
  personality: Personality,
  trait: 'payout_rejected' | 'return_rejected',
  key: string,
): SpiCode | null {
  if (!personality.has(trait, key)) return null
  const codes = listCodes()
  return codes[Math.floor(personality.draw('code', key) * codes.length)] ?? null
}
