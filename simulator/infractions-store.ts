import type pg from 'pg'

/** A dispute (MED) of a payment. */
export type InfractionRow = {
  id: string
  /** The number that people quote. */
  protocol: number
  endToEndId: string
  amount: number
  reason: InfractionReason
  state: InfractionState
  openedAt: Date
  changedAt: Date
  /** When the money goes back, once the dispute is accepted. */
  returnSettlesAt: Date | null
}

/** With the time of the disputed payment. */
export type ListedInfraction = InfractionRow & { paidAt: Date }

export type InfractionReason = 'fraud' | 'operational_failure'
export type InfractionState = 'open' | 'accepted' | 'rejected' | 'canceled'

export type InfractionFilter = { from: Date; to: Date; now: Date; by: 'opened' | 'changed' | 'paid' }

export async function insertInfraction(
  client: pg.PoolClient,
  infraction: Pick<InfractionRow, 'id' | 'endToEndId' | 'amount' | 'reason' | 'openedAt'>,
): Promise<void> {
  await client.query({
    text: `
      insert into simulator.infractions (id, end_to_end_id, amount, reason, state, opened_at, changed_at)
      values ($1, $2, $3, $4, 'open', $5, $5)`,
    values: [
      infraction.id,
      infraction.endToEndId,
      infraction.amount,
      infraction.reason,
      infraction.openedAt.toISOString(),
    ],
  })
}

export async function hasOpenInfraction(client: pg.PoolClient, endToEndId: string): Promise<boolean> {
  const { rowCount } = await client.query({
    text: `select from simulator.infractions where end_to_end_id = $1 and state = 'open'`,
    values: [endToEndId],
  })
  return rowCount !== 0
}

/** The open dispute of a payment, by the payment's id. Null if there is none. */
export async function findOpenInfraction(pool: pg.Pool, endToEndId: string, now: Date): Promise<string | null> {
  const { rows } = await pool.query<{ id: string }>({
    text: `
      select id::text as id from simulator.infractions where end_to_end_id = $1 and state = 'open' and opened_at <= $2`,
    values: [endToEndId, now.toISOString()],
  })
  return rows[0]?.id ?? null
}

export async function lockInfraction(client: pg.PoolClient, id: string): Promise<InfractionRow | null> {
  const { rows } = await client.query<InfractionRecord>({
    text: `select ${columns} from simulator.infractions where id = $1 for update`,
    values: [id],
  })
  return rows[0] ? toRow(rows[0]) : null
}

export async function updateInfraction(
  client: pg.PoolClient,
  { id, state, changedAt, returnSettlesAt }: Pick<InfractionRow, 'id' | 'state' | 'changedAt' | 'returnSettlesAt'>,
): Promise<void> {
  await client.query({
    text: `
      update simulator.infractions set state = $2, changed_at = $3, return_settles_at = $4 where id = $1`,
    values: [id, state, changedAt.toISOString(), returnSettlesAt?.toISOString() ?? null],
  })
}

// A dispute may be stored before its opening time.
const filtered = `
  opened_at <= $3 and case $4 when 'opened' then opened_at when 'changed' then changed_at else paid_at end between $1 and $2`

const withPayment = `
  (select infractions.*, pix.paid_at from simulator.infractions join simulator.pix using (end_to_end_id)) infractions`

export async function countInfractions(pool: pg.Pool, filter: InfractionFilter): Promise<number> {
  const { rows } = await pool.query<{ count: string }>({
    text: `select count(*)::text as count from ${withPayment} where ${filtered}`,
    values: toValues(filter),
  })
  return Number(rows[0]?.count)
}

export async function listInfractions(
  pool: pg.Pool,
  filter: InfractionFilter,
  page: { limit: number; offset: number },
): Promise<ListedInfraction[]> {
  const { rows } = await pool.query<InfractionRecord & { paid_at: Date }>({
    text: `
      select ${columns}, paid_at from ${withPayment} where ${filtered}
      order by opened_at, protocol limit $5 offset $6`,
    values: [...toValues(filter), page.limit, page.offset],
  })
  return rows.map((row) => ({ ...toRow(row), paidAt: row.paid_at }))
}

const columns = `
  id, protocol::text as protocol, end_to_end_id, amount::text as amount, reason, state, opened_at, changed_at,
  return_settles_at`

type InfractionRecord = {
  id: string
  protocol: string
  end_to_end_id: string
  amount: string
  reason: InfractionReason
  state: InfractionState
  opened_at: Date
  changed_at: Date
  return_settles_at: Date | null
}

function toRow(row: InfractionRecord): InfractionRow {
  return {
    id: row.id,
    protocol: Number(row.protocol),
    endToEndId: row.end_to_end_id,
    amount: Number(row.amount),
    reason: row.reason,
    state: row.state,
    openedAt: row.opened_at,
    changedAt: row.changed_at,
    returnSettlesAt: row.return_settles_at,
  }
}

function toValues({ from, to, now, by }: InfractionFilter): string[] {
  return [from.toISOString(), to.toISOString(), now.toISOString(), by]
}
