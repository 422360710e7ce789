import type pg from 'pg'
import { openShared } from '../shared.ts'
import { findCharacter, saveCharacter } from './character-store.ts'
import { type Character, createPersonality, honest, type Personality } from './personality.ts'

export type CharacterInput = Partial<Character>

/** A network's character: kept beside its charges, so that it outlives restarts and all processes on the database share it. */
export type Nature = {
  current(): Promise<Personality>
  /** Another character from now on; in other processes within a second. */
  change(input: CharacterInput): Promise<Personality>
}

/** A personality as it is told: without what it can do. */
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
