import type pg from 'pg'
import type { AccountHolder } from '../src/pix/holder.ts'
import { isSpiCode, type SpiCode } from './spi-codes.ts'

/** Money sent to a key. The sender chose `id`, except at Sicoob, which issues it: there it is the endToEndId. */
export type PayoutRow = {
  id: string
  endToEndId: string
  amount: number
  info: string | null
  receiver: AccountHolder
  requestedAt: Date
  settlesAt: Date
  rejection: SpiCode | null
  returns: PayoutReturnRow[]
  /** This PSP's own id of the payout, if it has one. */
  reference?: string | null
}

/** Money that the receiver sent back. */
export type PayoutReturnRow = { returnId: string; amount: number; returnedAt: Date }

/** Resolves with false if the id exists already. */
export async function insertPayout(pool: pg.Pool, row: PayoutRow): Promise<boolean> {
  const { rowCount } = await pool.query({
    text: `
      insert into simulator.payouts
        (id, end_to_end_id, amount, pix_key, info, receiver, requested_at, settles_at, rejection, reference)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      on conflict (id) do nothing`,
    values: [
      row.id,
      row.endToEndId,
      row.amount,
      row.receiver.pix.key,
      row.info,
      JSON.stringify(row.receiver),
      row.requestedAt.toISOString(),
      row.settlesAt.toISOString(),
      row.rejection,
      row.reference ?? null,
    ],
  })
  return rowCount === 1
}

const payoutColumns =
  'id, end_to_end_id, amount::text as amount, info, receiver, requested_at, settles_at, rejection, reference'

/** Optionally locks the row for a change. */
export async function findPayout(
  client: pg.Pool | pg.PoolClient,
  id: string,
  { isLocked = false } = {},
): Promise<PayoutRow | null> {
  const { rows } = await client.query<PayoutRecord>({
    text: `
      select ${payoutColumns} from simulator.payouts where id = $1 ${isLocked ? 'for update' : ''}`,
    values: [id],
  })
  const [row] = rows
  return row ? toPayoutRow(row, (await listReturnsOf(client, [id])).get(id) ?? []) : null
}

/** By this PSP's own id of the payout. */
export async function findPayoutByReference(pool: pg.Pool, reference: string): Promise<PayoutRow | null> {
  const { rows } = await pool.query<{ id: string }>({
    text: `select id from simulator.payouts where reference = $1`,
    values: [reference],
  })
  return rows[0] ? await findPayout(pool, rows[0].id) : null
}

/** Stores a payout that was started but moves no money yet. */
export async function insertPayoutStart(
  pool: pg.Pool,
  { endToEndId, key, at }: { endToEndId: string; key: string; at: Date },
): Promise<void> {
  await pool.query({
    text: `insert into simulator.payout_starts (end_to_end_id, pix_key, started_at) values ($1, $2, $3)`,
    values: [endToEndId, key, at.toISOString()],
  })
}

/** The key of a started payout, or null. */
export async function findPayoutStart(pool: pg.Pool, endToEndId: string): Promise<string | null> {
  const { rows } = await pool.query<{ pix_key: string }>({
    text: `select pix_key from simulator.payout_starts where end_to_end_id = $1`,
    values: [endToEndId],
  })
  return rows[0]?.pix_key ?? null
}

// By the time of the request.
const payoutFilter = `requested_at between $1 and $2`

export type PayoutFilter = { from: Date; to: Date }

export async function countPayouts(pool: pg.Pool, { from, to }: PayoutFilter): Promise<number> {
  const { rows } = await pool.query<{ count: string }>({
    text: `select count(*)::text as count from simulator.payouts where ${payoutFilter}`,
    values: [from.toISOString(), to.toISOString()],
  })
  return Number(rows[0]?.count)
}

export async function listPayouts(
  pool: pg.Pool,
  { from, to }: PayoutFilter,
  page: { limit: number; offset: number },
): Promise<PayoutRow[]> {
  const { rows } = await pool.query<PayoutRecord>({
    text: `
      select ${payoutColumns} from simulator.payouts where ${payoutFilter}
      order by requested_at, id limit $3 offset $4`,
    values: [from.toISOString(), to.toISOString(), page.limit, page.offset],
  })
  const returned = await listReturnsOf(
    pool,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => toPayoutRow(row, returned.get(row.id) ?? []))
}

async function listReturnsOf(
  client: pg.Pool | pg.PoolClient,
  payoutIds: string[],
): Promise<Map<string, PayoutReturnRow[]>> {
  const { rows } = await client.query<{ payout_id: string; return_id: string; amount: string; returned_at: Date }>({
    text: `
      select payout_id, return_id, amount::text as amount, returned_at
      from simulator.payout_returns where payout_id = any($1) order by returned_at, return_id`,
    values: [payoutIds],
  })
  const returned = new Map<string, PayoutReturnRow[]>()
  for (const row of rows) {
    const list = returned.get(row.payout_id) ?? []
    list.push({ returnId: row.return_id, amount: Number(row.amount), returnedAt: row.returned_at })
    returned.set(row.payout_id, list)
  }
  return returned
}

export async function insertPayoutReturn(
  client: pg.PoolClient,
  { payoutId, returned }: { payoutId: string; returned: PayoutReturnRow },
): Promise<void> {
  await client.query({
    text: `
      insert into simulator.payout_returns (return_id, payout_id, amount, returned_at) values ($1, $2, $3, $4)`,
    values: [returned.returnId, payoutId, returned.amount, returned.returnedAt.toISOString()],
  })
}

type PayoutRecord = {
  id: string
  end_to_end_id: string
  amount: string
  info: string | null
  receiver: AccountHolder
  requested_at: Date
  settles_at: Date
  rejection: string | null
  reference: string | null
}

function toPayoutRow(row: PayoutRecord, returns: PayoutReturnRow[]): PayoutRow {
  return {
    id: row.id,
    endToEndId: row.end_to_end_id,
    amount: Number(row.amount),
    info: row.info,
    receiver: row.receiver,
    requestedAt: row.requested_at,
    settlesAt: row.settles_at,
    rejection: row.rejection !== null && isSpiCode(row.rejection) ? row.rejection : null,
    returns,
    reference: row.reference,
  }
}
