import { type Db, sql, type Tx } from '../db/sql.ts'

export type SavedViewRow = { id: string; name: string; query: string }

export async function listSavedViews(db: Db, userId: string, screen: string): Promise<SavedViewRow[]> {
  return await db.query<SavedViewRow>(sql`
    select id, name, query from saved_views where user_id = ${userId} and screen = ${screen} order by lower(name), id`)
}

/** The same name again replaces the query. */
export async function saveView(
  tx: Tx,
  view: { id: string; userId: string; screen: string; name: string; query: string; now: Date },
): Promise<SavedViewRow[]> {
  return await tx.query<SavedViewRow>(sql`
    insert into saved_views (id, user_id, screen, name, query, created_at)
    values (${view.id}, ${view.userId}, ${view.screen}, ${view.name}, ${view.query}, ${view.now})
    on conflict on constraint saved_views_name do update set query = excluded.query
    returning id, name, query`)
}

/**
 * The number of the user’s saved views on all screens, without the view of this screen that has the name and would be
 * replaced.
 */
export async function countOtherViews(
  tx: Tx,
  { userId, screen, name }: { userId: string; screen: string; name: string },
): Promise<number> {
  // The lock keeps two concurrent requests from both passing the limit.
  await tx.query(sql`select from users where id = ${userId} for no key update`)
  const rows = await tx.query<{ count: number }>(sql`
    select count(*) as count from saved_views
    where user_id = ${userId} and (screen, name) <> (${screen}, ${name})`)
  return rows[0]?.count ?? 0
}

/** False if the user has no such view. */
export async function deleteSavedView(db: Db, userId: string, id: string): Promise<boolean> {
  const rows = await db.query(sql`delete from saved_views where id = ${id} and user_id = ${userId} returning id`)
  return rows.length > 0
}
