import type pg from 'pg'

/** A dispute (MED) of a payment. */
export type DisputeRow = {
  id: string
  /** The case number that people quote to the PSP. */
  protocol: number
  endToEndId: string
  amount: number
  reason: DisputeReason
  state: DisputeState
  openedAt: Date
  changedAt: Date
  /** When the money goes back, once the dispute is accepted. */
  returnSettlesAt: Date | null
  /** The end of the analysis, if time.ts has moved it; null: seven days after the opening. */
  deadlineAt: Date | null
}

/** With the time of the disputed payment, and the receiver's defence. */
export type ListedDispute = DisputeRow & { paidAt: Date; defence: string | null; defenceAt: Date | null }

export type DisputeReason = 'fraud' | 'operational_failure'
export type DisputeState = 'open' | 'accepted' | 'rejected' | 'canceled'

export type DisputeFilter = { from: Date; to: Date; now: Date; by: 'opened' | 'changed' | 'paid' }

export async function insertDispute(
  client: pg.PoolClient,
  dispute: Pick<DisputeRow, 'id' | 'endToEndId' | 'amount' | 'reason' | 'openedAt'>,
): Promise<void> {
  await client.query({
    text: `
      insert into simulator.disputes (id, end_to_end_id, amount, reason, state, opened_at, changed_at)
      values ($1, $2, $3, $4, 'open', $5, $5)`,
    values: [dispute.id, dispute.endToEndId, dispute.amount, dispute.reason, dispute.openedAt.toISOString()],
  })
}

export async function hasOpenDispute(client: pg.PoolClient, endToEndId: string): Promise<boolean> {
  const { rowCount } = await client.query({
    text: `select from simulator.disputes where end_to_end_id = $1 and state = 'open'`,
    values: [endToEndId],
  })
  return rowCount !== 0
}

/** The open dispute of a payment, by the payment's id. Null if there is none. */
export async function findOpenDispute(pool: pg.Pool, endToEndId: string, now: Date): Promise<string | null> {
  const { rows } = await pool.query<{ id: string }>({
    text: `
      select id::text as id from simulator.disputes where end_to_end_id = $1 and state = 'open' and opened_at <= $2`,
    values: [endToEndId, now.toISOString()],
  })
  return rows[0]?.id ?? null
}

export async function lockDispute(client: pg.PoolClient, id: string): Promise<DisputeRow | null> {
  const { rows } = await client.query<DisputeRecord>({
    text: `select ${columns} from simulator.disputes where id = $1 for update`,
    values: [id],
  })
  return rows[0] ? toRow(rows[0]) : null
}

export async function updateDispute(
  client: pg.PoolClient,
  { id, state, changedAt, returnSettlesAt }: Pick<DisputeRow, 'id' | 'state' | 'changedAt' | 'returnSettlesAt'>,
): Promise<void> {
  await client.query({
    text: `
      update simulator.disputes set state = $2, changed_at = $3, return_settles_at = $4 where id = $1`,
    values: [id, state, changedAt.toISOString(), returnSettlesAt?.toISOString() ?? null],
  })
}

// A dispute may be stored before its opening time.
const filtered = `
  opened_at <= $3 and case $4 when 'opened' then opened_at when 'changed' then changed_at else paid_at end between $1 and $2`

const withPayment = `
  (select disputes.*, pix.paid_at from simulator.disputes join simulator.pix using (end_to_end_id)) disputes`

export async function countDisputes(pool: pg.Pool, filter: DisputeFilter): Promise<number> {
  const { rows } = await pool.query<{ count: string }>({
    text: `select count(*)::text as count from ${withPayment} where ${filtered}`,
    values: toValues(filter),
  })
  return Number(rows[0]?.count)
}

export async function listDisputes(
  pool: pg.Pool,
  filter: DisputeFilter,
  page: { limit: number; offset: number },
): Promise<ListedDispute[]> {
  type Row = DisputeRecord & { paid_at: Date; defence: string | null; received_at: Date | null }
  const { rows } = await pool.query<Row>({
    text: `
      select disputes.*, defences.text as defence, defences.received_at
      from (select ${columns}, paid_at from ${withPayment} where ${filtered}) disputes
      left join simulator.defences on defences.dispute_id = disputes.id
      order by opened_at, disputes.protocol::bigint limit $5 offset $6`,
    values: [...toValues(filter), page.limit, page.offset],
  })
  return rows.map((row) => ({
    ...toRow(row),
    ...{ paidAt: row.paid_at, defence: row.defence, defenceAt: row.received_at },
  }))
}

const columns = `
  id, protocol::text as protocol, end_to_end_id, amount::text as amount, reason, state, opened_at, changed_at,
  return_settles_at, deadline_at`

type DisputeRecord = {
  id: string
  protocol: string
  end_to_end_id: string
  amount: string
  reason: DisputeReason
  state: DisputeState
  opened_at: Date
  changed_at: Date
  return_settles_at: Date | null
  deadline_at: Date | null
}

function toRow(row: DisputeRecord): DisputeRow {
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
    deadlineAt: row.deadline_at,
  }
}

function toValues({ from, to, now, by }: DisputeFilter): string[] {
  return [from.toISOString(), to.toISOString(), now.toISOString(), by]
}
