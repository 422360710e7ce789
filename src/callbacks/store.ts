import type { CallbackNotice } from '../acquirers/acquirer.ts'
import { type Db, sql, type Tx } from '../db/sql.ts'

export type InboxState = 'received' | 'settled' | 'unconfirmed' | 'unmatched'
export type InboxRow = {
  acquirer: string
  event_key: string
  end_to_end: string
  /** What we gave the acquirer: the txid of a charge, or our own id of a payout. Both are a record's id without hyphens. */
  txid: string | null
  state: InboxState
}

/**
 * Keeps what is new of a callback and returns it. A repeated event is there already; told again after it came to nothing, it is
 * looked at anew, since the acquirer seems to know better by now.
 */
export async function insertNotices(
  tx: Tx,
  acquirer: string,
  notices: CallbackNotice[],
  now: Date,
): Promise<{ event_key: string }[]> {
  return await tx.query<{ event_key: string }>(sql`
    insert into callback_inbox as inbox (acquirer, event_key, end_to_end, txid, received_at, state)
    select distinct on ("eventKey")
      ${acquirer}, "eventKey", "endToEndId", coalesce("payoutId", txid), ${now}::timestamptz, 'received'
    from json_to_recordset(${JSON.stringify(notices)}::json)
      as given ("eventKey" text, "endToEndId" text, txid text, "payoutId" text)
    order by "eventKey"
    on conflict (acquirer, event_key) do update set txid = excluded.txid, state = 'received', finished_at = null
    where inbox.state in ('unconfirmed', 'unmatched')
    returning event_key`)
}

export async function findNotice(db: Db, acquirer: string, eventKey: string): Promise<InboxRow | null> {
  const rows = await db.query<InboxRow>(sql`
    select acquirer, event_key, end_to_end, txid, state from callback_inbox
    where acquirer = ${acquirer} and event_key = ${eventKey}`)
  return rows[0] ?? null
}

export async function finishNotice(db: Db, notice: InboxRow, state: InboxState, now: Date): Promise<void> {
  await db.query(sql`
    update callback_inbox set state = ${state}, finished_at = ${now}
    where acquirer = ${notice.acquirer} and event_key = ${notice.event_key}`)
}
