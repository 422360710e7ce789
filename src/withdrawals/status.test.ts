import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { sql } from '../db/sql.ts'
import { type WithdrawalStatus, withdrawalStatuses, withdrawalTransitions } from './status.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

const pairs = withdrawalStatuses.flatMap((from) => withdrawalStatuses.map((to) => [from, to] as const))
const status = fc.constantFrom(...withdrawalStatuses)

it.each(pairs)('allows the same transitions in code and database: from %s to %s', async (from, to) => {
  const path = findPath(from)
  await expect(insert(path)).resolves.toBeNull()
  expect(await insert([...path, to])).toBe(
    withdrawalTransitions[from].includes(to) ? null : 'withdrawals_moves_allowed',
  )
})

it.each(withdrawalStatuses)('a withdrawal can only be created as PENDING: %s', async (initial) => {
  expect(await insert([initial])).toBe(initial === 'PENDING' ? null : 'withdrawals_moves_allowed')
})

it('has the same transitions in code and database, for any history', async () => {
  const histories = fc.sample(fc.array(status, { minLength: 1, maxLength: 6 }), 1000)
  const rows = await database.db.query<{ allowed: boolean }>(sql`
    select withdrawal_moves_are_allowed(array(select json_array_elements_text(statuses))) as allowed
    from json_array_elements(${JSON.stringify(histories)}::json) with ordinality as input (statuses, place) order by place`)
  expect(rows.map(({ allowed }) => allowed)).toEqual(histories.map(isAllowed))
})

it('ends in final statuses, and never returns to one in which money was only reserved', () => {
  const ends = withdrawalStatuses.filter((from) => withdrawalTransitions[from].length === 0)
  expect(ends).toEqual(['FAILED', 'CANCELED', 'REFUNDED', 'REJECTED'])
  expect(Object.values(withdrawalTransitions).flat()).not.toContain('PENDING')
  expect(withdrawalStatuses.filter((from) => withdrawalTransitions[from].includes('PROCESSING'))).toEqual(['PENDING'])
})

function isAllowed(statuses: WithdrawalStatus[]): boolean {
  return statuses.every((to, index) => {
    const from = statuses[index - 1]
    return from === undefined ? to === 'PENDING' : withdrawalTransitions[from].includes(to)
  })
}

/** The shortest history that ends in this status. */
function findPath(to: WithdrawalStatus): WithdrawalStatus[] {
  const paths: WithdrawalStatus[][] = [['PENDING']]
  for (const path of paths) {
    const last = path.at(-1) ?? 'PENDING'
    if (last === to) return path
    for (const next of withdrawalTransitions[last]) if (!path.includes(next)) paths.push([...path, next])
  }
  throw new Error(`No history leads to ${to}`)
}

/** Writes a row with this history, and returns the constraint that refused it, or null. */
async function insert(statuses: string[]): Promise<string | null> {
  return await database.db
    .query(sql`
      insert into withdrawals (id, merchant_id, acquirer, amount, pix_key, pix_key_type, created_at, statuses, status_dates)
      values (
        ${randomUUID()}, ${randomUUID()}, 'a PSP', 100, 'a@example.com', 'EMAIL', now(), ${statuses},
        ${statuses.map(() => new Date())})`)
    .then(
      () => null,
      (error: { constraint?: string }) => error.constraint ?? String(error),
    )
}
