import type { AppError } from '../lib/errors.ts'
import { type Sql, sql, type Tx } from './sql.ts'

/** The secrets of one owner: their table and a condition on its rows. The caller has locked the merchant's client. */
export type Secrets = { table: Sql; owner: Sql; merchantId: string }

/**
 * Ends an owner's secrets before its next one is inserted: the current one at `until`, and any older one now, so that
 * two at most are valid.
 *
 * @param id of the next secret, chosen by the caller. If the current secret already has this id, the caller repeats a
 * rotation whose response was lost. Nobody knows that secret: it ends now and gets another id, so that the next secret
 * can have this one. The secret before it stays valid until its own end, but at most until `until`.
 * @returns when the last of the owner's earlier secrets ends; `now` if none is valid any more
 * @throws `refused` if another secret of the merchant has this id: an earlier secret of this owner, because somebody
 * has rotated since, or a secret of another owner
 */
export async function endSecrets(
  tx: Tx,
  {
    table,
    owner,
    merchantId,
    id,
    now,
    until,
    refused,
  }: Secrets & { id: string; now: Date; until: Date; refused: AppError },
): Promise<Date> {
  const repeated = await tx.query(sql`
    update ${table} set expires_at = ${now}, id = gen_random_uuid()
    where ${owner} and id = ${id} and expires_at is null
    returning id`)
  const isRepeat = repeated.length > 0
  const known = await tx.query(sql`select from ${table} where merchant_id = ${merchantId} and id = ${id}`)
  if (known.length > 0) throw refused
  const ends = await tx.query<{ at: Date }>(sql`
    update ${table}
    set expires_at = case
      when expires_at is null or ${isRepeat} then least(expires_at, ${until}::timestamptz)
      else ${now}::timestamptz
    end
    where ${owner} and (expires_at is null or expires_at > ${now})
    returning expires_at as at`)
  return new Date(Math.max(now.getTime(), ...ends.map(({ at }) => at.getTime())))
}
