import type pg from 'pg'
import { openShared } from '../shared.ts'
import { type Character, createPersonality, honest, type Personality } from './personality.ts'
import { findCharacter, saveCharacter } from './truth-store.ts'

export type CharacterInput = Partial<Character>

/**
 * A network's fault profile. It is stored with the charges, so that it survives restarts and all processes share it.
 */
export type Nature = {
  current(): Promise<Personality>
  /** Changes the profile now; other processes see it within a second. */
  change(input: CharacterInput): Promise<Personality>
}

/** A fault profile as the interface returns it: without its functions. */
export function toView({ name, seed, traits }: Personality): Character {
  return { name, seed, traits }
}

export function openNature(pool: pg.Pool): Nature {
  const shared = openShared(async () => createPersonality(await findCharacter(pool)))
  return {
    current: shared.current,
    async change(input) {
      const personality = createPersonality({ ...honest, ...input })
      await saveCharacter(pool, { ...honest, ...input })
      shared.set(personality)
      return personality
    },
  }
}
