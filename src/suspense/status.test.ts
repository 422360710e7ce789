import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { sql } from '../db/sql.ts'
import { type SuspenseStatus, suspenseMoves, suspenseStatuses } from './status.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

const status = fc.constantFrom(...suspenseStatuses)
/** A history made by walking the table of transitions, and one step that may be forbidden. */
const history = fc.tuple(fc.array(fc.nat(), { maxLength: 10 }), status).map(([choices, last]) => {
  const walk: SuspenseStatus[] = ['held']
  for (const choice of choices) {
    const next = suspenseMoves[walk.at(-1) ?? 'held']
    const to = next[choice % next.length]
    if (to) walk.push(to)
  }
  return [...walk, last]
})

it('has the same transitions in code and database, for any history', async () => {
  const histories = [
    ...fc.sample(fc.array(status, { minLength: 1, maxLength: 6 }), 500),
    ...fc.sample(history, 500),
    ...suspenseStatuses.flatMap((from) => suspenseStatuses.map((to) => [from, to])),
  ]
  const rows = await database.db.query<{ allowed: boolean }>(sql`
    select suspense_moves_are_allowed(array(select json_array_elements_text(statuses))) as allowed
    from json_array_elements(${JSON.stringify(histories)}::json) with ordinality as input (statuses, place) order by place`)
  expect(rows.map(({ allowed }) => allowed)).toEqual(histories.map(isAllowed))
  expect(histories.filter(isAllowed).length).toBeGreaterThan(50)
})

function isAllowed(statuses: SuspenseStatus[]): boolean {
  return statuses.every((to, place) => {
    const from = statuses[place - 1]
    return from ? suspenseMoves[from].includes(to) : to === 'held'
  })
}
