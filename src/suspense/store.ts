import { rowsParam } from '../db/rows-param.ts'
import { type Db, sql, type Tx } from '../db/sql.ts'
import { type Claim, claimDueRows, isAnyDue } from '../jobs/claim.ts'
import { assert } from '../lib/assert.ts'
import type { AccountHolder } from '../pix/holder.ts'
import type { SuspenseStatus } from './status.ts'

export type SuspenseRow = {
  merchant_id: string
  id: string
  kind: 'unattributed' | 'duplicate'
  acquirer: string
  end_to_end: string
  txid: string | null
  amount: number
  paid_at: Date
  payer: AccountHolder | null
  receiver: AccountHolder
  transaction_id: string | null
  attributed_merchant_id: string | null
  attributed_transaction_id: string | null
  return_id: string | null
  return_amount: number | null
  return_end_to_end: string | null
  /** When the acquirer was last requested to return it, whatever it answered; a refused repeat does not change it. */
  return_requested_at: Date | null
  /** What others have returned of it: the acquirer under MED, or a person at the acquirer. */
  taken_amount: number
  statuses: SuspenseStatus[]
  status_dates: Date[]
  status: SuspenseStatus
  error_message: string | null
  check_at: Date | null
}

const columns = sql`
  merchant_id, id, kind, acquirer, end_to_end, txid, amount, paid_at, payer, receiver, transaction_id, attributed_merchant_id,
  attributed_transaction_id, return_id, return_amount, return_end_to_end, return_requested_at, taken_amount, statuses, status_dates, status,
  error_message, check_at`

const paymentsParam = rowsParam<SuspenseRow>({
  merchant_id: 'uuid',
  id: 'uuid',
  kind: 'text',
  acquirer: 'text',
  end_to_end: 'text',
  txid: 'text',
  amount: 'bigint',
  paid_at: 'timestamptz',
  payer: 'json',
  receiver: 'json',
  transaction_id: 'uuid',
  return_id: 'uuid',
  return_amount: 'bigint',
  taken_amount: 'bigint',
  statuses: 'text[]',
  status_dates: 'timestamptz[]',
  check_at: 'timestamptz',
})

/**
 * Returns the ids of the new ones: the others exist already. Of two concurrent calls the second waits for the first.
 */
export async function insertSuspense(tx: Tx, rows: SuspenseRow[]): Promise<Set<string>> {
  const inserted = await tx.query<{ id: string }>(sql`
    insert into suspense_payments (
      merchant_id, id, kind, acquirer, end_to_end, txid, amount, paid_at, payer, receiver, transaction_id, return_id, return_amount,
      taken_amount, statuses, status_dates, check_at)
    select merchant_id, id, kind, acquirer, end_to_end, txid, amount, paid_at, payer, receiver, transaction_id, return_id, return_amount,
      taken_amount, statuses::text[], status_dates::timestamptz[], check_at
    from ${paymentsParam(rows)} order by acquirer, end_to_end
    on conflict (acquirer, end_to_end) do nothing
    returning id`)
  return new Set(inserted.map(({ id }) => id))
}

export async function findSuspense(db: Db | Tx, id: string): Promise<SuspenseRow | null> {
  const rows = await db.query<SuspenseRow>(sql`select ${columns} from suspense_payments where id = ${id}`)
  return rows[0] ?? null
}

/** Finds a payment that is or was in suspense, by acquirer and endToEndId. */
export async function findSuspenseOf(
  db: Db | Tx,
  { acquirer, endToEndId }: { acquirer: string; endToEndId: string },
): Promise<SuspenseRow | null> {
  const rows = await db.query<SuspenseRow>(sql`
    select ${columns} from suspense_payments where acquirer = ${acquirer} and end_to_end = ${endToEndId}`)
  return rows[0] ?? null
}

type OpenSuspense = { held: number; returning: number; waitingSince: Date | null; returningSince: Date | null }

/** How many wait for a decision, how many are being sent back, and since when the oldest of each. */
export async function countOpenSuspense(db: Db): Promise<OpenSuspense> {
  const since = sql`min(status_dates[cardinality(status_dates)])`
  const [counts] = await db.query<OpenSuspense>(sql`
    select count(*) filter (where status = 'held') as held, count(*) filter (where status = 'returning') as returning,
      ${since} filter (where status = 'held') as "waitingSince", ${since} filter (where status = 'returning') as "returningSince"
    from suspense_payments where status in ('held', 'returning')`)
  return counts ?? { held: 0, returning: 0, waitingSince: null, returningSince: null }
}

export async function lockSuspense(tx: Tx, merchantId: string, id: string): Promise<SuspenseRow | null> {
  const rows = await tx.query<SuspenseRow>(sql`
    select ${columns} from suspense_payments where merchant_id = ${merchantId} and id = ${id} for no key update`)
  return rows[0] ?? null
}

const keysParam = rowsParam<{ acquirer: string; endToEndId: string }>({ acquirer: 'text', endToEndId: 'text' })

/** Those of these payments that are or were in suspense, locked in the same order for everyone. */
export async function lockSuspenseOf(
  tx: Tx,
  payments: { acquirer: string; endToEndId: string }[],
): Promise<SuspenseRow[]> {
  return await tx.query<SuspenseRow>(sql`
    select ${columns} from suspense_payments
    where (acquirer, end_to_end) in (select input.acquirer, "endToEndId" from ${keysParam(payments)})
    order by acquirer, end_to_end for no key update`)
}

/** The fields of a payment in suspense that change, with or without a change of status. */
export type SuspenseChange = Partial<
  Pick<
    SuspenseRow,
    | 'attributed_merchant_id'
    | 'attributed_transaction_id'
    | 'return_id'
    | 'return_amount'
    | 'return_end_to_end'
    | 'return_requested_at'
    | 'taken_amount'
    | 'error_message'
  >
> & { check_at: Date | null }

/** Writes a change of a locked row, and returns the updated row. */
export async function updateSuspense(
  tx: Tx,
  row: SuspenseRow,
  { to, now, set }: { to: SuspenseStatus; now: Date; set: SuspenseChange },
): Promise<SuspenseRow> {
  const isMove = to !== row.status
  const last = row.status_dates.at(-1)
  const at = last && last > now ? last : now
  const changed = { ...row, ...set }
  const [updated] = await tx.query<SuspenseRow>(sql`
    update suspense_payments set
      statuses = ${isMove ? [...row.statuses, to] : row.statuses},
      status_dates = ${isMove ? [...row.status_dates, at] : row.status_dates},
      attributed_merchant_id = ${changed.attributed_merchant_id}, attributed_transaction_id = ${changed.attributed_transaction_id},
      return_id = ${changed.return_id}, return_amount = ${changed.return_amount},
      return_end_to_end = ${changed.return_end_to_end}, return_requested_at = ${changed.return_requested_at}, taken_amount = ${changed.taken_amount},
      error_message = ${changed.error_message}, check_at = ${changed.check_at}
    where merchant_id = ${row.merchant_id} and id = ${row.id} and status = ${row.status}
    returning ${columns}`)
  assert(updated, 'a locked payment in suspense is unchanged since it was read')
  return updated
}

export async function claimDueSuspense(db: Db, status: SuspenseStatus, claim: Claim): Promise<SuspenseRow[]> {
  return await claimDueRows<SuspenseRow>(db, { ...toCheck(status), columns }, claim)
}

function toCheck(status: SuspenseStatus) {
  return { table: sql`suspense_payments`, dueAt: sql`check_at`, isOpen: sql`status = ${status}` }
}

export async function isSuspenseDue(db: Db, status: SuspenseStatus, now: Date): Promise<boolean> {
  return await isAnyDue(db, toCheck(status), { now, name: 'is-suspense-due' })
}

/** Writes when a return is checked next, its endToEndId as far as it is known, and the error that blocks it. */
export async function updateReturnCheck(
  db: Db,
  row: SuspenseRow,
  { checkAt, endToEnd, error }: { checkAt: Date; endToEnd: string | null; error: string | null },
): Promise<void> {
  await db.query(sql`
    update suspense_payments set check_at = ${checkAt}, return_end_to_end = coalesce(${endToEnd}, return_end_to_end),
      error_message = ${error}
    where merchant_id = ${row.merchant_id} and id = ${row.id} and status = 'returning' and return_id = ${row.return_id}`)
}

/**
 * Writes that the acquirer is about to be requested to return it, or restores the former value. Returns false when
 * another process is requesting it.
 */
export async function updateReturnRequested(
  db: Db,
  row: SuspenseRow,
  from: Date | null,
  to: Date | null,
): Promise<boolean> {
  const rows = await db.query(sql`
    update suspense_payments set return_requested_at = ${to}
    where merchant_id = ${row.merchant_id} and id = ${row.id} and status = 'returning' and return_id = ${row.return_id}
      and return_requested_at is not distinct from ${from}::timestamptz
    returning id`)
  return rows.length === 1
}

const returnedParam = rowsParam<{ endToEndId: string; returned: number }>({ endToEndId: 'text', returned: 'bigint' })

/** Those of these payments that are in suspense and of which more was returned than is recorded. */
export async function listBehind(
  db: Db,
  acquirer: string,
  payments: { endToEndId: string; returned: number }[],
): Promise<string[]> {
  const rows = await db.query<{ endToEndId: string }>(sql`
    select input."endToEndId" from ${returnedParam(payments)}
    join suspense_payments held on held.acquirer = ${acquirer} and held.end_to_end = input."endToEndId"
    where held.status in ('held', 'returning') and held.taken_amount < input.returned`)
  return rows.map(({ endToEndId }) => endToEndId)
}
