import type pg from 'pg'
import type { AccountHolder } from '../src/pix/holder.ts'
import type { Behaviour } from './faults/traits.ts'
import { type ReturnRecord, type ReturnRow, toReturnRow } from './returns-store.ts'

/** A payment as this PSP shows it. */
export type PixRow = {
  endToEndId: string
  /** Null if the Pix came without a txid. */
  txid: string | null
  amount: number
  paidAt: Date
  payer: AccountHolder
  /** The PSP shows the payment from this time on. Null if immediately. */
  shownAt: Date | null
  returns: ReturnRow[]
}

export type PixFilter = {
  from: Date
  to: Date
  now: Date
  chargeId: string | null
  hasTxid: boolean | null
  payerDocument: string | null
  hasReturn: boolean | null
}

/** A payment as it is created. `isSecond`: the charge may be paid already. */
export type NewPix = Omit<PixRow, 'returns'> & { chargeId: string; isSecond: boolean; behaviours: Behaviour[] }

/**
 * Stores payments and returns their endToEndIds, without those of charges that were removed or already paid. A payment
 * that is marked as second, or that has no txid, may pay a charge again. If two other payments of one charge run at the
 * same time, the second waits for the first and is left out. Unlike that of `insertCharges`, this commit waits for the
 * disk: the payer's bank has confirmed the payment, and the gateway may never commit anything later that flushes it.
 */
export async function insertPixes(pool: pg.Pool, pixes: NewPix[]): Promise<Set<string>> {
  // Sorted, because two processes that insert the same ids in opposite order would deadlock.
  const rows = pixes.toSorted((a, b) => (a.chargeId < b.chargeId ? -1 : 1))
  const inserted = await pool.query<{ end_to_end_id: string }>({
    name: 'simulator-insert-pixes',
    text: `
      -- Waits for a removal in progress. A removed charge is left out.
      with payable as materialized (
        select charge.id from unnest($10::uuid[]) input (id) cross join lateral (
          select id from simulator.charges where charges.id = input.id and removed_at is null for key share
        ) charge
      )
      insert into simulator.pix
        (end_to_end_id, charge_id, amount, paid_at, payer, names_charge, is_second, shown_at, behaviours)
      select pix.end_to_end_id, charge_id, amount, paid_at, payer, names_charge, is_second, shown_at,
        array(select json_array_elements_text(behaviours))
      from unnest(
        $1::text[], $2::uuid[], $3::bigint[], $4::timestamptz[], $5::json[], $6::boolean[], $7::boolean[], $8::timestamptz[], $9::json[]
      ) pix (end_to_end_id, charge_id, amount, paid_at, payer, names_charge, is_second, shown_at, behaviours)
      join payable on payable.id = charge_id
      on conflict (charge_id) where names_charge and not is_second do nothing
      returning end_to_end_id`,
    values: [
      rows.map((row) => row.endToEndId),
      rows.map((row) => row.chargeId),
      rows.map((row) => row.amount),
      rows.map((row) => row.paidAt.toISOString()),
      rows.map((row) => JSON.stringify(row.payer)),
      rows.map((row) => row.txid !== null),
      rows.map((row) => row.isSecond),
      rows.map((row) => row.shownAt?.toISOString() ?? null),
      rows.map((row) => JSON.stringify(row.behaviours)),
      [...new Set(rows.map((row) => row.chargeId))],
    ],
  })
  return new Set(inserted.rows.map((row) => row.end_to_end_id))
}

/**
 * The columns of {@link PixRecord}, of `pix` and its `charge`. The returns of the Pix are one JSON column, so that no
 * second statement is needed. It is null if there are none, the usual case.
 */
export const pixColumns = `
  pix.end_to_end_id, pix.amount::text as amount, pix.paid_at, pix.payer, pix.shown_at,
  case when pix.names_charge then charge.txid end as txid,
  (select json_agg(returned order by returned.requested_at, returned.id)
   from simulator.returns returned where returned.end_to_end_id = pix.end_to_end_id) as returns`

const pixTables = `simulator.pix join simulator.charges charge on charge.id = pix.charge_id`

/** Null also before the PSP shows it. */
export async function findPix(pool: pg.Pool, endToEndId: string, now: Date): Promise<PixRow | null> {
  const { rows } = await pool.query<PixRecord>({
    text: `
      select ${pixColumns} from ${pixTables} where pix.end_to_end_id = $1 and (pix.shown_at is null or pix.shown_at <= $2)`,
    values: [endToEndId, now.toISOString()],
  })
  return rows[0] ? toPixRow(rows[0]) : null
}

const pixFilter = `
  pix.paid_at between $1 and $2
  and ($3::uuid is null or (pix.charge_id = $3 and pix.names_charge))
  and ($4::text is null or pix.payer ->> 'document' = $4)
  and ($5::boolean is null or $5 = exists (
    select from simulator.returns where end_to_end_id = pix.end_to_end_id and requested_at <= $6))
  and (pix.shown_at is null or pix.shown_at <= $6)
  and ($7::boolean is null or $7 = pix.names_charge)`

export async function countPix(pool: pg.Pool, filter: PixFilter): Promise<number> {
  const { rows } = await pool.query<{ count: string }>({
    text: `select count(*)::text as count from simulator.pix where ${pixFilter}`,
    values: toValues(filter),
  })
  return Number(rows[0]?.count)
}

/** Oldest first: after a known row, or after an offset. */
export async function listPix(
  pool: pg.Pool,
  filter: PixFilter,
  { limit, from }: { limit: number; from: { after: PixRow } | { offset: number } },
): Promise<PixRow[]> {
  const { paidAt = null, endToEndId = null } = 'after' in from ? from.after : {}
  const { rows } = await pool.query<PixRecord>({
    text: `
      select ${pixColumns}
      from (
        select * from simulator.pix
        where ${pixFilter} and ($8::timestamptz is null or (paid_at, end_to_end_id) > ($8, $9))
        order by paid_at, end_to_end_id limit $10 offset $11
      ) pix join simulator.charges charge on charge.id = pix.charge_id
      order by pix.paid_at, pix.end_to_end_id`,
    values: [
      ...toValues(filter),
      ...[paidAt?.toISOString() ?? null, endToEndId],
      ...[limit, 'offset' in from ? from.offset : 0],
    ],
  })
  return rows.map(toPixRow)
}

// Amounts come as text, whatever the pool's own parser for int8 makes of them.
export type PixRecord = {
  end_to_end_id: string
  amount: string
  paid_at: Date
  payer: AccountHolder
  shown_at: Date | null
  txid: string | null
  returns: ReturnRecord[] | null
}

/** The payment of a row that may contain none. */
export function toPixRows(row: Partial<PixRecord>): PixRow[] {
  const { end_to_end_id, amount, paid_at, payer, shown_at = null, txid = null, returns = null } = row
  if (!end_to_end_id || !amount || !paid_at || !payer) return []
  return [toPixRow({ end_to_end_id, amount, paid_at, payer, shown_at, txid, returns })]
}

function toPixRow(row: PixRecord): PixRow {
  const { end_to_end_id: endToEndId, amount, paid_at: paidAt, payer, shown_at: shownAt, txid } = row
  return {
    endToEndId,
    txid,
    amount: Number(amount),
    paidAt,
    payer,
    shownAt,
    returns: (row.returns ?? []).map(toReturnRow),
  }
}

function toValues(filter: PixFilter): (string | boolean | null)[] {
  const { from, to, now, chargeId, payerDocument, hasReturn, hasTxid } = filter
  return [from.toISOString(), to.toISOString(), chargeId, payerDocument, hasReturn, now.toISOString(), hasTxid]
}
