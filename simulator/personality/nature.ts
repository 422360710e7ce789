import type pg from 'pg'
import { findCharacter, saveCharacter } from './character-store.ts'
import { type Character, createPersonality, honest, type Personality } from './personality.ts'

export type CharacterInput = Partial<Character>

/** A network's character: kept beside its charges, so that it outlives restarts and all processes on the database share it. */
export type Nature = {
  current(): Promise<Personality>
  /** Another character from now on; in other processes within {@link staleMs}. */
  change(input: CharacterInput): Promise<Personality>
}

/** A personality as it is told: without what it can do. */
export function toView({ name, seed, traits }: Personality): Character {
  return { name, seed, traits }
}

/** So old may be what is known of a change that another process made. */
const staleMs = 1000

export function openNature(pool: pg.Pool): Nature {
  let known: { personality: Promise<Personality>; readAt: number } | null = null

  async function read(): Promise<Personality> {
    return createPersonality(await findCharacter(pool))
  }

  return {
    async current() {
      const now = performance.now()
      if (known === null || now - known.readAt > staleMs) known = { personality: read(), readAt: now }
      return await known.personality
    },
    async change(input) {
      const personality = createPersonality({ ...honest, ...input })
      await saveCharacter(pool, { ...honest, ...input })
      known = { personality: Promise.resolve(personality), readAt: performance.now() }
      return personality
    },
  }
}
