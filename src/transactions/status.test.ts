import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { sql } from '../db/sql.ts'
import { toStatusHistoryView } from '../http/schemas.ts'
import { isTransition, type TransactionStatus, transactionStatuses, transactionTransitions } from './status.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

const pairs = transactionStatuses.flatMap((from) => transactionStatuses.map((to) => [from, to] as const))
const status = fc.constantFrom(...transactionStatuses)
/** A random history: each step is a transition that the table allows. */
const history = fc.array(fc.nat(), { maxLength: 12 }).map((choices) => {
  const walk: TransactionStatus[] = ['PENDING']
  for (const choice of choices) {
    const next = transactionTransitions[walk.at(-1) ?? 'PENDING']
    const to = next[choice % next.length]
    if (to) walk.push(to)
  }
  return walk
})

describe('the table of transitions', () => {
  it.each(pairs)('is enforced by the database: from %s to %s', async (from, to) => {
    const path = findPath(from)
    await expect(insert(path)).resolves.toBeNull()
    expect(await insert([...path, to])).toBe(isTransition(from, to) ? null : 'transactions_moves_allowed')
  })

  it.each(transactionStatuses)('allows creation as PENDING only: %s', async (initial) => {
    expect(await insert([initial])).toBe(initial === 'PENDING' ? null : 'transactions_moves_allowed')
  })

  it('is the same in code and database for any history', async () => {
    const histories = [
      ...fc.sample(fc.array(status, { minLength: 1, maxLength: 10 }), 500),
      ...fc.sample(history, 300),
      ...fc.sample(
        fc.tuple(history, status).map(([walk, last]) => [...walk, last]),
        300,
      ),
    ]
    const rows = await database.db.query<{ allowed: boolean }>(sql`
      select transaction_moves_are_allowed(array(select json_array_elements_text(statuses))) as allowed
      from json_array_elements(${JSON.stringify(histories)}::json) with ordinality as input (statuses, place) order by place`)
    expect(rows.map(({ allowed }) => allowed)).toEqual(histories.map(isAllowed))
  })

  it('never makes a paid transaction unpaid', () => {
    fc.assert(
      fc.property(history, (walk) => {
        const after = walk.slice(walk.indexOf('PAID'))
        if (walk.includes('PAID'))
          expect(after.filter((one) => ['PENDING', 'PIX_QRCODE_GENERATED', 'FAILED'].includes(one))).toEqual([])
      }),
    )
  })

  it('accepts a payment in every unpaid status but PENDING, and a dispute in every paid one', () => {
    const unpaid: TransactionStatus[] = ['PENDING', 'PIX_QRCODE_GENERATED', 'FAILED']
    expect(unpaid.filter((from) => isTransition(from, 'PAID'))).toEqual(['PIX_QRCODE_GENERATED', 'FAILED'])
    const paid = transactionStatuses.filter((status) => !unpaid.includes(status))
    const isDisputable = (from: TransactionStatus) => isTransition(from, 'BLOCKED') || isTransition(from, 'INFRACTION')
    expect(paid).toHaveLength(6)
    expect(paid.filter((from) => !isDisputable(from))).toEqual([])
  })
})

describe('a history', () => {
  it('has durations that add up to its length: none negative, none for the last status', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 10_000_000 }), { minLength: 12, maxLength: 12 })
    fc.assert(
      fc.property(history, steps, (walk, pauses) => {
        let at = Date.parse('2026-01-01T00:00:00Z')
        const dates = walk.map((_, index) => {
          at += pauses[index - 1] ?? 0
          return new Date(at)
        })
        const view = toStatusHistoryView(walk, dates)
        const durations = view.map(({ durationInMilliseconds }) => durationInMilliseconds)
        expect(view.map((entry) => entry.status)).toEqual(walk)
        expect(durations.pop()).toBeNull()
        expect(durations.every((duration) => duration !== null && duration >= 0)).toBe(true)
        expect(durations.reduce<number>((sum, duration) => sum + (duration ?? 0), 0)).toBe(
          (dates.at(-1)?.getTime() ?? 0) - (dates[0]?.getTime() ?? 0),
        )
      }),
    )
  })

  it('has a date for every status', async () => {
    const refusal = await insert(['PENDING', 'FAILED'], [new Date()])
    expect(refusal).toBe('transactions_history_whole')
  })
})

function isAllowed(statuses: TransactionStatus[]): boolean {
  return statuses.every((to, index) => (index === 0 ? to === 'PENDING' : isTransition(statuses[index - 1] ?? to, to)))
}

/** The shortest history that ends in this status. */
function findPath(to: TransactionStatus): TransactionStatus[] {
  const paths: TransactionStatus[][] = [['PENDING']]
  for (const path of paths) {
    const last = path.at(-1) ?? 'PENDING'
    if (last === to) return path
    for (const next of transactionTransitions[last]) if (!path.includes(next)) paths.push([...path, next])
  }
  throw new Error(`No history leads to ${to}`)
}

/** Writes a row with this history, and returns the constraint that refused it, or null. */
async function insert(statuses: string[], dates: Date[] = statuses.map(() => new Date())): Promise<string | null> {
  return await database.db
    .query(sql`
      insert into transactions (
        id, merchant_id, acquirer, amount, is_info_product, pix_expiration_seconds, pix_uri, pix_expires_at, created_at, statuses,
        status_dates)
      values (
        ${randomUUID()}, ${randomUUID()}, 'a PSP', 100, true, 60, 'a code', now(), now(), ${statuses}, ${dates})`)
    .then(
      () => null,
      (error: { constraint?: string }) => error.constraint ?? String(error),
    )
}
