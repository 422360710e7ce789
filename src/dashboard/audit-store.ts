import type { ActionRow } from '../audit/store.ts'
import { empty, type Reads, sql } from '../db/sql.ts'

export type NamedAction = ActionRow & {
  actor_name: string | null
  client_id: string | null
  client_name: string | null
  amount: number | null
  user_name: string | null
}

/**
 * The first id at or after a moment. Times have no index, but they grow with the ids, except for entries that were
 * written at the same time: a binary search reads a few dozen rows of the primary key, however long the log is.
 */
export async function findIdAt(db: Reads, at: Date): Promise<number> {
  const [row] = await db.query<{ id: number }>(sql`
    with recursive halves as (
      select 0::bigint as low, (select coalesce(max(id), 0) + 1 from audit_log) as high
      union all
      select case when entry.at < ${at} then (low + high) / 2 else low end,
        case when entry.at < ${at} then high else (low + high) / 2 end
      from halves, lateral (select at from audit_log where id >= (low + high) / 2 order by id limit 1) entry
      where high - low > 1
    )
    select min(high) as id from halves`)
  return row?.id ?? 0
}

/** The entries that one request reads: the `limit` newest before an id. Returns their oldest id and their number. */
export async function findRange(
  db: Reads,
  { before, after, limit }: { before: number | null; after: number; limit: number },
): Promise<{ oldest: number | null; count: number }> {
  const [row] = await db.query<{ oldest: number | null; count: number }>(sql`
    select min(id) as oldest, count(*) as count from (
      select id from audit_log
      where id >= ${after} ${before === null ? empty : sql`and id < ${before}`}
      order by id desc limit ${limit}) searched`)
  return row ?? { oldest: null, count: 0 }
}

export type ActionSearch = {
  merchantId: string | null
  person: string | null
  area: string | null
  from: Date | null
  until: Date | null
}

/**
 * The matching entries between two ids, newest first, with the names and amounts of what they are about. A merchant
 * does not get the names of the operator's people.
 */
export async function searchActions(
  db: Reads,
  { merchantId, person, area, from, until }: ActionSearch,
  { before, oldest, limit }: { before: number | null; oldest: number; limit: number },
): Promise<NamedAction[]> {
  const ofViewer = merchantId === null ? empty : sql`and users.merchant_id = ${merchantId}`
  return await db.query<NamedAction>(sql`
    with page as materialized (
      select id, at, actor, action, merchant_id, record_id, details from audit_log
      where id >= ${oldest}
        ${before === null ? empty : sql`and id < ${before}`}
        ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}
        ${area === null ? empty : sql`and split_part(action, '.', 1) = ${area}`}
        ${from === null ? empty : sql`and at >= ${from}`}
        ${until === null ? empty : sql`and at <= ${until}`}
        ${
          person === null
            ? empty
            : sql`and (strpos(lower(actor), lower(${person})) > 0 or actor in (
                select 'user:' || email from users where strpos(lower(name), lower(${person})) > 0 ${ofViewer}))`
        }
      order by id desc limit ${limit})
    select page.*, clients.client_id, clients.name as client_name,
      (select name from users where email = substr(page.actor, 6) and page.actor like 'user:%' ${ofViewer} limit 1)
        as actor_name,
      (select name from users where users.id = page.record_id ${ofViewer}) as user_name,
      coalesce(
        (select amount from withdrawals where withdrawals.merchant_id = page.merchant_id and id = page.record_id),
        (select amount from transactions where transactions.merchant_id = page.merchant_id and id = page.record_id)
      ) as amount
    from page left join clients on clients.merchant_id = page.merchant_id
    order by page.id desc`)
}

/**
 * Entries of some actions since a time, newest first. What the users of a merchant do at that merchant is left out, and
 * the acceptance of an invitation: only an account that a sign-in at the identity provider created was not invited.
 *
 * @param from an id below which no entry is as late as `since`
 */
export async function listActionsToNotice(
  db: Reads,
  { actions, since, from, limit }: { actions: string[]; since: Date; from: number; limit: number },
): Promise<ActionRow[]> {
  return await db.query<ActionRow>(sql`
    select id, at, actor, action, merchant_id, record_id, details from audit_log
    where id >= ${from} and at >= ${since} and action = any (${actions})
      and (action <> 'user.accept' or exists (select from users where users.id = record_id and issuer is not null))
      and not exists (
        select from users
        where users.merchant_id = audit_log.merchant_id and 'user:' || users.email = audit_log.actor)
    order by id desc limit ${limit}`)
}
