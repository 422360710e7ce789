import { type Db, sql, type Tx } from '../db/sql.ts'
import type { Delivery, FileType } from './schema.ts'
import type { DefenceState } from './status.ts'

type Key = { merchant_id: string; dispute_id: string }

export type DefenceRow = Key & {
  state: DefenceState
  revision: number
  text: string
  delivery: Delivery
  submission_id: string | null
  requested_at: Date | null
  answered_at: Date | null
  reference: string | null
  refusal: string | null
  changed_at: Date
  erased_at: Date | null
}

export async function findDefence(db: Db | Tx, { merchant_id, dispute_id }: Key): Promise<DefenceRow | null> {
  const [row] = await db.query<DefenceRow>(sql`
    select merchant_id, dispute_id, state, revision, text, delivery, submission_id, requested_at, answered_at, reference,
      refusal, changed_at, erased_at
    from dispute_defences where merchant_id = ${merchant_id} and dispute_id = ${dispute_id}`)
  return row ?? null
}

/**
 * Writes a defence, under the lock of its transaction, and sets `disputes.answered_at`: when the PSP received the
 * defence or a person sent it by hand; while the service sends it, when sending began; null for a draft or a refused
 * one.
 */
export async function saveDefence(tx: Tx, row: DefenceRow): Promise<void> {
  const delivery = JSON.stringify(row.delivery)
  await tx.query(sql`
    insert into dispute_defences (merchant_id, dispute_id, state, revision, text, delivery, submission_id, requested_at,
      answered_at, reference, refusal, changed_at)
    values (
      ${row.merchant_id}, ${row.dispute_id}, ${row.state}, ${row.revision}, ${row.text}, ${delivery}, ${row.submission_id},
      ${row.requested_at}, ${row.answered_at}, ${row.reference}, ${row.refusal}, ${row.changed_at})
    on conflict (merchant_id, dispute_id) do update set
      state = excluded.state, revision = excluded.revision, text = excluded.text, delivery = excluded.delivery,
      submission_id = excluded.submission_id, requested_at = excluded.requested_at, answered_at = excluded.answered_at,
      reference = excluded.reference, refusal = excluded.refusal, changed_at = excluded.changed_at`)
  const answeredAt = row.state === 'sending' ? row.requested_at : row.answered_at
  await tx.query(sql`
    update disputes set answered_at = ${answeredAt}
    where merchant_id = ${row.merchant_id} and id = ${row.dispute_id} and answered_at is distinct from ${answeredAt}`)
}

export type FileRow = Key & {
  id: string
  name: string
  type: FileType
  size: number
  sha256: Buffer
  added_at: Date
  is_erased: boolean
}

/** Without their content. */
export async function listFiles(db: Db | Tx, { merchant_id, dispute_id }: Key): Promise<FileRow[]> {
  return await db.query<FileRow>(sql`
    select merchant_id, dispute_id, id, name, type, size, sha256, added_at, content is null as is_erased
    from dispute_files where merchant_id = ${merchant_id} and dispute_id = ${dispute_id} order by added_at, id`)
}

/** Null if it is another dispute's or merchant's, or was erased. */
export async function findFile(
  db: Db,
  { merchant_id, dispute_id }: Key,
  id: string,
): Promise<(Pick<FileRow, 'name' | 'type'> & { content: Buffer }) | null> {
  const [row] = await db.query<Pick<FileRow, 'name' | 'type'> & { content: Buffer }>(sql`
    select name, type, content from dispute_files
    where merchant_id = ${merchant_id} and dispute_id = ${dispute_id} and id = ${id} and content is not null`)
  return row ?? null
}

/** Returns false if another file of the merchant has the id. */
export async function insertFile(tx: Tx, row: Omit<FileRow, 'is_erased'> & { content: Buffer }): Promise<boolean> {
  const inserted = await tx.query(sql`
    insert into dispute_files (merchant_id, dispute_id, id, name, type, size, sha256, content, added_at)
    values (
      ${row.merchant_id}, ${row.dispute_id}, ${row.id}, ${row.name}, ${row.type}, ${row.size}, ${row.sha256}, ${row.content},
      ${row.added_at})
    on conflict do nothing returning id`)
  return inserted.length > 0
}

/** Returns whether there was such a file. */
export async function deleteFile(tx: Tx, { merchant_id, dispute_id }: Key, id: string): Promise<boolean> {
  const deleted = await tx.query(sql`
    delete from dispute_files
    where merchant_id = ${merchant_id} and dispute_id = ${dispute_id} and id = ${id} returning id`)
  return deleted.length > 0
}
