import { type Db, type Sql, sql } from '../db/sql.ts'

/** Withdrawals to one key are counted up to here: more are shown as "1,000+". */
const countMax = 1_000

/** What was sent to a Pix key before. A withdrawal of which the receiver sent anything back does not count. */
export type ReceiverHistory = {
  /**
   * The receiver's name, as the merchant's last withdrawal to the key reported it; if none did, for operators, as
   * another merchant's did.
   */
  name: string | null
  count: number
  sum: number
  isMore: boolean
  lastAt: Date | null
  /** What other merchants sent to it; null for a merchant's users. */
  others: { count: number; sum: number; isMore: boolean; merchants: number } | null
}

type Counted = { count: number; sum: number; isMore: boolean }
type Row = Counted & { last_at: Date | null; name: string | null }
type OthersRow = Counted & { merchants: number }

const none: Counted = { count: 0, sum: 0, isMore: false }

/** Reads the index withdrawals_sent_to_key. The withdrawal itself is not part of its history. */
export async function findReceiverHistory(
  db: Db,
  { id, merchant_id: merchantId, pix_key: key }: { id: string; merchant_id: string; pix_key: string },
  { withOthers }: { withOthers: boolean },
): Promise<ReceiverHistory> {
  const sent = sql`withdrawals where pix_key = ${key} and status = 'PROCESSED'`
  const ownSent = sql`${sent} and merchant_id = ${merchantId} and id <> ${id}`
  const othersSent = sql`${sent} and merchant_id <> ${merchantId}`
  const nameIn = (rows: Sql) =>
    sql`(select receiver ->> 'name' from ${rows} and receiver is not null order by created_at desc limit 1)`
  // One row more than is counted is read, only to know whether there are more.
  const isCounted = sql`filter (where position <= ${countMax})`
  const counted = sql`
    count(*) ${isCounted} as count, coalesce(sum(amount) ${isCounted}, 0)::bigint as sum,
    count(*) > ${countMax} as "isMore"`
  const [own] = await db.query<Row>(sql`
    select ${counted}, max(created_at) as last_at,
      coalesce(${nameIn(ownSent)}, ${withOthers ? nameIn(othersSent) : sql`null`}) as name
    from (
      select amount, created_at, row_number() over (order by created_at desc) as position from ${ownSent}
      order by created_at desc limit ${countMax + 1}
    ) latest`)
  const { last_at: lastAt, name, ...ofOwn } = own ?? { ...none, last_at: null, name: null }
  const history = { name, ...ofOwn, lastAt }
  if (!withOthers) return { ...history, others: null }
  const [others] = await db.query<OthersRow>(sql`
    select ${counted}, count(distinct merchant_id) ${isCounted} as merchants
    from (
      select amount, merchant_id, row_number() over () as position from ${othersSent} limit ${countMax + 1}
    ) some_of_them`)
  return { ...history, others: others ?? { ...none, merchants: 0 } }
}
