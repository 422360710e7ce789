import type { CallbackNotice } from '../acquirers/acquirer.ts'
import { rowsParam } from '../db/rows-param.ts'
import { type Db, sql, type Tx } from '../db/sql.ts'
import { type Claim, claimRows, type Queue } from '../jobs/claim.ts'
import { type Owner, ownerOf } from '../transactions/owner-store.ts'

export type InboxState = 'received' | 'settled' | 'unconfirmed' | 'unmatched'

/** A notice that is still to be processed. */
export type InboxRow = {
  acquirer: string
  event_key: string
  end_to_end: string
  /**
   * The id that the acquirer received from us: the txid of a charge, or our own id of a payout. Both are a record's
   * id without hyphens.
   */
  txid: string | null
  received_at: Date
  /** How often the acquirer has answered without confirming the notice. */
  checks: number
  last_error: string | null
  /** The owner of the transaction that it names, in the rows of {@link insertNotices} only; null if there was none. */
  owner?: Owner | null
}

const openColumns = sql`
  inbox.acquirer, inbox.event_key, inbox.end_to_end, inbox.txid, inbox.received_at, inbox.checks, inbox.last_error`

export type NewNotice = CallbackNotice & { acquirer: string }

const noticesParam = rowsParam<NewNotice>({
  acquirer: 'text',
  eventKey: 'text',
  endToEndId: 'text',
  txid: 'text',
  payoutId: 'text',
})

/** A txid of ours is an id without hyphens. */
const ownId = sql`case when inbox.txid ~ '^[0-9A-Fa-f]{32}$' then inbox.txid::uuid end`

/**
 * Stores the new notices of callbacks and returns them, leased to the caller. A repeated notice exists already. If it
 * ended unconfirmed or unmatched, it is checked again, because the acquirer seems to know more by now.
 */
export async function insertNotices(
  db: Db,
  notices: NewNotice[],
  { now, leaseUntil, instance }: { now: Date; leaseUntil: Date; instance: number },
): Promise<InboxRow[]> {
  return await db.query<InboxRow>(
    sql`
      insert into callback_inbox as inbox (acquirer, event_key, end_to_end, txid, received_at, state, check_at, leased_by)
      select distinct on (acquirer, "eventKey")
        acquirer, "eventKey", "endToEndId", coalesce("payoutId", txid), ${now}::timestamptz, 'received', ${leaseUntil}::timestamptz, ${instance}::integer
      from ${noticesParam(notices)}
      order by acquirer, "eventKey"
      on conflict (acquirer, event_key) do update
        set txid = excluded.txid, state = 'received', finished_at = null, check_at = excluded.check_at,
          leased_by = excluded.leased_by, checks = 0, last_error = null
        where inbox.state in ('unconfirmed', 'unmatched')
      returning ${openColumns}, ${ownerOf(ownId)} as owner`,
    'insert-notices',
  )
}

/** Claims due notices for an instance. */
export async function claimNotices(
  db: Db,
  { now, leaseUntil, limit, instance }: Claim & { instance: number },
): Promise<InboxRow[]> {
  const lease = sql`check_at = ${leaseUntil}, leased_by = ${instance}`
  return await claimRows<InboxRow>(db, inbox, { now, limit, lease }, 'claim-notices')
}

const inbox: Queue = {
  table: sql`callback_inbox inbox`,
  dueAt: sql`check_at`,
  isOpen: sql`state = 'received'`,
  columns: openColumns,
}

/** The result of a check of a notice. */
export type NoticeCheck = Pick<InboxRow, 'acquirer' | 'event_key' | 'checks' | 'last_error'> & {
  state: InboxState
  finished_at: Date | null
  check_at: Date
}

const checksParam = rowsParam<NoticeCheck>({
  acquirer: 'text',
  event_key: 'text',
  checks: 'integer',
  state: 'text',
  finished_at: 'timestamptz',
  check_at: 'timestamptz',
  last_error: 'text',
})

/**
 * Writes results of checks, unless another process has finished the notice meanwhile. Rows are locked in the order in
 * which callbacks are stored. The commit does not wait for the disk: a result lost in a power failure is checked
 * again, and found done.
 */
export async function updateNotices(db: Db, checks: NoticeCheck[]): Promise<void> {
  await db.query(
    sql`
      with input as (
        select input.* from (select set_config('synchronous_commit', 'off', true)) async_commit, ${checksParam(checks)}
      ), locked as (
        select inbox.acquirer, inbox.event_key from callback_inbox inbox join input using (acquirer, event_key)
        where inbox.state = 'received' order by inbox.acquirer, inbox.event_key for no key update of inbox
      )
      update callback_inbox inbox
      set state = input.state, finished_at = input.finished_at, check_at = input.check_at, leased_by = null,
        checks = input.checks, last_error = input.last_error
      from locked join input using (acquirer, event_key)
      where inbox.acquirer = locked.acquirer and inbox.event_key = locked.event_key`,
    'update-notices',
  )
}

/** Makes due what dead instances had leased. A row that is locked is being finished. */
export async function releaseNoticesOf(tx: Tx, { instances, now }: { instances: number[]; now: Date }): Promise<void> {
  await tx.query(sql`
    update callback_inbox set check_at = ${now}, leased_by = null
    where ctid = any (array(
      select ctid from callback_inbox where state = 'received' and leased_by = any (${instances}::integer[])
      for no key update skip locked))`)
}

/** Counts an acquirer's open notices, up to a limit. */
export async function countOpenNotices(db: Db, acquirer: string, limit: number): Promise<number> {
  const [row] = await db.query<{ open: number }>(sql`
    select count(*)::int as open
    from (select from callback_inbox where state = 'received' and acquirer = ${acquirer} limit ${limit}) found`)
  return row?.open ?? 0
}

/** How many notices are due, since when, and how many of the open ones could not be checked. */
export async function findInboxBacklog(
  db: Db,
  now: Date,
): Promise<{ due: number; oldest: Date | null; failing: number }> {
  const [row] = await db.query<{ due: number; oldest: Date | null; failing: number }>(sql`
    select count(*) filter (where check_at <= ${now}) as due, min(check_at) filter (where check_at <= ${now}) as oldest,
      count(last_error) as failing
    from callback_inbox where state = 'received'`)
  return row ?? { due: 0, oldest: null, failing: 0 }
}
