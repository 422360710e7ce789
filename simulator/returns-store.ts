import type pg from 'pg'
import { isSpiCode, type SpiCode } from './spi-codes.ts'
import { inTransaction } from './transaction.ts'

/** A return of an incoming Pix. The requester chooses `id`, and this PSP `returnId` (`rtrId` in the API). */
export type ReturnRow = {
  endToEndId: string
  id: string
  returnId: string
  amount: number
  nature: ReturnNature
  description: string | null
  requestedAt: Date
  settlesAt: Date
  rejection: SpiCode | null
}

export type ReturnNature = 'ORIGINAL' | 'MED_FRAUDE' | 'MED_OPERACIONAL'

export type InsertReturnOutcome = 'inserted' | 'exists' | 'pix_unknown' | 'too_late' | 'too_much'

/** By the rules of the Pix system, counted from the settlement of the payment. MED has its own limit. */
export const returnWindowDays = 90

/**
 * Accepts a return if the Pix still covers it. The Pix is locked first: otherwise two concurrent returns would
 * each see the sum without the other. A rejected return no longer counts.
 */
export function insertReturn(pool: pg.Pool, row: ReturnRow): Promise<InsertReturnOutcome> {
  return inTransaction(pool, (client) => insertReturnIn(client, row))
}

export async function insertReturnIn(client: pg.PoolClient, row: ReturnRow): Promise<InsertReturnOutcome> {
  const pix = await lockPix(client, { endToEndId: row.endToEndId, now: row.requestedAt })
  if (!pix) return 'pix_unknown'
  if (await findReturn(client, row)) return 'exists'
  const ageMs = row.requestedAt.getTime() - pix.paidAt.getTime()
  if (row.nature === 'ORIGINAL' && ageMs > returnWindowDays * 86_400_000) return 'too_late'
  if (row.amount > pix.left) return 'too_much'
  await client.query({
    text: `
      insert into simulator.returns
        (end_to_end_id, id, return_id, amount, nature, description, requested_at, settles_at, rejection)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [
      row.endToEndId,
      row.id,
      row.returnId,
      row.amount,
      row.nature,
      row.description,
      row.requestedAt.toISOString(),
      row.settlesAt.toISOString(),
      row.rejection,
    ],
  })
  return 'inserted'
}

/** Locks a Pix and returns its amount and what is `left` of it after its returns. Null if there is no such Pix. */
export async function lockPix(
  client: pg.PoolClient,
  { endToEndId, now }: { endToEndId: string; now: Date },
): Promise<{ amount: number; left: number; paidAt: Date } | null> {
  const locked = await client.query<{ amount: string; paid_at: Date }>({
    text: `
      select amount::text as amount, paid_at from simulator.pix
      where end_to_end_id = $1 and (shown_at is null or shown_at <= $2) for update`,
    values: [endToEndId, now.toISOString()],
  })
  const [pix] = locked.rows
  if (!pix) return null
  const { rows } = await client.query<{ returned: string }>({
    text: `
      select coalesce(sum(amount), 0)::text as returned from simulator.returns
      where end_to_end_id = $1 and (rejection is null or settles_at > $2)`,
    values: [endToEndId, now.toISOString()],
  })
  const amount = Number(pix.amount)
  return { amount, left: amount - Number(rows[0]?.returned), paidAt: pix.paid_at }
}

/** The amount of a Pix that was returned under MED since a given time: the return of a dispute may come in parts. */
export async function sumOfMedReturns(
  client: pg.PoolClient,
  { endToEndId, since }: { endToEndId: string; since: Date },
): Promise<number> {
  const { rows } = await client.query<{ returned: string }>({
    text: `
      select coalesce(sum(amount), 0)::text as returned from simulator.returns
      where end_to_end_id = $1 and nature like 'MED%' and requested_at >= $2`,
    values: [endToEndId, since.toISOString()],
  })
  return Number(rows[0]?.returned)
}

export async function findReturn(
  client: pg.Pool | pg.PoolClient,
  { endToEndId, id }: { endToEndId: string; id: string },
): Promise<ReturnRow | null> {
  const { rows } = await client.query<{ returned: ReturnRecord }>({
    text: `
      select to_json(returned) as returned from simulator.returns returned where end_to_end_id = $1 and id = $2`,
    values: [endToEndId, id],
  })
  return rows[0] ? toReturnRow(rows[0].returned) : null
}

/** A row of the table as JSON: amounts are numbers, and times are texts with their offset. */
export type ReturnRecord = {
  end_to_end_id: string
  id: string
  return_id: string
  amount: number
  nature: ReturnNature
  description: string | null
  requested_at: string
  settles_at: string
  rejection: string | null
}

export function toReturnRow(record: ReturnRecord): ReturnRow {
  return {
    endToEndId: record.end_to_end_id,
    id: record.id,
    returnId: record.return_id,
    amount: record.amount,
    nature: record.nature,
    description: record.description,
    requestedAt: new Date(record.requested_at),
    settlesAt: new Date(record.settles_at),
    rejection: record.rejection !== null && isSpiCode(record.rejection) ? record.rejection : null,
  }
}
