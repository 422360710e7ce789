import type pg from 'pg'
import { type Character, honest } from './personality.ts'

const name = 'personality'

export async function saveCharacter(pool: pg.Pool, character: Character): Promise<void> {
  await pool.query({
    text: `
      insert into simulator.settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value`,
    values: [name, JSON.stringify(character)],
  })
}

/** The stored fault profile. Honest unless it was changed. */
export async function findCharacter(pool: pg.Pool): Promise<Character> {
  const { rows } = await pool.query<{ value: string }>({
    text: `select value from simulator.settings where name = $1`,
    values: [name],
  })
  return rows[0] ? JSON.parse(rows[0].value) : honest
}
